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
    update_queue_learn(&q, &r);
    CHECK_INT(expected(&q, 64), 16);
    for (int i = 0; i < 1000; i++)
        update_queue_learn(&q, &(struct update_return){.answered = 64});
    CHECK_INT(expected(&q, 64), 64);
    update_queue_release(&q);
}

void test_queue_expects_half_of_them_where_waiting_is_all_there_is_to_do(void)
{
    struct update_queue q;
    update_queue_init(&q);
    for (int i = 0; i < 100; i++)
        update_queue_learn(&q, &(struct update_return){.answered = 64, .idle = true});
    CHECK_INT(expected(&q, 64), 32);
    for (int i = 0; i < 1000; i++)
        update_queue_learn(&q, &(struct update_return){.answered = 64});
    CHECK_INT(expected(&q, 64), 64);
    update_queue_learn(&q, &(struct update_return){.answered = 64, .late = true});
    update_queue_learn(&q, &(struct update_return){.answered = 64, .idle = true});
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
    struct engine_update update;
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
    update_queue_release(&t.q);
}
