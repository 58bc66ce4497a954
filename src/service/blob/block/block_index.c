/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/block/block_index.h"

#include <assert.h>
#include <stdlib.h>

#include "service/common/content/content.h"

static void add(struct block_index *index, struct arena *a, struct block_index_entry entry)
{
    if (index->count == index->capacity) {
        size_t capacity = index->capacity == 0 ? 64 : index->capacity * 2;
        struct block_index_entry *grown = ARENA_ARRAY(a, struct block_index_entry, capacity);
        if (index->count > 0)
            memcpy(grown, index->entries, index->count * sizeof *grown);
        index->entries = grown;
        index->capacity = capacity;
    }
    index->entries[index->count++] = entry;
}

void block_list_put(struct buf *b, struct str id, uint64_t size)
{
    assert(id.n > 0);
    buf_put_bytes(b, id);
    buf_put_varint(b, size);
}

static struct err add_list_row(struct arena *a, struct str row, uint64_t *offset,
                               struct block_index *out)
{
    struct reader r = reader_of(arena_copy(a, row));
    while (r.n > 0 && !r.bad) {
        struct block_index_entry entry = {.id = read_bytes(&r), .offset = *offset};
        entry.size = read_varint(&r);
        *offset += entry.size;
        add(out, a, entry);
    }
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err block_index_committed(struct txn *t, struct arena *a, struct str prefix, uint64_t count,
                                 struct block_index *out)
{
    assert(out != NULL);
    struct cursor *c;
    uint64_t offset = 0;
    *out = (struct block_index){0};
    TRY(cursor_open(t, prefix, &c));
    struct err e = cursor_seek(c, prefix);
    while (!err_is(e) && c->valid) {
        e = add_list_row(a, c->value, &offset, out);
        if (!err_is(e))
            e = cursor_next(c);
    }
    cursor_close(c);
    if (!err_is(e) && out->count != count)
        e = err_new(ERR_CORRUPT);
    return e;
}

static struct err add_block(struct arena *a, struct str id, struct str row, struct block_index *out)
{
    struct block_index_entry entry = {.id = arena_copy(a, id), .pieces = arena_copy(a, row)};
    struct reader r = reader_of(entry.pieces);
    struct piece piece;
    while (piece_decode(&r, &piece))
        entry.size += piece.length;
    add(out, a, entry);
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err block_index_uncommitted(struct txn *t, struct str set, struct block_index *out)
{
    assert(out != NULL);
    struct cursor *c;
    *out = (struct block_index){0};
    TRY(cursor_open(t, set, &c));
    struct err e = cursor_seek(c, set);
    while (!err_is(e) && c->valid) {
        /* The set's row has only the prefix; a block's row adds a byte and its id. */
        if (c->key.n > set.n)
            e = add_block(txn_arena(t), str_from(c->key, set.n + 1), c->value, out);
        if (!err_is(e))
            e = cursor_next(c);
    }
    cursor_close(c);
    return e;
}

static int compare_ids(const void *a, const void *b)
{
    const struct block_index_entry *x = a, *y = b;
    return str_cmp(x->id, y->id);
}

void block_index_sort(struct block_index *index)
{
    if (index->count > 1)
        qsort(index->entries, index->count, sizeof *index->entries, compare_ids);
}

struct block_index_entry *block_index_find(struct block_index *index, struct str id)
{
    struct block_index_entry wanted = {.id = id};
    if (index->count == 0)
        return NULL;
    return bsearch(&wanted, index->entries, index->count, sizeof wanted, compare_ids);
}
