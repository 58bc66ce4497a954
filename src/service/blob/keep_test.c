/* SPDX-License-Identifier: Apache-2.0 */
/* The items kept of a blob, and for how long: each cell of the last table of docs/blob-kinds.md. */
#include "service/blob/append.h"
#include "service/blob/blob_fixture.h"
#include "service/blob/tags/find.h"
#include "service/blob/tags/tags.h"
#include "service/blob/tier.h"

enum { DAY_SECONDS = 86400 };

/* The settings of an account. */
enum setting { NOTHING, SOFT, VERSIONS, BOTH };

static void begin(struct blob_fixture *f, enum setting setting)
{
    bf_init(f);
    f->versioning = setting == VERSIONS || setting == BOTH;
    if (setting == SOFT || setting == BOTH)
        bf_retain(f, 7, false);
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("one"), NULL));
    bf_seconds(f, 1);
}

static void days(struct blob_fixture *f, int64_t count)
{
    bf_seconds(f, count * DAY_SECONDS);
}

typedef void operation(struct blob_fixture *f);

/* The items of the blob "b" after the operation: B itself, S snapshots, V previous versions, !
 * soft-deleted items. */
static void check_kinds(enum setting setting, operation *run, const char *want)
{
    struct blob_fixture f;
    begin(&f, setting);
    run(&f);
    CHECK_STR(bf_kinds(&f, "b"), str_of(want));
    bf_end(&f);
}

/* ---- overwriting ---- */

static void put_blob(struct blob_fixture *f)
{
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("two"), NULL));
    CHECK_STR(bf_content(f, "b"), STR("two"));
}

void test_kept_by_put_blob_nothing(void)
{
    check_kinds(NOTHING, put_blob, "B ");
}

void test_kept_by_put_blob_soft_delete(void)
{
    check_kinds(SOFT, put_blob, "S! B ");
}

void test_kept_by_put_blob_versions(void)
{
    check_kinds(VERSIONS, put_blob, "V B ");
}

void test_kept_by_put_blob_both(void)
{
    check_kinds(BOTH, put_blob, "V B ");
}

static void put_block_list(struct blob_fixture *f)
{
    CHECK_OK(bf_stage(f, bf_blob(f, "b"), "1", bf_bytes(f, 9000, 1)));
    CHECK_OK(bf_commit(f, bf_blob(f, "b"), "l1", NULL));
}

void test_kept_by_put_block_list_nothing(void)
{
    check_kinds(NOTHING, put_block_list, "B ");
}

void test_kept_by_put_block_list_soft_delete(void)
{
    check_kinds(SOFT, put_block_list, "S! B ");
}

void test_kept_by_put_block_list_versions(void)
{
    check_kinds(VERSIONS, put_block_list, "V B ");
}

void test_kept_by_put_block_list_both(void)
{
    check_kinds(BOTH, put_block_list, "V B ");
}

static void put_block(struct blob_fixture *f)
{
    CHECK_OK(bf_stage(f, bf_blob(f, "b"), "1", bf_bytes(f, 9000, 1)));
    CHECK_STR(bf_content(f, "b"), STR("one"));
}

void test_kept_by_put_block(void)
{
    for (enum setting s = NOTHING; s <= BOTH; s++)
        check_kinds(s, put_block, "B ");
}

static void set_metadata(struct blob_fixture *f)
{
    CHECK_OK(bf_set_metadata(f, bf_blob(f, "b"), "v", NULL));
    CHECK_STR(bf_content(f, "b"), STR("one"));
}

void test_kept_by_set_blob_metadata_nothing(void)
{
    check_kinds(NOTHING, set_metadata, "B ");
}

void test_kept_by_set_blob_metadata_soft_delete(void)
{
    check_kinds(SOFT, set_metadata, "B ");
}

void test_kept_by_set_blob_metadata_versions(void)
{
    check_kinds(VERSIONS, set_metadata, "V B ");
}

void test_kept_by_set_blob_metadata_both(void)
{
    check_kinds(BOTH, set_metadata, "V B ");
}

static void set_properties(struct blob_fixture *f)
{
    struct blob_set_args args = {.request = bf_blob(f, "b"), .http = {.content_type = STR("a/b")}};
    CHECK_OK(bf_update(f, blob_set_blob_properties, &args));
}

void test_kept_by_set_blob_properties(void)
{
    for (enum setting s = NOTHING; s <= BOTH; s++)
        check_kinds(s, set_properties, "B ");
}

static void set_tier(struct blob_fixture *f)
{
    struct blob_tier_args args = {.request = bf_blob(f, "b"), .tier = BLOB_TIER_COOL};
    CHECK_OK(bf_update(f, blob_set_blob_tier, &args));
}

void test_kept_by_set_blob_tier(void)
{
    for (enum setting s = NOTHING; s <= BOTH; s++)
        check_kinds(s, set_tier, "B ");
}

static struct err set_tag(struct blob_fixture *f, struct blob_request request, const char *value)
{
    struct pair items[] = {{STR("color"), str_of(value)}};
    struct pairs tags = {items, 1};
    struct blob_tags_args args = {.request = request, .tags = pairs_encode(&f->arena, &tags)};
    return bf_update(f, blob_set_blob_tags, &args);
}

static void set_tags(struct blob_fixture *f)
{
    CHECK_OK(set_tag(f, bf_blob(f, "b"), "red"));
}

void test_kept_by_set_blob_tags(void)
{
    for (enum setting s = NOTHING; s <= BOTH; s++)
        check_kinds(s, set_tags, "B ");
}

static void snapshot(struct blob_fixture *f)
{
    int64_t time;
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "b"), &time));
}

void test_kept_by_snapshot_blob_nothing(void)
{
    check_kinds(NOTHING, snapshot, "S B ");
}

void test_kept_by_snapshot_blob_soft_delete(void)
{
    check_kinds(SOFT, snapshot, "S B ");
}

void test_kept_by_snapshot_blob_versions(void)
{
    check_kinds(VERSIONS, snapshot, "S V B ");
}

void test_kept_by_snapshot_blob_both(void)
{
    check_kinds(BOTH, snapshot, "S V B ");
}

/* ---- deleting ---- */

static void delete_blob(struct blob_fixture *f)
{
    CHECK_OK(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_KEEP));
    struct str content;
    CHECK_ERR(bf_get(f, bf_blob(f, "b"), &content), ERR_BLOB_NOT_FOUND);
}

void test_kept_by_delete_blob_nothing(void)
{
    check_kinds(NOTHING, delete_blob, "");
}

void test_kept_by_delete_blob_soft_delete(void)
{
    check_kinds(SOFT, delete_blob, "B! ");
}

void test_kept_by_delete_blob_versions(void)
{
    check_kinds(VERSIONS, delete_blob, "V ");
}

void test_kept_by_delete_blob_both(void)
{
    check_kinds(BOTH, delete_blob, "V ");
}

static void delete_all(struct blob_fixture *f)
{
    snapshot(f);
    CHECK_ERR(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_KEEP), ERR_SNAPSHOTS_PRESENT);
    CHECK_OK(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_INCLUDE));
}

void test_kept_by_delete_blob_with_snapshots_nothing(void)
{
    check_kinds(NOTHING, delete_all, "");
}

void test_kept_by_delete_blob_with_snapshots_soft_delete(void)
{
    check_kinds(SOFT, delete_all, "S! B! ");
}

void test_kept_by_delete_blob_with_snapshots_versions(void)
{
    check_kinds(VERSIONS, delete_all, "V V ");
}

void test_kept_by_delete_blob_with_snapshots_both(void)
{
    check_kinds(BOTH, delete_all, "V V S! ");
}

/* Soft-deleted snapshots do not prevent the deletion of a blob. */
static void delete_snapshots_then_blob(struct blob_fixture *f)
{
    snapshot(f);
    CHECK_OK(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_ONLY));
    CHECK_OK(bf_delete(f, bf_blob(f, "b"), BLOB_SNAPSHOTS_KEEP));
}

void test_kept_by_delete_of_snapshots_alone(void)
{
    check_kinds(NOTHING, delete_snapshots_then_blob, "");
    check_kinds(SOFT, delete_snapshots_then_blob, "S! B! ");
    check_kinds(VERSIONS, delete_snapshots_then_blob, "V V ");
    check_kinds(BOTH, delete_snapshots_then_blob, "V V S! ");
}

static void delete_snapshot(struct blob_fixture *f)
{
    int64_t time;
    struct str content;
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "b"), &time));
    CHECK_OK(bf_delete(f, bf_snapshot(f, "b", time), BLOB_SNAPSHOTS_KEEP));
    CHECK_ERR(bf_get(f, bf_snapshot(f, "b", time), &content), ERR_BLOB_NOT_FOUND);
    CHECK_ERR(bf_delete(f, bf_snapshot(f, "b", time), BLOB_SNAPSHOTS_KEEP), ERR_BLOB_NOT_FOUND);
}

void test_kept_by_delete_of_a_snapshot(void)
{
    check_kinds(NOTHING, delete_snapshot, "B ");
    check_kinds(SOFT, delete_snapshot, "S! B ");
    check_kinds(VERSIONS, delete_snapshot, "V B ");
    check_kinds(BOTH, delete_snapshot, "V S! B ");
}

static void delete_version(struct blob_fixture *f)
{
    struct blob_head first, second;
    struct str content;
    CHECK_OK(bf_properties(f, bf_blob(f, "b"), &first));
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("two"), &second));
    CHECK_OK(bf_get(f, bf_version(f, "b", first.version), &content));
    CHECK_STR(content, STR("one"));
    CHECK_OK(bf_get(f, bf_version(f, "b", second.version), &content));
    CHECK_STR(content, STR("two"));
    CHECK_ERR(bf_delete(f, bf_version(f, "b", second.version), BLOB_SNAPSHOTS_KEEP),
              ERR_OPERATION_NOT_ALLOWED_ON_ROOT_BLOB);
    CHECK_OK(bf_delete(f, bf_version(f, "b", first.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_ERR(bf_get(f, bf_version(f, "b", first.version), &content), ERR_BLOB_NOT_FOUND);
    CHECK_STR(bf_content(f, "b"), STR("two"));
}

void test_kept_by_delete_of_a_version(void)
{
    check_kinds(VERSIONS, delete_version, "B ");
    check_kinds(BOTH, delete_version, "V! B ");
}

/* An uncommitted blob counts as absent. */
void test_kept_by_delete_of_an_uncommitted_blob(void)
{
    for (enum setting s = NOTHING; s <= BOTH; s++) {
        struct blob_fixture f;
        begin(&f, s);
        CHECK_OK(bf_stage(&f, bf_blob(&f, "u"), "1", bf_bytes(&f, 9000, 1)));
        CHECK_OK(bf_delete(&f, bf_blob(&f, "u"), BLOB_SNAPSHOTS_KEEP));
        CHECK_STR(bf_kinds(&f, "u"), STR(""));
        bf_end(&f);
    }
}

/* ---- what was soft-deleted is made again ---- */

static void put_again(struct blob_fixture *f)
{
    delete_blob(f);
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("two"), NULL));
}

void test_kept_by_put_blob_over_a_soft_deleted_one(void)
{
    check_kinds(SOFT, put_again, "S! B ");
}

static void stage_again(struct blob_fixture *f)
{
    delete_blob(f);
    CHECK_OK(bf_stage(f, bf_blob(f, "b"), "1", bf_bytes(f, 9000, 1)));
}

void test_kept_by_put_block_over_a_soft_deleted_one(void)
{
    check_kinds(SOFT, stage_again, "S! B? ");
}

static void put_other_type(struct blob_fixture *f)
{
    put_again(f);
    delete_blob(f);
    CHECK_STR(bf_kinds(f, "b"), STR("S! B! "));
    struct blob_create_append_args args = {.request = bf_blob(f, "b")};
    CHECK_OK(bf_update(f, blob_create_append_blob, &args));
}

void test_kept_by_put_blob_of_another_type_over_a_soft_deleted_one(void)
{
    check_kinds(SOFT, put_other_type, "B ");
}

/* All versions of a blob are of one type. */
void test_versions_are_of_one_type(void)
{
    struct blob_fixture f;
    begin(&f, VERSIONS);
    struct blob_create_append_args args = {.request = bf_blob(&f, "b")};
    delete_blob(&f);
    CHECK_ERR(bf_update(&f, blob_create_append_blob, &args), ERR_INVALID_BLOB_TYPE);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), NULL));
    CHECK_STR(bf_kinds(&f, "b"), STR("V B "));
    bf_end(&f);
}

/* ---- Undelete Blob ---- */

void test_undelete_blob(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    struct blob_head before, after;
    CHECK_OK(set_tag(&f, bf_blob(&f, "b"), "red"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &before));
    delete_all(&f);
    CHECK_OK(bf_undelete(&f, "b"));
    CHECK_STR(bf_kinds(&f, "b"), STR("S B "));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
    CHECK_INT(after.etag, before.etag);
    CHECK_STR(after.tags, before.tags);
    CHECK_STR(bf_content(&f, "b"), STR("one"));
    CHECK_OK(bf_undelete(&f, "b"));
    CHECK_ERR(bf_undelete(&f, "none"), ERR_BLOB_NOT_FOUND);
    bf_end(&f);
}

/* Overwritten states are restored as snapshots, and the blob is unchanged. */
void test_undelete_blob_that_was_overwritten(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    put_blob(&f);
    CHECK_OK(bf_undelete(&f, "b"));
    CHECK_STR(bf_kinds(&f, "b"), STR("S B "));
    CHECK_STR(bf_content(&f, "b"), STR("two"));
    bf_end(&f);
}

/* With versions, all are restored except the current one. */
void test_undelete_blob_with_versions(void)
{
    struct blob_fixture f;
    begin(&f, BOTH);
    delete_version(&f);
    delete_blob(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("V V! "));
    CHECK_OK(bf_undelete(&f, "b"));
    CHECK_STR(bf_kinds(&f, "b"), STR("V V "));
    CHECK_OK(bf_undelete(&f, "b"));
    bf_end(&f);
}

/* ---- retention ---- */

void test_retention_runs_out(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    put_blob(&f);
    days(&f, 3);
    delete_all(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("S! S! B! "));
    days(&f, 4);
    bf_expire(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("S! B! "));
    days(&f, 2);
    bf_retain(&f, 0, false);
    bf_expire(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("S! B! "));
    days(&f, 1);
    bf_expire(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR(""));
    CHECK_ERR(bf_undelete(&f, "b"), ERR_BLOB_NOT_FOUND);
    bf_end(&f);
}

/* More items at once than one step of the sweeper processes; restored ones are not removed. */
void test_retention_runs_out_in_steps(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    for (int i = 0; i < 450; i++)
        CHECK_OK(bf_put(&f, bf_blob(&f, "many"), bf_bytes(&f, 5000, (unsigned)i), NULL));
    delete_blob(&f);
    CHECK_OK(bf_undelete(&f, "b"));
    days(&f, 7);
    bf_expire(&f);
    CHECK_STR(bf_kinds(&f, ""), STR("B B "));
    bf_end(&f);
}

void test_retention_of_versions(void)
{
    struct blob_fixture f;
    begin(&f, BOTH);
    delete_version(&f);
    put_blob(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("V V! B "));
    days(&f, 400);
    bf_expire(&f);
    CHECK_STR(bf_kinds(&f, "b"), STR("V B "));
    bf_end(&f);
}

/* ---- permanent delete ---- */

void test_delete_blob_permanently(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    int64_t time;
    struct blob_request snapshot_request;
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    snapshot_request = bf_snapshot(&f, "b", time);
    CHECK_ERR(bf_delete_permanently(&f, snapshot_request), ERR_PERMANENT_DELETE_NOT_ALLOWED);
    bf_retain(&f, 7, true);
    CHECK_ERR(bf_delete_permanently(&f, snapshot_request), ERR_BLOB_SNAPSHOT_NOT_SOFT_DELETED);
    CHECK_OK(bf_delete(&f, snapshot_request, BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete_permanently(&f, snapshot_request));
    CHECK_ERR(bf_delete_permanently(&f, snapshot_request), ERR_BLOB_NOT_FOUND);
    CHECK_STR(bf_kinds(&f, "b"), STR("B "));
    delete_blob(&f);
    CHECK_ERR(bf_delete_permanently(&f, bf_blob(&f, "b")), ERR_PERMANENT_DELETE_NOT_ALLOWED);
    bf_end(&f);
}

void test_delete_version_permanently(void)
{
    struct blob_fixture f;
    begin(&f, BOTH);
    bf_retain(&f, 7, true);
    struct blob_head first;
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &first));
    delete_version(&f);
    CHECK_OK(bf_delete_permanently(&f, bf_version(&f, "b", first.version)));
    CHECK_STR(bf_kinds(&f, "b"), STR("B "));
    bf_end(&f);
}

/* ---- versions turned on and off ---- */

/* A blob from before versions were on has no id; its state gets one when it becomes a version. */
void test_versioning_turned_on(void)
{
    struct blob_fixture f;
    struct blob_head old, new;
    struct str content;
    begin(&f, NOTHING);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &old));
    CHECK_INT(old.version, 0);
    f.versioning = true;
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), &new));
    CHECK(new.version > old.etag);
    CHECK_OK(bf_get(&f, bf_version(&f, "b", old.etag), &content));
    CHECK_STR(content, STR("one"));
    bf_end(&f);
}

/* The version that was current remains a version; later writes are not versions and are not
 * kept. */
void test_versioning_turned_off(void)
{
    struct blob_fixture f;
    struct blob_head head;
    begin(&f, VERSIONS);
    f.versioning = false;
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "v", &head));
    CHECK_INT(head.version, 0);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), &head));
    CHECK_INT(head.version, 0);
    CHECK_STR(bf_kinds(&f, "b"), STR("V B "));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    CHECK_STR(bf_kinds(&f, "b"), STR("V "));
    bf_end(&f);
}

/* A write that makes no version leaves the id as it is. */
void test_version_id_stays(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    begin(&f, VERSIONS);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &before));
    set_properties(&f);
    set_tier(&f);
    set_tags(&f);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
    CHECK_INT(after.version, before.version);
    bf_end(&f);
}

/* Each version has separate tags and a separate tier. */
void test_version_has_tags_and_tier(void)
{
    struct blob_fixture f;
    struct blob_head first, now;
    begin(&f, VERSIONS);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &first));
    put_blob(&f);
    CHECK_OK(set_tag(&f, bf_version(&f, "b", first.version), "blue"));
    struct blob_tier_args tier = {.request = bf_version(&f, "b", first.version),
                                  .tier = BLOB_TIER_COOL};
    CHECK_OK(bf_update(&f, blob_set_blob_tier, &tier));
    CHECK_OK(bf_properties(&f, bf_version(&f, "b", first.version), &now));
    CHECK_INT(now.tier, BLOB_TIER_COOL);
    CHECK(now.tags.n > 0);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &now));
    CHECK_INT(now.tier, BLOB_TIER_NONE);
    CHECK_INT(now.tags.n, 0);
    bf_end(&f);
}

/* The lease belongs to the blob: it stays there when a version is made, and does not guard
 * versions. */
void test_versions_and_leases(void)
{
    struct blob_fixture f;
    struct blob_head first;
    begin(&f, VERSIONS);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &first));
    CHECK_OK(bf_acquire(&f, "b", 'A', 60));
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("two"), NULL), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_put(&f, bf_with_lease(&f, "b", 'A'), STR("two"), NULL));
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("three"), NULL), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_delete(&f, bf_version(&f, "b", first.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(&f, bf_with_lease(&f, "b", 'A'), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("four"), NULL));
    bf_end(&f);
}

/* A soft-deleted blob loses its lease. */
void test_soft_delete_and_leases(void)
{
    struct blob_fixture f;
    begin(&f, SOFT);
    CHECK_OK(bf_acquire(&f, "b", 'A', -1));
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_delete(&f, bf_with_lease(&f, "b", 'A'), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_undelete(&f, "b"));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("two"), NULL));
    bf_end(&f);
}
