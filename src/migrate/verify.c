/* SPDX-License-Identifier: Apache-2.0 */
/* Verification at the end: reads both stores again and compares every row of the source with the
 * destination's and every extent byte by byte; the destination must have no other row. */
#include "migrate/migrate_internal.h"

struct comparing {
    const struct migrate *migrate;
    struct page *page; /* of the source */
    const struct extent_map *map;
};

static const char DIFFERS[] =
    "the destination differs from the source, which may have changed since "
    "the migration began: begin anew with an empty destination";

static struct err compare_rows(struct txn *t, void *arg)
{
    const struct comparing *c = arg;
    struct page *p = c->page;
    for (size_t first = 0; first < p->count; first += BODY_READS) {
        struct engine_read reads[BODY_READS] = {0};
        size_t count = p->count - first < BODY_READS ? p->count - first : BODY_READS;
        for (size_t i = 0; i < count; i++) {
            reads[i].partition = p->rows[first + i].partition;
            reads[i].key = p->rows[first + i].key;
            reads[i].with_body = true;
        }
        TRY(txn_get_many(t, reads, count));
        for (size_t i = 0; i < count; i++) {
            struct str value;
            TRY(migrate_row_rewrite(c->migrate, p, &p->rows[first + i], c->map, &value));
            if (!str_given(reads[i].value) || !str_eq(value, reads[i].value) ||
                !str_eq(p->rows[first + i].body, reads[i].body))
                return migrate_failed(DIFFERS);
        }
    }
    return OK;
}

static struct err verify_page(const struct migrate *m, struct page *p)
{
    struct extent_map map;
    TRY(migrate_map_load(&map, m, p));
    for (size_t i = 0; i < map.count; i++)
        if (!map.pairs[i].known)
            return migrate_failed(DIFFERS);
    struct comparing c = {.migrate = m, .page = p, .map = &map};
    return engine_view(m->to, STR(""), ENGINE_WAIT, compare_rows, &c);
}

static bool names_nothing(struct str partition, struct str key, struct str value,
                          migrate_named *named, void *sink)
{
    (void)partition, (void)key, (void)value, (void)named, (void)sink;
    return true;
}

/* Checks the rows of the destination: it must not have more than the source. */
static struct err count_rows(const struct migrate *m, uint64_t *rows)
{
    struct page page;
    struct err e;
    struct str partition = {0};
    struct str key = {0};
    struct migrate plain = {.refs = names_nothing};
    migrate_page_init(&page, PAGE_ROWS, false);
    do {
        e = migrate_page_read(&page, &plain, m->to, partition, key);
        if (err_is(e))
            break;
        *rows += page.count;
        if (page.count > 0) {
            partition = page.rows[page.count - 1].partition;
            key = page.rows[page.count - 1].key;
        }
    } while (!page.last);
    migrate_page_release(&page);
    return e;
}

static struct err verify_rows(const struct migrate *m, const struct migrate_state *state)
{
    struct page page;
    struct err e;
    struct str partition = {0};
    struct str key = {0};
    uint64_t rows = 0, bytes = 0, there = 0;
    migrate_page_init(&page, m->page_rows == 0 ? PAGE_ROWS : m->page_rows, true);
    do {
        e = migrate_page_read(&page, m, m->from, partition, key);
        if (!err_is(e))
            e = verify_page(m, &page);
        if (err_is(e))
            break;
        rows += page.count;
        bytes += page.bytes;
        if (page.count > 0) {
            partition = page.rows[page.count - 1].partition;
            key = page.rows[page.count - 1].key;
        }
        migrate_tell(m, "verifying", bytes, state->total_bytes + state->of_extents);
    } while (!page.last);
    migrate_page_release(&page);
    TRY(e);
    TRY(count_rows(m, &there));
    return there == rows && rows == state->total_rows ? OK : migrate_failed(DIFFERS);
}

/* ---- extents ---- */

struct verifying {
    struct migrate *migrate;
    uint64_t done, of;
};

static struct err compare_extent(const struct migrate *m, struct extent_pair *pair, char *memory)
{
    uint32_t length = pair->old.length;
    char *other = memory + EXTENT_BYTES_MAX;
    if (length == 0 || length > EXTENT_BYTES_MAX || pair->new.length != length)
        return migrate_failed(DIFFERS);
    TRY(extent_read(m->from, &pair->old, 0, length, ENGINE_WAIT, memory));
    TRY(extent_read(m->to, &pair->new, 0, length, ENGINE_WAIT, other));
    return memcmp(memory, other, length) == 0 ? OK : migrate_failed(DIFFERS);
}

static struct err verify_some(struct extent_pair *pairs, size_t count, void *arg)
{
    struct verifying *v = arg;
    TRY(migrate_extents_each(v->migrate, pairs, count, compare_extent));
    v->migrate->extents += count;
    for (size_t i = 0; i < count; i++)
        v->done += pairs[i].old.length;
    migrate_tell(v->migrate, "verifying", v->done, v->of);
    return OK;
}

struct err migrate_verify(struct migrate *m, const struct migrate_state *state)
{
    struct verifying v = {
        .migrate = m, .done = state->total_bytes, .of = state->total_bytes + state->of_extents};
    m->extents = 0;
    TRY(verify_rows(m, state));
    struct engine_pin *from = engine_pin(m->from);
    struct engine_pin *to = engine_pin(m->to);
    struct err e = migrate_pairs_each(m, verify_some, &v);
    engine_unpin(m->to, to);
    engine_unpin(m->from, from);
    if (!err_is(e))
        migrate_tell(m, "verifying", v.of, v.of);
    return e;
}
