/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/row_cache.h"

#include <stdlib.h>

#include "core/arena.h"
#include "core/mem.h"
#include "core/test.h"

static void offer(struct row_cache *c, struct str key, struct str value, uint64_t commit)
{
    struct row_offer o = {
        .key = key, .value = value, .hash = row_cache_hash(key), .commit = commit, .hot = true};
    row_cache_offer(c, &o);
}

/* What the committer does with a row that must be cached in any case. */
static void add(struct row_cache *c, struct row *row, uint64_t commit)
{
    uint64_t hash = row_cache_hash(row_key(row));
    struct cached_row *cached = row_cache_make(row, hash, commit);
    if (cached == NULL) {
        row_cache_renew(c, row_key(row), hash, row_value(row));
    } else {
        row_cache_keep(c, cached, commit);
        cached_row_put(cached);
    }
    row_put(row);
}

/* A copy of the value that a state of this commit finds; absent if it finds none. */
static struct str find(struct row_cache *c, struct arena *a, struct str key, uint64_t commit)
{
    struct cached_row *row = row_cache_find(c, key, row_cache_hash(key), commit);
    if (row == NULL)
        return STR_NONE;
    struct str value = arena_copy(a, cached_row_value(row));
    cached_row_put(row);
    return value;
}

void test_row_cache_renews_what_it_keeps(void)
{
    struct arena a;
    arena_init(&a, SIZE_MAX);
    struct row_cache *c = row_cache_new(1 << 20, 1);
    offer(c, STR("kept"), STR("old"), 1);
    offer(c, STR("gone"), STR("old"), 1);
    offer(c, STR("large"), STR("old"), 1);
    row_cache_announce(c, 2);
    char *large = mem_calloc(1, CACHE_ROW_BYTES_MAX);
    row_cache_renew(c, STR("kept"), row_cache_hash(STR("kept")), STR("new"));
    row_cache_renew(c, STR("gone"), row_cache_hash(STR("gone")), STR_NONE);
    row_cache_renew(c, STR("large"), row_cache_hash(STR("large")),
                    (struct str){large, CACHE_ROW_BYTES_MAX});
    row_cache_renew(c, STR("other"), row_cache_hash(STR("other")), STR("new"));
    CHECK_STR(find(c, &a, STR("kept"), 2), STR("new"));
    CHECK(!str_given(find(c, &a, STR("kept"), 1))); /* an older state has to look below */
    CHECK(!str_given(find(c, &a, STR("gone"), 2)));
    CHECK(!str_given(find(c, &a, STR("large"), 2)));
    CHECK(!str_given(find(c, &a, STR("other"), 2)));
    add(c, row_new(STR("other"), STR("new")), 2);
    add(c, row_new(STR("kept"), (struct str){large, CACHE_ROW_BYTES_MAX}), 2);
    CHECK_STR(find(c, &a, STR("other"), 2), STR("new"));
    CHECK(!str_given(find(c, &a, STR("other"), 1)));
    CHECK(!str_given(find(c, &a, STR("kept"), 2)));
    add(c, row_new(STR("kept"), STR("new")), 2);
    offer(c, STR("kept"), STR("old"), 1); /* too late */
    CHECK_STR(find(c, &a, STR("kept"), 2), STR("new"));
    struct row *roomy = row_new_roomy(STR("roomy"), 1, CACHE_ROW_BYTES_MAX);
    roomy->bytes[roomy->key_n] = 'r';
    add(c, roomy, 2);
    CHECK_STR(find(c, &a, STR("roomy"), 2), STR("r"));
    free(large);
    row_cache_free(c);
    CHECK(!a.over_limit);
    arena_release(&a);
}
