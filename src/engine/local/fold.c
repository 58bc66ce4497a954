/* SPDX-License-Identifier: Apache-2.0 */
/* How rows come from the journal to RocksDB: not with every commit, but when there are enough.
 *
 * Until then they are in the published state, in a tree over RocksDB's snapshot. Most of what is
 * written often is written again soon (a queue's state, with every commit) or goes soon (its
 * messages): RocksDB gets the last of it, in the order of keys, and of a row that it has never had
 * and that is gone again it hears nothing. To insert a row into its memory takes 11,000
 * instructions, into the tree a few hundred. So when there are enough, those go that were there
 * the last time already: of the younger ones many are still to be changed, or to go.
 *
 * After a crash RocksDB has what the journal's place in it says, as ever, and the rest is applied
 * from the journal. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

enum {
    FOLD_BYTES = 2 << 20,
    /* Of rows that nobody said will go soon: most stay. To let more of them wait would only make a
     * heap that takes longer than the disk takes a record: a fifth fewer updates a second of two
     * new rows each. */
    FOLD_LASTING_ROWS = 64,
    /* If so many times what may come until the next time is young, all goes: the tree has a bound.
     */
    FOLD_YOUNG_MAX = 2,
};

static bool is_placed(const struct row *row)
{
    struct value_place place;
    return !row->deleted && value_is_elsewhere(row_value(row), &place);
}

/* A row that is not below the tree, and is gone, leaves no mark. */
static bool leaves_nothing(const struct row *row, const struct row *before)
{
    return row->deleted && (before != NULL ? before->born : row->born);
}

static void count_in(struct local_engine *e, const struct row *row)
{
    e->fresh_rows++;
    e->fresh_lasting += row->born ? 0 : 1;
    e->fresh_bytes += sizeof *row + row->key_n + row->value_n;
}

/* The key's first row in the tree: what is below knows the place of an older one, unless there is
 * none. */
static void forget_place_below(struct local_engine *e, const struct row *row, uint64_t hash)
{
    if (!row->born && !is_placed(row))
        row_places_drop(e->places, hash);
}

static void drop_born(struct local_engine *e, struct tree *fresh, const struct row *born,
                      uint64_t hash)
{
    if (is_placed(born))
        row_places_drop(e->places, hash);
    tree_remove(fresh, row_key(born));
    e->fresh_rows--;
}

void fresh_add(struct local_engine *e, struct tree *fresh, struct row *row, uint64_t hash)
{
    const struct row *there = row->deleted ? tree_find(fresh, row_key(row)) : NULL;
    if (leaves_nothing(row, there)) {
        if (there != NULL)
            drop_born(e, fresh, there, hash);
        row_give(fresh->pool, row);
        return;
    }
    struct row *before = tree_exchange(fresh, row);
    if (before == NULL) {
        count_in(e, row);
        forget_place_below(e, row, hash);
        return;
    }
    if (is_placed(before) && !is_placed(row))
        row_places_drop(e->places, hash);
    row->born = before->born;
    e->fresh_bytes += sizeof *row + row->key_n + row->value_n;
    row_give(fresh->pool, before);
}

void fresh_fill(struct local_engine *e, struct tree *fresh, const struct batch *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->fresh_count; i++) {
        struct row *row = b->fresh[i];
        if (leaves_nothing(row, NULL)) {
            row_give(fresh->pool, row);
            continue;
        }
        count_in(e, row);
        forget_place_below(e, row, b->prepared[i].hash);
        b->fresh[count++] = row;
    }
    tree_fill(fresh, b->fresh, count);
}

/* ---- RocksDB's batch ---- */

void put_stored(rocksdb_writebatch_t *batch, struct str key, struct str stored)
{
    rocksdb_writebatch_put(batch, key.p, key.n, stored.p, stored.n);
}

void put_place(rocksdb_writebatch_t *batch, struct str key, const struct value_place *place,
               struct str value)
{
    char placed[VALUE_PLACED_BYTES];
    value_placed_write(placed, place, str_given(value));
    const char *parts[] = {placed, value.p};
    const size_t sizes[] = {sizeof placed, value.n};
    rocksdb_writebatch_putv(batch, 1, &key.p, &key.n, str_given(value) ? 2 : 1, parts, sizes);
}

void put_journal_place(rocksdb_writebatch_t *batch, const struct journal_place *place)
{
    char bytes[32];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    buf_put_u8(&b, VALUE_HERE);
    buf_put_le64(&b, place->file);
    buf_put_le64(&b, place->offset);
    buf_put_le64(&b, place->sequence);
    put_stored(batch, KEY_JOURNAL, buf_str(&b));
}

static void put_number(rocksdb_writebatch_t *batch, struct str key, uint64_t number)
{
    char bytes[16];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    buf_put_u8(&b, VALUE_HERE);
    buf_put_le64(&b, number);
    put_stored(batch, key, buf_str(&b));
}

static void put_fresh(void *batch, struct row *row)
{
    if (row->deleted)
        rocksdb_writebatch_delete(batch, row->bytes, row->key_n);
    else
        put_stored(batch, row_key(row), row_value(row));
}

struct err fold_rows(struct local_engine *e)
{
    if (e->folded.sequence == e->applied.sequence)
        return OK;
    rocksdb_writebatch_clear(e->write);
    put_number(e->write, KEY_STAMP, (uint64_t)e->last_stamp);
    put_number(e->write, KEY_TAIL, e->tail_written);
    put_journal_place(e->write, &e->applied);
    tree_each(&e->published->fresh, put_fresh, e->write);
    struct err error = rows_write_counted(&e->rows, e->write);
    e->fold_failed = err_is(error);
    TRY(error);
    e->folded = e->applied;
    e->fresh_rows = 0;
    e->fresh_kept = 0;
    e->fresh_lasting = 0;
    e->fresh_bytes = 0;
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}

/* ---- the old ones ---- */

struct sorting {
    rocksdb_writebatch_t *old;
    size_t old_count;
    struct row **young; /* borrowed */
    size_t young_count;
    size_t young_lasting;
};

static void sort_row(void *arg, struct row *row)
{
    struct sorting *s = arg;
    if (row->old) {
        put_fresh(s->old, row);
        s->old_count++;
        return;
    }
    s->young[s->young_count++] = row;
    s->young_lasting += row->born ? 0 : 1;
}

/* The rows that stay, over RocksDB as it is now. */
static void publish_young(struct local_engine *e, const struct sorting *s)
{
    struct state *state = state_new(&e->rows, e->commit, &e->readers);
    for (size_t i = 0; i < s->young_count; i++)
        (void)row_get(s->young[i]);
    state->fresh.random = TREE_SEED;
    tree_fill(&state->fresh, s->young, s->young_count);
    e->fresh_rows = s->young_count;
    e->fresh_lasting = s->young_lasting;
    publish_state(e, state);
}

/* What the journal's place in RocksDB says is left as it is: RocksDB's memory may be ahead of it,
 * for a start applies whole rows from there on, and no table begins before all rows are there.
 * False when all that is fresh is young. */
static bool fold_old(struct local_engine *e)
{
    struct sorting s = {.old = e->write,
                        .young = mem_alloc((e->fresh_rows + 1) * sizeof(struct row *))};
    rocksdb_writebatch_clear(e->write);
    tree_each(&e->published->fresh, sort_row, &s);
    assert(s.young_count + s.old_count == e->fresh_rows);
    if (s.young_count > FOLD_YOUNG_MAX * e->fold_rows) {
        free(s.young);
        (void)fold_rows(e);
        return true;
    }
    e->fold_failed = s.old_count > 0 && err_is(rows_write_counted(&e->rows, e->write));
    if (!e->fold_failed) {
        for (size_t i = 0; i < s.young_count; i++)
            s.young[i]->old = true;
        if (s.old_count > 0)
            publish_young(e, &s);
        e->fresh_kept = e->fresh_rows;
        e->fresh_bytes = 0;
    }
    free(s.young);
    return s.old_count > 0;
}

/* What RocksDB does not take stays in the state, and the next commit waits until it does. */
bool fold_when_due(struct local_engine *e)
{
    bool most_stay = e->fresh_lasting >= FOLD_LASTING_ROWS && e->fresh_lasting >= e->fresh_rows / 2;
    if (most_stay) {
        (void)fold_rows(e);
        return true;
    }
    return (e->fresh_rows >= e->fresh_kept + e->fold_rows || e->fresh_bytes >= FOLD_BYTES) &&
           fold_old(e);
}
