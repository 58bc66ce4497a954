/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a store row by row, one page at a time: each page is a separate view, because an engine
 * across a network keeps no state for long. */
#include <stdlib.h>

#include "core/mem.h"
#include "migrate/migrate_internal.h"

struct reading {
    struct page *page;
    const struct migrate *migrate;
    struct str partition, key; /* after which to begin */
};

void migrate_page_init(struct page *p, size_t rows, bool bodies)
{
    *p = (struct page){.room = rows, .bodies = bodies};
    p->rows = mem_calloc(rows, sizeof *p->rows);
    arena_init(&p->arena, SIZE_MAX);
}

void migrate_page_release(struct page *p)
{
    arena_release(&p->arena);
    free(p->rows);
    free(p->extents);
}

static void page_clear(struct page *p)
{
    arena_reset(&p->arena);
    p->count = 0;
    p->extent_count = 0;
    p->bytes = 0;
    p->extent_bytes = 0;
    p->last = false;
}

static void note_extent(void *sink, const struct extent *x)
{
    struct page *p = sink;
    if (p->extent_count == p->extent_room) {
        p->extent_room = p->extent_room == 0 ? PAGE_EXTENTS : p->extent_room * 2;
        p->extents = mem_realloc(p->extents, p->extent_room * sizeof *p->extents);
    }
    p->extents[p->extent_count++] = *x;
    p->extent_bytes += x->length;
}

static bool page_is_full(const struct page *p)
{
    return p->count == p->room || p->bytes >= PAGE_BYTES || p->extent_count >= PAGE_EXTENTS ||
           p->extent_bytes >= PAGE_EXTENT_BYTES;
}

/* Takes the row that the cursor stands at, without its body. */
static struct err take_row(struct page *p, const struct migrate *m, const struct cursor *c)
{
    struct page_row *row = &p->rows[p->count];
    *row = (struct page_row){.partition = arena_copy(&p->arena, c->partition),
                             .key = arena_copy(&p->arena, c->key),
                             .value = arena_copy(&p->arena, c->value),
                             .extent_first = p->extent_count};
    if (!m->refs(row->partition, row->key, row->value, note_extent, p))
        return migrate_failed("the source has a row that cannot be read; see lazuli check");
    row->extent_count = p->extent_count - row->extent_first;
    p->bytes += row->partition.n + row->key.n + row->value.n;
    p->count++;
    return OK;
}

static bool is_ours(struct str partition)
{
    return str_eq(partition, MIGRATE_PARTITION);
}

static struct err read_values(struct reading *r, struct cursor *c)
{
    struct page *p = r->page;
    if (c->valid && str_given(r->key) && str_eq(c->partition, r->partition) &&
        str_eq(c->key, r->key))
        TRY(cursor_next(c));
    while (c->valid && !page_is_full(p)) {
        if (!is_ours(c->partition))
            TRY(take_row(p, r->migrate, c));
        TRY(cursor_next(c));
    }
    p->last = !c->valid;
    return OK;
}

/* Removes the rows from `count` on, which belong to a later page. */
static void page_cut(struct page *p, size_t count)
{
    for (size_t i = count; i < p->count; i++)
        p->bytes -= p->rows[i].partition.n + p->rows[i].key.n + p->rows[i].value.n;
    for (size_t i = p->rows[count].extent_first; i < p->extent_count; i++)
        p->extent_bytes -= p->extents[i].length;
    p->extent_count = p->rows[count].extent_first;
    p->count = count;
    p->last = false;
}

/* Cursors do not read bodies, so they are read afterwards, until the page is full. */
static struct err read_bodies(struct page *p, struct txn *t)
{
    for (size_t first = 0; first < p->count; first += BODY_READS) {
        struct engine_read reads[BODY_READS] = {0};
        size_t count = p->count - first < BODY_READS ? p->count - first : BODY_READS;
        if (p->bytes >= PAGE_BYTES && first > 0) {
            page_cut(p, first);
            return OK;
        }
        for (size_t i = 0; i < count; i++) {
            reads[i].partition = p->rows[first + i].partition;
            reads[i].key = p->rows[first + i].key;
            reads[i].with_body = true;
        }
        TRY(txn_get_many(t, reads, count));
        for (size_t i = 0; i < count; i++) {
            p->rows[first + i].body = arena_copy(&p->arena, reads[i].body);
            p->bytes += reads[i].body.n;
        }
    }
    return OK;
}

static struct err read_page(struct txn *t, void *arg)
{
    struct reading *r = arg;
    struct cursor *c;
    page_clear(r->page);
    txn_hint(t, HINT_ONCE);
    TRY(cursor_open_across(t, STR(""), str_given(r->partition) ? r->partition : STR(""),
                           str_given(r->key) ? r->key : STR(""), &c));
    struct err e = read_values(r, c);
    cursor_close(c);
    return err_is(e) || !r->page->bodies ? e : read_bodies(r->page, t);
}

struct err migrate_page_read(struct page *p, const struct migrate *m, struct engine *e,
                             struct str partition, struct str key)
{
    /* Its start may be in the page that is about to be overwritten. */
    struct buf position = buf_heap();
    struct reading r = {.page = p, .migrate = m};
    buf_put(&position, partition);
    buf_put(&position, key);
    if (str_given(partition)) {
        r.partition = str_head(buf_str(&position), partition.n);
        r.key = str_from(buf_str(&position), partition.n);
    }
    struct err error = engine_view(e, STR(""), ENGINE_WAIT, read_page, &r);
    buf_release(&position);
    return error;
}
