/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/queue.h"

#include "core/test.h"

enum { LONG_US = 600 * 1000000, SHORT_US = 1000 };

static uint64_t expected(struct update_queue *q, size_t answered)
{
    struct update_return r = update_queue_expect(q, answered, SHORT_US);
    return r.all - r.from;
}

void test_queue_who_came_back_is_not_waited_for(void)
{
    struct update_queue q;
    struct engine_update updates[4];
    update_queue_init(&q);
    struct update_return r = update_queue_expect(&q, 4, LONG_US);
    for (size_t i = 0; i < 4; i++)
        CHECK(update_queue_push(&q, &updates[i]));
    update_queue_await(&q, &r);
    CHECK(!r.late);
    CHECK(update_queue_take(&q) == &updates[0]);
    update_queue_release(&q);
}

void test_queue_late_clients_are_expected_less_and_more_again(void)
{
    struct update_queue q;
    update_queue_init(&q);
    struct update_return r = update_queue_expect(&q, 64, SHORT_US);
    CHECK_INT(r.all - r.from, 48);
    update_queue_await(&q, &r);
    CHECK(r.late);
    update_queue_adapt(&q, &r);
    CHECK_INT(expected(&q, 64), 16);
    for (int i = 0; i < 1000; i++)
        update_queue_adapt(&q, &(struct update_return){.answered = 64});
    CHECK_INT(expected(&q, 64), 64);
    update_queue_release(&q);
}

void test_queue_expects_half_of_them_where_waiting_is_all_there_is_to_do(void)
{
    struct update_queue q;
    update_queue_init(&q);
    for (int i = 0; i < 100; i++)
        update_queue_adapt(&q, &(struct update_return){.answered = 64, .idle = true});
    CHECK_INT(expected(&q, 64), 32);
    for (int i = 0; i < 1000; i++)
        update_queue_adapt(&q, &(struct update_return){.answered = 64});
    CHECK_INT(expected(&q, 64), 64);
    update_queue_adapt(&q, &(struct update_return){.answered = 64, .late = true});
    update_queue_adapt(&q, &(struct update_return){.answered = 64, .idle = true});
    CHECK_INT(expected(&q, 64), 16);
    update_queue_release(&q);
}

void test_queue_tells_waiting_from_work(void)
{
    struct update_queue q;
    update_queue_init(&q);
    struct update_return r = update_queue_expect(&q, 64, SHORT_US);
    r.begun_us -= LONG_US;
    update_queue_came(&r);
    CHECK(r.idle);
    r.begun_used_us -= 2LL * LONG_US;
    update_queue_came(&r);
    CHECK(!r.idle);
    update_queue_release(&q);
}

struct taker {
    struct update_queue q;
    struct update_return r;
};

static void *wait_for_one(void *arg)
{
    struct taker *t = arg;
    update_queue_await(&t->q, &t->r);
    return NULL;
}

static bool taker_waits(struct update_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool waits = q->taker_waits;
    pthread_mutex_unlock(&q->lock);
    return waits;
}

/* While the taker waits for another to come back, somebody may do its work. */
void test_queue_one_steps_in_while_the_taker_waits(void)
{
    struct taker t = {0};
    struct engine_update update = {.partition = STR("p")};
    pthread_t thread;
    update_queue_init(&t.q);
    t.r = update_queue_expect(&t.q, 1, LONG_US);
    CHECK(pthread_create(&thread, NULL, wait_for_one, &t) == 0);
    WAIT_UNTIL(taker_waits(&t.q));
    CHECK(update_queue_step_in(&t.q));
    update_queue_step_out(&t.q);
    CHECK(update_queue_push(&t.q, &update));
    pthread_join(thread, NULL);
    CHECK(!t.r.late);
    CHECK(update_queue_take(&t.q) == &update);
    update_queue_release(&t.q);
}

enum { HEAVY = 300 };

static void push_of(struct update_queue *q, struct engine_update *u, const char *partition)
{
    *u = (struct engine_update){.partition = str_of(partition)};
    CHECK(update_queue_push(q, u));
}

static size_t length(const struct engine_update *u)
{
    size_t count = 0;
    for (; u != NULL; u = u->next)
        count++;
    return count;
}

void test_queue_takes_all_of_one_partition(void)
{
    static struct engine_update heavy[HEAVY];
    struct update_queue q;
    update_queue_init(&q);
    for (size_t i = 0; i < HEAVY; i++)
        push_of(&q, &heavy[i], "one");
    CHECK_INT(length(update_queue_take(&q)), HEAVY);
    update_queue_release(&q);
}

void test_queue_shares_turns_between_partitions(void)
{
    static struct engine_update heavy[HEAVY];
    struct engine_update light[2];
    struct update_queue q;
    update_queue_init(&q);
    for (size_t i = 0; i < HEAVY; i++)
        push_of(&q, &heavy[i], "one");
    push_of(&q, &light[0], "two");
    push_of(&q, &light[1], "two");
    struct engine_update *first = update_queue_take(&q);
    size_t taken = length(first);
    CHECK(taken < 100 && first == &heavy[0]);
    struct engine_update *last = first;
    while (last->next != NULL)
        last = last->next;
    CHECK(last == &light[1]); /* they do not wait for the three hundred */
    CHECK(update_queue_has_rest(&q));
    /* The rest comes in its order, in turns that are short still, and then nothing is left. */
    struct engine_update *expected_next = &heavy[taken - 2];
    while (update_queue_length(&q) > 0)
        for (struct engine_update *u = update_queue_take(&q); u != NULL; u = u->next)
            CHECK(u == expected_next++);
    CHECK(expected_next == &heavy[HEAVY]);
    push_of(&q, &light[0], "two");
    CHECK(update_queue_take(&q) == &light[0]);
    update_queue_release(&q);
}

/* A flush is done when everything submitted before it is done. */
void test_queue_leaves_nothing_behind_a_flush(void)
{
    static struct engine_update heavy[HEAVY];
    struct engine_update light, flush;
    struct update_queue q;
    update_queue_init(&q);
    for (size_t i = 0; i < HEAVY; i++)
        push_of(&q, &heavy[i], "one");
    push_of(&q, &light, "two");
    push_of(&q, &flush, "");
    CHECK_INT(length(update_queue_take(&q)), HEAVY + 2);
    update_queue_release(&q);
}
