/* SPDX-License-Identifier: Apache-2.0 */
#include "service/queue/inspect.h"

#include "core/test.h"
#include "service/queue/queue_fixture.h"

void test_queue_inspect_tells_states_apart(void)
{
    struct fixture f;
    fixture_init(&f);
    (void)fixture_put(&f, "first");
    fixture_seconds(&f, 3);
    (void)fixture_put(&f, "second");
    struct queue_message later = fixture_put_for(&f, "later", 60, 3600);
    struct queue_get_messages *got = fixture_get(&f, 1, 20);
    struct queue_inspect seen = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_inspect, &seen));
    CHECK_INT(seen.count, 3);
    CHECK_INT(seen.total, 3);
    CHECK(!seen.cut);
    for (size_t i = 0; i < seen.count; i++) {
        const struct queue_seen *m = &seen.messages[i];
        if (guid_eq(&m->id, &got->messages[0].id)) {
            CHECK_INT(m->next_visible, FIXTURE_NOW + 23 * TICKS_PER_SECOND);
            CHECK_INT(m->dequeues, 1);
            CHECK_INT(m->inserted, FIXTURE_NOW);
            CHECK(m->handed_out >= FIXTURE_NOW + 3 * TICKS_PER_SECOND);
        } else if (guid_eq(&m->id, &later.id)) {
            CHECK_INT(m->next_visible, FIXTURE_NOW + 63 * TICKS_PER_SECOND);
            CHECK_INT(m->dequeues, 0);
        } else {
            CHECK_INT(m->next_visible, 0);
        }
    }
    seen = (struct queue_inspect){.arena = &f.arena, .timed_only = true};
    CHECK_OK(fixture_view(&f, queue_inspect, &seen));
    CHECK_INT(seen.count, 2);
    /* Looking has changed nothing. */
    CHECK_INT(fixture_get(&f, 32, 1)->count, 1);
    fixture_release(&f);
}

void test_queue_inspect_is_bounded(void)
{
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < QUEUE_INSPECT_MAX + 40; i++)
        (void)fixture_put(&f, "x");
    struct queue_inspect seen = {.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_inspect, &seen));
    CHECK_INT(seen.count, QUEUE_INSPECT_MAX);
    CHECK_INT(seen.total, QUEUE_INSPECT_MAX + 40);
    CHECK(seen.cut);
    fixture_release(&f);
}

void test_queue_inspect_gives_texts_up_to_a_limit(void)
{
    static char large[60000];
    struct fixture f;
    fixture_init(&f);
    memset(large, 'x', sizeof large - 1);
    enum { FIT = QUEUE_INSPECT_TEXT_MAX / (sizeof large - 1) };
    for (int i = 0; i < FIT + 1; i++)
        (void)fixture_put(&f, large);
    (void)fixture_put(&f, "small");
    struct queue_inspect seen = {.arena = &f.arena, .texts = true};
    CHECK_OK(fixture_view(&f, queue_inspect, &seen));
    CHECK_INT(seen.count, FIT + 2);
    CHECK_INT(seen.messages[0].text.n, sizeof large - 1);
    CHECK(!str_given(seen.messages[FIT].text));
    CHECK_STR(seen.messages[FIT + 1].text, STR("small"));
    seen = (struct queue_inspect){.arena = &f.arena};
    CHECK_OK(fixture_view(&f, queue_inspect, &seen));
    CHECK(!str_given(seen.messages[0].text));
    fixture_release(&f);
}

void test_queue_usage_counts_all_queues(void)
{
    struct fixture f;
    struct queue_usage usage;
    fixture_init(&f);
    CHECK_OK(queue_usage(&f.store, &usage));
    CHECK_INT(usage.queues, 1);
    CHECK_INT(usage.oldest, 0);
    (void)fixture_put(&f, "a");
    fixture_seconds(&f, 10);
    (void)fixture_put(&f, "b");
    (void)fixture_put_for(&f, "c", 60, 3600);
    CHECK_OK(queue_usage(&f.store, &usage));
    CHECK_INT(usage.messages, 3);
    CHECK_INT(usage.oldest, FIXTURE_NOW);
    fixture_release(&f);
}

void test_list_messages_goes_on_where_it_was_cut(void)
{
    enum { COUNT = 2500 };
    struct fixture f;
    unsigned seen = 0;
    uint64_t from = 0;
    fixture_init(&f);
    for (unsigned i = 0; i < COUNT; i++) {
        char text[32];
        (void)snprintf(text, sizeof text, "message %u", i);
        (void)fixture_put(&f, text);
    }
    for (bool more = true; more;) {
        struct queue_inspect page = {.arena = &f.arena, .texts = true, .whole = true, .from = from};
        CHECK_OK(fixture_view(&f, queue_inspect, &page));
        for (size_t i = 0; i < page.count; i++) {
            char text[32];
            (void)snprintf(text, sizeof text, "message %u", seen++);
            CHECK(str_eq(page.messages[i].text, str_of(text)));
        }
        more = page.cut;
        CHECK(!more || page.next > from);
        from = page.next;
    }
    CHECK_INT(seen, COUNT);
    fixture_release(&f);
}
