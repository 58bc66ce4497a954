/* SPDX-License-Identifier: Apache-2.0 */
/* Folding: moves rows from the published state to RocksDB, many at a time instead of with every
 * commit.
 *
 * Until then the rows are in two generations over RocksDB's snapshot. Commits add to the filling
 * one. When it is full it becomes the draining one, and a new one is filled. Most frequently
 * written rows are soon overwritten (a queue's state, with every commit) or deleted (its messages).
 * Folding gives RocksDB only the last version, in key order, and nothing at all of a row that was
 * created and deleted meanwhile. Inserting a row into RocksDB's memtable takes 11,000 instructions,
 * into a generation a few hundred.
 *
 * The draining generation waits until the filling one is half full, so that more of its rows are
 * overwritten or deleted before. Then it is drained in parts, one with each commit: a thousand rows
 * would take longer than the disk takes for a record, and every client of that commit would wait.
 * Views read it until all of it is in RocksDB.
 *
 * After a crash RocksDB has the commits up to the journal position that it stores, and replay
 * applies the rest. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

enum {
    FOLD_BYTES = 2 << 20,
    /* Of rows without HINT_SOON: most of them stay. Waiting for more would make the fold take
     * longer than the disk takes for a record; that cost a fifth of the rate of updates with two
     * new rows each. */
    FOLD_LASTING_ROWS = 64,
    FOLD_TIMES_MAX = 2, /* a generation with this many times fold_rows is folded at once */
    FOLD_PARTS = 4,     /* a generation is drained in about this many parts */
};

/* True if the whole row lies in the journal, so that the row index may know where. */
static bool is_placed(const struct row *row)
{
    struct value_ref ref;
    return !row->deleted && value_is_elsewhere(row_value(row), &ref) && ref.led;
}

/* ---- filling ---- */

/* True if the row was created and deleted within this generation and nothing lies below it, so that
 * nothing of it needs to be kept. */
static bool leaves_nothing(const struct row *row, const struct row *before)
{
    return row->deleted && (before != NULL ? before->born : row->born);
}

static void count_in(struct local_engine *e, const struct row *row)
{
    e->filling_rows++;
    e->filling_lasting += row->born ? 0 : 1;
    e->filling_bytes += sizeof *row + row->key_n + row->value_n;
}

/* This is the key's first row in the generation. The row index may know an older location; drop it,
 * unless nothing lies below. */
static void forget_location_below(struct local_engine *e, const struct row *row, uint64_t hash)
{
    if (!row->born && !is_placed(row))
        row_index_drop(e->row_index, hash);
}

static void drop_born(struct local_engine *e, struct tree_node **born, uint64_t hash)
{
    if (is_placed(tree_link_row(born)))
        row_index_drop(e->row_index, hash);
    tree_link_cut(born);
    assert(e->filling_rows > 0);
    e->filling_rows--;
}

void filling_add(struct local_engine *e, struct tree *filling, struct row *row, uint64_t hash)
{
    struct tree_node **there = row->deleted ? tree_link(filling, row_key(row)) : NULL;
    if (leaves_nothing(row, there == NULL ? NULL : tree_link_row(there))) {
        if (there != NULL)
            drop_born(e, there, hash);
        row_put(row);
        return;
    }
    struct row *before = tree_exchange(filling, row);
    if (before == NULL) {
        count_in(e, row);
        forget_location_below(e, row, hash);
        return;
    }
    if (is_placed(before) && !is_placed(row))
        row_index_drop(e->row_index, hash);
    row->born = before->born;
    e->filling_bytes += sizeof *row + row->key_n + row->value_n;
    row_put(before);
}

void filling_start(struct local_engine *e, struct tree *filling, const struct batch *b)
{
    size_t count = 0;
    assert(filling->root == NULL);
    for (size_t i = 0; i < b->fresh_count; i++) {
        struct row *row = b->fresh[i];
        if (leaves_nothing(row, NULL)) {
            row_put(row);
            continue;
        }
        count_in(e, row);
        forget_location_below(e, row, b->prepared[i].hash);
        b->fresh[count++] = row;
    }
    tree_fill(filling, b->fresh, count);
}

/* ---- RocksDB's batch ---- */

void fold_put_stored(rocksdb_writebatch_t *batch, struct str key, struct str stored)
{
    rocksdb_writebatch_put(batch, key.p, key.n, stored.p, stored.n);
}

void fold_put_ref(rocksdb_writebatch_t *batch, struct str key, const struct value_ref *ref,
                  struct str value)
{
    char placed[VALUE_IN_JOURNAL_BYTES];
    value_in_journal_write(placed, ref, str_given(value));
    const char *parts[] = {placed, value.p};
    const size_t sizes[] = {sizeof placed, value.n};
    rocksdb_writebatch_putv(batch, 1, &key.p, &key.n, str_given(value) ? 2 : 1, parts, sizes);
}

void fold_put_position(rocksdb_writebatch_t *batch, const struct journal_position *position)
{
    char bytes[32];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    buf_put_u8(&b, VALUE_HERE);
    buf_put_le64(&b, position->file);
    buf_put_le64(&b, position->offset);
    buf_put_le64(&b, position->sequence);
    fold_put_stored(batch, KEY_JOURNAL, buf_str(&b));
}

static void put_number(rocksdb_writebatch_t *batch, struct str key, uint64_t number)
{
    char bytes[16];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    buf_put_u8(&b, VALUE_HERE);
    buf_put_le64(&b, number);
    fold_put_stored(batch, key, buf_str(&b));
}

/* A tombstone with nothing below it needs no delete. */
static void put_fresh(void *batch, struct row *row)
{
    if (!row->deleted)
        fold_put_stored(batch, row_key(row), row_value(row));
    else if (!row->born)
        rocksdb_writebatch_delete(batch, row->bytes, row->key_n);
}

/* ---- draining ---- */

/* Remembers the last drained row: the rest of the generation comes after it. */
static void drained_to(struct local_engine *e, struct row *row)
{
    if (e->drained_to != NULL)
        row_put(e->drained_to);
    e->drained_to = row == NULL ? NULL : row_get(row);
}

static struct str drained_key(const struct local_engine *e)
{
    return e->drained_to == NULL ? STR_NONE : row_key(e->drained_to);
}

static void outlived_cut(struct local_engine *e, size_t count)
{
    while (e->outlived_count > count)
        row_put(e->outlived[--e->outlived_count]);
}

static void outlived_add(struct local_engine *e, struct row *row)
{
    if (e->outlived_count == e->outlived_capacity) {
        e->outlived_capacity = e->outlived_capacity == 0 ? 64 : e->outlived_capacity * 2;
        e->outlived = mem_realloc(e->outlived, e->outlived_capacity * sizeof(struct row *));
    }
    e->outlived[e->outlived_count++] = row_get(row);
}

struct drain {
    struct local_engine *engine;
    size_t rows_max; /* that RocksDB gets */
    size_t rows;
    struct row *last; /* NULL: the end of the generation was reached */
};

/* RocksDB does not get a row that was overwritten or deleted since. If it never had a row of the
 * key either, then nothing lies below the newer row once the generation has been drained: such rows
 * are remembered for drain_end. Tombstones always go: a row that was inserted over one may vanish
 * without leaving a tombstone of its own. */
static bool drain_row(void *arg, struct row *row)
{
    struct drain *d = arg;
    struct local_engine *e = d->engine;
    if (!row->deleted && tree_find(&e->published->filling, row_key(row)) != NULL) {
        if (row->born)
            outlived_add(e, row);
        return true;
    }
    put_fresh(e->write, row);
    if (++d->rows < d->rows_max)
        return true;
    d->last = row;
    return false;
}

static void drain_reset(struct local_engine *e)
{
    drained_to(e, NULL);
    outlived_cut(e, 0);
}

/* All of the draining generation is in RocksDB: views no longer need it. */
static void drain_end(struct local_engine *e)
{
    const struct tree *filling = &e->published->filling;
    for (size_t i = 0; i < e->outlived_count; i++) {
        struct row *newer = tree_find(filling, row_key(e->outlived[i]));
        assert(newer != NULL && !newer->born);
        newer->born = true;
    }
    struct state *state = state_new(&e->rows, e->commit, &e->readers);
    state->filling = tree_get(filling);
    publish_state(e, state);
    drain_reset(e);
}

/* At least twice what this commit adds; otherwise the next generation would be full before. */
static size_t drain_rows_max(const struct local_engine *e)
{
    size_t part = (e->fold_rows + FOLD_PARTS - 1) / FOLD_PARTS;
    size_t needed = 2 * e->batch.fresh_count;
    return part > needed ? part : needed;
}

/* Drains a part. The journal position stored in RocksDB stays the same: its memtable may be ahead
 * of it, because replay applies complete rows from there on, and no table starts before all rows
 * are in. */
static void drain_part(struct local_engine *e)
{
    size_t outlived = e->outlived_count;
    struct drain d = {.engine = e, .rows_max = drain_rows_max(e)};
    rocksdb_writebatch_clear(e->write);
    tree_each_after(&e->published->draining, drained_key(e), drain_row, &d);
    e->fold_failed = d.rows > 0 && err_is(rows_write_counted(&e->rows, e->write));
    if (e->fold_failed)
        outlived_cut(e, outlived);
    else if (d.last != NULL)
        drained_to(e, d.last);
    else
        drain_end(e);
}

/* ---- folding ---- */

static void filling_reset(struct local_engine *e)
{
    e->filling_rows = 0;
    e->filling_lasting = 0;
    e->filling_bytes = 0;
}

void fold_release(struct local_engine *e)
{
    drain_reset(e);
    free(e->outlived);
}

static bool put_each(void *batch, struct row *row)
{
    put_fresh(batch, row);
    return true;
}

struct err fold_rows(struct local_engine *e)
{
    if (e->folded.sequence == e->applied.sequence)
        return OK;
    rocksdb_writebatch_clear(e->write);
    put_number(e->write, KEY_STAMP, (uint64_t)e->last_stamp);
    put_number(e->write, KEY_TAIL, e->tail_written);
    fold_put_position(e->write, &e->applied);
    tree_each_after(&e->published->draining, drained_key(e), put_each, e->write);
    tree_each(&e->published->filling, put_fresh, e->write);
    struct err error = rows_write_counted(&e->rows, e->write);
    e->fold_failed = err_is(error);
    TRY(error);
    e->folded = e->applied;
    drain_reset(e);
    filling_reset(e);
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}

static bool filled_to(const struct local_engine *e, size_t parts, size_t of)
{
    return e->filling_rows >= e->fold_rows * parts / of ||
           e->filling_bytes >= FOLD_BYTES * parts / of;
}

/* If RocksDB refuses the rows, they stay in the state and the next commit waits. If commits are
 * not durable yet, all rows are folded together with the journal position: RocksDB may start a
 * table by itself when a full disk has space again, and a power cut must not leave such commits
 * in part. */
void fold_when_due(struct local_engine *e)
{
    bool most_stay =
        e->filling_lasting >= FOLD_LASTING_ROWS && e->filling_lasting >= e->filling_rows / 2;
    bool draining = e->published->draining.root != NULL;
    if (most_stay || e->filling_rows > FOLD_TIMES_MAX * e->fold_rows) {
        (void)fold_rows(e);
    } else if (!draining && filled_to(e, 1, 1)) {
        publish_state(e, state_switch(e->published));
        filling_reset(e);
    } else if (draining && filled_to(e, 1, 2)) {
        if (e->journal.durable_sequence >= e->applied.sequence)
            drain_part(e);
        else
            (void)fold_rows(e);
    }
}
