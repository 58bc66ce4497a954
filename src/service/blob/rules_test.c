/* SPDX-License-Identifier: Apache-2.0 */
/* The rules of the concurrency model that hold within the blob service, each by its name: see
 * docs/concurrency/rules.md. What only the wire shows (which operation returns an ETag or takes a
 * condition) is in test/rest/blob_rules.test.mjs. */
#include <pthread.h>

#include "service/blob/blob_fixture.h"

/* ---- F: foundations ---- */

void test_rule_F1_optimistic_pessimistic_and_last_writer_wins(void)
{
    struct blob_fixture f;
    struct blob_head first, second;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("1"), &first));
    /* Optimistic: one of two that read the same state gets through. */
    CHECK_OK(bf_put(&f, bf_if_match(&f, "b", first.etag), STR("2"), &second));
    CHECK_ERR(bf_put(&f, bf_if_match(&f, "b", first.etag), STR("3"), NULL), ERR_CONDITION_NOT_MET);
    /* Pessimistic: who holds the lease. */
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("4"), NULL), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_put(&f, bf_with_lease(&f, "b", 'A'), STR("5"), NULL));
    /* Last writer wins: who asks for nothing. */
    bf_seconds(&f, 15);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("6"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("7"), NULL));
    CHECK_STR(bf_content(&f, "b"), STR("7"));
    bf_release(&f);
}

void test_rule_F2_what_is_acknowledged_is_seen_by_all(void)
{
    struct blob_fixture f;
    bf_init(&f);
    for (unsigned i = 0; i < 100; i++) {
        struct str content = arena_printf(&f.arena, "%u", i);
        CHECK_OK(bf_put(&f, bf_blob(&f, "b"), content, NULL));
        CHECK_STR(bf_content(&f, "b"), content);
        CHECK_STR(bf_list(&f, (struct blob_list_args){0}), STR("b "));
    }
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    struct str content;
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_NOT_FOUND);
    CHECK_STR(bf_list(&f, (struct blob_list_args){0}), STR(""));
    bf_release(&f);
}

/* A writer that keeps replacing a blob: its content and its metadata always say the same number. */
struct writer {
    struct blob_fixture *f;
    bool stop;
};

static void *keep_writing(void *arg)
{
    struct writer *w = arg;
    struct blob_fixture mine = *w->f;
    arena_init(&mine.arena, SIZE_MAX);
    for (unsigned i = 0; !__atomic_load_n(&w->stop, __ATOMIC_RELAXED); i++) {
        struct str content = bf_bytes(&mine, i % 2 == 0 ? 100 : 20000, i);
        CHECK_OK(bf_put(&mine, bf_blob(&mine, "b"), content, NULL));
        arena_reset(&mine.arena);
    }
    arena_release(&mine.arena);
    return NULL;
}

void test_rule_F3_a_read_beside_writes_sees_one_committed_state(void)
{
    struct blob_fixture f;
    struct writer w = {.f = &f};
    pthread_t thread;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100, 0), NULL));
    CHECK(pthread_create(&thread, NULL, keep_writing, &w) == 0);
    struct arena own;
    arena_init(&own, SIZE_MAX);
    struct blob_fixture mine = f;
    mine.arena = own;
    for (unsigned i = 0; i < 500; i++) {
        struct str content = bf_content(&mine, "b");
        CHECK(content.n == 100 || content.n == 20000);
        CHECK_STR(content, bf_bytes(&mine, content.n, (unsigned)(unsigned char)content.p[0]));
        arena_reset(&mine.arena);
    }
    __atomic_store_n(&w.stop, true, __ATOMIC_RELAXED);
    CHECK(pthread_join(thread, NULL) == 0);
    arena_release(&mine.arena);
    bf_release(&f);
}

struct long_read {
    struct blob_get_args args;
    struct engine_pin *pin;
};

static void begin_long_read(struct blob_fixture *f, struct long_read *r)
{
    *r = (struct long_read){
        .args = {.request = bf_blob(f, "b"), .store = &f->store, .wants_content = true}};
    r->pin = engine_pin(f->store.engine);
    CHECK_OK(bf_view(f, blob_get_blob, &r->args));
}

static void end_long_read(struct blob_fixture *f, struct long_read *r, struct str want)
{
    size_t at = 0;
    for (size_t i = 0; i < r->args.pieces.count; i++) {
        const struct piece *piece = &r->args.pieces.items[i];
        char *to = arena_bytes(&f->arena, (size_t)piece->length);
        CHECK_OK(extent_read(f->store.engine, &piece->extent, piece->extent_offset,
                             (uint32_t)piece->length, ENGINE_WAIT, to));
        CHECK(memcmp(to, want.p + at, (size_t)piece->length) == 0);
        at += (size_t)piece->length;
    }
    CHECK_INT(at, want.n);
    engine_unpin(f->store.engine, r->pin);
}

void test_rule_F3_a_long_read_of_a_blob_that_is_replaced_or_deleted(void)
{
    struct blob_fixture f;
    struct long_read replaced, deleted;
    bf_init(&f);
    struct str old = bf_bytes(&f, 100000, 1), newer = bf_bytes(&f, 50000, 2);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), old, NULL));
    begin_long_read(&f, &replaced);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), newer, NULL));
    begin_long_read(&f, &deleted);
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    end_long_read(&f, &replaced, old);
    end_long_read(&f, &deleted, newer);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

/* ---- B: optimistic ---- */

void test_rule_B1_every_write_replaces_the_etag(void)
{
    struct blob_fixture f;
    struct blob_head a, b, c, d, e;
    int64_t snapshot;
    bf_init(&f);
    /* All in the same tick of the clock. */
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("same"), &a));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("same"), &b));
    CHECK(b.etag > a.etag && b.last_modified == a.last_modified);
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "b"), "v", &c));
    CHECK(c.etag > b.etag);
    struct blob_set_args set = {.request = bf_blob(&f, "b")};
    CHECK_OK(bf_update(&f, blob_set_blob_properties, &set));
    CHECK(set.head.etag > c.etag);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("block")));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &d));
    CHECK(d.etag == set.head.etag); /* a block changes nothing yet */
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "u1", &e));
    CHECK(e.etag > d.etag);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &d));
    CHECK(d.etag == e.etag);
    bf_release(&f);
}

void test_rule_B1_leasing_does_not_change_the_etag(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &before));
    bf_seconds(&f, 5);
    struct lease_request requests[] = {
        {.action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = 60},
        {.action = LEASE_RENEW, .id = bf_guid('A')},
        {.action = LEASE_CHANGE, .id = bf_guid('A'), .proposed = bf_guid('B')},
        {.action = LEASE_BREAK, .break_seconds = 10},
        {.action = LEASE_RELEASE, .id = bf_guid('B')},
    };
    for (size_t i = 0; i < sizeof requests / sizeof requests[0]; i++) {
        CHECK_OK(bf_lease(&f, bf_blob(&f, "b"), requests[i], NULL));
        CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &after));
        CHECK(after.etag == before.etag && after.last_modified == before.last_modified);
    }
    bf_release(&f);
}

void test_rule_B1_a_containers_etag_does_not_move_with_its_blobs(void)
{
    struct blob_fixture f;
    struct container_args get = {.request = {.arena = &f.arena}};
    bf_init(&f);
    CHECK_OK(bf_view(&f, blob_get_container, &get));
    int64_t etag = get.container.etag, modified = get.container.last_modified;
    bf_seconds(&f, 5);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "b"), BLOB_SNAPSHOTS_KEEP));
    struct container_args lease = {
        .request = {.arena = &f.arena},
        .lease = {.action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = 15}};
    CHECK_OK(bf_update(&f, blob_lease_container, &lease));
    CHECK_OK(bf_view(&f, blob_get_container, &get));
    CHECK(get.container.etag == etag && get.container.last_modified == modified);
    struct container_args set = {.request = {.arena = &f.arena}};
    CHECK_OK(bf_update(&f, blob_set_container_metadata, &set));
    CHECK(set.container.etag > etag && set.container.last_modified > modified);
    struct container_args acl = {.request = {.arena = &f.arena}};
    CHECK_OK(bf_update(&f, blob_set_container_acl, &acl));
    CHECK(acl.container.etag > set.container.etag);
    bf_release(&f);
}

void test_rule_B2_a_write_with_another_etag_changes_nothing(void)
{
    struct blob_fixture f;
    struct blob_head read, written;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("first"), &read));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("by another"), NULL));
    struct str before = bf_dump(&f);
    struct blob_request stale = bf_if_match(&f, "b", read.etag);
    CHECK_ERR(bf_put(&f, stale, STR("lost"), NULL), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_set_metadata(&f, stale, "lost", NULL), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_commit(&f, stale, "", NULL), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_delete(&f, stale, BLOB_SNAPSHOTS_KEEP), ERR_CONDITION_NOT_MET);
    CHECK_STR(bf_dump(&f), before);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &read));
    CHECK_OK(bf_put(&f, bf_if_match(&f, "b", read.etag), STR("kept"), &written));
    CHECK(written.etag != read.etag);
    CHECK_STR(bf_content(&f, "b"), STR("kept"));
    bf_release(&f);
}

void test_rule_B3_create_only_if_absent(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_request absent = bf_blob(&f, "b");
    absent.conditions.if_none_match = STR("*");
    CHECK_OK(bf_put(&f, absent, STR("first"), NULL));
    CHECK_ERR(bf_put(&f, absent, STR("second"), NULL), ERR_BLOB_ALREADY_EXISTS);
    CHECK_ERR(bf_commit(&f, absent, "", NULL), ERR_BLOB_ALREADY_EXISTS);
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    /* Blocks that are not committed do not make a blob. */
    struct blob_request other = absent;
    other.name = STR("other");
    CHECK_OK(bf_stage(&f, bf_blob(&f, "other"), "1", STR("x")));
    CHECK_OK(bf_commit(&f, other, "l1", NULL));
    bf_release(&f);
}

void test_rule_B3_the_holder_of_a_lease_may_create_over_his_blob(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("first"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    struct blob_request absent = bf_blob(&f, "b");
    absent.conditions.if_none_match = STR("*");
    CHECK_ERR(bf_put(&f, absent, STR("second"), NULL), ERR_LEASE_ID_MISSING);
    absent.lease = (struct lease_id){.given = true, .id = bf_guid('B')};
    CHECK_ERR(bf_commit(&f, absent, "", NULL), ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    absent.lease.id = bf_guid('A');
    CHECK_OK(bf_put(&f, absent, STR("third"), NULL));
    CHECK_OK(bf_commit(&f, absent, "", NULL));
    CHECK_OK(bf_put(&f, absent, STR("fourth"), NULL));
    bf_seconds(&f, 16);
    CHECK_ERR(bf_put(&f, absent, STR("fifth"), NULL), ERR_LEASE_LOST);
    absent.lease = (struct lease_id){0};
    CHECK_ERR(bf_put(&f, absent, STR("sixth"), NULL), ERR_BLOB_ALREADY_EXISTS);
    CHECK_STR(bf_content(&f, "b"), STR("fourth"));
    bf_release(&f);
}

void test_rule_B3_conditions_come_before_existence_and_lease(void)
{
    struct blob_fixture f;
    struct blob_head head;
    struct str content;
    bf_init(&f);
    struct blob_request absent = bf_if_match(&f, "none", 1);
    CHECK_ERR(bf_set_metadata(&f, absent, "v", NULL), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_get(&f, absent, &content), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_set_metadata(&f, bf_blob(&f, "none"), "v", NULL), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), &head));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    CHECK_ERR(bf_put(&f, bf_if_match(&f, "b", head.etag + 1), STR("y"), NULL),
              ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_put(&f, bf_if_match(&f, "b", head.etag), STR("y"), NULL), ERR_LEASE_ID_MISSING);
    bf_release(&f);
}

void test_rule_B4_without_a_condition_the_last_writer_wins(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("first"), NULL));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("second"), NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("third"), NULL));
    CHECK_STR(bf_content(&f, "b"), STR("third"));
    bf_release(&f);
}

void test_rule_B5_container_writes_take_conditions(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_request late = {
        .arena = &f.arena,
        .conditions = {.has_modified_since = true, .modified_since = BLOB_FIXTURE_NOW}};
    struct container_request early = {
        .arena = &f.arena,
        .conditions = {.has_unmodified_since = true,
                       .unmodified_since = BLOB_FIXTURE_NOW - TICKS_PER_SECOND}};
    struct str before = bf_dump(&f);
    struct container_args args = {.request = late};
    CHECK_ERR(bf_update(&f, blob_set_container_metadata, &args), ERR_CONDITION_NOT_MET);
    args.request = early;
    CHECK_ERR(bf_update(&f, blob_set_container_acl, &args), ERR_CONDITION_NOT_MET);
    CHECK_ERR(bf_update(&f, blob_delete_container, &args), ERR_CONDITION_NOT_MET);
    args.lease = (struct lease_request){.action = LEASE_ACQUIRE, .seconds = 15};
    CHECK_ERR(bf_update(&f, blob_lease_container, &args), ERR_CONDITION_NOT_MET);
    CHECK_STR(bf_dump(&f), before);
    bf_release(&f);
}

/* ---- L: pessimistic ---- */

void test_rule_L1_a_finite_lease_ends_by_itself_and_can_be_renewed(void)
{
    struct blob_fixture f;
    struct lease_request renew = {.action = LEASE_RENEW, .id = bf_guid('A')};
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    bf_seconds(&f, 14);
    CHECK_OK(bf_lease(&f, bf_blob(&f, "b"), renew, NULL));
    bf_seconds(&f, 14);
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL), ERR_LEASE_ID_MISSING);
    bf_seconds(&f, 1);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL));
    CHECK_ERR(bf_lease(&f, bf_blob(&f, "b"), renew, NULL),
              ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    bf_release(&f);
}

void test_rule_L1_any_lease_can_be_released_early(void)
{
    struct blob_fixture f;
    struct lease_request release = {.action = LEASE_RELEASE, .id = bf_guid('A')};
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', LEASE_INFINITE));
    bf_seconds(&f, 1000000);
    CHECK_ERR(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL), ERR_LEASE_ID_MISSING);
    CHECK_OK(bf_lease(&f, bf_blob(&f, "b"), release, NULL));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("y"), NULL));
    bf_release(&f);
}

void test_rule_L2_acquiring_where_a_valid_lease_exists_conflicts(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    CHECK_ERR(bf_acquire(&f, "b", 'B', 15), ERR_LEASE_ALREADY_PRESENT);
    CHECK_INT(err_http_status(ERR_LEASE_ALREADY_PRESENT), 409);
    bf_seconds(&f, 15);
    CHECK_OK(bf_acquire(&f, "b", 'B', 15));
    bf_release(&f);
}

/* Every operation that writes, with the id given or not. */
static void check_writes(struct blob_fixture *f, struct blob_request request, enum err_code code)
{
    struct blob_set_args set = {.request = request};
    CHECK_ERR(bf_put(f, request, STR("new"), NULL), code);
    CHECK_ERR(bf_set_metadata(f, request, "v", NULL), code);
    CHECK_ERR(bf_update(f, blob_set_blob_properties, &set), code);
    CHECK_ERR(bf_stage(f, request, "1", STR("block")), code);
    CHECK_ERR(bf_commit(f, request, "l1", NULL), code);
    CHECK_ERR(bf_delete(f, request, BLOB_SNAPSHOTS_KEEP), code);
}

void test_rule_L3_while_leased_writes_need_the_id(void)
{
    struct blob_fixture f;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("y")));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    struct str before = bf_dump(&f);
    check_writes(&f, bf_blob(&f, "b"), ERR_LEASE_ID_MISSING);
    check_writes(&f, bf_with_lease(&f, "b", 'B'), ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    CHECK_STR(bf_dump(&f), before);
    CHECK_OK(bf_put(&f, bf_with_lease(&f, "b", 'A'), STR("z"), NULL));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &head));
    CHECK_INT(lease_state(&head.lease, clock_now(&f.clock)), LEASE_LEASED);
    check_writes(&f, bf_with_lease(&f, "b", 'A'), ERR_OK);
    bf_release(&f);
}

void test_rule_L4_the_id_of_an_expired_lease_is_refused(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    bf_seconds(&f, 15);
    check_writes(&f, bf_with_lease(&f, "b", 'A'), ERR_LEASE_LOST);
    CHECK_INT(err_http_status(ERR_LEASE_LOST), 412);
    bf_release(&f);
}

void test_rule_L5_reads_are_shared_unless_they_give_an_id(void)
{
    struct blob_fixture f;
    struct str content;
    struct blob_head head;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_ERR(bf_get(&f, bf_with_lease(&f, "b", 'A'), &content),
              ERR_LEASE_NOT_PRESENT_WITH_BLOB_OPERATION);
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    CHECK_OK(bf_get(&f, bf_blob(&f, "b"), &content));
    CHECK_OK(bf_get(&f, bf_with_lease(&f, "b", 'A'), &content));
    CHECK_ERR(bf_get(&f, bf_with_lease(&f, "b", 'B'), &content),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    CHECK_ERR(bf_properties(&f, bf_with_lease(&f, "b", 'B'), &head),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    bf_release(&f);
}

void test_rule_L6_a_snapshot_of_a_leased_blob_needs_no_id(void)
{
    struct blob_fixture f;
    int64_t snapshot;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_acquire(&f, "b", 'A', 15));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_take_snapshot(&f, bf_with_lease(&f, "b", 'A'), &snapshot));
    CHECK_ERR(bf_take_snapshot(&f, bf_with_lease(&f, "b", 'B'), &snapshot),
              ERR_LEASE_ID_MISMATCH_WITH_BLOB_OPERATION);
    struct blob_head head;
    CHECK_OK(bf_properties(&f, bf_snapshot(&f, "b", snapshot), &head));
    CHECK_INT(head.lease.state, LEASE_AVAILABLE);
    bf_release(&f);
}

void test_rule_L7_a_containers_lease_guards_its_deletion_alone(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_args args = {
        .request = {.arena = &f.arena},
        .lease = {.action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = 15}};
    CHECK_OK(bf_update(&f, blob_lease_container, &args));
    /* Blobs come and go, and the container's own properties change, without the id. */
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("x"), NULL));
    CHECK_OK(bf_update(&f, blob_set_container_metadata, &args));
    CHECK_OK(bf_update(&f, blob_set_container_acl, &args));
    CHECK_OK(bf_view(&f, blob_get_container, &args));
    CHECK_ERR(bf_update(&f, blob_delete_container, &args), ERR_LEASE_ID_MISSING);
    args.request.lease = (struct lease_id){.given = true, .id = bf_guid('B')};
    CHECK_ERR(bf_update(&f, blob_delete_container, &args),
              ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION);
    CHECK_ERR(bf_view(&f, blob_get_container, &args),
              ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION);
    CHECK_ERR(bf_update(&f, blob_set_container_metadata, &args),
              ERR_LEASE_ID_MISMATCH_WITH_CONTAINER_OPERATION);
    args.request.lease = (struct lease_id){.given = true, .id = bf_guid('A')};
    CHECK_OK(bf_view(&f, blob_get_container, &args));
    /* A lease on a blob in it does not matter. */
    CHECK_OK(bf_acquire(&f, "b", 'C', LEASE_INFINITE));
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    bf_release(&f);
}

void test_rule_L7_a_containers_lease_that_is_over(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_args args = {
        .request = {.arena = &f.arena},
        .lease = {.action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = 15}};
    CHECK_OK(bf_update(&f, blob_lease_container, &args));
    bf_seconds(&f, 15);
    args.request.lease = (struct lease_id){.given = true, .id = bf_guid('A')};
    CHECK_ERR(bf_update(&f, blob_delete_container, &args), ERR_LEASE_LOST);
    /* A write to the container does not take the lease from who held it. */
    args.request.lease = (struct lease_id){0};
    CHECK_OK(bf_update(&f, blob_set_container_metadata, &args));
    args.lease = (struct lease_request){.action = LEASE_RENEW, .id = bf_guid('A')};
    CHECK_OK(bf_update(&f, blob_lease_container, &args));
    bf_seconds(&f, 15);
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    bf_release(&f);
}
