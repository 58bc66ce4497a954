/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/protect.h"

#include "service/blob/append.h"
#include "service/blob/blob_fixture.h"

#define DAY (86400LL * TICKS_PER_SECOND)

static struct err set_policy(struct blob_fixture *f, const char *name, int64_t until, bool locked)
{
    struct blob_protect_args args = {.request = bf_blob(f, name),
                                     .protection = {.until = until, .locked = locked}};
    return bf_update(f, blob_set_blob_immutability_policy, &args);
}

static struct err delete_policy(struct blob_fixture *f, const char *name)
{
    struct blob_protect_args args = {.request = bf_blob(f, name)};
    return bf_update(f, blob_delete_blob_immutability_policy, &args);
}

static struct err set_hold(struct blob_fixture *f, const char *name, bool hold)
{
    struct blob_protect_args args = {.request = bf_blob(f, name), .protection = {.hold = hold}};
    return bf_update(f, blob_set_blob_legal_hold, &args);
}

static struct err set_expiry(struct blob_fixture *f, const char *name,
                             enum blob_expiry_option option, int64_t ticks)
{
    struct blob_expiry_args args = {.request = bf_blob(f, name), .option = option, .ticks = ticks};
    return bf_update(f, blob_set_blob_expiry, &args);
}

static struct err delete_container(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena}};
    return bf_update(f, blob_delete_container, &args);
}

/* The operations that a protected blob refuses and those that it allows. */
static void check_refused(struct blob_fixture *f, enum err_code code)
{
    struct blob_head before, after;
    CHECK_OK(bf_properties(f, bf_blob(f, "b"), &before));
    CHECK_ERR(bf_put(f, bf_blob(f, "b"), STR("new"), NULL), code);
    CHECK_ERR(bf_set_metadata(f, bf_blob(f, "b"), "v", NULL), code);
    CHECK_ERR(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_INCLUDE), code);
    CHECK_OK(bf_stage(f, bf_blob(f, "b"), "1", STR("x")));
    CHECK_ERR(bf_commit(f, bf_blob(f, "b"), "u1", NULL), code);
    CHECK_ERR(set_expiry(f, "b", BLOB_EXPIRY_FROM_NOW, DAY), code);
    CHECK_ERR(delete_container(f), ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_OK(bf_acquire(f, "b", 'A', 15));
    CHECK_OK(bf_properties(f, bf_blob(f, "b"), &after));
    CHECK(after.etag == before.etag);
    CHECK_STR(bf_content(f, "b"), STR("old"));
}

static void begin(struct blob_fixture *f)
{
    bf_init_fault(f);
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("old"), NULL));
}

void test_set_blob_immutability_policy_protects_until_its_date(void)
{
    struct blob_fixture f;
    begin(&f);
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY, false));
    check_refused(&f, ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    bf_seconds(&f, 86400);
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "v", NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("new"), NULL));
    CHECK_OK(delete_container(&f));
    bf_release(&f);
}

void test_delete_blob_immutability_policy_of_what_is_not_locked(void)
{
    struct blob_fixture f;
    begin(&f);
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + 2 * DAY, false));
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY, false));
    CHECK_OK(delete_policy(&f, "b"));
    CHECK_OK(delete_policy(&f, "b"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("new"), NULL));
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY, true));
    CHECK_ERR(delete_policy(&f, "b"), ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_ERR(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY - 1, true),
              ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_ERR(set_policy(&f, "b", BLOB_FIXTURE_NOW + 2 * DAY, false),
              ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + 2 * DAY, true));
    CHECK_ERR(delete_policy(&f, "none"), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_set_blob_legal_hold_protects_until_it_is_taken_back(void)
{
    struct blob_fixture f;
    begin(&f);
    CHECK_OK(set_hold(&f, "b", true));
    check_refused(&f, ERR_BLOB_IMMUTABLE_DUE_TO_LEGAL_HOLD);
    bf_seconds(&f, 86400 * 1000);
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP),
              ERR_BLOB_IMMUTABLE_DUE_TO_LEGAL_HOLD);
    CHECK_OK(set_hold(&f, "b", false));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(delete_container(&f));
    bf_sweep(&f);
    CHECK(bf_rows(&f) == 0);
    bf_release(&f);
}

/* A snapshot is not protected by its blob's policy, but can have one. */
void test_immutability_policy_of_a_snapshot(void)
{
    struct blob_fixture f;
    int64_t first, second;
    begin(&f);
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY, false));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &second));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "b", first), BLOB_SNAPSHOTS_KEEP));
    struct blob_protect_args args = {.request = bf_snapshot(&f, "b", second),
                                     .protection = {.until = BLOB_FIXTURE_NOW + DAY}};
    CHECK_OK(bf_update(&f, blob_set_blob_immutability_policy, &args));
    CHECK_OK(delete_policy(&f, "b"));
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE),
              ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_ERR(bf_delete(&f, bf_snapshot(&f, "b", second), BLOB_SNAPSHOTS_KEEP),
              ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    CHECK_ERR(delete_container(&f), ERR_BLOB_IMMUTABLE_DUE_TO_POLICY);
    bf_seconds(&f, 86400);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_INCLUDE));
    bf_release(&f);
}

void test_set_blob_expiry_by_every_option(void)
{
    struct blob_fixture f;
    struct str content;
    begin(&f);
    bf_seconds(&f, 100);
    CHECK_ERR(set_expiry(&f, "b", BLOB_EXPIRY_FROM_CREATION, 50 * TICKS_PER_SECOND),
              ERR_INVALID_HEADER_VALUE);
    CHECK_ERR(set_expiry(&f, "b", BLOB_EXPIRY_AT, BLOB_FIXTURE_NOW), ERR_INVALID_HEADER_VALUE);
    CHECK_OK(set_expiry(&f, "b", BLOB_EXPIRY_FROM_CREATION, 150 * TICKS_PER_SECOND));
    CHECK_OK(set_expiry(&f, "b", BLOB_EXPIRY_NEVER, 0));
    bf_seconds(&f, 1000);
    CHECK_OK(bf_get(&f, bf_blob(&f, "b"), &content));
    CHECK_OK(set_expiry(&f, "b", BLOB_EXPIRY_FROM_NOW, 10 * TICKS_PER_SECOND));
    bf_seconds(&f, 9);
    CHECK_OK(bf_get(&f, bf_blob(&f, "b"), &content));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.max = 10}), STR("b "));
    bf_seconds(&f, 1);
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_NOT_FOUND);
    CHECK_ERR(bf_set_metadata(&f, bf_blob(&f, "b"), "v", NULL), ERR_BLOB_NOT_FOUND);
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP), ERR_BLOB_NOT_FOUND);
    CHECK_STR(bf_list(&f, (struct blob_list_args){.max = 10}), STR(""));
    bf_release(&f);
}

/* Leased or not, with snapshots or not: the sweeper removes all of the blob and nothing else. */
void test_set_blob_expiry_is_carried_out_by_the_sweeper(void)
{
    struct blob_fixture f;
    int64_t snapshot;
    struct blob_head head;
    begin(&f);
    size_t rows = bf_rows(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "gone"), bf_bytes(&f, 100000, 1), NULL));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "gone"), &snapshot));
    CHECK_OK(set_expiry(&f, "gone", BLOB_EXPIRY_FROM_NOW, TICKS_PER_SECOND));
    CHECK_OK(bf_acquire(&f, "gone", 'A', -1));
    bf_sweep(&f);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "gone"), &head));
    bf_seconds(&f, 1);
    bf_sweep(&f);
    CHECK(bf_rows(&f) == rows);
    CHECK(bf_extent_bytes(&f) == 0);
    CHECK_STR(bf_content(&f, "b"), STR("old"));
    bf_release(&f);
}

/* A write to the name of an expired blob makes a new blob, whatever the old one's lease. */
void test_set_blob_expiry_makes_room_for_a_new_blob(void)
{
    struct blob_fixture f;
    struct blob_head head;
    begin(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100000, 1), NULL));
    CHECK_OK(set_expiry(&f, "b", BLOB_EXPIRY_FROM_NOW, TICKS_PER_SECOND));
    CHECK_OK(bf_acquire(&f, "b", 'A', -1));
    bf_seconds(&f, 5);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("new"), &head));
    CHECK(head.created == BLOB_FIXTURE_NOW + 5 * TICKS_PER_SECOND);
    CHECK(head.expires == 0);
    bf_sweep(&f);
    CHECK_STR(bf_content(&f, "b"), STR("new"));
    CHECK(bf_extent_bytes(&f) == 0);
    bf_release(&f);
}

/* A protected blob stays when it expires, and is removed when the protection ends. */
void test_set_blob_expiry_waits_for_protection(void)
{
    struct blob_fixture f;
    struct blob_head head;
    begin(&f);
    CHECK_OK(set_expiry(&f, "b", BLOB_EXPIRY_FROM_NOW, TICKS_PER_SECOND));
    CHECK_OK(set_policy(&f, "b", BLOB_FIXTURE_NOW + DAY, true));
    bf_seconds(&f, 10);
    bf_sweep(&f);
    CHECK_STR(bf_content(&f, "b"), STR("old"));
    bf_seconds(&f, 86400);
    CHECK_ERR(bf_properties(&f, bf_blob(&f, "b"), &head), ERR_BLOB_NOT_FOUND);
    bf_sweep(&f);
    CHECK_OK(delete_container(&f));
    bf_release(&f);
}
