/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/row_places.h"

#include "core/test.h"
#include "engine/local/row_cache.h"

enum { TABLE_BYTES = 256 << 10 };

static bool finds(struct row_places *p, uint64_t hash, uint64_t commit, struct row_place want)
{
    struct row_place got;
    return row_places_find(p, hash, commit, &got) && got.file == want.file &&
           got.offset == want.offset && got.bytes >= want.bytes && got.bytes < want.bytes + 128;
}

void test_row_places_follow_the_commits(void)
{
    struct row_places *p = row_places_new(TABLE_BYTES, 1);
    struct row_place old = {7, 1000, 4200};
    struct row_place new = {8, 64, 600};
    struct row_place any;
    uint64_t hash = row_cache_hash(STR("a key"));
    row_places_offer(p, hash, 1, &old);
    CHECK(finds(p, hash, 1, old));
    row_places_announce(p, 2);
    CHECK(!row_places_find(p, hash, 1, &any)); /* an older state has to look below */
    row_places_put(p, hash, &new);
    CHECK(finds(p, hash, 2, new));
    row_places_offer(p, hash, 1, &old); /* too late */
    CHECK(finds(p, hash, 2, new));
    row_places_drop(p, hash);
    CHECK(!row_places_find(p, hash, 2, &any));
    row_places_free(p);
}

void test_row_places_leave_out_what_does_not_fit(void)
{
    struct row_places *p = row_places_new(TABLE_BYTES, 1);
    struct row_place good = {1ULL << 40, 64, 600};
    struct row_place large = {1ULL << 40, 64, 17000};
    struct row_place far = {1ULL << 40, 1 << 27, 600};
    struct row_place old = {(1ULL << 40) - (1 << 18), 64, 600};
    struct row_place any;
    for (uint64_t i = 1; i <= 3; i++) { /* and what was there before is not left */
        uint64_t hash = i << 52 | i;
        row_places_put(p, hash, &good);
        CHECK(finds(p, hash, 1, good));
        row_places_put(p, hash, i == 1 ? &large : i == 2 ? &far : &old);
        CHECK(!row_places_find(p, hash, 1, &any));
    }
    struct row_place older = {(1ULL << 40) - 1000, 64, 600};
    row_places_put(p, 9, &older);
    CHECK(finds(p, 9, 1, older));
    row_places_free(p);
}

/* More rows than there is room for in a bucket: the newest is there, and each at most once. */
void test_row_places_crowd_out(void)
{
    struct row_places *p = row_places_new(TABLE_BYTES, 1);
    struct row_place place = {1, 64, 600};
    struct row_place any;
    int found = 0;
    for (uint64_t tag = 1; tag <= 100; tag++) {
        place.offset = tag * 64;
        row_places_put(p, tag << 52, &place);
        CHECK(finds(p, tag << 52, 1, place));
    }
    for (uint64_t tag = 1; tag <= 100; tag++)
        found += row_places_find(p, tag << 52, 1, &any);
    CHECK_INT(found, PLACES_WAYS);
    row_places_offer_room(p, 200ULL << 52, 1, &place);
    CHECK(!row_places_find(p, 200ULL << 52, 1, &any));
    row_places_drop(p, 100ULL << 52);
    row_places_offer_room(p, 200ULL << 52, 1, &place);
    CHECK(finds(p, 200ULL << 52, 1, place));
    row_places_free(p);
}

void test_row_places_are_saved(void)
{
    const char *folder = test_folder();
    struct journal_place at = {3, 640, 17};
    struct journal_place elsewhere = {3, 640, 18};
    struct row_place place = {2, 64, 600};
    struct row_place newer = {3, 128, 600};
    struct row_place any;
    struct row_places *p = row_places_new(TABLE_BYTES, 1);
    row_places_put(p, 5ULL << 52 | 77, &place);
    row_places_save(p, folder, &at); /* too few */
    row_places_find_saved(p, folder, &at);
    CHECK(!row_places_fetch_saved(p));
    row_places_put(p, 6ULL << 52 | 77, &place);
    for (uint64_t i = 0; i < PLACES_SAVED_MIN; i++)
        row_places_put(p, (8 + i % 4) << 52 | (100 + i / 4), &place);
    row_places_save(p, folder, &at);
    row_places_free(p);
    p = row_places_new(TABLE_BYTES, 1);
    row_places_find_saved(p, folder, &at);
    CHECK(!row_places_find(p, 5ULL << 52 | 77, 1, &any)); /* not before it is needed */
    row_places_offer(p, 5ULL << 52 | 77, 1, &newer);
    CHECK(row_places_fetch_saved(p));
    CHECK(!row_places_fetch_saved(p));
    CHECK(row_places_find(p, 5ULL << 52 | 77, 1, &any));
    CHECK(finds(p, 6ULL << 52 | 77, 1, place));
    row_places_save(p, folder, &at);
    row_places_free(p);
    p = row_places_new(TABLE_BYTES, 1);
    row_places_find_saved(p, folder, &elsewhere);
    CHECK(!row_places_fetch_saved(p));
    row_places_free(p);
    p = row_places_new(TABLE_BYTES, 1);
    row_places_find_saved(p, folder, &at); /* it is gone */
    CHECK(!row_places_fetch_saved(p));
    row_places_free(p);
}
