/* SPDX-License-Identifier: Apache-2.0 */
/* Queues: create, delete, metadata, policies, list, count, sweep. */
#include "service/queue/queue_fixture.h"

#include "service/common/pairs.h"
#include "service/common/record.h"
#include "service/queue/state.h"

static struct str metadata(struct fixture *f, const char *name, const char *value)
{
    struct buf b = buf_in(&f->arena);
    pairs_put(&b, str_of(name), str_of(value));
    return buf_str(&b);
}

/* Queues from before pages without an s row were recorded: any page may have one. */
void test_queue_state_without_untouched(void)
{
    char bytes[32];
    struct buf b = {.p = bytes, .capacity = sizeof bytes};
    struct queue_state s;
    enum { INCARNATION = 1, TAIL = 3, TAIL_PAGE = 7 };
    record_put(&b, INCARNATION, 5);
    record_put(&b, TAIL, TAIL_PAGE << PAGE_SHIFT | 3);
    CHECK_OK(queue_state_decode(buf_str(&b), &s));
    CHECK(s.exists && s.untouched == TAIL_PAGE + 1);
    CHECK_OK(queue_state_decode(STR_NONE, &s));
    CHECK(!s.exists && s.untouched == 0);
}

void test_create_queue(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_create create = {STR_NONE, false};
    CHECK_OK(fixture_update(&f, queue_create, &create));
    CHECK(create.existed);
    create.metadata = metadata(&f, "k", "v");
    CHECK_ERR(fixture_update(&f, queue_create, &create), ERR_QUEUE_ALREADY_EXISTS);

    f.partition = queue_partition(&f.arena, STR("a"), STR("r"));
    CHECK_OK(fixture_update(&f, queue_create, &create));
    CHECK(!create.existed);
    create.metadata = metadata(&f, "K", "v");
    CHECK_OK(fixture_update(&f, queue_create, &create));
    CHECK(create.existed);
    create.metadata = metadata(&f, "k", "V");
    CHECK_ERR(fixture_update(&f, queue_create, &create), ERR_QUEUE_ALREADY_EXISTS);
    create.metadata = STR_NONE;
    CHECK_ERR(fixture_update(&f, queue_create, &create), ERR_QUEUE_ALREADY_EXISTS);
    fixture_release(&f);
}

void test_delete_queue(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_message m = fixture_put(&f, "old");
    (void)fixture_put(&f, "older");
    CHECK_OK(fixture_update(&f, queue_delete, NULL));
    CHECK_ERR(fixture_update(&f, queue_delete, NULL), ERR_QUEUE_NOT_FOUND);
    struct queue_properties p = {.arena = &f.arena};
    CHECK_ERR(fixture_view(&f, queue_get_metadata, &p), ERR_QUEUE_NOT_FOUND);
    struct queue_get_messages get = {.arena = &f.arena, .count_max = 1, .visibility_s = 1};
    CHECK_ERR(fixture_update(&f, queue_get_messages, &get), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_view(&f, queue_poll_messages, &get), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_view(&f, queue_peek_messages, &get), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_delete(&f, &m), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_update(&f, queue_clear_messages, NULL), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_update(&f, queue_set_metadata, &(struct queue_set_metadata){STR_NONE}),
              ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_update(&f, queue_set_acl, &(struct queue_acl){.arena = NULL}),
              ERR_QUEUE_NOT_FOUND);

    /* The name is free at once, and nothing of the old queue shows in the new one. */
    struct queue_create create = {STR_NONE, true};
    CHECK_OK(fixture_update(&f, queue_create, &create));
    CHECK(!create.existed);
    CHECK_INT(fixture_count(&f), 0);
    CHECK_INT(fixture_get(&f, 32, 1)->count, 0);
    CHECK_ERR(fixture_delete(&f, &m), ERR_MESSAGE_NOT_FOUND);
    (void)fixture_put(&f, "new");
    CHECK_ERR(fixture_delete(&f, &m), ERR_MESSAGE_NOT_FOUND);
    fixture_sweep(&f);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 1)), STR("new "));
    fixture_release(&f);
}

void test_get_queue_metadata(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_properties p = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_metadata, &p));
    CHECK(!str_given(p.metadata));
    CHECK_INT(p.count, 0);
    (void)fixture_put(&f, "a");
    (void)fixture_put_for(&f, "b", 100, QUEUE_TTL_NEVER);
    CHECK_INT(fixture_count(&f), 2);
    (void)fixture_get(&f, 1, 1);
    CHECK_INT(fixture_count(&f), 2);
    fixture_release(&f);
}

static struct err put_recorded(struct txn *t, void *arg)
{
    (void)arg;
    return txn_put(t, QUEUE_KEY_PROPERTIES, STR("\x03\x0b\x04name\x05value\x05\x08policies"));
}

/* A row as written by the version before the field tables. */
void test_queue_reads_recorded_properties(void)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_OK(fixture_update(&f, put_recorded, NULL));
    struct queue_properties got = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_metadata, &got));
    CHECK_STR(got.metadata, STR("\x04name\x05value"));
    struct queue_acl acl = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_acl, &acl));
    CHECK_STR(acl.policies, STR("policies"));
    fixture_release(&f);
}

void test_set_queue_metadata(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_set_metadata set = {metadata(&f, "k", "v")};
    CHECK_OK(fixture_update(&f, queue_set_metadata, &set));
    set.metadata = metadata(&f, "other", "w");
    CHECK_OK(fixture_update(&f, queue_set_metadata, &set));
    struct queue_properties p = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_metadata, &p));
    CHECK_STR(p.metadata, set.metadata);
    set.metadata = STR_NONE;
    CHECK_OK(fixture_update(&f, queue_set_metadata, &set));
    CHECK_OK(fixture_view(&f, queue_get_metadata, &p));
    CHECK(!str_given(p.metadata));
    fixture_release(&f);
}

void test_get_and_set_queue_acl(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_acl acl = {&f.arena, STR("x")};
    CHECK_OK(fixture_view(&f, queue_get_acl, &acl));
    CHECK(!str_given(acl.policies));
    struct queue_set_metadata set = {metadata(&f, "k", "v")};
    CHECK_OK(fixture_update(&f, queue_set_metadata, &set));
    acl.policies = STR("policies");
    CHECK_OK(fixture_update(&f, queue_set_acl, &acl));
    acl.policies = STR_NONE;
    CHECK_OK(fixture_view(&f, queue_get_acl, &acl));
    CHECK_STR(acl.policies, STR("policies"));
    struct queue_properties p = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_metadata, &p));
    CHECK_STR(p.metadata, set.metadata);
    fixture_release(&f);
}

static void create_named(struct fixture *f, const char *account, const char *name)
{
    f->partition = queue_partition(&f->arena, str_of(account), str_of(name));
    struct queue_create create = {metadata(f, "name", name), true};
    CHECK_OK(fixture_update(f, queue_create, &create));
}

static struct str list_page(struct fixture *f, struct queue_list *list)
{
    struct buf b = buf_in(&f->arena);
    CHECK_OK(fixture_view(f, queue_list, list));
    for (size_t i = 0; i < list->count; i++) {
        buf_put(&b, list->queues[i].name);
        buf_putc(&b, ' ');
        CHECK_STR(pairs_find(list->queues[i].metadata, STR("name")), list->queues[i].name);
    }
    return buf_str(&b);
}

void test_list_queues(void)
{
    struct fixture f;
    fixture_init(&f);
    create_named(&f, "b", "beta");
    create_named(&f, "b", "alpha");
    create_named(&f, "b", "alp");
    create_named(&f, "b", "gamma");
    create_named(&f, "bb", "other");
    struct queue_list list = {
        .arena = &f.arena, .account = STR("b"), .prefix = STR(""), .count_max = 3};
    CHECK_STR(list_page(&f, &list), STR("alp alpha beta "));
    CHECK_STR(list.next, STR("gamma"));
    list.from = STR("gamm"); /* of a queue that was deleted meanwhile, say */
    CHECK_STR(list_page(&f, &list), STR("gamma "));
    list.from = STR("gamma");
    CHECK_STR(list_page(&f, &list), STR("gamma "));
    CHECK(!str_given(list.next));
    list.from = STR_NONE;
    list.prefix = STR("alp");
    list.count_max = 2;
    CHECK_STR(list_page(&f, &list), STR("alp alpha "));
    CHECK(!str_given(list.next));
    /* A deleted queue is not listed, though its rows wait for the sweep. */
    f.partition = queue_partition(&f.arena, STR("b"), STR("alpha"));
    (void)fixture_put(&f, "m");
    CHECK_OK(fixture_update(&f, queue_delete, NULL));
    CHECK_STR(list_page(&f, &list), STR("alp "));
    fixture_release(&f);
}

static struct err state_row_is_there(struct txn *t, void *arg)
{
    bool *there = arg;
    struct str row;
    TRY(txn_get(t, QUEUE_KEY_STATE, &row));
    *there = str_given(row);
    return OK;
}

/* The name is blocked for the configured time, also with messages that wait for the sweep; then no
 * row is left. */
void test_queue_being_deleted(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_delete delete = {30 * TICKS_PER_SECOND};
    struct queue_create create = {STR_NONE, false};
    struct queue_list list = {.arena = &f.arena, .account = STR("a"), .count_max = 10};
    (void)fixture_put(&f, "m");
    CHECK_OK(fixture_update(&f, queue_delete, &delete));
    CHECK_ERR(fixture_update(&f, queue_delete, &delete), ERR_QUEUE_NOT_FOUND);
    CHECK_ERR(fixture_update(&f, queue_create, &create), ERR_QUEUE_BEING_DELETED);
    fixture_sweep(&f);
    CHECK_ERR(fixture_update(&f, queue_create, &create), ERR_QUEUE_BEING_DELETED);
    CHECK_STR(list_page(&f, &list), STR(""));
    clock_advance(&f.clock, 30 * TICKS_PER_SECOND);
    CHECK_OK(fixture_update(&f, queue_create, &create));
    CHECK(!create.existed);
    CHECK_OK(fixture_update(&f, queue_delete, &delete));
    clock_advance(&f.clock, 30 * TICKS_PER_SECOND);
    fixture_sweep(&f);
    bool there = true;
    CHECK_OK(fixture_view(&f, state_row_is_there, &there));
    CHECK(!there);
    fixture_release(&f);
}

void test_rule_Q2_last_writer_wins(void)
{
    struct fixture f;
    fixture_init(&f);
    struct queue_set_metadata a = {metadata(&f, "writer", "a")};
    struct queue_set_metadata b = {metadata(&f, "writer", "b")};
    struct queue_acl first = {&f.arena, STR("first")};
    struct queue_acl second = {&f.arena, STR("second")};
    CHECK_OK(fixture_update(&f, queue_set_metadata, &a));
    CHECK_OK(fixture_update(&f, queue_set_metadata, &b));
    CHECK_OK(fixture_update(&f, queue_set_acl, &first));
    CHECK_OK(fixture_update(&f, queue_set_acl, &second));
    struct queue_properties p = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_get_metadata, &p));
    CHECK_STR(p.metadata, b.metadata);
    CHECK_OK(fixture_view(&f, queue_get_acl, &first));
    CHECK_STR(first.policies, STR("second"));

    struct queue_message m = fixture_put(&f, "x");
    struct queue_change_message u = {.id = m.id, .receipt = m.receipt, .text = STR("one")};
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    u.receipt = u.new_receipt;
    u.text = STR("two");
    CHECK_OK(fixture_update(&f, queue_update_message, &u));
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 1)), STR("two "));
    fixture_release(&f);
}

/* ---- the sweep ---- */

void test_queue_sweep_expired(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < 2500; i++)
        (void)fixture_put_for(&f, "short", (uint32_t)(i % 3), 10);
    (void)fixture_put_for(&f, "long", 0, 100);
    (void)fixture_get(&f, 32, 5);
    fixture_seconds(&f, 9);
    fixture_sweep(&f);
    CHECK_INT(fixture_count(&f), 2501);
    fixture_seconds(&f, 1);
    /* Some are left out of the count before they are swept; how many depends on how they lie. */
    CHECK(fixture_count(&f) < 2501);
    CHECK_STR(fixture_texts(&f, fixture_peek(&f, 32)), STR("long "));
    fixture_sweep(&f);
    CHECK_INT(fixture_count(&f), 1);
    CHECK_STR(fixture_texts(&f, fixture_get(&f, 32, 1)), STR("long "));
    fixture_seconds(&f, 100);
    CHECK_INT(fixture_count(&f), 0);
    fixture_sweep(&f);
    CHECK_INT(fixture_rows(&f), 2);
    fixture_release(&f);
}

void test_queue_sweep_dead(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int round = 0; round < 3; round++) {
        /* Slowly, so that each has rows of its own. */
        for (int i = 0; i < 700; i++) {
            clock_advance(&f.clock, TICKS_PER_SECOND / 10);
            (void)fixture_put(&f, "m");
        }
        (void)fixture_get(&f, 32, 5);
        CHECK_OK(fixture_update(&f, queue_clear_messages, NULL));
        struct queue_sweep sweep = {.after_n = 0};
        struct sweep_report report = {0};
        CHECK_OK(queue_sweep(&f.store, &sweep, &report));
        CHECK(report.more);
        CHECK_INT(report.removed, 1000);
    }
    (void)fixture_put(&f, "alive");
    fixture_sweep(&f);
    CHECK_INT(fixture_rows(&f), 4); /* P, S, and the page with its e row */
    CHECK_INT(fixture_count(&f), 1);
    CHECK_OK(fixture_update(&f, queue_delete, NULL));
    CHECK_INT(fixture_rows(&f), 3);
    fixture_sweep(&f);
    CHECK_INT(fixture_rows(&f), 0);
    fixture_release(&f);
}

/* Queues that are swept at the same time share the limit of one call, and all make progress. */
void test_queue_sweep_shares(void)
{
    struct fixture f;
    struct queue_sweep sweep = {.after_n = 0};
    struct sweep_report report = {0};
    enum { QUEUES = 16, MESSAGES = 50, ROWS_AT_FIRST = 101 };
    char name[16];
    fixture_init(&f);
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof name, "q%04d", i);
        create_named(&f, "a", name);
        for (int m = 0; m < MESSAGES; m++) {
            clock_advance(&f.clock, TICKS_PER_SECOND / 10);
            (void)fixture_put(&f, "m"); /* a page, and its e row */
        }
        CHECK_OK(fixture_update(&f, queue_delete, NULL));
        CHECK_INT(fixture_rows(&f), ROWS_AT_FIRST);
    }
    CHECK_OK(queue_sweep(&f.store, &sweep, &report));
    CHECK(report.more);
    CHECK_INT(report.removed, 1000 / QUEUES * QUEUES);
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof name, "q%04d", i);
        f.partition = queue_partition(&f.arena, STR("a"), str_of(name));
        CHECK_INT(fixture_rows(&f), ROWS_AT_FIRST - 1000 / QUEUES);
    }
    CHECK_OK(queue_sweep(&f.store, &sweep, &report));
    fixture_sweep(&f);
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof name, "q%04d", i);
        f.partition = queue_partition(&f.arena, STR("a"), str_of(name));
        CHECK_INT(fixture_rows(&f), 0);
    }
    fixture_release(&f);
}

/* Many queues: the sweep visits them in steps and misses none. */
void test_queue_sweep_many(void)
{
    struct fixture f;
    fixture_init(&f);
    enum { QUEUES = 1200 };
    char name[16];
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof name, "q%04d", i);
        create_named(&f, "a", name);
        if (i % 7 == 0)
            (void)fixture_put_for(&f, "m", 0, 1);
    }
    fixture_seconds(&f, 1);
    fixture_sweep(&f);
    for (int i = 0; i < QUEUES; i++) {
        (void)snprintf(name, sizeof name, "q%04d", i);
        f.partition = queue_partition(&f.arena, STR("a"), str_of(name));
        CHECK_INT(fixture_rows(&f), 2);
    }
    fixture_release(&f);
}
