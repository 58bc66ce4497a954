/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/damage.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/rowkey.h"

enum { ROWS_MAX = 1024 /* rows whose owners are looked up at once */ };

struct damaged_row {
    struct str key;         /* on the heap */
    const struct extent *x; /* the extent it names; NULL: the row itself is unreadable */
};

void damage_init(struct damage *d, struct engine *e, struct engine_check *check)
{
    *d = (struct damage){.engine = e, .check = check, .partition = buf_heap()};
    d->rows = mem_calloc(ROWS_MAX, sizeof *d->rows);
}

static struct str heap_copy(struct str s)
{
    char *p = mem_alloc(s.n + 1);
    memcpy(p, s.p, s.n);
    return (struct str){p, s.n};
}

static void heap_free(struct str s)
{
    free((char *)(uintptr_t)s.p);
}

void damage_release(struct damage *d)
{
    for (size_t i = 0; i < d->unread_count; i++)
        heap_free(d->unread[i]);
    free(d->unread);
    free(d->extents);
    free(d->rows);
    buf_release(&d->partition);
}

void damage_add_extent(struct damage *d, const struct extent *x)
{
    if (d->extent_count == d->extent_capacity) {
        d->extent_capacity = d->extent_capacity == 0 ? 64 : d->extent_capacity * 2;
        d->extents = mem_realloc(d->extents, d->extent_capacity * sizeof *d->extents);
    }
    d->extents[d->extent_count++] = *x;
}

void damage_add_row(struct damage *d, struct str physical)
{
    if (d->unread_count == d->unread_capacity) {
        d->unread_capacity = d->unread_capacity == 0 ? 64 : d->unread_capacity * 2;
        d->unread = mem_realloc(d->unread, d->unread_capacity * sizeof *d->unread);
    }
    d->unread[d->unread_count++] = heap_copy(physical);
}

/* ---- telling ---- */

/* The damage was counted when it was found. */
static void tell_owner(void *sink, size_t key, struct str owner)
{
    struct damage *d = sink;
    const struct extent *x = d->rows[key].x;
    struct buf line = buf_heap();
    buf_printf(&line, "%.*s is damaged: ", STR_ARG(owner));
    if (x == NULL)
        buf_put(&line, STR("a row of it cannot be read"));
    else
        buf_printf(&line, "extent %" PRIu64 ":%" PRIu64 " of it", x->segment, x->offset);
    buf_putc(&line, '\0');
    d->check->problem(d->check->arg, line.p);
    buf_release(&line);
}

/* Collects the unreadable keys of the partition; they are slices of d->unread. */
static size_t unread_in(const struct damage *d, struct str *out)
{
    size_t count = 0;
    for (size_t i = 0; i < d->unread_count; i++) {
        struct buf partition = buf_heap();
        if (rowkey_split(d->unread[i], &partition, &out[count]) &&
            str_eq(buf_str(&partition), buf_str(&d->partition)))
            count++;
        buf_release(&partition);
    }
    return count;
}

static void tell_rows(struct damage *d)
{
    struct str keys[ROWS_MAX];
    if (d->row_count == 0)
        return;
    struct str *unread = mem_calloc(d->unread_count + 1, sizeof *unread);
    for (size_t i = 0; i < d->row_count; i++)
        keys[i] = d->rows[i].key;
    struct row_owners rows = {.partition = buf_str(&d->partition),
                              .keys = keys,
                              .count = d->row_count,
                              .unread = unread,
                              .unread_count = unread_in(d, unread),
                              .found = tell_owner,
                              .sink = d};
    d->check->owners(d->engine, &rows);
    for (size_t i = 0; i < d->row_count; i++)
        heap_free(keys[i]);
    d->row_count = 0;
    free(unread);
}

static void add_row(struct damage *d, struct str partition, struct str key, const struct extent *x)
{
    if (d->row_count == ROWS_MAX || !str_eq(buf_str(&d->partition), partition)) {
        tell_rows(d);
        buf_clear(&d->partition);
        buf_put(&d->partition, partition);
    }
    d->rows[d->row_count++] = (struct damaged_row){heap_copy(key), x};
}

/* ---- whose the extents are ---- */

bool damage_wants_rows(const struct damage *d)
{
    return d->extent_count > 0 && d->check->owners != NULL;
}

int damage_extent_order(const void *a, const void *b)
{
    return extent_order(a, b);
}

struct look {
    struct damage *damage;
    struct str partition;
    struct str key;
};

static void look_at_extent(void *sink, const struct extent *x)
{
    struct look *look = sink;
    struct damage *d = look->damage;
    const struct extent *found =
        bsearch(x, d->extents, d->extent_count, sizeof *d->extents, damage_extent_order);
    if (found != NULL)
        add_row(d, look->partition, look->key, found);
}

void damage_look(struct damage *d, struct str partition, struct str key, struct str value)
{
    struct look look = {d, partition, key};
    (void)d->check->refs(partition, key, value, look_at_extent, &look);
}

void damage_end(struct damage *d)
{
    tell_rows(d);
    if (d->check->owners == NULL)
        return;
    for (size_t i = 0; i < d->unread_count; i++) {
        struct buf partition = buf_heap();
        struct str key;
        if (rowkey_split(d->unread[i], &partition, &key))
            add_row(d, buf_str(&partition), key, NULL);
        buf_release(&partition);
    }
    tell_rows(d);
}
