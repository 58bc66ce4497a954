/* SPDX-License-Identifier: Apache-2.0 */
#include "service/census/census.h"

#include <stdio.h>

#include "service/blob/blob_fixture.h"
#include "service/file/file_fixture.h"

static struct census_counts ask(struct census *c, struct store *store)
{
    struct census_counts counts;
    CHECK_OK(census_ask(c, store, &counts));
    CHECK(counts.known);
    return counts;
}

void test_census_counts_blobs_and_leases(void)
{
    struct blob_fixture f;
    struct census *c = census_new();
    struct blob_head head;
    int64_t snapshot;
    bf_init(&f);
    CHECK_INT(ask(c, &f.store).objects[CENSUS_CONTAINER], 1);
    CHECK_OK(bf_put(&f, bf_blob(&f, "one"), STR("12345"), &head));
    CHECK_OK(bf_put(&f, bf_blob(&f, "two"), STR("123"), &head));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "two"), &snapshot));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "unseen"), "1", STR("x")));
    CHECK_OK(bf_acquire(&f, "one", 'A', 30));
    CHECK_OK(bf_acquire(&f, "two", 'B', LEASE_INFINITE));
    struct census_counts counts = ask(c, &f.store);
    CHECK_INT(counts.objects[CENSUS_BLOCK_BLOB], 2);
    CHECK_INT(counts.bytes[CENSUS_BLOCK_BLOB], 8);
    CHECK_INT(counts.objects[CENSUS_BLOB_SNAPSHOT], 1);
    CHECK_INT(counts.leases[CENSUS_LEASED_BLOB], 2);
    CHECK_INT(counts.leases[CENSUS_LEASED_CONTAINER], 0);
    bf_seconds(&f, 31);
    CHECK_INT(ask(c, &f.store).leases[CENSUS_LEASED_BLOB], 1);
    census_free(c);
    bf_release(&f);
}

enum { ENTITIES = CENSUS_STEP_ROWS + 500 };

static struct err put_entities(struct txn *t, void *arg)
{
    (void)arg;
    for (int i = 0; i < ENTITIES; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%08d", i);
        TRY(txn_put(t, str_of(key), STR("value")));
    }
    return OK;
}

/* A store that is too large for one request: the job continues, and the previous result is reported
 * until the next walk has ended. Leases expire meanwhile. */
void test_census_of_a_large_store_goes_on_in_the_job(void)
{
    struct blob_fixture f;
    struct census *c = census_new();
    struct census_counts counts;
    struct blob_head head;
    struct sweep_report report = {0};
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "one"), STR("x"), &head));
    CHECK_OK(bf_put(&f, bf_blob(&f, "two"), STR("x"), &head));
    CHECK_OK(bf_acquire(&f, "one", 'A', 30));
    CHECK_OK(bf_acquire(&f, "two", 'A', 60));
    CHECK_OK(store_write_wait(&f.store, STR("e/a/t/p"), put_entities, NULL));
    CHECK_OK(census_sweep(&f.store, c, &report)); /* nobody has asked */
    CHECK_OK(census_ask(c, &f.store, &counts));
    CHECK(!counts.known);
    for (int i = 0; i < 50000 && !counts.known; i++) { /* slices of time: on a busy machine many */
        CHECK_OK(census_sweep(&f.store, c, &report));
        CHECK_OK(census_ask(c, &f.store, &counts));
    }
    CHECK(counts.known);
    CHECK_INT(counts.objects[CENSUS_ENTITY], ENTITIES);
    CHECK_INT(counts.bytes[CENSUS_ENTITY], ENTITIES * 5);
    CHECK_INT(counts.leases[CENSUS_LEASED_BLOB], 2);
    bf_seconds(&f, 31);
    CHECK_OK(bf_put(&f, bf_blob(&f, "later"), STR("x"), &head));
    counts = ask(c, &f.store);
    CHECK_INT(counts.leases[CENSUS_LEASED_BLOB], 1);
    CHECK_INT(counts.objects[CENSUS_BLOCK_BLOB], 2); /* as it was */
    census_free(c);
    bf_release(&f);
}

void test_census_counts_files(void)
{
    struct world w;
    struct census *c = census_new();
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "d/f", 100));
    CHECK_OK(create_file(&w, "g", 11));
    struct file_args lease = {.request = request_of(&w, "g"),
                              .lease = {.action = LEASE_ACQUIRE, .seconds = LEASE_INFINITE}};
    CHECK_OK(world_write(&w, file_lease_file, &lease));
    struct census_counts counts = ask(c, &w.store);
    CHECK_INT(counts.objects[CENSUS_SHARE], 1);
    CHECK_INT(counts.objects[CENSUS_DIRECTORY], 1);
    CHECK_INT(counts.objects[CENSUS_FILE], 2);
    CHECK_INT(counts.bytes[CENSUS_FILE], 111);
    CHECK_INT(counts.leases[CENSUS_LEASED_FILE], 1);
    census_free(c);
    CHECK_OK(delete_file(&w, "d/f"));
    world_end(&w);
}
