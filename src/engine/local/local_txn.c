/* SPDX-License-Identifier: Apache-2.0 */
/* Rows within a transaction: the batch's own writes first, then the state. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/local/local_internal.h"

static struct local_txn *local_txn_of(struct txn *t)
{
    return (struct local_txn *)(void *)t;
}

/* ---- what must live until the function returns ---- */

void local_hold(struct local_txn *t, void (*release)(void *thing), void *thing)
{
    struct txn_holds *h = &t->holds;
    if (h->count == TXN_HOLDS) {
        struct txn_holds *full = ARENA_NEW(&t->arena, struct txn_holds);
        *full = *h;
        h->more = full;
        h->count = 0;
    }
    h->some[h->count++] = (struct txn_hold){release, thing};
}

static void local_release_holds(struct local_txn *t)
{
    for (struct txn_holds *h = &t->holds; h != NULL; h = h->more) {
        for (size_t i = 0; i < h->count; i++)
            h->some[i].release(h->some[i].thing);
    }
}

static void release_slice(void *slice)
{
    rocksdb_pinnableslice_destroy(slice);
}

static void release_cached(void *row)
{
    cached_row_put(row);
}

/* ---- what the batch has touched ---- */

/* Most rows that are read are not in the overlay, and a search without a hit is the most
 * expensive one. A bit filter, indexed by bytes in which keys usually differ, rules most of them
 * out. Bits stay set until the overlay is empty. */
static uint64_t *touched_word(struct batch *b, struct str key, uint64_t *bit)
{
    enum { WORD = 8, BITS = 64 };
    unsigned char last = key.n == 0 ? 0 : (unsigned char)key.p[key.n - 1];
    unsigned char before = key.n <= WORD ? 0 : (unsigned char)key.p[key.n - 1 - WORD];
    size_t at = (last + 5U * before + key.n) % (BATCH_TOUCHED_WORDS * BITS);
    *bit = UINT64_C(1) << at % BITS;
    return &b->touched[at / BITS];
}

static bool batch_touched(struct batch *b, struct str key)
{
    uint64_t bit;
    const uint64_t *word = touched_word(b, key, &bit);
    return b->overlay.root != NULL && (*word & bit) != 0;
}

/* Takes over the reference. */
static void batch_write(struct batch *b, struct row *row)
{
    uint64_t bit;
    if (b->overlay.root == NULL)
        memset(b->touched, 0, sizeof b->touched);
    *touched_word(b, row_key(row), &bit) |= bit;
    batch_insert(b, row);
}

/* Returns the batch's row, or NULL if the batch has not touched the key. */
static struct row *batch_row(struct batch *b, struct str key)
{
    return batch_touched(b, key) ? batch_find(b, key) : NULL;
}

/* ---- reading ---- */

/* Finds a row that the batch has written. False if it has not touched it. */
static bool local_find_written(struct local_txn *t, struct str key, struct str *stored)
{
    struct row *row = t->batch == NULL ? NULL
                      : t->base.writable
                          ? batch_row(t->batch, key)
                          : tree_find(&t->batch->overlay, key); /* of a read-only store */
    if (row == NULL)
        return false;
    /* The row outlives the transaction: a row that a later write of this update replaces is kept
     * until the outcome of the update is known (batch_insert). */
    *stored = row->deleted ? STR_NONE : row_value(row);
    return true;
}

/* Reads a value that is in the journal into the transaction's arena. */
static struct err local_load(struct local_txn *t, struct str stored, struct str *value)
{
    if (value_is_here(stored, value))
        return OK;
    struct buf into = buf_in(&t->arena);
    return value_load(&t->engine->journal, stored, t->wait, &into, value);
}

/* Finds the row in the state; absent if it is not there. */
static struct err local_find_below(struct local_txn *t, struct str key, struct str *stored)
{
    struct state_row row;
    *stored = STR_NONE;
    TRY(state_read(t->state, t->wait, key, &row));
    if (row.slice != NULL)
        local_hold(t, release_slice, row.slice);
    *stored = row.stored;
    return OK;
}

/* The purpose of a read. */
enum row_use {
    ROW_VALUE,
    ROW_HOT, /* its value, which nearly every request reads */
    ROW_BODY,
};

/* A popular row with a large value or body: reads it from the journal once and caches the
 * complete row. */
static struct err local_load_cached(struct local_txn *t, const struct cached_row *found,
                                    enum row_use use, struct str *stored)
{
    struct value_ref ref;
    if (!value_is_elsewhere(*stored, &ref) || ref.length > CACHE_ROW_BYTES_MAX ||
        (use != ROW_BODY && stored->p[0] == VALUE_BODY_IN_JOURNAL))
        return OK;
    struct cached_row *row = row_cache_replacement(found, value_gathered_bytes(*stored, &ref));
    if (row == NULL)
        return OK;
    struct err e = value_gather(&t->engine->journal, *stored, t->wait, cached_row_room(row));
    if (err_is(e)) {
        cached_row_put(row);
        return e;
    }
    row_cache_keep(t->engine->cache, row, t->state->commit);
    local_hold(t, release_cached, row);
    *stored = cached_row_value(row);
    return OK;
}

/* Reads the complete row from the journal through the row index; absent if it is not indexed.
 * Errors are ignored here: the ordinary path meets and reports them. */
static struct err local_find_whole(struct local_txn *t, struct row_offer *asked)
{
    struct row_location location;
    if (!row_index_find(t->engine->row_index, asked->hash, asked->commit, &location))
        return OK;
    char *room = arena_bytes(&t->arena, location.bytes);
    struct err e =
        journal_read_row(&t->engine->journal, &location, t->wait, asked->key, room, &asked->value);
    return e.code == ERR_WOULD_BLOCK ? e : OK;
}

/* Adds a row that was found by searching to the row index, if it lies whole in the journal. */
static void local_note_location(struct local_txn *t, const struct row_offer *found)
{
    struct row_location whole;
    if (!value_row_is_whole(found->key, found->value, &whole))
        return;
    row_index_offer(t->engine->row_index, found->hash, found->commit, &whole);
    warmup_missed(t->engine, str_head(found->key, t->key.partition_n));
}

/* Finds a row that is not in the cache; absent if it does not exist. */
static struct err local_find_uncached(struct local_txn *t, enum row_use use,
                                      struct row_offer *asked)
{
    /* An update reads most rows to replace them; finding one in RocksDB takes longer than reading
     * all of it. */
    bool whole = use == ROW_BODY && t->batch == NULL;
    if (whole || use == ROW_HOT || t->batch != NULL)
        TRY(local_find_whole(t, asked));
    if (str_given(asked->value))
        return OK;
    TRY(local_find_below(t, asked->key, &asked->value));
    if (whole && str_given(asked->value))
        local_note_location(t, asked);
    return OK;
}

static struct err local_find_cached(struct local_txn *t, struct str key, enum row_use use,
                                    struct str *stored)
{
    bool hot = use == ROW_HOT;
    struct row_offer offer = {
        .key = key, .hash = row_cache_hash(key), .commit = t->state->commit, .hot = hot};
    struct cached_row *row = row_cache_find(t->engine->cache, key, offer.hash, offer.commit);
    if (row != NULL) {
        local_hold(t, release_cached, row);
        *stored = cached_row_value(row);
        /* An update usually changes the row that it reads, so it is not worth caching. */
        return hot || t->batch == NULL ? local_load_cached(t, row, use, stored) : OK;
    }
    TRY(local_find_uncached(t, use, &offer));
    *stored = offer.value;
    if (hot || t->batch == NULL)
        row_cache_offer(t->engine->cache, &offer);
    return OK;
}

/* Returns the row in stored form; absent if it does not exist. */
static struct err local_find_stored(struct local_txn *t, struct str key, enum row_use use,
                                    struct str *stored)
{
    return local_find_written(t, key, stored) ? OK : local_find_cached(t, key, use, stored);
}

static struct err local_find(struct local_txn *t, struct str key, enum row_use use,
                             struct str *value)
{
    struct str stored;
    TRY(local_find_stored(t, key, use, &stored));
    *value = STR_NONE;
    return str_given(stored) ? local_load(t, stored, value) : OK;
}

static bool is_in(const struct cached_row *row, struct str bytes)
{
    struct str value = cached_row_value(row);
    return bytes.p >= value.p && bytes.p + bytes.n <= value.p + value.n;
}

/* Turns the transaction's reference to the row into the caller's loan. */
static void local_lend(struct local_txn *t, struct str bytes, struct engine_loan *loan)
{
    struct txn_holds *h = &t->holds;
    for (size_t i = 0; i < h->count; i++) {
        if (h->some[i].release != release_cached || !is_in(h->some[i].thing, bytes))
            continue;
        *loan = (struct engine_loan){release_cached, h->some[i].thing};
        h->some[i] = h->some[--h->count];
        return;
    }
}

static struct err local_read_body(struct local_txn *t, struct str key, struct engine_read *read)
{
    struct str stored;
    TRY(local_find_stored(t, key, ROW_BODY, &stored));
    if (!str_given(stored))
        return OK;
    struct buf into = buf_in(&t->arena);
    TRY(value_load_with_body(&t->engine->journal, stored, t->wait, &into, &read->value,
                             &read->body));
    if (read->loan != NULL && read->body.n > 0)
        local_lend(t, read->body, read->loan);
    return OK;
}

static struct err local_read(struct local_txn *t, struct engine_read *read)
{
    struct rowkey other;
    struct rowkey *in = &t->key;
    if (str_given(read->partition)) {
        rowkey_init(&other, &t->arena, read->partition);
        in = &other;
    }
    struct str key = rowkey_of(in, read->key);
    if (read->with_body)
        return local_read_body(t, key, read);
    return local_find(t, key, (read->hints & HINT_SOON) != 0 ? ROW_HOT : ROW_VALUE, &read->value);
}

/* True only if a quick look shows that none of the rows exists. Rows are often inserted in key
 * order, many at once; then the range from the first to the last key is empty. A tombstone of
 * the batch counts as a row, so false proves nothing. */
static struct err local_none_there(struct local_txn *t, const struct engine_read *reads,
                                   size_t count, bool *none)
{
    struct str first = reads[0].key;
    struct str last = reads[0].key;
    *none = false;
    for (size_t i = 0; i < count; i++) {
        if (str_given(reads[i].partition) || reads[i].with_body || reads[i].hints != 0)
            return OK;
        first = str_cmp(reads[i].key, first) < 0 ? reads[i].key : first;
        last = str_cmp(reads[i].key, last) > 0 ? reads[i].key : last;
    }
    first = arena_copy(&t->arena, rowkey_of(&t->key, first));
    struct str at = rowkey_of(&t->key, last);
    char *past = arena_bytes(&t->arena, at.n + 1);
    memcpy(past, at.p, at.n);
    past[at.n] = '\0';
    struct str to = {past, at.n + 1};
    const struct row *row = t->batch == NULL ? NULL : tree_at_or_after(&t->batch->overlay, first);
    *none = row == NULL || str_cmp(row_key(row), to) >= 0;
    return *none ? state_none_between(t->state, first, to, none) : OK;
}

static struct err local_get_many(struct txn *txn, struct engine_read *reads, size_t count)
{
    enum { WORTH_A_LOOK = 8 };
    struct local_txn *t = local_txn_of(txn);
    bool none = false;
    if (count >= WORTH_A_LOOK && t->batch != NULL)
        TRY(local_none_there(t, reads, count, &none));
    for (size_t i = 0; i < count && !none; i++)
        TRY(local_read(t, &reads[i]));
    return OK;
}

/* ---- writing ---- */

static void batch_put(struct batch *b, struct str key, struct str value)
{
    batch_write(b, str_given(value) ? value_row(key, value) : row_new_deleted(key));
    b->bytes += key.n + value.n;
    b->going += str_given(value) ? 0 : 1;
}

/* On a nearly full disk: counts the bytes of new rows. A replaced row becomes garbage, and
 * tombstones are small. */
static void count_coming(struct local_txn *t, struct str key, size_t bytes)
{
    struct str stored = STR_NONE;
    bool known = local_find_written(t, key, &stored) || !err_is(local_find_below(t, key, &stored));
    t->batch->coming += known && str_given(stored) ? 0 : bytes;
}

static inline void note_coming(struct local_txn *t, struct str key, size_t bytes)
{
    if (bytes > 0 && atomic_load_explicit(&t->engine->room_short, memory_order_relaxed))
        count_coming(t, key, bytes);
}

static struct err write_row(struct local_txn *t, struct str key, const struct engine_row *put,
                            bool born)
{
    note_coming(t, key, put->value.n + put->body.n);
    struct row *row = put->body.n == 0 ? value_row(key, put->value)
                                       : value_row_with_body(key, put->value, put->body);
    row->hot = (put->hints & HINT_SOON) != 0;
    row->born = born;
    t->batch->bytes += key.n + put->value.n + put->body.n;
    batch_write(t->batch, row);
    return OK;
}

static struct err local_write(struct txn *txn, const struct engine_row *put, bool born)
{
    struct local_txn *t = local_txn_of(txn);
    return write_row(t, rowkey_of(&t->key, put->key), put, born);
}

static struct err local_put(struct txn *t, const struct engine_row *row)
{
    return local_write(t, row, false);
}

/* Finds the row as RocksDB has it or will have it: a large body as a reference, unless this batch
 * has written it. */
static struct err local_find_placed(struct local_txn *t, struct str key, struct str *stored)
{
    struct str value;
    struct str body;
    if (local_find_written(t, key, stored))
        return OK;
    TRY(local_find_cached(t, key, ROW_VALUE, stored));
    bool whole = str_given(*stored) && value_and_body_here(*stored, &value, &body);
    return whole && body.n >= BODY_LARGE_MIN ? local_find_below(t, key, stored) : OK;
}

/* A body that is in the journal stays there: only the reference to it is written again. It no
 * longer lies behind the rest of its row, so the reference does not say so. */
static struct err local_put_keeping(struct txn *txn, const struct engine_row *put)
{
    struct local_txn *t = local_txn_of(txn);
    struct str key = rowkey_of(&t->key, put->key);
    struct value_ref ref;
    struct str stored;
    struct str value;
    struct str body;
    struct row *row;
    TRY(local_find_placed(t, key, &stored));
    assert(str_given(stored));
    if (stored.p[0] == VALUE_BODY_IN_JOURNAL && value_is_elsewhere(stored, &ref)) {
        ref.led = false;
        row = value_row_in_journal(key, &ref, put->value);
    } else if (value_and_body_here(stored, &value, &body)) {
        row = value_row_with_body(key, put->value, body);
    } else {
        row = value_row(key, put->value);
    }
    row->hot = (put->hints & HINT_SOON) != 0;
    t->batch->bytes += row->key_n + row->value_n;
    batch_write(t->batch, row);
    return OK;
}

static struct err local_put_beside(struct txn *txn, struct str partition,
                                   const struct engine_row *row)
{
    struct local_txn *t = local_txn_of(txn);
    struct rowkey other;
    rowkey_init(&other, &t->arena, partition);
    struct str key = rowkey_of(&other, row->key);
    if (str_given(row->value))
        return write_row(t, key, row, false);
    batch_put(t->batch, key, STR_NONE);
    return OK;
}

static struct err local_insert(struct txn *t, const struct engine_row *row)
{
#ifdef ENGINE_CHECKS
    struct str there;
    TRY(txn_get(t, row->key, &there));
    assert(!str_given(there));
#endif
    return local_write(t, row, true);
}

/* Appends in place if an earlier update of the same batch has left spare capacity in the row. */
static struct err local_append(struct txn *txn, struct str key, struct str bytes, unsigned hints)
{
    struct local_txn *t = local_txn_of(txn);
    struct str physical = rowkey_of(&t->key, key);
    struct row *row = batch_row(t->batch, physical);
    t->batch->bytes += bytes.n;
    if (row != NULL && !row->deleted && bytes.n <= row->room) {
        batch_append(t->batch, row, bytes);
        return OK;
    }
    struct str before;
    TRY(local_find(t, physical, ROW_HOT, &before));
    assert(str_given(before));
    row = value_row_roomy(physical, before, bytes);
    row->hot = (hints & HINT_SOON) != 0;
    t->batch->bytes += row->key_n + before.n;
    batch_write(t->batch, row);
    return OK;
}

static struct err local_del(struct txn *txn, struct str key)
{
    struct local_txn *t = local_txn_of(txn);
    batch_put(t->batch, rowkey_of(&t->key, key), STR_NONE);
    return OK;
}

struct err local_move_value(struct txn *txn, struct str key, const struct value_ref *ref)
{
    struct local_txn *t = local_txn_of(txn);
    struct value_ref now;
    struct str stored;
    if (!local_find_written(t, key, &stored))
        TRY(local_find_below(t, key, &stored));
    if (!str_given(stored) || !value_is_elsewhere(stored, &now) || now.file != ref->file ||
        now.offset != ref->offset)
        return OK;
    size_t n = value_gathered_bytes(stored, &now);
    char *gathered = arena_bytes(&t->arena, n);
    TRY(value_gather(&t->engine->journal, stored, ENGINE_WAIT, gathered));
    batch_write(t->batch, row_new(key, (struct str){gathered, n}));
    t->batch->bytes += key.n + n;
    t->batch->going++; /* its file can be freed soon */
    return OK;
}

/* ---- extents ---- */

static void batch_note_adopted(struct batch *b, uint64_t segment)
{
    if (b->adopted_count == b->adopted_capacity) {
        b->adopted_capacity = b->adopted_capacity == 0 ? 64 : b->adopted_capacity * 2;
        b->adopted = mem_realloc(b->adopted, b->adopted_capacity * sizeof *b->adopted);
    }
    b->adopted[b->adopted_count++] = segment;
}

static void batch_note_dropped(struct batch *b, const struct extent *x, uint64_t commit)
{
    if (b->dropped_count == b->dropped_capacity) {
        b->dropped_capacity = b->dropped_capacity == 0 ? 64 : b->dropped_capacity * 2;
        b->dropped = mem_realloc(b->dropped, b->dropped_capacity * sizeof *b->dropped);
    }
    b->dropped[b->dropped_count++] = (struct waste){.commit = commit,
                                                    .segment = x->segment,
                                                    .offset = x->offset,
                                                    .bytes = extent_room(x->length),
                                                    .counted = true};
}

/* Replaces the reference count by a garbage row in the same commit, so that the space is freed
 * even if the program ends before it is. */
static void local_extent_to_garbage(struct local_txn *t, const struct extent *x, struct str key,
                                    struct str value)
{
    char garbage_key[EXTENT_KEY_BYTES];
    extent_key_write(garbage_key, SPACE_GARBAGE, x->segment, x->offset);
    batch_put(t->batch, key, STR_NONE);
    batch_put(t->batch, (struct str){garbage_key, sizeof garbage_key}, value);
    batch_note_dropped(t->batch, x, t->engine->commit + 1);
}

static struct err local_extent_change(struct local_txn *t, const struct extent *x,
                                      enum extent_change change)
{
    char key_bytes[EXTENT_KEY_BYTES];
    char value_bytes[EXTENT_ROW_BYTES];
    extent_key_write(key_bytes, SPACE_EXTENTS, x->segment, x->offset);
    struct str key = {key_bytes, sizeof key_bytes};
    struct str value = {value_bytes, sizeof value_bytes};
    struct str found;
    struct extent_row row;
    TRY(local_find(t, key, ROW_VALUE, &found));
    TRY(extent_row_change(found, x, change, &row));
    extent_row_write(value_bytes, &row);
    if (row.count == 0)
        local_extent_to_garbage(t, x, key, value);
    else
        batch_put(t->batch, key, value);
    return OK;
}

static struct err local_extent(struct txn *txn, enum extent_change change, const struct extent *x)
{
    struct local_txn *t = local_txn_of(txn);
    if (change != EXTENT_ADOPT)
        return local_extent_change(t, x, change);
    TRY(segments_may_adopt(&t->engine->segments, x->segment));
    TRY(local_extent_change(t, x, change));
    batch_note_adopted(t->batch, x->segment);
    return OK;
}

/* A kept state is a state of rows.h. */
static void local_keep_state(struct txn *txn, struct engine_state **kept)
{
    struct state *state = state_get(((struct local_txn *)(void *)txn)->state);
    if (*kept != NULL)
        state_put((struct state *)(void *)*kept);
    *kept = (struct engine_state *)(void *)state;
}

static const struct txn_ops LOCAL_TXN_OPS = {
    .get_many = local_get_many,
    .put = local_put,
    .put_keeping = local_put_keeping,
    .insert = local_insert,
    .append = local_append,
    .del = local_del,
    .cursor_open = local_cursor_open,
    .cursor_open_across = local_scan_open,
    .keep_state = local_keep_state,
    .extent = local_extent,
    .put_beside = local_put_beside,
};

void local_txn_init(struct local_txn *t, struct local_engine *e, struct state *s,
                    struct str partition, enum engine_wait wait)
{
    assert(partition.n <= ENGINE_PARTITION_MAX);
    arena_init_in(&t->arena, TXN_ARENA_LIMIT, t->room, sizeof t->room);
    t->base = (struct txn){
        .ops = &LOCAL_TXN_OPS, .arena = &t->arena, .now = clock_now(e->clock), .wait = wait};
    t->engine = e;
    t->state = s;
    t->wait = wait;
    t->batch = NULL;
    t->holds.count = 0;
    t->holds.more = NULL;
    rowkey_init(&t->key, &t->arena, partition);
}

void local_txn_release(struct local_txn *t)
{
    txn_close_cursors(&t->base);
    local_release_holds(t);
    arena_release(&t->arena);
}
