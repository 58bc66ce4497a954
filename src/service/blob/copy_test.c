/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy.h"

#include "service/blob/append.h"
#include "service/blob/blob_fixture.h"
#include "service/blob/incremental.h"
#include "service/blob/page.h"
#include "service/blob/tier.h"
#include "service/common/fault_fixture.h"

/* ---- what the tests do ---- */

static struct blob_source source_of(struct blob_fixture *f, const char *name)
{
    return (struct blob_source){.arena = &f->arena,
                                .partition = f->partition,
                                .name = str_of(name),
                                .length = UINT64_MAX,
                                .pieces_max = BLOB_SOURCE_PIECES,
                                .archived_too = true};
}

static struct err find(struct blob_fixture *f, struct blob_source *source)
{
    return engine_view(f->store.engine, source->partition, ENGINE_WAIT, blob_read_source, source);
}

static struct blob_copy_args copy_args(struct blob_request to, const struct blob_source *source)
{
    return (struct blob_copy_args){.request = to,
                                   .id = bf_guid('I'),
                                   .url = STR("http://here/a/c/from"),
                                   .from = &source->head,
                                   .source = source,
                                   .pieces = &source->pieces,
                                   .claim = PIECE_HOLD,
                                   .needs_infinite_lease = true};
}

static struct err copy_to(struct blob_fixture *f, struct blob_source *source,
                          struct blob_request to, struct blob_copy_wishes wishes)
{
    TRY(find(f, source));
    struct blob_copy_args args = copy_args(to, source);
    args.wishes = wishes;
    return bf_update(f, blob_copy_blob, &args);
}

static struct err copy_plain(struct blob_fixture *f, const char *from, const char *to)
{
    struct blob_source source = source_of(f, from);
    return copy_to(f, &source, bf_blob(f, to), (struct blob_copy_wishes){0});
}

static struct blob_copy_state state_of(struct blob_fixture *f, const char *name)
{
    struct blob_head head;
    struct blob_copy_state state;
    CHECK_OK(bf_properties(f, bf_blob(f, name), &head));
    CHECK_OK(blob_copy_decode(head.copy, &state));
    return state;
}

/* A container of another account, with a blob in it. */
static struct str other_container(struct blob_fixture *f)
{
    struct str partition = blob_partition(&f->arena, STR("b"), STR("other"));
    struct container_args create = {.request = {.arena = &f->arena}};
    CHECK_OK(engine_update_wait(f->store.engine, partition, blob_create_container, &create));
    return partition;
}

static void create_append(struct blob_fixture *f, const char *name, unsigned blocks)
{
    struct blob_create_append_args create = {.request = bf_blob(f, name)};
    CHECK_OK(bf_update(f, blob_create_append_blob, &create));
    for (unsigned i = 0; i < blocks; i++) {
        char *byte = arena_bytes(&f->arena, 1);
        *byte = (char)('a' + i % 26);
        struct piece piece = {.kind = PIECE_INLINE, .length = 1, .bytes = byte};
        struct pieces pieces = {&piece, 1, 1};
        struct blob_append_args append = {
            .request = bf_blob(f, name), .pieces = &pieces, .size = 1};
        CHECK_OK(bf_update(f, blob_append_block, &append));
    }
}

static void create_pages(struct blob_fixture *f, const char *name, unsigned pages)
{
    struct blob_create_page_args create = {
        .request = bf_blob(f, name), .size = 1 << 30, .sequence = 7};
    CHECK_OK(bf_update(f, blob_create_page_blob, &create));
    for (unsigned i = 0; i < pages; i++) {
        struct str bytes = bf_bytes(f, 512, i);
        struct piece piece = {.kind = PIECE_INLINE, .length = 512, .bytes = bytes.p};
        struct pieces pieces = {&piece, 1, 1};
        struct blob_page_args put = {.request = bf_blob(f, name),
                                     .offset = (uint64_t)i * 8192,
                                     .length = 512,
                                     .pieces = &pieces};
        CHECK_OK(bf_update(f, blob_put_page, &put));
    }
}

/* Steps until it has ended; how many there were. */
static unsigned advance(struct blob_fixture *f, const char *name)
{
    struct blob_copy_state state = state_of(f, name);
    struct copy_jobs_args list = {.arena = &f->arena, .max = 10};
    bool ended = false;
    unsigned steps = 0;
    CHECK_OK(bf_view(f, copy_jobs_list, &list));
    CHECK_INT(list.count, 1);
    CHECK(list.jobs[0].id == state.job);
    while (!ended) {
        struct copy_place place = {f->partition, list.jobs[0].incarnation, list.jobs[0].id,
                                   blob_step_copy};
        CHECK_OK(copy_job_advance(&f->store, &place, &ended));
        steps++;
    }
    CHECK_OK(bf_view(f, copy_jobs_list, &list));
    CHECK_INT(list.count, 0);
    return steps;
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
    CHECK_OK(copy_plain(&f, "from", "to"));
    CHECK_STR(bf_content(&f, "to"), content);
    CHECK_INT(bf_extent_bytes(&f), bytes);
    struct blob_copy_state state = state_of(&f, "to");
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
    struct blob_source source = source_of(&f, "from");
    CHECK_OK(find(&f, &source));
    struct blob_copy_args args = copy_args(bf_blob(&f, "to"), &source);
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
    struct blob_source source = source_of(&f, "from");
    CHECK_OK(find(&f, &source));
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("other"), NULL));
    struct blob_copy_args args = copy_args(bf_blob(&f, "to"), &source);
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
    struct blob_source source = source_of(&f, "from");
    source.conditions.if_match = bf_etag(&f, head.etag);
    CHECK_OK(find(&f, &source));
    source = source_of(&f, "from");
    source.conditions.if_match = STR("\"0x8D0000000000000\"");
    CHECK_ERR(find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = source_of(&f, "from");
    source.conditions.if_none_match = bf_etag(&f, head.etag);
    CHECK_ERR(find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = source_of(&f, "from");
    source.conditions.has_modified_since = true;
    source.conditions.modified_since = BLOB_FIXTURE_NOW + TICKS_PER_DAY;
    CHECK_ERR(find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = source_of(&f, "from");
    source.conditions.has_unmodified_since = true;
    source.conditions.unmodified_since = BLOB_FIXTURE_NOW - TICKS_PER_DAY;
    CHECK_ERR(find(&f, &source), ERR_SOURCE_CONDITION_NOT_MET);
    source = source_of(&f, "absent");
    CHECK_ERR(find(&f, &source), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_copy_blob_destination_conditions(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("new"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "to"), STR("old"), &head));
    struct blob_source source = source_of(&f, "from");
    struct blob_copy_wishes none = {0};
    struct blob_request to = bf_if_match(&f, "to", head.etag + 1);
    CHECK_ERR(copy_to(&f, &source, to, none), ERR_CONDITION_NOT_MET);
    to = bf_blob(&f, "to");
    to.conditions.if_none_match = STR("*");
    CHECK_ERR(copy_to(&f, &source, to, none), ERR_BLOB_ALREADY_EXISTS);
    to = bf_blob(&f, "to");
    to.create_only = true;
    CHECK_ERR(copy_to(&f, &source, to, none), ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    CHECK_STR(bf_content(&f, "to"), STR("old"));
    CHECK_OK(copy_to(&f, &source, bf_if_match(&f, "to", head.etag), none));
    CHECK_STR(bf_content(&f, "to"), STR("new"));
    bf_release(&f);
}

/* A leased destination wants its id, and the lease must be without end. */
void test_copy_blob_leases(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_copy_wishes none = {0};
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("new"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "to"), STR("old"), NULL));
    struct blob_source source = source_of(&f, "from");
    CHECK_ERR(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none),
              ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    CHECK_OK(bf_acquire(&f, "to", 'A', 15));
    CHECK_ERR(copy_to(&f, &source, bf_blob(&f, "to"), none), ERR_LEASE_ID_MISSING);
    CHECK_ERR(copy_to(&f, &source, bf_with_lease(&f, "to", 'B'), none),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    CHECK_ERR(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none),
              ERR_INFINITE_LEASE_DURATION_REQUIRED);
    bf_seconds(&f, 16);
    CHECK_ERR(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none), ERR_LEASE_LOST);
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "to"), none));
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    CHECK_OK(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none));
    /* The lease stays on the new content, and the source's does not matter. */
    CHECK_ERR(copy_to(&f, &source, bf_blob(&f, "to"), none), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_acquire(&f, "from", 'C', 15));
    CHECK_OK(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), none));
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
    struct blob_source source = source_of(&f, "b");
    source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "b"), (struct blob_copy_wishes){0}));
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
    struct blob_source source = source_of(&f, "b");
    source.at = (struct blob_at){.item = BLOB_VERSION, .time = first.version};
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "b"), (struct blob_copy_wishes){0}));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    CHECK_STR(bf_kinds(&f, "b"), STR("V V B "));
    CHECK_OK(bf_delete(&f, bf_version(&f, "b", first.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    bf_release(&f);
}

/* What each setting keeps of a blob that a copy overwrites, be it with its own content. */
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
        CHECK_OK(copy_plain(&f, "a", "b"));
        CHECK_STR(bf_kinds(&f, "b"), str_of(WANT[setting]));
        CHECK_STR(bf_content(&f, "b"), bf_bytes(&f, 9000, 1));
        CHECK_OK(copy_plain(&f, "a", "a"));
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
    struct blob_source source = source_of(&f, "b");
    struct blob_copy_wishes cool = {.tier = BLOB_TIER_COOL};
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "b"), cool));
    CHECK_STR(bf_content(&f, "b"), content);
    struct blob_head head;
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_INT(head.tier, BLOB_TIER_COOL);
    create_pages(&f, "p", 3);
    CHECK_OK(copy_plain(&f, "p", "p"));
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
    create_append(&f, "append", 3);
    create_pages(&f, "page", 3);
    CHECK_ERR(copy_plain(&f, "block", "append"), ERR_INVALID_BLOB_TYPE);
    CHECK_ERR(copy_plain(&f, "append", "page"), ERR_INVALID_BLOB_TYPE);
    CHECK_ERR(copy_plain(&f, "page", "block"), ERR_INVALID_BLOB_TYPE);
    struct blob_head head;
    CHECK_OK(copy_plain(&f, "append", "append2"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "append2"), &head));
    CHECK_INT(head.type, BLOB_APPEND);
    CHECK_INT(head.block_count, 3);
    CHECK_STR(bf_content(&f, "append2"), STR("abc"));
    CHECK_OK(copy_plain(&f, "page", "page2"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "page2"), &head));
    CHECK_INT(head.type, BLOB_PAGE);
    CHECK_INT(head.size, 1 << 30);
    CHECK_INT(head.sequence, 7);
    bf_release(&f);
}

/* Both grow on by themselves. */
void test_copy_blob_of_an_append_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    create_append(&f, "from", 2);
    CHECK_OK(copy_plain(&f, "from", "to"));
    struct piece piece = {.kind = PIECE_INLINE, .length = 1, .bytes = "!"};
    struct pieces pieces = {&piece, 1, 1};
    struct blob_append_args append = {.request = bf_blob(&f, "to"), .pieces = &pieces, .size = 1};
    CHECK_OK(bf_update(&f, blob_append_block, &append));
    CHECK_STR(bf_content(&f, "from"), STR("ab"));
    CHECK_STR(bf_content(&f, "to"), STR("ab!"));
    /* Appending is a write, so the copy is no longer told of. */
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_NONE);
    struct blob_append_args seal = {.request = bf_blob(&f, "from")};
    CHECK_OK(bf_update(&f, blob_seal_append_blob, &seal));
    struct blob_source source = source_of(&f, "from");
    struct blob_head head;
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){0}));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK(head.sealed);
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){.has_seal = true}));
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
    CHECK_ERR(copy_plain(&f, "from", "to"), ERR_BLOB_ARCHIVED);
    struct blob_source source = source_of(&f, "from");
    struct blob_copy_wishes hot = {
        .tier = BLOB_TIER_HOT, .rehydrate_ticks = TICKS_PER_SECOND, .high_priority = true};
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "to"), hot));
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
    CHECK_ERR(find(&f, &source), ERR_BLOB_ARCHIVED);
    struct blob_copy_wishes page = {.tier = BLOB_TIER_P10};
    CHECK_OK(bf_put(&f, bf_blob(&f, "hot"), STR("x"), NULL));
    source = source_of(&f, "hot");
    CHECK_ERR(copy_to(&f, &source, bf_blob(&f, "to2"), page), ERR_INVALID_BLOB_TIER);
    bf_release(&f);
}

/* ---- a copy that takes more than one transaction ---- */

void test_copy_blob_pending(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    create_append(&f, "from", BLOB_SOURCE_PIECES * 2 + 10);
    CHECK_OK(copy_plain(&f, "from", "to"));
    struct blob_copy_state state = state_of(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_PENDING);
    CHECK_INT(state.done, BLOB_SOURCE_PIECES);
    CHECK_INT(state.completed, 0);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK_INT(head.size, 0);
    /* Meanwhile nobody writes it, leases it or deletes it. */
    CHECK_ERR(bf_put(&f, bf_blob(&f, "to"), STR("x"), NULL), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_set_metadata(&f, bf_blob(&f, "to"), "x", NULL), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_acquire(&f, "to", 'A', 15), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "to"), "1", STR("x")), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(copy_plain(&f, "from", "to"), ERR_PENDING_COPY_OPERATION);
    CHECK_ERR(copy_plain(&f, "to", "third"), ERR_PENDING_COPY_OPERATION);
    int64_t time;
    CHECK_ERR(bf_take_snapshot(&f, bf_blob(&f, "to"), &time), ERR_PENDING_COPY_OPERATION);
    int64_t etag = head.etag;
    CHECK_INT(advance(&f, "to"), 2);
    state = state_of(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_SUCCESS);
    CHECK_STR(bf_content(&f, "to"), bf_content(&f, "from"));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "to"), &head));
    CHECK_INT(head.block_count, BLOB_SOURCE_PIECES * 2 + 10);
    CHECK(head.etag != etag);
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "to"), "x", NULL));
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_NONE);
    bf_release(&f);
}

void test_copy_blob_pending_pages(void)
{
    struct blob_fixture f;
    bf_init(&f);
    create_pages(&f, "from", 1500);
    int64_t time;
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    struct blob_source source = source_of(&f, "from");
    source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    CHECK_OK(copy_to(&f, &source, bf_blob(&f, "to"), (struct blob_copy_wishes){0}));
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_PENDING);
    /* The base of a snapshot may change. */
    struct blob_page_args clear = {.request = bf_blob(&f, "from"), .offset = 0, .length = 1 << 20};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK(advance(&f, "to") > 1);
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_SUCCESS);
    for (unsigned i = 0; i < 1500; i += 499) {
        struct blob_get_args get = {.request = bf_blob(&f, "to"),
                                    .store = &f.store,
                                    .wants_content = true,
                                    .has_range = true,
                                    .range_offset = (uint64_t)i * 8192,
                                    .range_length = 512};
        CHECK_OK(bf_view(&f, blob_get_blob, &get));
        CHECK_INT(get.pieces.count, 1);
        CHECK_STR(((struct str){get.pieces.items[0].bytes, 512}), bf_bytes(&f, 512, i));
    }
    bf_release(&f);
}

void test_copy_blob_failed(void)
{
    struct blob_fixture f;
    bf_init(&f);
    create_append(&f, "from", BLOB_SOURCE_PIECES + 10);
    CHECK_OK(copy_plain(&f, "from", "to"));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    CHECK_INT(advance(&f, "to"), 1);
    struct blob_copy_state state = state_of(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_FAILED);
    CHECK(str_starts(state.description, STR("412 ")));
    CHECK_INT(bf_content(&f, "to").n, 0);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

void test_abort_copy_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    create_append(&f, "from", BLOB_SOURCE_PIECES + 10);
    struct blob_abort_args abort = {.request = bf_blob(&f, "to"), .id = bf_guid('I')};
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_BLOB_NOT_FOUND);
    create_append(&f, "to", 1);
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_NO_PENDING_COPY_OPERATION);
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    struct blob_source source = source_of(&f, "from");
    CHECK_OK(copy_to(&f, &source, bf_with_lease(&f, "to", 'A'), (struct blob_copy_wishes){0}));
    /* A destination that is leased for good wants its id for this too. */
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_LEASE_ID_MISSING);
    abort.request = bf_with_lease(&f, "to", 'B');
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    abort.request = bf_with_lease(&f, "to", 'A');
    abort.id = bf_guid('X');
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_COPY_ID_MISMATCH);
    abort.id = bf_guid('I');
    CHECK_OK(bf_update(&f, blob_abort_copy_blob, &abort));
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_ABORTED);
    CHECK_INT(bf_content(&f, "to").n, 0);
    CHECK_ERR(bf_update(&f, blob_abort_copy_blob, &abort), ERR_NO_PENDING_COPY_OPERATION);
    CHECK_OK(bf_delete(&f, bf_with_lease(&f, "to", 'A'), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* Put Page, Put Block and leases leave what is told of the copy; other writes do not. */
void test_copy_blob_state_goes(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "from"), STR("x"), NULL));
    CHECK_OK(copy_plain(&f, "from", "to"));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "to"), "1", STR("x")));
    CHECK_OK(bf_acquire(&f, "to", 'A', LEASE_INFINITE));
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_SUCCESS);
    CHECK_OK(bf_commit(&f, bf_with_lease(&f, "to", 'A'), "u1", NULL));
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_NONE);
    create_pages(&f, "pages", 1);
    CHECK_OK(copy_plain(&f, "pages", "pages2"));
    struct blob_page_args clear = {.request = bf_blob(&f, "pages2"), .offset = 0, .length = 512};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK_INT(state_of(&f, "pages2").status, BLOB_COPY_SUCCESS);
    struct blob_set_args set = {.request = bf_blob(&f, "pages2")};
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &set));
    CHECK_INT(state_of(&f, "pages2").status, BLOB_COPY_NONE);
    bf_release(&f);
}

void test_copy_blob_state_encoding(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct blob_copy_state state = {.status = BLOB_COPY_FAILED,
                                    .id = bf_guid('I'),
                                    .source = STR("http://x/y"),
                                    .done = 3,
                                    .total = 1ULL << 40,
                                    .completed = BLOB_FIXTURE_NOW,
                                    .description = STR("404"),
                                    .job = 5,
                                    .incremental = true,
                                    .snapshot = 9,
                                    .source_snapshot = 8};
    struct str bytes = blob_copy_encode(&a, &state);
    struct blob_copy_state back;
    CHECK_OK(blob_copy_decode(bytes, &back));
    CHECK_STR(blob_copy_encode(&a, &back), bytes);
    CHECK_INT(back.total, 1LL << 40);
    CHECK(guid_eq(&back.id, &state.id));
    CHECK_ERR(blob_copy_decode(STR("\xff\xff"), &back), ERR_CORRUPT);
    CHECK_OK(blob_copy_decode(STR_NONE, &back));
    CHECK_INT(back.status, BLOB_COPY_NONE);
    arena_release(&a);
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
    struct blob_source source = source_of(f, "from");
    TRY(find(f, &source));
    struct blob_copy_args args = copy_args(bf_blob(f, "to"), &source);
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

/* ---- Incremental Copy Blob ---- */

static struct blob_incremental_args follow(struct blob_fixture *f, int64_t time)
{
    struct blob_incremental_args args = {.request = bf_blob(f, "to"),
                                         .id = bf_guid('I'),
                                         .url = STR("http://here/a/c/from?snapshot=x"),
                                         .source = source_of(f, "from")};
    args.source.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    return args;
}

/* More than one transaction takes: a job, and a snapshot when it has ended. */
void test_incremental_copy_blob(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    create_pages(&f, "from", 4500);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    struct blob_incremental_args args = follow(&f, time);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK(!args.whole);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_INT(args.status, BLOB_COPY_PENDING);
    CHECK(advance(&f, "to") > 1);
    struct blob_copy_state state = state_of(&f, "to");
    CHECK_INT(state.status, BLOB_COPY_SUCCESS);
    CHECK(state.incremental);
    struct blob_head head;
    CHECK_OK(bf_properties(&f, bf_snapshot(&f, "to", state.snapshot), &head));
    CHECK_INT(head.size, 1 << 30);
    /* The next is what has changed, at once. */
    struct blob_page_args clear = {.request = bf_blob(&f, "from"), .offset = 0, .length = 1 << 20};
    CHECK_OK(bf_update(&f, blob_put_page, &clear));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &time));
    args = follow(&f, time);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK(args.whole);
    CHECK(args.since != 0);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_INT(args.status, BLOB_COPY_SUCCESS);
    CHECK(state_of(&f, "to").snapshot > state.snapshot);
    /* What was found for an older state is not used for a newer one. */
    CHECK_ERR(bf_update(&f, blob_incremental_copy_blob, &args),
              ERR_INCREMENTAL_COPY_OF_EARLIER_SNAPSHOT_NOT_ALLOWED);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "to"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "from"), BLOB_SNAPSHOTS_INCLUDE));
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* One that fails has changed the blob, so the next copies all. */
void test_incremental_copy_blob_failed(void)
{
    struct blob_fixture f;
    int64_t first, second;
    bf_init(&f);
    create_pages(&f, "from", 4500);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &first));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "from"), &second));
    struct blob_incremental_args args = follow(&f, first);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "from", first), BLOB_SNAPSHOTS_KEEP));
    CHECK_INT(advance(&f, "to"), 1);
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_FAILED);
    args = follow(&f, second);
    CHECK_OK(blob_incremental_find(&f.store, f.partition, &args));
    CHECK_INT(args.since, 0);
    CHECK_OK(bf_update(&f, blob_incremental_copy_blob, &args));
    CHECK(advance(&f, "to") > 1);
    CHECK_INT(state_of(&f, "to").status, BLOB_COPY_SUCCESS);
    bf_release(&f);
}
