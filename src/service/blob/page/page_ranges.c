/* SPDX-License-Identifier: Apache-2.0 */
/* Get Page Ranges: the written pages, or the changes since a snapshot. The cost is proportional to
 * the written parts, however large the blob is. */
#include "service/blob/page/page.h"
#include "service/blob/page/page_clears.h"

enum { LOOP_BYTES_MAX = 64 << 20 }; /* bytes of a blob that may be examined on an event loop */

enum { PARTS_MAX = 1 << 20 };

/* Written parts, joined where they touch; in order. */
struct parts {
    struct arena *arena;
    struct blob_page_range *items;
    size_t count;
    size_t capacity;
    size_t max; /* stops after so many */
    bool full;
    uint64_t until; /* where it stopped */
};

static void add_part(struct parts *p, uint64_t start, uint64_t end)
{
    if (p->count > 0 && p->items[p->count - 1].end == start) {
        p->items[p->count - 1].end = end;
        return;
    }
    if (p->count == p->max) {
        p->full = true;
        p->until = start;
        return;
    }
    if (p->count == p->capacity) {
        size_t capacity = p->capacity == 0 ? 64 : p->capacity * 2;
        struct blob_page_range *grown = ARENA_ARRAY(p->arena, struct blob_page_range, capacity);
        if (p->count > 0)
            memcpy(grown, p->items, p->count * sizeof *grown);
        p->items = grown;
        p->capacity = capacity;
    }
    p->items[p->count++] = (struct blob_page_range){.start = start, .end = end};
}

static struct err visit_part(void *arg, const struct interval_part *part, bool *stop)
{
    struct parts *p = arg;
    if (part->piece.kind != PIECE_HOLE)
        add_part(p, part->start, part->start + part->piece.length);
    *stop = p->full;
    return OK;
}

/* ---- differences ---- */

/* Adds to the list `then` of pages written then those cleared since, within the range; both are in
 * order. */
static void unite(const struct parts *then, const struct page_clears *clears, int64_t since,
                  struct interval_range range, struct parts *out)
{
    size_t n = 0;
    size_t i = 0;
    while (n < then->count || i < clears->count) {
        bool written =
            i == clears->count || (n < then->count && then->items[n].start < clears->items[i].from);
        uint64_t from = written ? then->items[n].start : clears->items[i].from;
        uint64_t to = written ? then->items[n].end : clears->items[i].to;
        bool counts = written || clears->items[i].stamp > since;
        *(written ? &n : &i) += 1;
        uint64_t told = out->count == 0 ? range.from : out->items[out->count - 1].end;
        from = from < told ? told : from;
        to = to < range.to ? to : range.to;
        if (counts && from < to)
            add_part(out, from, to);
    }
}

/* The pages written then and not now: `then` without `now`, both merged and in order. */
static void subtract(const struct parts *then, const struct parts *now, uint64_t until,
                     struct parts *out)
{
    size_t n = 0;
    for (size_t i = 0; i < then->count; i++) {
        uint64_t at = then->items[i].start;
        uint64_t end = then->items[i].end < until ? then->items[i].end : until;
        while (at < end) {
            while (n < now->count && now->items[n].end <= at)
                n++;
            uint64_t hole_end =
                n < now->count && now->items[n].start < end ? now->items[n].start : end;
            if (hole_end > at)
                add_part(out, at, hole_end);
            at = n < now->count && hole_end < end ? now->items[n].end : end;
        }
    }
}

/* Merges both lists by start; at most max, then *next is where to continue. */
static void merge(struct blob_page_ranges_args *args, const struct parts *changed,
                  const struct parts *cleared, uint64_t until)
{
    size_t a = 0;
    size_t b = 0;
    size_t total = changed->count + cleared->count;
    size_t count = total < args->max ? total : args->max;
    args->ranges = ARENA_ARRAY(args->request.arena, struct blob_page_range, count + 1);
    while (args->count < count) {
        bool take_cleared =
            a == changed->count ||
            (b < cleared->count && cleared->items[b].start < changed->items[a].start);
        struct blob_page_range *range = &args->ranges[args->count++];
        *range = take_cleared ? cleared->items[b++] : changed->items[a++];
        range->cleared = take_cleared;
    }
    uint64_t next = until;
    if (a < changed->count)
        next = changed->items[a].start;
    if (b < cleared->count && cleared->items[b].start < next)
        next = cleared->items[b].start;
    args->more = args->more || total > count;
    args->next = next;
}

static struct err load_previous(struct txn *t, const struct blob_page_ranges_args *args,
                                const struct blob *blob, struct blob *previous)
{
    struct str row;
    struct blob_at at = {.item = BLOB_SNAPSHOT, .time = args->previous};
    if (args->request.at.item == BLOB_SNAPSHOT && args->previous > args->request.at.time)
        return err_new(ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER);
    *previous = *blob;
    previous->at = at;
    previous->key =
        blob_key_head(txn_arena(t), blob->container.incarnation, args->request.name, &at);
    TRY(txn_get(t, previous->key, &row));
    if (!str_given(row))
        return err_new(ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
    TRY(blob_head_decode(row, &previous->head));
    /* Another content: the blob was created again in between. */
    return previous->head.content == blob->head.content ? OK : err_new(ERR_BLOB_OVERWRITTEN);
}

/* The pages written now, and those written since. */
struct since {
    int64_t stamp;
    struct parts all;
    struct parts changed;
};

static struct err visit_since(void *arg, const struct interval_part *part, bool *stop)
{
    struct since *s = arg;
    uint64_t end = part->start + part->piece.length;
    if (part->piece.kind == PIECE_HOLE)
        return OK;
    if (part->stamp > s->stamp)
        add_part(&s->changed, part->start, end);
    *stop = s->changed.full;
    if (!*stop)
        add_part(&s->all, part->start, end);
    *stop = *stop || s->all.full;
    return OK;
}

/* Compares only rows that changed since the snapshot: the others have the same bytes. After a void,
 * which clears chunks without changing their rows, it compares all rows. */
static struct err find_differences(struct txn *t, struct blob_page_ranges_args *args,
                                   const struct blob *blob, struct interval_range range)
{
    struct arena *a = args->request.arena;
    struct blob previous;
    struct blob_pages now, then;
    struct since since = {.stamp = args->previous,
                          .all = {.arena = a, .max = PARTS_MAX},
                          .changed = {.arena = a, .max = args->max, .until = range.to}};
    struct parts before = {.arena = a, .max = PARTS_MAX};
    struct parts touched = {.arena = a, .max = PARTS_MAX};
    struct parts cleared = {.arena = a, .max = PARTS_MAX};
    struct page_clears clears;
    if (!page_clears_decode(blob->head.page_clears, &clears))
        return err_new(ERR_CORRUPT);
    TRY(load_previous(t, args, blob, &previous));
    TRY(blob_pages_open(t, &args->request, blob, &now));
    TRY(blob_pages_open(t, &args->request, &previous, &then));
    bool by_rows = now.map.void_count == 0;
    TRY(interval_walk_since(&now.map, range, by_rows ? args->previous : INT64_MIN, visit_since,
                            &since));
    uint64_t until = since.changed.until;
    struct interval_range past = {range.from,
                                  previous.head.size < until ? previous.head.size : until};
    if (by_rows)
        TRY(interval_walk_changed(&then.map, past, now.rows.at, visit_part, &before));
    else
        TRY(interval_walk(&then.map, past.from, past.to, visit_part, &before));
    unite(&before, &clears, args->previous, (struct interval_range){range.from, until}, &touched);
    if (since.all.full || before.full || touched.full)
        return err_new(ERR_SERVER_BUSY);
    subtract(&touched, &since.all, until, &cleared);
    args->more = since.changed.full;
    merge(args, &since.changed, &cleared, until);
    return OK;
}

static struct err find_written(struct txn *t, struct blob_page_ranges_args *args,
                               const struct blob *blob, struct interval_range range)
{
    struct blob_pages pages;
    struct parts parts = {.arena = args->request.arena, .max = args->max, .until = range.to};
    TRY(blob_pages_open(t, &args->request, blob, &pages));
    TRY(interval_walk(&pages.map, range.from, range.to, visit_part, &parts));
    args->ranges = parts.items;
    args->count = parts.count;
    args->more = parts.full;
    args->next = parts.until;
    return OK;
}

struct err blob_get_page_ranges(struct txn *t, void *arg)
{
    struct blob_page_ranges_args *args = arg;
    struct blob blob;
    args->count = 0;
    args->more = false;
    TRY(blob_open(t, &args->request, BLOB_READ, &blob));
    TRY(blob_check_type(&blob, BLOB_PAGE));
    TRY(blob_give(&args->request, &blob.head, &args->head));
    uint64_t from = args->has_range ? args->range_offset : 0;
    uint64_t size = blob.head.size;
    if (args->has_range && from >= size)
        return err_new(ERR_INVALID_RANGE);
    uint64_t to =
        args->has_range && args->range_length < size - from ? from + args->range_length : size;
    if (args->marker > from)
        from = args->marker;
    if (from >= to)
        return OK;
    /* All pages of the range may have to be compared. */
    if (to - from > LOOP_BYTES_MAX && !txn_may_wait(t))
        return err_new(ERR_LONG_WORK);
    struct interval_range range = {from, to};
    return args->differences ? find_differences(t, args, &blob, range)
                             : find_written(t, args, &blob, range);
}
