/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/page/page_clears.h"

#include <assert.h>

#include "core/wire.h"
#include "service/blob/page/page.h"

/* The new entry cuts at most one old entry in two, and is itself one more. */
enum { GROWN_MAX = PAGE_CLEARS_MAX + 2 };

struct grown {
    struct page_clear items[GROWN_MAX];
    size_t count;
};

/* Appends the entry; joins it with the one before if no snapshot was taken between the two. */
static void append(struct grown *g, struct page_clear clear, int64_t youngest)
{
    struct page_clear *last = g->count == 0 ? NULL : &g->items[g->count - 1];
    if (clear.from >= clear.to)
        return;
    bool same = last != NULL && last->to == clear.from &&
                (last->stamp == clear.stamp || (last->stamp > youngest && clear.stamp > youngest));
    if (same) {
        last->to = clear.to;
        last->stamp = last->stamp > clear.stamp ? last->stamp : clear.stamp;
        return;
    }
    assert(g->count < GROWN_MAX);
    g->items[g->count++] = clear;
}

static void forget_oldest(struct grown *g)
{
    size_t oldest = 0;
    for (size_t i = 1; i < g->count; i++)
        if (g->items[i].stamp < g->items[oldest].stamp)
            oldest = i;
    g->count--;
    memmove(&g->items[oldest], &g->items[oldest + 1], (g->count - oldest) * sizeof *g->items);
}

void page_clears_add(struct page_clears *list, const struct vrow_scope *rows, uint64_t from,
                     uint64_t to)
{
    struct grown g = {.count = 0};
    struct page_clear now = {from, to, txn_stamp(rows->txn)};
    int64_t youngest = vrow_youngest(rows);
    bool added = false;
    for (size_t i = 0; i < list->count; i++) {
        struct page_clear old = list->items[i];
        if (rows->kept_count == 0 || old.stamp <= rows->kept[0])
            continue;
        struct page_clear left = {old.from, old.to < from ? old.to : from, old.stamp};
        struct page_clear right = {old.from > to ? old.from : to, old.to, old.stamp};
        append(&g, left, youngest);
        if (!added && old.to > from) {
            append(&g, now, youngest);
            added = true;
        }
        append(&g, right, youngest);
    }
    if (!added && rows->kept_count > 0)
        append(&g, now, youngest);
    while (g.count > PAGE_CLEARS_MAX)
        forget_oldest(&g);
    memcpy(list->items, g.items, g.count * sizeof *g.items);
    list->count = g.count;
}

void page_clears_encode(struct buf *b, const struct page_clears *list)
{
    uint64_t at = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct page_clear *clear = &list->items[i];
        buf_put_varint(b, (clear->from - at) / BLOB_PAGE_BYTES);
        buf_put_varint(b, (clear->to - clear->from) / BLOB_PAGE_BYTES);
        buf_put_le64(b, (uint64_t)clear->stamp);
        at = clear->to;
    }
}

bool page_clears_decode(struct str bytes, struct page_clears *out)
{
    assert(out != NULL);
    struct reader r = reader_of(bytes);
    uint64_t at = 0;
    out->count = 0;
    while (r.n > 0 && out->count < PAGE_CLEARS_MAX) {
        struct page_clear *clear = &out->items[out->count++];
        uint64_t gap = read_varint(&r);
        uint64_t length = read_varint(&r);
        uint64_t max = (BLOB_PAGE_SIZE_MAX - at) / BLOB_PAGE_BYTES;
        if (gap > max || length > max - gap)
            return false;
        clear->from = at + gap * BLOB_PAGE_BYTES;
        clear->to = clear->from + length * BLOB_PAGE_BYTES;
        clear->stamp = (int64_t)read_le64(&r);
        at = clear->to;
    }
    return reader_done(&r);
}
