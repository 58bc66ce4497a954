/* SPDX-License-Identifier: Apache-2.0 */
/* A commit becomes what views see: the caches are told of its rows, and the state has them. */
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

/* So many rows are put into the state in place, with views kept waiting meanwhile: a few
 * microseconds, for the two rows each of 64 updates. */
enum { IN_PLACE_ROWS = 128 };

struct state *local_state(struct local_engine *e)
{
    pthread_mutex_lock(&e->publish_lock);
    struct state *s = state_get(e->published);
    pthread_mutex_unlock(&e->publish_lock);
    return s;
}

void publish_state(struct local_engine *e, struct state *state)
{
    pthread_mutex_lock(&e->publish_lock);
    struct state *old = e->published;
    e->published = state;
    pthread_mutex_unlock(&e->publish_lock);
    state_put(old);
}

void publish_announce(struct local_engine *e, uint64_t commit)
{
    (void)row_places_fetch_saved(e->places);
    row_cache_announce(e->cache, commit);
    row_places_announce(e->places, commit);
}

/* ---- the rows ---- */

bool goes_to_journal(const struct row *row, struct str *value, struct str *large)
{
    struct str stored = row_value(row);
    *value = STR_NONE;
    if (stored.p[0] == VALUE_HERE) {
        *large = str_from(stored, 1);
        return large->n >= VALUE_LARGE_MIN;
    }
    return value_and_body_here(stored, value, large) && large->n >= BODY_LARGE_MIN;
}

static void batch_add_fresh(struct batch *b, struct row *stored, uint64_t hash)
{
    if (b->fresh_count == b->fresh_capacity) {
        b->fresh_capacity = b->fresh_capacity == 0 ? 64 : b->fresh_capacity * 2;
        b->fresh = mem_realloc(b->fresh, b->fresh_capacity * sizeof(struct row *));
        b->fresh_hashes = mem_realloc(b->fresh_hashes, b->fresh_capacity * sizeof *b->fresh_hashes);
    }
    b->fresh[b->fresh_count] = stored;
    b->fresh_hashes[b->fresh_count++] = hash;
}

struct publisher {
    struct local_engine *engine;
    size_t large; /* how many of the large values came before */
};

static void prepare_row(void *arg, struct row *row)
{
    struct publisher *p = arg;
    struct local_engine *e = p->engine;
    uint64_t hash = row_cache_hash(row_key(row));
    struct str value;
    struct str large;
    if (row->hot)
        row_cache_add(e->cache, row_key(row), hash, row_value(row));
    else
        row_cache_renew(e->cache, row_key(row), hash, row->deleted ? STR_NONE : row_value(row));
    struct row *stored = row_get(row);
    if (!row->deleted && goes_to_journal(row, &value, &large)) {
        struct value_place place = journal_value_place(&e->journal, p->large++);
        struct row_place whole = journal_row_place(&place, row->key_n, row->value_n - large.n);
        row_places_put(e->places, hash, &whole);
        row_put(stored);
        stored = value_row_placed(row_key(row), &place, value);
        stored->born = row->born;
    }
    batch_add_fresh(&e->batch, stored, hash);
}

static void add_rows(struct local_engine *e, struct tree *fresh)
{
    struct batch *b = &e->batch;
    if (fresh->root == NULL) {
        fresh->random = TREE_SEED;
        fresh_fill(e, fresh, b);
    } else {
        for (size_t i = 0; i < b->fresh_count; i++)
            fresh_add(e, fresh, b->fresh[i], b->fresh_hashes[i]);
    }
    b->fresh_count = 0;
}

/* When nobody reads from the state, it is changed into the next: to copy what is on the way to each
 * row takes as long again as to insert the row. Whoever comes meanwhile waits. */
static bool publish_in_place(struct local_engine *e)
{
    struct state *s = e->published;
    if (e->batch.fresh_count > IN_PLACE_ROWS)
        return false;
    pthread_mutex_lock(&e->publish_lock);
    bool alone = atomic_load_explicit(&s->refs, memory_order_acquire) == 1;
    if (alone) {
        add_rows(e, &s->fresh);
        s->commit = e->commit;
    }
    pthread_mutex_unlock(&e->publish_lock);
    if (alone)
        state_renew_pin(s);
    return alone;
}

void publish_batch(struct local_engine *e)
{
    e->commit++;
    publish_announce(e, e->commit);
    struct publisher p = {.engine = e};
    tree_each(&e->batch.overlay, prepare_row, &p);
    pins_advance(&e->readers, e->commit);
    if (!publish_in_place(e)) {
        struct tree fresh = tree_get(&e->published->fresh);
        add_rows(e, &fresh);
        publish_state(e, state_after(e->published, fresh, e->commit));
    }
    /* The reaper takes the marks of what was dropped away from RocksDB: they have to be there. */
    if (e->batch.dropped_count > 0)
        (void)fold_rows(e);
    pins_advance(&e->pins, e->commit);
    atomic_fetch_add(&e->commits, 1);
}
