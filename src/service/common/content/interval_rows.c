/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/interval_rows.h"

#include <assert.h>

enum { BLOCK_MARK = 1, CHUNK_KEY_BYTES = 4, BLOCK_KEY_BYTES = 7 };

/* ---- keys ---- */

struct str interval_chunk_key(const struct interval_map *m, uint32_t chunk)
{
    struct buf b = buf_in(txn_arena(m->rows->txn));
    (void)buf_reserve(&b, m->prefix.n + BLOCK_KEY_BYTES);
    buf_put(&b, m->prefix);
    buf_put_be32(&b, chunk);
    return buf_str(&b);
}

struct str interval_block_key(const struct interval_map *m, uint32_t chunk, uint32_t block)
{
    struct buf b = buf_in(txn_arena(m->rows->txn));
    (void)buf_reserve(&b, m->prefix.n + BLOCK_KEY_BYTES);
    buf_put(&b, m->prefix);
    buf_put_be32(&b, chunk);
    buf_put_u8(&b, BLOCK_MARK);
    buf_put_be16(&b, (uint16_t)block);
    return buf_str(&b);
}

bool interval_key_is_chunk(struct str rest)
{
    return rest.n == CHUNK_KEY_BYTES;
}

bool interval_key_read(struct str rest, uint32_t *chunk, int *block)
{
    struct reader r = reader_of(rest);
    *chunk = read_be32(&r);
    *block = -1;
    if (r.n == 0)
        return reader_ok(&r);
    bool marked = read_u8(&r) == BLOCK_MARK;
    *block = read_be16(&r);
    return marked && reader_done(&r) && *block < INTERVAL_CHUNK_BLOCKS;
}

bool interval_is_void(const struct interval_map *m, uint32_t chunk, int64_t stamp)
{
    for (unsigned i = 0; i < m->void_count; i++)
        if (chunk >= m->voids[i].first && chunk <= m->voids[i].last && stamp < m->voids[i].stamp)
            return true;
    return false;
}

uint64_t interval_age(const struct interval_map *m, int64_t stamp)
{
    const struct vrow_scope *rows = m->rows;
    size_t low = 0;
    size_t high = rows->kept_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (rows->kept[middle] < stamp)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == rows->kept_count)
        return 0;
    return (uint64_t)txn_stamp(rows->txn) - (uint64_t)rows->kept[low];
}

/* ---- chunks ---- */

static void *grown(struct arena *a, const void *items, size_t count, size_t capacity, size_t size)
{
    char *more = arena_alloc(a, capacity * size);
    if (count > 0)
        memcpy(more, items, count * size);
    return more;
}

static struct chunk_piece *chunk_room(struct chunk *c)
{
    if (c->piece_count == c->piece_capacity) {
        c->piece_capacity = c->piece_capacity == 0 ? 8 : c->piece_capacity * 2;
        c->pieces = grown(c->arena, c->pieces, c->piece_count, c->piece_capacity,
                          sizeof(struct chunk_piece));
    }
    return &c->pieces[c->piece_count++];
}

static struct chunk_extent *chunk_extent_room(struct chunk *c)
{
    if (c->extent_count == c->extent_capacity) {
        c->extent_capacity = c->extent_capacity == 0 ? 4 : c->extent_capacity * 2;
        c->extents = grown(c->arena, c->extents, c->extent_count, c->extent_capacity,
                           sizeof(struct chunk_extent));
    }
    return &c->extents[c->extent_count++];
}

static bool decode_piece(struct reader *r, int64_t stamp, uint64_t *end, struct chunk *c)
{
    uint64_t start = *end + read_varint(r);
    uint64_t length = read_varint(r);
    uint64_t extent = read_varint(r);
    uint64_t offset = read_varint(r);
    uint64_t age = read_varint(r);
    *end = start + length;
    if (r->bad || length == 0 || length > EXTENT_BYTES_MAX || start > EXTENT_BYTES_MAX ||
        *end > EXTENT_BYTES_MAX || extent >= c->extent_count ||
        offset > c->extents[extent].extent.length ||
        length > c->extents[extent].extent.length - offset)
        return false;
    *chunk_room(c) = (struct chunk_piece){
        .start = (uint32_t)start,
        .length = (uint32_t)length,
        .extent = (uint32_t)extent,
        .offset = (uint32_t)offset,
        .stamp = (int64_t)((uint64_t)stamp - age),
    };
    return true;
}

bool interval_chunk_decode(struct str payload, int64_t stamp, struct chunk *out)
{
    struct reader r = reader_of(payload);
    uint64_t count = read_varint(&r);
    uint64_t end = 0;
    if (count > payload.n / EXTENT_ENCODED_BYTES)
        return false;
    for (uint64_t i = 0; i < count; i++)
        *chunk_extent_room(out) = (struct chunk_extent){.extent = extent_decode(&r)};
    while (r.n > 0)
        if (!decode_piece(&r, stamp, &end, out))
            return false;
    return reader_ok(&r);
}

struct err interval_chunk_load(const struct interval_map *m, uint32_t index, struct chunk *out)
{
    assert(out != NULL);
    *out = (struct chunk){.arena = txn_arena(m->rows->txn)};
    out->key = interval_chunk_key(m, index);
    if (!m->has_chunks)
        return OK;
    TRY(vrow_get(m->rows, out->key, &out->old));
    if (!vrow_given(&out->old))
        return OK;
    if (!interval_chunk_decode(out->old.payload, out->old.stamp, out))
        return err_new(ERR_CORRUPT);
    /* The extents of a void row still have to be dropped, but its pieces do not count. */
    if (interval_is_void(m, index, out->old.stamp))
        out->piece_count = 0;
    return OK;
}

void interval_chunk_cut(struct chunk *c, uint32_t from, uint32_t to)
{
    assert(from < to && to <= INTERVAL_CHUNK_BYTES);
    struct chunk_piece *before = c->pieces;
    size_t count = c->piece_count;
    size_t first = 0;
    while (first < count && before[first].start + before[first].length <= from)
        first++;
    if (first == count || before[first].start >= to)
        return;
    c->pieces = NULL;
    c->piece_count = 0;
    c->piece_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        struct chunk_piece p = before[i];
        uint32_t end = p.start + p.length;
        if (end <= from || p.start >= to) {
            *chunk_room(c) = p;
            continue;
        }
        if (p.start < from) {
            struct chunk_piece left = p;
            left.length = from - p.start;
            *chunk_room(c) = left;
        }
        if (end > to) {
            struct chunk_piece right = p;
            right.start = to;
            right.length = end - to;
            right.offset = p.offset + (to - p.start);
            *chunk_room(c) = right;
        }
    }
}

void interval_chunk_add(struct chunk *c, const struct chunk_piece *piece)
{
    (void)chunk_room(c);
    size_t at = c->piece_count - 1;
    while (at > 0 && c->pieces[at - 1].start > piece->start) {
        c->pieces[at] = c->pieces[at - 1];
        at--;
    }
    assert(at == 0 || c->pieces[at - 1].start + c->pieces[at - 1].length <= piece->start);
    c->pieces[at] = *piece;
}

uint32_t interval_chunk_add_extent(struct chunk *c, const struct extent *x, enum piece_claim claim)
{
    *chunk_extent_room(c) = (struct chunk_extent){.extent = *x, .fresh = true, .claim = claim};
    return (uint32_t)(c->extent_count - 1);
}

uint64_t interval_chunk_held_bytes(const struct chunk *c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < c->extent_count; i++)
        bytes += c->extents[i].extent.length;
    return bytes;
}

#define EXTENT_UNUSED UINT32_MAX

/* Finds the extents that are still referenced, and their indexes in the new row. */
static uint32_t *chunk_renumber(const struct chunk *c, uint32_t *used)
{
    uint32_t *number = ARENA_ARRAY(c->arena, uint32_t, c->extent_count + 1);
    *used = 0;
    for (size_t i = 0; i < c->extent_count; i++)
        number[i] = EXTENT_UNUSED;
    for (size_t i = 0; i < c->piece_count; i++)
        number[c->pieces[i].extent] = 0;
    for (size_t i = 0; i < c->extent_count; i++)
        if (number[i] != EXTENT_UNUSED)
            number[i] = (*used)++;
    return number;
}

static void chunk_encode(const struct interval_map *m, const struct chunk *c,
                         const uint32_t *number, uint32_t used, struct buf *b)
{
    uint32_t end = 0;
    buf_put_varint(b, used);
    for (size_t i = 0; i < c->extent_count; i++)
        if (number[i] != EXTENT_UNUSED)
            extent_encode(b, &c->extents[i].extent);
    for (size_t i = 0; i < c->piece_count; i++) {
        const struct chunk_piece *p = &c->pieces[i];
        buf_put_varint(b, p->start - end);
        buf_put_varint(b, p->length);
        buf_put_varint(b, number[p->extent]);
        buf_put_varint(b, p->offset);
        buf_put_varint(b, interval_age(m, p->stamp));
        end = p->start + p->length;
    }
}

static struct err settle_extent(struct txn *t, const struct chunk_extent *x, bool used, bool past)
{
    if (x->fresh) {
        struct piece piece = {.kind = PIECE_EXTENT, .extent = x->extent};
        assert(used);
        return piece_claim(t, &piece, x->claim);
    }
    if (past)
        return used ? txn_extent(t, EXTENT_HOLD, &x->extent) : OK;
    return used ? OK : txn_extent(t, EXTENT_DROP, &x->extent);
}

struct err interval_chunk_store(const struct interval_map *m, struct chunk *c)
{
    assert(m->rows->at == VROW_LIVE);
    struct txn *t = m->rows->txn;
    uint32_t used;
    bool past;
    uint32_t *number = chunk_renumber(c, &used);
    if (c->piece_count == 0) {
        TRY(vrow_del(m->rows, c->key, &c->old, &past));
    } else {
        struct buf b = buf_in(c->arena);
        vrow_begin(m->rows, &b);
        chunk_encode(m, c, number, used, &b);
        TRY(vrow_put(m->rows, c->key, &c->old, buf_str(&b), &past));
    }
    for (size_t i = 0; i < c->extent_count; i++)
        TRY(settle_extent(t, &c->extents[i], number[i] != EXTENT_UNUSED, past));
    return OK;
}

bool interval_extents(struct str payload, content_named *named, void *sink)
{
    struct reader r = reader_of(payload);
    uint64_t count = read_varint(&r);
    if (count > payload.n / EXTENT_ENCODED_BYTES)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        struct extent x = extent_decode(&r);
        if (reader_ok(&r))
            named(sink, &x);
    }
    return reader_ok(&r);
}

struct err interval_drop(struct txn *t, struct str payload)
{
    struct reader r = reader_of(payload);
    uint64_t count = read_varint(&r);
    if (count > payload.n / EXTENT_ENCODED_BYTES)
        return err_new(ERR_CORRUPT);
    for (uint64_t i = 0; i < count; i++) {
        struct extent x = extent_decode(&r);
        TRY(txn_extent(t, EXTENT_DROP, &x));
    }
    return OK;
}

/* ---- blocks ---- */

static struct block_run *block_room(struct block *b)
{
    if (b->run_count == b->run_capacity) {
        b->run_capacity = b->run_capacity == 0 ? 4 : b->run_capacity * 2;
        b->runs = grown(b->arena, b->runs, b->run_count, b->run_capacity, sizeof(struct block_run));
    }
    return &b->runs[b->run_count++];
}

bool interval_block_decode(struct str payload, int64_t stamp, struct block *out)
{
    struct reader r = reader_of(payload);
    uint64_t count = read_varint(&r);
    uint64_t end = 0;
    if (count > BLOCK_RUNS_MAX)
        return false;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t start = end + read_varint(&r);
        uint64_t length = read_varint(&r);
        uint64_t age = read_varint(&r);
        end = start + length;
        if (r.bad || length == 0 || start > INTERVAL_BLOCK_BYTES || length > INTERVAL_BLOCK_BYTES ||
            end > INTERVAL_BLOCK_BYTES)
            return false;
        *block_room(out) = (struct block_run){.start = (uint32_t)start,
                                              .length = (uint32_t)length,
                                              .stamp = (int64_t)((uint64_t)stamp - age)};
    }
    for (size_t i = 0; i < out->run_count; i++)
        out->runs[i].bytes = read_raw(&r, out->runs[i].length).p;
    return reader_done(&r);
}

struct err interval_block_load(const struct interval_map *m, uint32_t chunk, uint32_t index,
                               struct block *out)
{
    assert(out != NULL);
    *out = (struct block){.arena = txn_arena(m->rows->txn)};
    out->key = interval_block_key(m, chunk, index);
    if (!m->has_blocks)
        return OK;
    TRY(vrow_get(m->rows, out->key, &out->old));
    if (!vrow_given(&out->old) || interval_is_void(m, chunk, out->old.stamp))
        return OK;
    return interval_block_decode(out->old.payload, out->old.stamp, out) ? OK : err_new(ERR_CORRUPT);
}

void interval_block_cut(struct block *b, uint32_t from, uint32_t to)
{
    assert(from < to && to <= INTERVAL_BLOCK_BYTES);
    struct block_run *before = b->runs;
    size_t count = b->run_count;
    b->runs = NULL;
    b->run_count = 0;
    b->run_capacity = 0;
    for (size_t i = 0; i < count; i++) {
        struct block_run run = before[i];
        uint32_t end = run.start + run.length;
        if (end <= from || run.start >= to) {
            *block_room(b) = run;
            continue;
        }
        if (run.start < from) {
            struct block_run left = run;
            left.length = from - run.start;
            *block_room(b) = left;
        }
        if (end > to)
            *block_room(b) = (struct block_run){.start = to,
                                                .length = end - to,
                                                .stamp = run.stamp,
                                                .bytes = run.bytes + (to - run.start)};
    }
}

void interval_block_add(struct block *b, const struct block_run *run)
{
    (void)block_room(b);
    size_t at = b->run_count - 1;
    while (at > 0 && b->runs[at - 1].start > run->start) {
        b->runs[at] = b->runs[at - 1];
        at--;
    }
    assert(at == 0 || b->runs[at - 1].start + b->runs[at - 1].length <= run->start);
    b->runs[at] = *run;
}

/* Adjacent runs of the same age are stored as one. */
static bool joins(const struct interval_map *m, const struct block_run *a,
                  const struct block_run *b)
{
    return a->start + a->length == b->start &&
           interval_age(m, a->stamp) == interval_age(m, b->stamp);
}

static void block_encode(const struct interval_map *m, const struct block *b, struct buf *out)
{
    size_t count = 0;
    uint32_t end = 0;
    for (size_t i = 0; i < b->run_count; i++)
        count += i == 0 || !joins(m, &b->runs[i - 1], &b->runs[i]);
    buf_put_varint(out, count);
    for (size_t i = 0; i < b->run_count;) {
        const struct block_run *first = &b->runs[i];
        uint32_t length = first->length;
        for (i++; i < b->run_count && joins(m, &b->runs[i - 1], &b->runs[i]); i++)
            length += b->runs[i].length;
        buf_put_varint(out, first->start - end);
        buf_put_varint(out, length);
        buf_put_varint(out, interval_age(m, first->stamp));
        end = first->start + length;
    }
    for (size_t i = 0; i < b->run_count; i++)
        buf_put(out, (struct str){b->runs[i].bytes, b->runs[i].length});
}

struct err interval_block_store(const struct interval_map *m, struct block *b)
{
    assert(m->rows->at == VROW_LIVE);
    bool past;
    if (b->run_count == 0)
        return vrow_del(m->rows, b->key, &b->old, &past);
    struct buf value = buf_in(b->arena);
    (void)buf_reserve(&value, INTERVAL_BLOCK_BYTES + 32);
    vrow_begin(m->rows, &value);
    block_encode(m, b, &value);
    return vrow_put(m->rows, b->key, &b->old, buf_str(&value), &past);
}
