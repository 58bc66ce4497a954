/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy.h"

#include "engine/wait.h"
#include "service/blob/append.h"
#include "service/blob/copy/copy_fixture.h"
#include "service/blob/page/page.h"
#include "service/blob/tier.h"
#include "service/common/fault_fixture.h"

/* A container of another account, with a blob in it. */
static struct str other_container(struct blob_fixture *f)
{
    struct str partition = blob_partition(&f->arena, STR("b"), STR("other"));
    struct container_args create = {.request = {.arena = &f->arena}};
    CHECK_OK(engine_update_wait(f->store.engine, partition, blob_create_container, &create));
    return partition;
}

/* ---- Copy Blob ---- */

void test_copy_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct str content = bf_bytes(&f, 9 << 20, 1);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), content, NULL));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "from"), "value", NULL));
    uint64_t bytes = bf_extent_bytes(&f);
    CHECK_OK(cf_copy(&f, "from", "to"));
    CHECK_STR(bf_content(&f, "to"), content);
    CHECK_INT(bf_extent_bytes(&f), bytes);
    struct blob_copy_state state = cf_state(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_SUCCESS);
    CHECK_INT(state.done, content.n);
    CHECK_INT(state.total, content.n);
    CHECK(state.completed != 0);
    CHECK_STR(state.source, STR("http://here/a/c/from"));
    struct blob_head from, to;
    CHECK_OK(bf_properties(&f, bf_blob(&f, "from"), &from));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &to));
    CHECK_STR(to.metadata, from.metadata);
    /* Either may go without the other. */
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_STR(bf_content(&f, "to"), content);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_copy_blob_to_another_container(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct str other = other_container(&f);
    struct str content = bf_bytes(&f, 9 << 20, 1);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "from"), "1", content));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "from"), "2", STR("end")));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "from"), "u1 u2", NULL));
    struct blob_source source = cf_source(&f, "from");
    CHECK_OK(cf_find(&f, &source));
    struct blob_copy_args args = cf_args(bf_blob(&f, "to"), &source);
    uint64_t bytes = bf_extent_bytes(&f);
    CHECK_OK(engine_update_wait(f.store.engine, other, blob_copy_blob, &args));
    CHECK_INT(args.status, BLOB_COPY_SUCCESS);
    CHECK_INT(bf_extent_bytes(&f), bytes);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    f.partition = other;
    CHECK_INT(bf_content(&f, "to").n, content.n + 3);
    CHECK_STR(str_head(bf_content(&f, "to"), content.n), content);
    CHECK_STR(bf_blocks(&f, bf_blob(&f, "to")), STR("1=9437184 2=3 |"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 2);
    bf_release(&f);
}

void test_copy_blob_of_a_changed_source(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), bf_bytes(&f, 1 << 20, 1), NULL));
    struct blob_source source = cf_source(&f, "from");
    CHECK_OK(cf_find(&f, &source));
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("other"), NULL));
    struct blob_copy_args args = cf_args(bf_blob(&f, "to"), &source);
    CHECK_ERR(bf_update(&f, blob_copy_blob, &args), ERR_SOURCE_CONDITION_NOT_MET);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    CHECK_ERR(bf_update(&f, blob_copy_blob, &args), ERR_SOURCE_CONDITION_NOT_MET);
    struct blob_head head;
    CHECK_ERR(bf_properties(&f, bf_blob(&f, "to"), &head), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_copy_blob_source_conditions(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("x"), &head));
    struct blob_source source = cf_source(&f, "from");
    source.conditions.if_match = bf_etag(&f, head.etag);
    CHECK_OK(cf_find(&f, &source));
    source = cf_source(&f, "from");
    source.conditions.if_match = STR("\"0x8D0000000000000\"");
    CHECK_ERR(cf_find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = cf_source(&f, "from");
    source.conditions.if_none_match = bf_etag(&f, head.etag);
    CHECK_ERR(cf_find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = cf_source(&f, "from");
    source.conditions.has_modified_since = true;
    source.conditions.modified_since = BLOB_FIXTURE_NOW + TICKS_PER_DAY;
    CHECK_ERR(cf_find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = cf_source(&f, "from");
    source.conditions.has_unmodified_since = true;
    source.conditions.unmodified_since = BLOB_FIXTURE_NOW - TICKS_PER_DAY;
    CHECK_ERR(cf_find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = cf_source(&f, "absent");
    CHECK_ERR(cf_find(&f, &source), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_copy_blob_destination_conditions(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("new"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "to"), STR("old"), &head));
    struct blob_source source = cf_source(&f, "from");
    struct blob_copy_wishes none = {0};
    struct blob_request to = bf_if_match(&f, "to", head.etag + 1);
    CHECK_ERR(cf_copy_to(&f, &source, to, none), ERR_CONDITION_NOT_MET);
    to = bf_blob(&f, "to");
    to.conditions.if_none_match = STR("*");
    CHECK_ERR(cf_copy_to(&f, &source, to, none), ERR_BLOB_ALREADY_EXISTS);
    to = bf_blob(&f, "to");
    to.create_only = true;
    CHECK_ERR(cf_copy_to(&f, &source, to, none), ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    CHECK_STR(bf_content(&f, "to"), STR("old"));
    CHECK_OK(cf_copy_to(&f, &source, bf_if_match(&f, "to", head.etag), none));
    CHECK_STR(bf_content(&f, "to"), STR("new"));
    bf_release(&f);
}

/* A leased destination needs the lease id, and the lease must be infinite. */
void test_copy_blob_leases(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_copy_wishes none = {0};
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("new"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "to"), STR("old"), NULL));
    struct blob_source source = cf_source(&f, "from");
    CHECK_ERR(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none),
              ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    CHECK_OK(bf_acquire(&f, "to", 'A', 15));
    CHECK_ERR(cf_copy_to(&f, &source, bf_blob(&f, "to"), none), ERR_LEASE_ID_MISSING);
    CHECK_ERR(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'B'), none),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    CHECK_ERR(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none),
              ERR_INFINITE_LEASE_DURATION_REQUIRED);
    bf_seconds(&f, 16);
    CHECK_ERR(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none), ERR_LEASE_LOST);
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "to"), none));
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    CHECK_OK(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none));
    /* The lease stays on the new content, and the source's does not matter. */
    CHECK_ERR(cf_copy_to(&f, &source, bf_blob(&f, "to"), none), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_acquire(&f, "from", 'C', 15));
    CHECK_OK(cf_copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none));
    bf_release(&f);
}

void test_copy_blob_of_a_snapshot_onto_itself(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("first"), NULL));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("second"), NULL));
    struct blob_source source = cf_source(&f, "b");
    source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "b"), (struct blob_copy_wishes){0}));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "b", time), BLOB_SNAPSHOTS_KEEP));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    bf_release(&f);
}

/* Promotion: a previous version is copied onto the blob, and what was current stays as one. */
void test_copy_blob_of_a_version_onto_itself(void)
{
    struct blob_fixture f;
    struct blob_head first;
    bf_init(&f);
    f.versioning = true;
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("first"), &first));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("second"), NULL));
    struct blob_source source = cf_source(&f, "b");
    source.at = (struct blob_at){.item = BLOB_VERSION, .time = first.version};
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "b"), (struct blob_copy_wishes){0}));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    CHECK_STR(bf_kinds(&f, "b"), STR("V V B "));
    CHECK_OK(bf_delete(&f, bf_version(&f, "b", first.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    bf_release(&f);
}

/* What each setting keeps of a blob that a copy overwrites, even with its own content. */
void test_kept_by_copy_blob(void)
{
    static const char *const WANT[] = {"B ", "S! B ", "V B ", "V B "};
    for (unsigned setting = 0; setting < 4; setting++) {
        struct blob_fixture f;
        bf_init(&f);
        f.versioning = setting >= 2;
        if (setting % 2 == 1)
            bf_retain(&f, 7, false);
        CHECK_OK(bf_put(&f, bf_blob(&f, "a"), bf_bytes(&f, 9000, 1), NULL));
        CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 9000, 2), NULL));
        CHECK_OK(cf_copy(&f, "a", "b"));
        CHECK_STR(bf_kinds(&f, "b"), str_of(WANT[setting]));
        CHECK_STR(bf_content(&f, "b"), bf_bytes(&f, 9000, 1));
        CHECK_OK(cf_copy(&f, "a", "a"));
        CHECK_STR(bf_kinds(&f, "a"), str_of(WANT[setting]));
        CHECK_STR(bf_content(&f, "a"), bf_bytes(&f, 9000, 1));
        bf_end(&f);
    }
}

void test_copy_blob_onto_itself(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct str content = bf_bytes(&f, 100000, 3);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), content, NULL));
    struct blob_source source = cf_source(&f, "b");
    struct blob_copy_wishes cool = {.tier = BLOB_TIER_COOL};
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "b"), cool));
    CHECK_STR(bf_content(&f, "b"), content);
    struct blob_head head;
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_INT(head.tier, BLOB_TIER_COOL);
    cf_page_blob(&f, "p", 3);
    CHECK_OK(cf_copy(&f, "p", "p"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "p"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_copy_blob_types(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "block"), STR("x"), NULL));
    cf_append_blob(&f, "append", 3);
    cf_page_blob(&f, "page", 3);
    CHECK_ERR(cf_copy(&f, "block", "append"), ERR_INVALID_BLOB_TYPE);
    CHECK_ERR(cf_copy(&f, "append", "page"), ERR_INVALID_BLOB_TYPE);
    CHECK_ERR(cf_copy(&f, "page", "block"), ERR_INVALID_BLOB_TYPE);
    struct blob_head head;
    CHECK_OK(cf_copy(&f, "append", "append2"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "append2"), &head));
    CHECK_INT(head.type, BLOB_APPEND);
    CHECK_INT(head.block_count, 3);
    CHECK_STR(bf_content(&f, "append2"), STR("abc"));
    CHECK_OK(cf_copy(&f, "page", "page2"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "page2"), &head));
    CHECK_INT(head.type, BLOB_PAGE);
    CHECK_INT(head.size, 1 << 30);
    CHECK_INT(head.sequence, 7);
    bf_release(&f);
}

/* Both can be appended to independently. */
void test_copy_blob_of_an_append_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    cf_append_blob(&f, "from", 2);
    CHECK_OK(cf_copy(&f, "from", "to"));
    struct piece piece = {.kind = PIECE_INLINE, .length = 1, .bytes = "!"};
    struct pieces pieces = {&piece, 1, 1};
    struct blob_append_args append = {.request = bf_blob(&f, "to"), .pieces = &pieces, .size = 1};
    CHECK_OK(bf_update(&f, blob_append_block, &append));
    CHECK_STR(bf_content(&f, "from"), STR("ab"));
    CHECK_STR(bf_content(&f, "to"), STR("ab!"));
    /* Appending is a write, so the copy is no longer told of. */
    CHECK_INT(cf_state(&f, "to").status, BLOB_COPY_NONE);
    struct blob_append_args seal = {.request = bf_blob(&f, "from")};
    CHECK_OK(bf_update(&f, blob_seal_append_blob, &seal));
    struct blob_source source = cf_source(&f, "from");
    struct blob_head head;
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){0}));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK(head.sealed);
    CHECK_OK(
        cf_copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){.has_seal = true}));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK(!head.sealed);
    bf_release(&f);
}

void test_copy_blob_of_an_archived_blob(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("x"), NULL));
    struct blob_tier_args archive = {.request = bf_blob(&f, "from"), .tier = BLOB_TIER_ARCHIVE};
    CHECK_OK(bf_update(&f, blob_set_blob_tier, &archive));
    CHECK_ERR(cf_copy(&f, "from", "to"), ERR_BLOB_ARCHIVED);
    struct blob_source source = cf_source(&f, "from");
    struct blob_copy_wishes hot = {
        .tier = BLOB_TIER_HOT, .rehydrate_ticks = TICKS_PER_SECOND, .high_priority = true};
    CHECK_OK(cf_copy_to(&f, &source, bf_blob(&f, "to"), hot));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK_STR(blob_archive_status_text(&head), STR("rehydrate-pending-to-hot"));
    CHECK_STR(blob_rehydrate_priority_text(&head), STR("High"));
    struct str content;
    CHECK_ERR(bf_get(&f, bf_blob(&f, "to"), &content), ERR_BLOB_BEING_REHYDRATED);
    bf_seconds(&f, 2);
    CHECK_STR(bf_content(&f, "to"), STR("x"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "from"), &head));
    CHECK_INT(head.tier, BLOB_TIER_ARCHIVE);
    source.archived_too = false;
    source.found = false;
    CHECK_ERR(cf_find(&f, &source), ERR_BLOB_ARCHIVED);
    struct blob_copy_wishes page = {.tier = BLOB_TIER_P10};
    CHECK_OK(bf_put(&f, bf_blob(&f, "hot"), STR("x"), NULL));
    source = cf_source(&f, "hot");
    CHECK_ERR(cf_copy_to(&f, &source, bf_blob(&f, "to2"), page), ERR_INVALID_BLOB_TIER);
    bf_release(&f);
}

/* ---- every engine call failing in turn ---- */

struct faulty {
    struct blob_fixture fixture;
    struct str destination; /* partition */
};

static struct err copy_faulty(void *world)
{
    struct faulty *faulty = world;
    struct blob_fixture *f = &faulty->fixture;
    struct blob_source source = cf_source(f, "from");
    TRY(cf_find(f, &source));
    struct blob_copy_args args = cf_args(bf_blob(f, "to"), &source);
    return engine_update_wait(f->store.engine, faulty->destination, blob_copy_blob, &args);
}

static void fail_copies_to(bool other)
{
    struct faulty faulty = {0};
    struct blob_fixture *f = &faulty.fixture;
    bf_init_fault(f);
    faulty.destination = other ? other_container(f) : f->partition;
    CHECK_OK(bf_stage(f, bf_blob(f, "from"), "1", bf_bytes(f, 100000, 1)));
    CHECK_OK(bf_commit(f, bf_blob(f, "from"), "u1", NULL));
    CHECK(fault_each_call(f->store.engine, &f->arena, copy_faulty, &faulty) > 5);
    bf_release(f);
}

void test_copy_blob_faults(void)
{
    fail_copies_to(false);
    fail_copies_to(true);
}
