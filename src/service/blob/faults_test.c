/* SPDX-License-Identifier: Apache-2.0 */
/* Every write with every engine call failing in turn: a failed operation changes nothing and frees
 * its space, and the same operation succeeds when the fault is gone. */
#include "engine/fault.h"
#include "service/blob/blob_fixture.h"
#include "service/blob/protect.h"
#include "service/blob/tags/tags.h"
#include "service/blob/tier.h"

static int64_t a_snapshot;

static struct err set_tags(struct blob_fixture *f, const char *name, const char *value)
{
    struct pair items[] = {{STR("color"), str_of(value)}, {STR("size"), STR("1")}};
    struct pairs tags = {items, 2};
    struct blob_tags_args args = {.request = bf_blob(f, name),
                                  .tags = pairs_encode(&f->arena, &tags)};
    return bf_update(f, blob_set_blob_tags, &args);
}

/* A container with a bit of everything. */
static void furnish(struct blob_fixture *f)
{
    bf_init_fault(f);
    CHECK_OK(bf_put(f, bf_blob(f, "small"), STR("x"), NULL));
    CHECK_OK(bf_put(f, bf_blob(f, "large"), bf_bytes(f, 100000, 1), NULL));
    CHECK_OK(set_tags(f, "small", "red"));
    CHECK_OK(set_tags(f, "large", "red"));
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "large"), &a_snapshot));
    CHECK_OK(bf_stage(f, bf_blob(f, "large"), "1", bf_bytes(f, 9000, 2)));
    CHECK_OK(bf_stage(f, bf_blob(f, "large"), "2", bf_bytes(f, 100, 3)));
    CHECK_OK(bf_stage(f, bf_blob(f, "staged"), "1", bf_bytes(f, 9000, 4)));
    CHECK_OK(bf_put(f, bf_blob(f, "leased"), STR("x"), NULL));
    CHECK_OK(bf_acquire(f, "leased", 'A', 60));
}

static void fail_each_call(bf_operation *run)
{
    struct blob_fixture f;
    furnish(&f);
    bf_fail_and_end(&f, run);
}

static struct err put_new(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "new"), bf_bytes(f, 50000, 5), NULL);
}

void test_faults_put_blob(void)
{
    fail_each_call(put_new);
}

static struct err put_small(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "small"), STR("other"), NULL);
}

void test_faults_put_blob_over_small(void)
{
    fail_each_call(put_small);
}

static struct err put_large(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "large"), bf_bytes(f, 50000, 5), NULL);
}

void test_faults_put_blob_over_large_with_snapshot_and_blocks(void)
{
    fail_each_call(put_large);
}

static struct err stage_new(struct blob_fixture *f)
{
    return bf_stage(f, bf_blob(f, "new"), "1", bf_bytes(f, 9000, 5));
}

void test_faults_put_block(void)
{
    fail_each_call(stage_new);
}

static struct err stage_again(struct blob_fixture *f)
{
    return bf_stage(f, bf_blob(f, "large"), "1", bf_bytes(f, 9000, 6));
}

void test_faults_put_block_of_the_same_id(void)
{
    fail_each_call(stage_again);
}

static struct err commit_some(struct blob_fixture *f)
{
    return bf_commit(f, bf_blob(f, "large"), "u1 l1", NULL);
}

void test_faults_put_block_list(void)
{
    fail_each_call(commit_some);
}

static struct err commit_new(struct blob_fixture *f)
{
    return bf_commit(f, bf_blob(f, "staged"), "l1", NULL);
}

void test_faults_put_block_list_of_a_new_blob(void)
{
    fail_each_call(commit_new);
}

static struct err set_metadata(struct blob_fixture *f)
{
    return bf_set_metadata(f, bf_blob(f, "small"), "v", NULL);
}

void test_faults_set_blob_metadata(void)
{
    fail_each_call(set_metadata);
}

static struct err change_tags(struct blob_fixture *f)
{
    return set_tags(f, "large", "blue");
}

void test_faults_set_blob_tags(void)
{
    fail_each_call(change_tags);
}

static struct err set_tier(struct blob_fixture *f)
{
    struct blob_tier_args args = {.request = bf_blob(f, "large"), .tier = BLOB_TIER_ARCHIVE};
    return bf_update(f, blob_set_blob_tier, &args);
}

void test_faults_set_blob_tier(void)
{
    fail_each_call(set_tier);
}

static struct err take_snapshot(struct blob_fixture *f)
{
    int64_t time;
    return bf_take_snapshot(f, bf_blob(f, "large"), &time);
}

void test_faults_snapshot_blob(void)
{
    fail_each_call(take_snapshot);
}

static struct err renew(struct blob_fixture *f)
{
    struct lease_request change = {
        .action = LEASE_CHANGE, .id = bf_guid('A'), .proposed = bf_guid('B')};
    return bf_lease(f, bf_blob(f, "leased"), change, NULL);
}

void test_faults_lease_blob(void)
{
    fail_each_call(renew);
}

static struct err delete_all(struct blob_fixture *f)
{
    return bf_delete(f, bf_blob(f, "large"), BLOB_SNAPSHOTS_INCLUDE);
}

void test_faults_delete_blob(void)
{
    fail_each_call(delete_all);
}

static struct err delete_snapshot(struct blob_fixture *f)
{
    return bf_delete(f, bf_snapshot(f, "large", a_snapshot), BLOB_SNAPSHOTS_KEEP);
}

void test_faults_delete_snapshot(void)
{
    fail_each_call(delete_snapshot);
}

static struct err set_acl(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena}, .acl = STR("policies")};
    return bf_update(f, blob_set_container_acl, &args);
}

void test_faults_set_container_acl(void)
{
    fail_each_call(set_acl);
}

static struct err set_expiry(struct blob_fixture *f)
{
    struct blob_expiry_args args = {
        .request = bf_blob(f, "large"), .option = BLOB_EXPIRY_FROM_NOW, .ticks = TICKS_PER_SECOND};
    return bf_update(f, blob_set_blob_expiry, &args);
}

void test_faults_set_blob_expiry(void)
{
    fail_each_call(set_expiry);
}

static struct err put_over_expired(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "leased"), bf_bytes(f, 9000, 5), NULL);
}

/* An expired blob is removed by the write that replaces it: both happen or neither. */
void test_faults_put_blob_over_an_expired_one(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    struct blob_expiry_args args = {.request = bf_with_lease(f, "leased", 'A'),
                                    .option = BLOB_EXPIRY_FROM_NOW,
                                    .ticks = TICKS_PER_SECOND};
    CHECK_OK(bf_update(f, blob_set_blob_expiry, &args));
    bf_seconds(f, 5);
    CHECK(bf_fail_each_call(f, put_over_expired) > 5);
    bf_end(f);
}

static struct err protect(struct blob_fixture *f)
{
    struct blob_protect_args args = {.request = bf_blob(f, "large"),
                                     .protection = {.until = BLOB_FIXTURE_NOW + TICKS_PER_DAY}};
    return bf_update(f, blob_set_blob_immutability_policy, &args);
}

void test_faults_set_blob_immutability_policy(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    (void)bf_fail_each_call(f, protect);
    bf_seconds(f, 2 * 86400); /* its protection over, all of it can go */
    bf_end(f);
}

static struct err unprotect(struct blob_fixture *f)
{
    struct blob_protect_args args = {.request = bf_blob(f, "large")};
    return bf_update(f, blob_delete_blob_immutability_policy, &args);
}

void test_faults_delete_blob_immutability_policy(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    CHECK_OK(protect(f));
    CHECK(bf_fail_each_call(f, unprotect) > 2);
    bf_end(f);
}

static struct err set_hold(struct blob_fixture *f, bool hold)
{
    struct blob_protect_args args = {.request = bf_blob(f, "large"), .protection = {.hold = hold}};
    return bf_update(f, blob_set_blob_legal_hold, &args);
}

static struct err hold(struct blob_fixture *f)
{
    return set_hold(f, true);
}

static struct err release_hold(struct blob_fixture *f)
{
    return set_hold(f, false);
}

void test_faults_set_blob_legal_hold(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    CHECK(bf_fail_each_call(f, hold) > 2);
    CHECK(bf_fail_each_call(f, release_hold) > 2);
    bf_end(f);
}

/* A sweep that fails half-way has done each step completely or not at all. */
void test_faults_sweep(void)
{
    struct blob_fixture f;
    furnish(&f);
    struct container_args args = {.request = {.arena = &f.arena}};
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    struct blob_round round = {0};
    for (uint64_t n = 1; bf_rows(&f) > 0; n++) {
        struct sweep_report report = {0};
        struct str before = bf_dump(&f);
        round = (struct blob_round){0};
        engine_fault_arm(f.store.engine, n, err_new(ERR_IO));
        struct err error = blob_sweep(&f.store, &round, &report);
        engine_fault_arm(f.store.engine, 0, OK);
        if (err_is(error))
            CHECK_STR(bf_dump(&f), before);
    }
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}
