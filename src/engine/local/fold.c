/* SPDX-License-Identifier: Apache-2.0 */
/* How rows come from the journal to RocksDB: not with every commit, but when there are enough.
 *
 * Until then they are in the published state, in a tree over RocksDB's snapshot. Most of what is
 * written often is written again soon (a queue's state, with every commit) or goes soon (its
 * messages): RocksDB gets the last of it, in the order of keys, and of a row that it has never had
 * and that is gone again it hears nothing. To insert a row into its memory takes 11,000
 * instructions, into the tree a few hundred.
 *
 * After a crash RocksDB has what the journal's place in it says, as ever, and the rest is applied
 * from the journal. */
#include "engine/local/local_internal.h"

enum {
    FOLD_BYTES = 2 << 20,
    /* Of rows that nobody said will go soon: most stay. To let more of them wait would only make a
     * heap that takes longer than the disk takes a record: a fifth fewer updates a second of two
     * new rows each. */
    FOLD_LASTING_ROWS = 64,
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

bool fold_due(const struct local_engine *e)
{
    bool most_stay = e->fresh_lasting >= FOLD_LASTING_ROWS && e->fresh_lasting >= e->fresh_rows / 2;
    return most_stay || e->fresh_rows >= e->fold_rows || e->fresh_bytes >= FOLD_BYTES;
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
    e->fresh_lasting = 0;
    e->fresh_bytes = 0;
    publish_state(e, state_new(&e->rows, e->commit, &e->readers));
    return OK;
}
