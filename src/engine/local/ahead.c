/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are read one after the other: one walk through RocksDB finds the next few of them,
 * where it would search for each anew, in its memory and in every young table.
 *
 * They go to the cache of rows as they are stored, so of large values only the places do: what is
 * fetched and never asked for costs a few kilobytes there, for as long as nothing else needs them.
 */
#include "engine/local/local_internal.h"

enum { AHEAD_ROWS = 64 };

static bool is_cached(struct local_engine *e, const struct row_offer *asked)
{
    struct cached_row *row = row_cache_find(e->cache, asked->key, asked->hash, asked->commit);
    if (row != NULL)
        cached_row_put(row);
    return row != NULL;
}

/* Whether a search in RocksDB would be next. Where the first row is known to lie whole in the
 * journal, the others are as a rule. */
static bool lies_below(struct local_txn *t, const struct row_offer *asked)
{
    struct row_place place;
    return !is_cached(t->engine, asked) &&
           !row_places_find(t->engine->places, asked->hash, asked->commit, &place) &&
           batch_find(t->batch, asked->key) == NULL &&
           tree_find(&t->state->fresh, asked->key) == NULL;
}

static struct row_offer offer_of(struct local_txn *t, struct str key)
{
    return (struct row_offer){
        .key = key, .hash = row_cache_hash(key), .commit = t->state->commit, .hot = true};
}

/* What goes wrong here goes wrong again for who then reads the row, who says so. */
static void fetch(struct local_txn *t, struct walk *w)
{
    struct str key;
    walk_seek_first(w);
    for (int i = 0; i < AHEAD_ROWS; i++) {
        if (err_is(walk_key(w, &key)) || !str_given(key))
            return;
        struct row_offer found = offer_of(t, key);
        found.value = walk_value(w);
        if (!is_cached(t->engine, &found)) /* perhaps with its large value */
            row_cache_offer(t->engine->cache, &found);
        walk_next(w);
    }
}

void local_expect(struct txn *txn, struct str from, struct str to)
{
    struct local_txn *t = (struct local_txn *)(void *)txn;
    struct row_offer asked = offer_of(t, rowkey_of(&t->key, from));
    if (!lies_below(t, &asked))
        return;
    struct str first = arena_copy(&t->arena, asked.key);
    struct str past = arena_copy(&t->arena, rowkey_of(&t->key, to));
    struct walk w;
    walk_init_brief(&w, t->state, first, past);
    fetch(t, &w);
    walk_release(&w);
}
