/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the names of extents in a row's value by the new ones.
 *
 * The services report which extents a value names, in order, but not at which offsets. A name has
 * the same length everywhere, so this code searches for it, replaces it, and asks the services
 * again which extents the result names. Bytes of a user in the value may look like a name; then the
 * result is wrong, and the next offset is tried. */
#include <assert.h>

#include "migrate/migrate_internal.h"

struct naming {
    const struct extent *wanted; /* in order */
    size_t count;
    size_t seen;
    size_t agreed; /* this many names from the first on are correct */
};

static bool same_extent(const struct extent *a, const struct extent *b)
{
    return a->segment == b->segment && a->offset == b->offset && a->length == b->length &&
           a->check == b->check;
}

static void compare_named(void *sink, const struct extent *x)
{
    struct naming *n = sink;
    if (n->agreed == n->seen && n->seen < n->count && same_extent(x, &n->wanted[n->seen]))
        n->agreed++;
    n->seen++;
}

/* Returns how many names of the value are new ones, from the first on. */
static size_t names_right(const struct migrate *m, const struct page_row *row, struct str value,
                          const struct extent *wanted)
{
    struct naming n = {.wanted = wanted, .count = row->extent_count};
    if (!m->refs(row->partition, row->key, value, compare_named, &n) || n.seen != n.count)
        return 0;
    return n.agreed;
}

static size_t find_name(struct str value, size_t from, const struct extent *x)
{
    char room[EXTENT_ENCODED_BYTES];
    struct buf b = {.p = room, .capacity = sizeof room};
    extent_encode(&b, x);
    size_t at = str_find_str(str_from(value, from), buf_str(&b));
    return from + at;
}

static void put_name(char *value, size_t at, const struct extent *x)
{
    struct buf b = {.p = value + at, .capacity = EXTENT_ENCODED_BYTES};
    extent_encode(&b, x);
}

/* Replaces one name after the other; tries each at every offset where it may be. */
static bool rewrite_slowly(const struct migrate *m, const struct page_row *row,
                           const struct extent *old, const struct extent *wanted, char *value)
{
    struct str whole = {value, row->value.n};
    size_t from = 0;
    for (size_t i = 0; i < row->extent_count; i++) {
        for (;;) {
            size_t at = find_name(whole, from, &old[i]);
            if (at >= whole.n)
                return false;
            put_name(value, at, &wanted[i]);
            if (names_right(m, row, whole, wanted) > i) {
                from = at + EXTENT_ENCODED_BYTES;
                break;
            }
            put_name(value, at, &old[i]);
            from = at + 1;
        }
    }
    return true;
}

static bool rewrite_at_once(const struct page_row *row, const struct extent *old,
                            const struct extent *wanted, char *value)
{
    struct str whole = {value, row->value.n};
    size_t from = 0;
    for (size_t i = 0; i < row->extent_count; i++) {
        size_t at = find_name(whole, from, &old[i]);
        if (at >= whole.n)
            return false;
        put_name(value, at, &wanted[i]);
        from = at + EXTENT_ENCODED_BYTES;
    }
    return true;
}

struct err migrate_row_rewrite(const struct migrate *m, struct page *p, const struct page_row *row,
                               const struct extent_map *map, struct str *out)
{
    assert(out != NULL);
    *out = row->value;
    if (row->extent_count == 0)
        return OK;
    const struct extent *old = p->extents + row->extent_first;
    struct extent *wanted = ARENA_ARRAY(&p->arena, struct extent, row->extent_count);
    for (size_t i = 0; i < row->extent_count; i++) {
        const struct extent *found = migrate_map_find(map, &old[i]);
        if (found == NULL)
            return err_new(ERR_CORRUPT);
        wanted[i] = *found;
    }
    char *value = arena_bytes(&p->arena, row->value.n);
    struct str whole = {value, row->value.n};
    memcpy(value, row->value.p, row->value.n);
    bool done = rewrite_at_once(row, old, wanted, value) &&
                names_right(m, row, whole, wanted) == row->extent_count;
    if (!done) {
        memcpy(value, row->value.p, row->value.n);
        done = rewrite_slowly(m, row, old, wanted, value);
    }
    *out = whole;
    return done ? OK : migrate_failed("the names of extents in a row cannot be replaced");
}
