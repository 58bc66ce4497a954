/* SPDX-License-Identifier: Apache-2.0 */
/* How rows come from the journal to RocksDB: not with every commit, but when there are enough.
 *
 * Until then they are in the published state, in a tree over RocksDB's snapshot. Most of what is
 * written often is written again soon (a queue's state, with every commit) or goes soon (its
 * messages): RocksDB gets the last of it, in the order of keys, and of a row that it has never had
 * and that is gone again it hears nothing. To insert a row into its memory takes 11,000
 * instructions, into the tree a few hundred. So when there are enough, those go that were there
 * the last time already: of the younger ones many are still to be changed, or to go. And they go a
 * part at a time, each with another commit: a thousand would take longer than the disk takes a
 * record, and all who wait for the commit would notice.
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
    /* When there is more than so many times what may come until the next time, all goes: the tree
     * has a bound. */
    FOLD_TIMES_MAX = 3,
    FOLD_PARTS = 4, /* in which as many rows go as may come until the next time */
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

static void drop_born(struct local_engine *e, struct tree_node **born, uint64_t hash)
{
    if (is_placed(tree_link_row(born)))
        row_places_drop(e->places, hash);
    tree_link_cut(born);
    e->fresh_rows--;
}

void fresh_add(struct local_engine *e, struct tree *fresh, struct row *row, uint64_t hash)
{
    struct tree_node **there = row->deleted ? tree_link(fresh, row_key(row)) : NULL;
    if (leaves_nothing(row, there == NULL ? NULL : tree_link_row(there))) {
        if (there != NULL)
            drop_born(e, there, hash);
        row_put(row);
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
    row_put(before);
}

void fresh_fill(struct local_engine *e, struct tree *fresh, const struct batch *b)
{
    size_t count = 0;
    for (size_t i = 0; i < b->fresh_count; i++) {
        struct row *row = b->fresh[i];
        if (leaves_nothing(row, NULL)) {
            row_put(row);
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

/* All that are left of those that should go come after this row. */
static void fold_reached(struct local_engine *e, struct row *row)
{
    if (e->fold_after != NULL)
        row_put(e->fold_after);
    e->fold_after = row == NULL ? NULL : row_get(row);
}

void fold_release(struct local_engine *e)
{
    fold_reached(e, NULL);
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
    fold_reached(e, NULL);
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}

/* ---- the old ones ---- */

/* Rows that come after e->fold_after: up to the last of those that go now. */
struct sorting {
    rocksdb_writebatch_t *old;
    size_t old_max;
    size_t old_count;
    size_t old_lasting;
    struct row **young; /* borrowed, as the next */
    size_t young_count;
    struct row *last; /* NULL: the end was reached before there were enough */
};

static bool sort_row(void *arg, struct row *row)
{
    struct sorting *s = arg;
    if (!row->old) {
        s->young[s->young_count++] = row;
        return true;
    }
    put_fresh(s->old, row);
    s->old_lasting += row->born ? 0 : 1;
    if (++s->old_count < s->old_max)
        return true;
    s->last = row;
    return false;
}

static struct str fold_key(const struct local_engine *e)
{
    return e->fold_after == NULL ? STR_NONE : row_key(e->fold_after);
}

/* What stays, over RocksDB as it is now: the rows that were not looked at, and the young ones of
 * the others. */
static void publish_rest(struct local_engine *e, const struct sorting *s)
{
    struct state *state = state_new(&e->rows, e->commit, &e->readers);
    struct tree rest = tree_get(&e->published->fresh);
    struct tree young = {.random = TREE_SEED};
    state->fresh = (struct tree){.random = TREE_SEED};
    if (e->fold_after != NULL)
        state->fresh = tree_cut(&rest, fold_key(e));
    if (s->last != NULL) {
        struct tree looked_at = tree_cut(&rest, row_key(s->last));
        tree_put(&looked_at);
    } else {
        tree_put(&rest);
    }
    for (size_t i = 0; i < s->young_count; i++)
        (void)row_get(s->young[i]);
    tree_fill(&young, s->young, s->young_count);
    tree_join(&state->fresh, &young);
    tree_join(&state->fresh, &rest);
    e->fresh_rows -= s->old_count;
    e->fresh_lasting -= s->old_lasting;
    fold_reached(e, s->last);
    publish_state(e, state);
}

static void make_old(void *arg, struct row *row)
{
    (void)arg;
    row->old = true;
}

/* The next time, those go that are here now. */
static void fold_end(struct local_engine *e)
{
    tree_each(&e->published->fresh, make_old, NULL);
    fold_reached(e, NULL);
    e->fresh_kept = e->fresh_rows;
    e->fresh_bytes = 0;
}

/* Twice what this commit brings at least, or they would never be gone. */
static size_t fold_part(const struct local_engine *e)
{
    size_t part = (e->fold_rows + FOLD_PARTS - 1) / FOLD_PARTS;
    size_t needed = 2 * e->batch.fresh_count;
    return part > needed ? part : needed;
}

/* What the journal's place in RocksDB says is left as it is: RocksDB's memory may be ahead of it,
 * for a start applies whole rows from there on, and no table begins before all rows are there.
 * False when no row went. */
static bool fold_old(struct local_engine *e)
{
    struct sorting s = {.old = e->write,
                        .old_max = fold_part(e),
                        .young = mem_alloc((e->fresh_rows + 1) * sizeof(struct row *))};
    rocksdb_writebatch_clear(e->write);
    tree_each_after(&e->published->fresh, fold_key(e), sort_row, &s);
    assert(s.young_count + s.old_count <= e->fresh_rows);
    e->fold_failed = s.old_count > 0 && err_is(rows_write_counted(&e->rows, e->write));
    if (!e->fold_failed && s.old_count > 0)
        publish_rest(e, &s);
    if (!e->fold_failed && s.last == NULL)
        fold_end(e);
    free(s.young);
    return s.old_count > 0;
}

/* What RocksDB does not take stays in the state, and the next commit waits until it does. Rows of
 * commits that no flush has covered yet go together with all others and the journal's place:
 * RocksDB may begin a table after all, when a full disk has room again, and what a power cut takes
 * back must not be there in part. */
bool fold_when_due(struct local_engine *e)
{
    bool most_stay = e->fresh_lasting >= FOLD_LASTING_ROWS && e->fresh_lasting >= e->fresh_rows / 2;
    if (most_stay || e->fresh_rows > FOLD_TIMES_MAX * e->fold_rows) {
        (void)fold_rows(e);
        return true;
    }
    bool due = e->fresh_rows >= e->fresh_kept + e->fold_rows || e->fresh_bytes >= FOLD_BYTES;
    if (!due && e->fold_after == NULL)
        return false;
    if (e->journal.durable_sequence >= e->applied.sequence)
        return fold_old(e);
    (void)fold_rows(e);
    return true;
}
