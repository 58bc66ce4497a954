/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/row_index.h"

#include "core/test.h"
#include "engine/local/row_cache.h"

enum { TABLE_BYTES = 256 << 10 };

static bool finds(struct row_index *p, uint64_t hash, uint64_t commit, struct row_location want)
{
    struct row_location got;
    return row_index_find(p, hash, commit, &got) && got.file == want.file &&
           got.offset == want.offset && got.bytes >= want.bytes && got.bytes < want.bytes + 128;
}

void test_row_index_follow_the_commits(void)
{
    struct row_index *p = row_index_new(TABLE_BYTES, 1);
    struct row_location old = {7, 1000, 4200};
    struct row_location new = {8, 64, 600};
    struct row_location any;
    uint64_t hash = row_cache_hash(STR("a key"));
    row_index_offer(p, hash, 1, &old);
    CHECK(finds(p, hash, 1, old));
    row_index_announce(p, 2);
    CHECK(!row_index_find(p, hash, 1, &any)); /* an older state has to look below */
    row_index_put(p, hash, &new);
    CHECK(finds(p, hash, 2, new));
    row_index_offer(p, hash, 1, &old); /* too late */
    CHECK(finds(p, hash, 2, new));
    row_index_drop(p, hash);
    CHECK(!row_index_find(p, hash, 2, &any));
    row_index_free(p);
}

void test_row_index_leave_out_what_does_not_fit(void)
{
    struct row_index *p = row_index_new(TABLE_BYTES, 1);
    struct row_location good = {1ULL << 40, 64, 600};
    struct row_location large = {1ULL << 40, 64, 17000};
    struct row_location far = {1ULL << 40, 1 << 27, 600};
    struct row_location old = {(1ULL << 40) - (1 << 18), 64, 600};
    struct row_location any;
    for (uint64_t i = 1; i <= 3; i++) { /* and what was there before is not left */
        uint64_t hash = i << 52 | i;
        row_index_put(p, hash, &good);
        CHECK(finds(p, hash, 1, good));
        row_index_put(p, hash, i == 1 ? &large : i == 2 ? &far : &old);
        CHECK(!row_index_find(p, hash, 1, &any));
    }
    struct row_location older = {(1ULL << 40) - 1000, 64, 600};
    row_index_put(p, 9, &older);
    CHECK(finds(p, 9, 1, older));
    row_index_free(p);
}

/* More rows than a bucket can hold: the newest is there, and each at most once. */
void test_row_index_crowd_out(void)
{
    struct row_index *p = row_index_new(TABLE_BYTES, 1);
    struct row_location location = {1, 64, 600};
    struct row_location any;
    int found = 0;
    for (uint64_t tag = 1; tag <= 100; tag++) {
        location.offset = tag * 64;
        row_index_put(p, tag << 52, &location);
        CHECK(finds(p, tag << 52, 1, location));
    }
    for (uint64_t tag = 1; tag <= 100; tag++)
        found += row_index_find(p, tag << 52, 1, &any);
    CHECK_INT(found, ROW_INDEX_WAYS);
    row_index_offer_room(p, 200ULL << 52, 1, &location);
    CHECK(!row_index_find(p, 200ULL << 52, 1, &any));
    row_index_drop(p, 100ULL << 52);
    row_index_offer_room(p, 200ULL << 52, 1, &location);
    CHECK(finds(p, 200ULL << 52, 1, location));
    row_index_free(p);
}

void test_row_index_are_saved(void)
{
    const char *folder = test_folder();
    struct journal_position at = {3, 640, 17};
    struct journal_position elsewhere = {3, 640, 18};
    struct row_location location = {2, 64, 600};
    struct row_location newer = {3, 128, 600};
    struct row_location any;
    struct row_index *p = row_index_new(TABLE_BYTES, 1);
    row_index_put(p, 5ULL << 52 | 77, &location);
    row_index_save(p, folder, &at); /* too few */
    row_index_find_saved(p, folder, &at);
    CHECK(!row_index_fetch_saved(p));
    row_index_put(p, 6ULL << 52 | 77, &location);
    for (uint64_t i = 0; i < ROW_INDEX_SAVED_MIN; i++)
        row_index_put(p, (8 + i % 4) << 52 | (100 + i / 4), &location);
    row_index_save(p, folder, &at);
    row_index_free(p);
    p = row_index_new(TABLE_BYTES, 1);
    row_index_find_saved(p, folder, &at);
    CHECK(!row_index_find(p, 5ULL << 52 | 77, 1, &any)); /* not before it is needed */
    row_index_offer(p, 5ULL << 52 | 77, 1, &newer);
    CHECK(row_index_fetch_saved(p));
    CHECK(!row_index_fetch_saved(p));
    CHECK(row_index_find(p, 5ULL << 52 | 77, 1, &any));
    CHECK(finds(p, 6ULL << 52 | 77, 1, location));
    row_index_save(p, folder, &at);
    row_index_free(p);
    p = row_index_new(TABLE_BYTES, 1);
    row_index_find_saved(p, folder, &elsewhere);
    CHECK(!row_index_fetch_saved(p));
    row_index_free(p);
    p = row_index_new(TABLE_BYTES, 1);
    row_index_find_saved(p, folder, &at); /* it is gone */
    CHECK(!row_index_fetch_saved(p));
    row_index_free(p);
}
