/* SPDX-License-Identifier: Apache-2.0 */
/* The written ranges of a file, all of them or the changes since a snapshot. */
#include <assert.h>

#include "service/file/range.h"

/* Collects ranges: in order, rounded out to sectors, merged where they touch. */
struct gathered {
    struct file_ranges_args *args;
    struct arena *arena;
    size_t capacity;
    int64_t since; /* only what is younger */
    bool full;
};

static void add(struct gathered *g, uint64_t start, uint64_t end, bool cleared)
{
    struct file_ranges_args *args = g->args;
    struct file_range *last = args->count > 0 ? &args->ranges[args->count - 1] : NULL;
    if (last != NULL && last->cleared == cleared && start <= last->end) {
        if (end > last->end)
            last->end = end;
        return;
    }
    if (last != NULL && start < last->end)
        start = last->end;
    if (start >= end)
        return;
    if (args->count == args->max) {
        g->full = true;
        args->next = start;
        return;
    }
    if (args->count == g->capacity) {
        g->capacity = g->capacity == 0 ? 64 : g->capacity * 2;
        struct file_range *more = ARENA_ARRAY(g->arena, struct file_range, g->capacity);
        if (args->count > 0)
            memcpy(more, args->ranges, args->count * sizeof *more);
        args->ranges = more;
    }
    args->ranges[args->count++] = (struct file_range){start, end, cleared};
}

static uint64_t sector_floor(uint64_t at)
{
    return at & ~(uint64_t)(FILE_SECTOR_BYTES - 1);
}

static uint64_t sector_ceiling(uint64_t at)
{
    return sector_floor(at + FILE_SECTOR_BYTES - 1);
}

static struct err gather(void *arg, const struct interval_part *part, bool *stop)
{
    struct gathered *g = arg;
    if (part->stamp > g->since)
        add(g, sector_floor(part->start), sector_ceiling(part->start + part->piece.length), false);
    *stop = g->full;
    return OK;
}

/* ---- differences ---- */

/* The written sectors of one side, one window of the file at a time. */
struct side {
    struct arena *arena;
    struct file_range *items;
    int64_t *stamps;
    size_t count, capacity;
};

static struct err take_side(void *arg, const struct interval_part *part, bool *stop)
{
    struct side *side = arg;
    uint64_t start = sector_floor(part->start);
    uint64_t end = sector_ceiling(part->start + part->piece.length);
    struct file_range *last = side->count > 0 ? &side->items[side->count - 1] : NULL;
    (void)stop;
    if (last != NULL && start < last->end)
        start = last->end;
    if (start >= end) {
        if (last != NULL && part->stamp > side->stamps[side->count - 1])
            side->stamps[side->count - 1] = part->stamp;
        return OK;
    }
    if (last != NULL && start == last->end && side->stamps[side->count - 1] == part->stamp) {
        last->end = end;
        return OK;
    }
    if (side->count == side->capacity) {
        size_t capacity = side->capacity == 0 ? 256 : side->capacity * 2;
        struct file_range *items = ARENA_ARRAY(side->arena, struct file_range, capacity);
        int64_t *stamps = ARENA_ARRAY(side->arena, int64_t, capacity);
        if (side->count > 0) {
            memcpy(items, side->items, side->count * sizeof *items);
            memcpy(stamps, side->stamps, side->count * sizeof *stamps);
        }
        side->items = items;
        side->stamps = stamps;
        side->capacity = capacity;
    }
    side->items[side->count] = (struct file_range){start, end, false};
    side->stamps[side->count++] = part->stamp;
    return OK;
}

/* The part of [start, end) on one side, from its item *i on: returns how far the state at start
 * extends, and whether it is written. */
static bool state_at(const struct side *side, size_t *i, uint64_t start, uint64_t *reach)
{
    while (*i < side->count && side->items[*i].end <= start)
        ++*i;
    if (*i == side->count)
        return false;
    bool inside = side->items[*i].start <= start;
    uint64_t edge = inside ? side->items[*i].end : side->items[*i].start;
    if (edge < *reach)
        *reach = edge;
    return inside;
}

/* Ranges written now that changed since; and those written then that are not now. */
static void compare(struct gathered *g, const struct side *then, const struct side *now,
                    uint64_t from, uint64_t to)
{
    size_t i = 0;
    size_t k = 0;
    for (uint64_t at = from; at < to && !g->full;) {
        uint64_t reach = to;
        bool was = state_at(then, &i, at, &reach);
        bool is = state_at(now, &k, at, &reach);
        if (is && now->stamps[k] > g->since)
            add(g, at, reach, false);
        else if (was && !is)
            add(g, at, reach, true);
        at = reach;
    }
}

enum { WINDOW_BYTES = 64 << 20 };

static struct err walk_windows(struct gathered *g, const struct interval_map *then,
                               const struct interval_map *now, uint64_t from, uint64_t to)
{
    struct arena *a = txn_arena(now->rows->txn);
    while (from < to && !g->full) {
        uint64_t end = to - from > WINDOW_BYTES ? from + WINDOW_BYTES : to;
        struct side past = {.arena = a};
        struct side present = {.arena = a};
        TRY(interval_walk(then, from, end, take_side, &past));
        TRY(interval_walk(now, from, end, take_side, &present));
        compare(g, &past, &present, from, sector_ceiling(end));
        from = end;
    }
    return OK;
}

/* Finds the file in the snapshot: by its id, and under the same name unless renames are
 * followed. */
static struct err find_previous(struct txn *t, struct file_ranges_args *args,
                                const struct file_found *found, struct file_scope *then,
                                struct file_found *out)
{
    TRY(file_scope_open(t, args->previous, then));
    TRY(file_find_id(then, found->id, out));
    if (!out->exists)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    bool same_name = out->parent == found->parent && str_eq(out->entry.key, found->entry.key);
    return same_name || args->follow_rename ? OK : err_new(ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
}

static struct err list_differences(struct txn *t, struct gathered *g, struct file_scope *s,
                                   const struct file_found *found, uint64_t from, uint64_t to)
{
    struct file_scope *then = ARENA_NEW(txn_arena(t), struct file_scope);
    struct file_found past;
    TRY(find_previous(t, g->args, found, then, &past));
    g->since = g->args->previous;
    struct interval_map before = file_map(then, &past.node);
    struct interval_map now = file_map(s, &found->node);
    /* The file was created again since: all earlier bytes are gone. */
    if (past.node.content != found->node.content)
        g->since = 0;
    return walk_windows(g, &before, &now, from, to);
}

/* ---- the operation ---- */

static struct err choose_range(const struct file_ranges_args *args, uint64_t size, uint64_t *from,
                               uint64_t *to)
{
    *from = 0;
    *to = size;
    if (args->has_range) {
        if (args->range_offset >= size && size > 0)
            return err_new(ERR_INVALID_RANGE);
        *from = args->range_offset < size ? args->range_offset : size;
        if (args->range_length < size - *from)
            *to = *from + args->range_length;
    }
    if (args->marker > *from)
        *from = args->marker < *to ? args->marker : *to;
    return OK;
}

/* No range extends beyond the requested one. */
static void clip(struct file_ranges_args *args, uint64_t from, uint64_t to)
{
    if (args->count == 0)
        return;
    if (args->ranges[0].start < from)
        args->ranges[0].start = from;
    if (args->ranges[args->count - 1].end > to)
        args->ranges[args->count - 1].end = to;
}

struct err file_list_ranges(struct txn *t, void *arg)
{
    struct file_ranges_args *args = arg;
    struct gathered g = {.args = args, .arena = args->request.arena, .since = INT64_MIN};
    struct file_scope s;
    struct file_found found;
    uint64_t from, to;
    args->count = 0;
    args->next = 0;
    args->ranges = NULL;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_READ, &s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    TRY(choose_range(args, found.node.size, &from, &to));
    if (args->differences) {
        if (args->request.snapshot != 0 && args->previous > args->request.snapshot)
            return err_new(ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER);
        TRY(list_differences(t, &g, &s, &found, from, to));
    } else {
        struct interval_map m = file_map(&s, &found.node);
        TRY(interval_walk(&m, from, to, gather, &g));
    }
    clip(args, from, to);
    return args->whole && g.full ? err_new(ERR_OPERATION_TIMED_OUT) : OK;
}
