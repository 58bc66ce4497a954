/* SPDX-License-Identifier: Apache-2.0 */
/* Operations that keep and restore, with every engine call failing in turn: see faults_test.c. */
#include "engine/fault.h"
#include "service/blob/blob_fixture.h"
#include "service/common/fault_fixture.h"

struct faulty {
    struct blob_fixture fixture;
    int64_t version;  /* a previous one of "v" */
    int64_t snapshot; /* of "s" */
    uint64_t deleted; /* a container */
};

static struct faulty *faulty_of(struct blob_fixture *f)
{
    return (struct faulty *)(void *)f; /* its first member */
}

/* "v" has versions, one of them soft-deleted, "s" a snapshot and a soft-deleted one, "d" is
 * soft-deleted with its snapshot. */
static void furnish(struct faulty *faulty, bool versioning)
{
    struct blob_fixture *f = &faulty->fixture;
    struct blob_head head;
    int64_t time;
    bf_init_fault(f);
    bf_retain(f, 7, true);
    f->versioning = true;
    CHECK_OK(bf_put(f, bf_blob(f, "v"), bf_bytes(f, 100000, 1), &head));
    CHECK_OK(bf_put(f, bf_blob(f, "v"), bf_bytes(f, 100000, 2), NULL));
    CHECK_OK(bf_delete(f, bf_version(f, "v", head.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_set_metadata(f, bf_blob(f, "v"), "1", &head));
    CHECK_OK(bf_set_metadata(f, bf_blob(f, "v"), "2", NULL));
    faulty->version = head.version;
    f->versioning = false;
    CHECK_OK(bf_put(f, bf_blob(f, "s"), bf_bytes(f, 100000, 3), NULL));
    CHECK_OK(bf_put(f, bf_blob(f, "s"), bf_bytes(f, 100000, 4), NULL));
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "s"), &faulty->snapshot));
    CHECK_OK(bf_put(f, bf_blob(f, "d"), STR("small"), NULL));
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "d"), &time));
    CHECK_OK(bf_delete(f, bf_blob(f, "d"), BLOB_SNAPSHOTS_INCLUDE));
    f->versioning = versioning;
}

static void fail_each_call(bf_operation *run, bool versioning)
{
    struct faulty faulty;
    furnish(&faulty, versioning);
    bf_fail_and_end(&faulty.fixture, run);
}

static struct err put_versioned(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "v"), bf_bytes(f, 50000, 5), NULL);
}

void test_faults_put_blob_makes_a_version(void)
{
    fail_each_call(put_versioned, true);
}

static struct err put_over_snapshot(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "s"), bf_bytes(f, 50000, 5), NULL);
}

void test_faults_put_blob_makes_a_soft_deleted_snapshot(void)
{
    fail_each_call(put_over_snapshot, false);
}

static struct err put_over_deleted(struct blob_fixture *f)
{
    return bf_put(f, bf_blob(f, "d"), bf_bytes(f, 50000, 5), NULL);
}

void test_faults_put_blob_over_a_soft_deleted_one(void)
{
    fail_each_call(put_over_deleted, false);
}

static struct err stage_over_deleted(struct blob_fixture *f)
{
    return bf_stage(f, bf_blob(f, "d"), "1", bf_bytes(f, 9000, 5));
}

void test_faults_put_block_over_a_soft_deleted_one(void)
{
    fail_each_call(stage_over_deleted, false);
}

static struct err set_metadata(struct blob_fixture *f)
{
    return bf_set_metadata(f, bf_blob(f, "v"), "3", NULL);
}

void test_faults_set_blob_metadata_makes_a_version(void)
{
    fail_each_call(set_metadata, true);
}

static struct err take_snapshot(struct blob_fixture *f)
{
    int64_t time;
    return bf_take_snapshot(f, bf_blob(f, "v"), &time);
}

void test_faults_snapshot_blob_makes_a_version(void)
{
    fail_each_call(take_snapshot, true);
}

static struct err delete_current(struct blob_fixture *f)
{
    return bf_delete(f, bf_blob(f, "v"), BLOB_SNAPSHOTS_KEEP);
}

void test_faults_delete_blob_makes_a_version(void)
{
    fail_each_call(delete_current, true);
}

static struct err delete_version(struct blob_fixture *f)
{
    return bf_delete(f, bf_version(f, "v", faulty_of(f)->version), BLOB_SNAPSHOTS_KEEP);
}

void test_faults_delete_version(void)
{
    fail_each_call(delete_version, true);
}

static struct err soft_delete(struct blob_fixture *f)
{
    return bf_delete(f, bf_blob(f, "s"), BLOB_SNAPSHOTS_INCLUDE);
}

void test_faults_delete_blob_softly(void)
{
    fail_each_call(soft_delete, false);
}

static struct err undelete(struct blob_fixture *f)
{
    return bf_undelete(f, "d");
}

void test_faults_undelete_blob(void)
{
    fail_each_call(undelete, false);
}

static struct err undelete_versions(struct blob_fixture *f)
{
    return bf_undelete(f, "v");
}

void test_faults_undelete_blob_with_versions(void)
{
    fail_each_call(undelete_versions, true);
}

static struct err delete_permanently(struct blob_fixture *f)
{
    return bf_delete_permanently(f, bf_snapshot(f, "s", faulty_of(f)->snapshot));
}

static struct err bury_snapshot(struct blob_fixture *f)
{
    return bf_delete(f, bf_snapshot(f, "s", faulty_of(f)->snapshot), BLOB_SNAPSHOTS_KEEP);
}

void test_faults_delete_snapshot_softly(void)
{
    fail_each_call(bury_snapshot, false);
}

void test_faults_delete_blob_permanently(void)
{
    struct faulty faulty;
    struct blob_fixture *f = &faulty.fixture;
    furnish(&faulty, false);
    CHECK_OK(bury_snapshot(f));
    (void)bf_fail_each_call(f, delete_permanently);
    CHECK_STR(bf_kinds(f, "s"), STR("S! B "));
    bf_release(f);
}

static struct err delete_container(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena},
                                  .retention_ticks = TICKS_PER_DAY};
    return bf_update(f, blob_delete_container, &args);
}

static struct err restore_container(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena},
                                  .deleted_version = faulty_of(f)->deleted};
    return bf_update(f, blob_restore_container, &args);
}

void test_faults_restore_container(void)
{
    struct faulty faulty;
    struct blob_fixture *f = &faulty.fixture;
    furnish(&faulty, false);
    struct container_args get = {.request = {.arena = &f->arena}};
    struct str before = bf_kinds(f, "");
    CHECK_OK(bf_view(f, blob_get_container, &get));
    faulty.deleted = get.container.incarnation;
    (void)bf_fail_each_call(f, delete_container);
    (void)bf_fail_each_call(f, restore_container);
    CHECK_STR(bf_kinds(f, ""), before);
    bf_release(f);
}

/* If a sweep of expired items fails half-way, each step is done completely or not at all. */
void test_faults_retention(void)
{
    struct faulty faulty;
    struct blob_fixture *f = &faulty.fixture;
    furnish(&faulty, false);
    bf_seconds(f, 8LL * 86400);
    struct str before = bf_dump(f);
    struct err error;
    uint64_t n = 0;
    do {
        struct blob_round round = {0};
        struct sweep_report report = {0};
        engine_fault_arm(f->store.engine, ++n, err_new(ERR_IO));
        error = blob_expire(&f->store, &round, &report);
        engine_fault_arm(f->store.engine, 0, OK);
        if (err_is(error))
            CHECK_STR(bf_dump(f), before);
    } while (err_is(error));
    CHECK_STR(bf_kinds(f, ""), STR("S B V V B "));
    bf_release(f);
}
