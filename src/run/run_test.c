/* SPDX-License-Identifier: Apache-2.0 */
/* The driver's guarantees: in every state of a request the deadline is checked, a client that
 * disconnects ends waits for other parties, and a committed request continues. */
#include "run/run.h"

#include <pthread.h>
#include <semaphore.h>

#include "core/test.h"
#include "engine/engine_internal.h"
#include "engine/mem/mem.h"

enum { SECOND = TICKS_PER_SECOND, HUGE_MS = 3600000 };

/* One request on a loop that runs on the test's thread. The pool's only thread and the engine's can
 * be blocked, so that the test's posts stay queued until it unblocks them. */
enum { LOOPS_MAX = 64 }; /* a test drives fewer requests */

struct run_fixture {
    struct clock clock;
    struct store store;
    struct loop *loop;
    struct pool *pool;
    struct run run;
    struct loop_task later;
    void (*meanwhile)(struct run_fixture *f); /* called when the request is under way */
    unsigned works;                           /* how often the work was done */
    unsigned told;
    unsigned takes, overs; /* calls of take_back and of over */
    bool taken_too_late;
    struct err outcome;
    bool ended;
    bool looping;
    sem_t pool_gate, engine_gate;
    sem_t at_gate; /* the engine's thread has read the clock and waits */
    struct loop_task pool_stop;
    struct engine_update engine_stop;
    struct engine_ops far; /* of an engine that must fetch rows first */
    bool held_up;
    bool dropped;
    struct run_part parts[3];
    struct run_part *part_list[3];
    unsigned frozen_runs; /* how often a transaction finds its partition frozen */
    unsigned rescues;
    /* Stopped loops: a thread that has posted the last step may still be waking one. */
    struct loop *spent[LOOPS_MAX];
    size_t spent_count;
};

static struct run_fixture *fixture_of(struct run *r)
{
    return CONTAINER_OF(r, struct run_fixture, run);
}

static void fixture_begin(struct run_fixture *f)
{
    *f = (struct run_fixture){0};
    clock_init_manual(&f->clock, 1000LL * SECOND);
    f->store = (struct store){.engine = engine_mem_new(&f->clock), .clock = &f->clock};
    CHECK_OK(loop_new(&f->loop));
    CHECK_OK(pool_new(1, &f->pool));
    CHECK(sem_init(&f->pool_gate, 0, 0) == 0 && sem_init(&f->engine_gate, 0, 0) == 0 &&
          sem_init(&f->at_gate, 0, 0) == 0);
    run_init(&f->run, f->loop, &f->store, f->pool);
}

static void fixture_end(struct run_fixture *f)
{
    pool_free(f->pool);
    engine_close(f->store.engine);
    loop_free(f->loop);
    while (f->spent_count > 0)
        loop_free(f->spent[--f->spent_count]);
    (void)sem_destroy(&f->pool_gate);
    (void)sem_destroy(&f->engine_gate);
    (void)sem_destroy(&f->at_gate);
}

/* ---- the work ---- */

static struct err work(struct run *r)
{
    fixture_of(r)->works++;
    return OK;
}

static struct err look(struct txn *t, void *arg)
{
    struct run_fixture *f = arg;
    (void)t;
    f->works++;
    return OK;
}

static struct err look_in_pool(struct txn *t, void *arg)
{
    struct run_fixture *f = arg;
    (void)t;
    return f->run.state == RUN_IN_POOL ? look(t, arg) : err_new(ERR_LONG_WORK);
}

static struct err write_row(struct txn *t, void *arg)
{
    TRY(look(t, arg));
    return txn_put(t, STR("row"), STR("value"));
}

static void tell(struct run *r)
{
    fixture_of(r)->told++;
}

static bool take_back(struct run *r)
{
    struct run_fixture *f = fixture_of(r);
    f->takes++;
    return !f->taken_too_late;
}

static void over(struct run *r)
{
    fixture_of(r)->overs++;
    run_wake(r);
}

static void ended(struct run *r, struct err outcome)
{
    struct run_fixture *f = fixture_of(r);
    CHECK(!f->ended && r->state == RUN_HERE);
    f->outcome = outcome;
    f->ended = true;
    if (f->looping)
        loop_stop(f->loop);
}

/* ---- the kinds of steps ---- */

static void begin_view(struct run_fixture *f)
{
    run_view(&f->run, &(struct run_txn){.partition = STR("p"), .fn = look, .arg = f}, ended);
}

static void begin_long_view(struct run_fixture *f)
{
    run_view(&f->run, &(struct run_txn){.partition = STR("p"), .fn = look_in_pool, .arg = f},
             ended);
}

/* Delays the first run of a view until its rows have arrived. */
static struct err far_run(struct engine *e, struct engine_view_job *job)
{
    struct run_fixture *f = fixture_of(CONTAINER_OF(job, struct run, view));
    if (job->held == NULL) {
        job->held = f;
        job->waits = true;
        if (!f->held_up)
            job->ready(job);
        return err_new(ERR_WOULD_BLOCK);
    }
    job->held = NULL;
    return f->far.view(e, job->partition, ENGINE_NOWAIT, job->fn, job->arg);
}

static void far_drop(struct engine *e, struct engine_view_job *job)
{
    (void)e;
    CHECK(job->held != NULL);
    job->held = NULL;
    job->waits = false;
    fixture_of(CONTAINER_OF(job, struct run, view))->dropped = true;
}

static void begin_far_view(struct run_fixture *f)
{
    f->far = *f->store.engine->ops;
    f->far.view_run = far_run;
    f->far.view_drop = far_drop;
    f->store.engine->ops = &f->far;
    begin_view(f);
}

static void begin_pool(struct run_fixture *f)
{
    run_in_pool(&f->run, f->pool, work, ended);
}

static void begin_update(struct run_fixture *f)
{
    struct run_txn txn = {.partition = STR("p"), .fn = write_row, .arg = f, .committed = tell};
    run_update(&f->run, &txn, ended);
}

static void begin_updates(struct run_fixture *f)
{
    for (size_t i = 0; i < 3; i++) {
        f->parts[i] = (struct run_part){
            .txn = {.partition = STR("p"), .fn = write_row, .arg = f, .committed = tell}};
        f->part_list[i] = &f->parts[i];
    }
    f->parts[1].outcome = err_new(ERR_INVALID_INPUT);
    run_updates(&f->run, f->part_list, 3, ended);
}

static void begin_wait(struct run_fixture *f)
{
    run_wait_for(&f->run, &(struct run_wait){.until_ms = INT64_MAX, .take_back = take_back}, ended);
}

enum way { WAY_VIEW, WAY_LONG_VIEW, WAY_FAR_VIEW, WAY_POOL, WAY_UPDATE, WAY_UPDATES, WAY_COUNT };

static void (*const WAYS[WAY_COUNT])(struct run_fixture *f) = {
    [WAY_VIEW] = begin_view, [WAY_LONG_VIEW] = begin_long_view, [WAY_FAR_VIEW] = begin_far_view,
    [WAY_POOL] = begin_pool, [WAY_UPDATE] = begin_update,       [WAY_UPDATES] = begin_updates,
};

/* ---- driving ---- */

static void wait_at_gate(struct loop_task *task)
{
    struct run_fixture *f = CONTAINER_OF(task, struct run_fixture, pool_stop);
    CHECK(sem_wait(&f->pool_gate) == 0);
}

static struct err wait_at_engine_gate(struct txn *t, void *arg)
{
    struct run_fixture *f = arg;
    (void)t;
    CHECK(sem_post(&f->at_gate) == 0);
    CHECK(sem_wait(&f->engine_gate) == 0);
    return OK;
}

static void gate_passed(struct engine_update *u)
{
    (void)u;
}

/* Everything posted to the pool or the engine from now on waits until this is released. */
static void hold_up(struct run_fixture *f)
{
    f->held_up = true;
    f->pool_stop.run = wait_at_gate;
    pool_post(f->pool, &f->pool_stop);
    f->engine_stop = (struct engine_update){
        .partition = STR("gate"), .fn = wait_at_engine_gate, .arg = f, .done = gate_passed};
    engine_submit(f->store.engine, &f->engine_stop);
    CHECK(sem_wait(&f->at_gate) == 0);
}

static void let_go(struct run_fixture *f)
{
    CHECK(sem_post(&f->pool_gate) == 0 && sem_post(&f->engine_gate) == 0);
    if (f->run.state == RUN_READING)
        f->run.view.ready(&f->run.view);
}

static void on_later(struct loop_task *task)
{
    struct run_fixture *f = CONTAINER_OF(task, struct run_fixture, later);
    f->meanwhile(f);
}

/* Runs the loop until the request has ended. `meanwhile` is called once the step has started. */
static void drive(struct run_fixture *f, void (*begin)(struct run_fixture *f),
                  void (*meanwhile)(struct run_fixture *f))
{
    f->ended = false;
    f->works = f->told = 0;
    begin(f);
    f->meanwhile = meanwhile;
    f->later.run = on_later;
    if (meanwhile != NULL)
        loop_post(f->loop, &f->later);
    f->looping = !f->ended;
    if (f->looping)
        loop_run(f->loop);
    f->looping = false;
    CHECK(f->ended);
    CHECK(f->spent_count < LOOPS_MAX);
    f->spent[f->spent_count++] = f->loop; /* a stopped loop does not run again */
    CHECK_OK(loop_new(&f->loop));
    f->run.loop = f->loop;
}

static unsigned works_of(enum way way)
{
    return way == WAY_UPDATES ? 2 : 1;
}

/* ---- tests ---- */

void test_run_every_way_comes_back(void)
{
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        struct run_fixture f;
        fixture_begin(&f);
        drive(&f, WAYS[way], NULL);
        CHECK_OK(f.outcome);
        CHECK_INT(f.works, works_of((enum way)way));
        CHECK_INT(f.run.committed, way == WAY_UPDATE || way == WAY_UPDATES);
        CHECK_INT(f.told, way == WAY_UPDATE ? 1 : way == WAY_UPDATES ? 2 : 0);
        fixture_end(&f);
    }
}

void test_run_updates_have_outcomes_of_their_own(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    drive(&f, begin_updates, NULL);
    CHECK_OK(f.parts[0].outcome);
    CHECK_ERR(f.parts[1].outcome, ERR_INVALID_INPUT);
    CHECK_OK(f.parts[2].outcome);
    fixture_end(&f);
}

/* Every other run finds the partition frozen, as long as frozen_runs lasts. */
static struct err write_unless_frozen(struct txn *t, void *arg)
{
    struct run_fixture *f = arg;
    if (f->frozen_runs > 0 && f->frozen_runs-- % 2 == 0)
        return err_new(ERR_PATH_BEING_MOVED);
    return write_row(t, arg);
}

static struct err count_rescue(struct store *s, struct str partition)
{
    struct run_fixture *f = CONTAINER_OF(s, struct run_fixture, store);
    CHECK_STR(partition, STR("p"));
    f->rescues++;
    return OK;
}

static void begin_update_frozen(struct run_fixture *f)
{
    run_update(&f->run,
               &(struct run_txn){.partition = STR("p"), .fn = write_unless_frozen, .arg = f},
               ended);
}

static void begin_updates_frozen(struct run_fixture *f)
{
    for (size_t i = 0; i < 3; i++) {
        f->parts[i] =
            (struct run_part){.txn = {.partition = STR("p"), .fn = write_unless_frozen, .arg = f}};
        f->part_list[i] = &f->parts[i];
    }
    run_updates(&f->run, f->part_list, 3, ended);
}

/* An update of a frozen partition is tried again, after one rescue. Of several, only those that
 * found it frozen: the others were committed. */
void test_run_frozen_partition_is_tried_again(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    f.store.rescue = count_rescue;
    f.frozen_runs = 2;
    drive(&f, begin_update_frozen, NULL);
    CHECK_OK(f.outcome);
    CHECK_INT(f.works, 1);
    CHECK_INT(f.rescues, 1);
    f.frozen_runs = 4; /* the first and the third part find it frozen */
    drive(&f, begin_updates_frozen, NULL);
    CHECK_OK(f.outcome);
    for (size_t i = 0; i < 3; i++)
        CHECK_OK(f.parts[i].outcome);
    CHECK_INT(f.works, 3);
    CHECK_INT(f.rescues, 2);
    fixture_end(&f);
}

static struct err stay_frozen(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return err_new(ERR_PATH_BEING_MOVED);
}

static void begin_updates_one_frozen(struct run_fixture *f)
{
    for (size_t i = 0; i < 3; i++) {
        f->parts[i] = (struct run_part){
            .txn = {.partition = STR("p"), .fn = i == 0 ? stay_frozen : write_row, .arg = f}};
        f->part_list[i] = &f->parts[i];
    }
    run_updates(&f->run, f->part_list, 3, ended);
}

/* One that stays frozen gets its error in the end; the others keep their outcomes. */
void test_run_updates_one_stays_frozen(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    drive(&f, begin_updates_one_frozen, NULL);
    CHECK_OK(f.outcome);
    CHECK_ERR(f.parts[0].outcome, ERR_PATH_BEING_MOVED);
    CHECK_OK(f.parts[1].outcome);
    CHECK_OK(f.parts[2].outcome);
    CHECK_INT(f.works, 2);
    fixture_end(&f);
}

static void begin_view_here(struct run_fixture *f)
{
    run_view_here(&f->run, &(struct run_txn){.partition = STR("p"), .fn = look_in_pool, .arg = f},
                  ended);
}

void test_run_view_here_does_not_wait(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    drive(&f, begin_view_here, NULL);
    CHECK(store_wants_pool(f.outcome));
    CHECK_INT(f.works, 0);
    fixture_end(&f);
}

/* No step begins after the deadline. */
void test_run_deadline_before_every_way(void)
{
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        struct run_fixture f;
        fixture_begin(&f);
        f.run.deadline = clock_now(&f.clock) + SECOND;
        drive(&f, WAYS[way], NULL);
        CHECK_OK(f.outcome);
        f.run.committed = false;
        clock_advance(&f.clock, SECOND);
        drive(&f, WAYS[way], NULL);
        CHECK_ERR(f.outcome, ERR_OPERATION_TIMED_OUT);
        CHECK_INT(f.works, 0);
        /* A committed request runs to its end. */
        f.run.committed = true;
        drive(&f, WAYS[way], NULL);
        CHECK_OK(f.outcome);
        CHECK_INT(f.works, works_of((enum way)way));
        fixture_end(&f);
    }
}

static void pass_the_deadline(struct run_fixture *f)
{
    CHECK(f->run.state == RUN_IN_POOL || f->run.state == RUN_IN_ENGINE ||
          f->run.state == RUN_READING);
    clock_advance(&f->clock, SECOND);
    let_go(f);
}

/* The same for steps that were in a queue at the deadline. */
void test_run_deadline_in_every_queue(void)
{
    for (unsigned way = WAY_LONG_VIEW; way < WAY_COUNT; way++) {
        struct run_fixture f;
        fixture_begin(&f);
        hold_up(&f);
        f.run.deadline = clock_now(&f.clock) + SECOND;
        drive(&f, WAYS[way], pass_the_deadline);
        CHECK_INT(f.works, 0);
        CHECK_INT(f.told, 0);
        if (way == WAY_UPDATES)
            f.outcome = f.parts[2].outcome;
        CHECK_ERR(f.outcome, ERR_OPERATION_TIMED_OUT);
        CHECK_INT(f.dropped, way == WAY_FAR_VIEW);
        fixture_end(&f);
    }
}

/* No step begins for a client that has gone. */
void test_run_cancelled_before_every_way(void)
{
    for (unsigned way = 0; way < WAY_COUNT; way++) {
        struct run_fixture f;
        fixture_begin(&f);
        run_cancel(&f.run);
        drive(&f, WAYS[way], NULL);
        CHECK_OK(f.outcome); /* another client may still read it */
        f.run.committed = false;
        f.run.stops_when_gone = true;
        drive(&f, WAYS[way], NULL);
        CHECK_ERR(f.outcome, ERR_CLIENT_GONE);
        CHECK_INT(f.works, 0);
        f.run.committed = true;
        drive(&f, WAYS[way], NULL);
        CHECK_OK(f.outcome);
        fixture_end(&f);
    }
}

static void leave(struct run_fixture *f)
{
    run_cancel(&f->run);
    CHECK(!f->ended);
    let_go(f);
}

/* Work queued for the pool does not begin; an update in the engine is made. Each calls its step
 * once. */
void test_run_cancelled_in_every_queue(void)
{
    for (unsigned way = WAY_LONG_VIEW; way < WAY_COUNT; way++) {
        bool in_engine = way == WAY_UPDATE || way == WAY_UPDATES;
        struct run_fixture f;
        fixture_begin(&f);
        hold_up(&f);
        f.run.stops_when_gone = true;
        drive(&f, WAYS[way], leave);
        CHECK_ERR(f.outcome, in_engine ? ERR_OK : ERR_CLIENT_GONE);
        CHECK_INT(f.works, in_engine ? works_of((enum way)way) : 0);
        CHECK_INT(f.dropped, way == WAY_FAR_VIEW);
        fixture_end(&f);
    }
}

/* ---- waits ---- */

static void *wake_from_elsewhere(void *arg)
{
    struct run_fixture *f = arg;
    run_wake(&f->run);
    return NULL;
}

static void wake(struct run_fixture *f)
{
    pthread_t thread;
    CHECK(f->run.state == RUN_WAITING);
    CHECK(pthread_create(&thread, NULL, wake_from_elsewhere, f) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    run_wake(&f->run); /* a second call before the first was processed has no effect */
}

void test_run_wait_is_woken(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    drive(&f, begin_wait, wake);
    CHECK_OK(f.outcome);
    CHECK_INT(f.takes, 0);
    /* A wake before the wait counts, until run_expect_wake. */
    f.run.woken = true;
    drive(&f, begin_wait, NULL);
    CHECK_OK(f.outcome);
    f.run.woken = true;
    run_expect_wake(&f.run);
    drive(&f, begin_wait, wake);
    CHECK_OK(f.outcome);
    fixture_end(&f);
}

static void cancel_wait(struct run_fixture *f)
{
    run_cancel(&f->run);
    CHECK_INT(f->takes, 1);
    CHECK_INT(f->ended, !f->taken_too_late);
    if (f->taken_too_late)
        run_wake(&f->run);
}

/* A wait ends at once in any front end, unless a wake is about to arrive. */
void test_run_wait_ends_when_the_client_leaves(void)
{
    for (int late = 0; late < 2; late++) {
        struct run_fixture f;
        fixture_begin(&f);
        f.taken_too_late = late != 0;
        drive(&f, begin_wait, cancel_wait);
        CHECK_ERR(f.outcome, ERR_CLIENT_GONE);
        fixture_end(&f);
    }
    struct run_fixture f;
    fixture_begin(&f);
    run_cancel(&f.run);
    drive(&f, begin_wait, NULL);
    CHECK_ERR(f.outcome, ERR_CLIENT_GONE);
    CHECK_INT(f.takes, 1);
    fixture_end(&f);
}

static void begin_short_wait(struct run_fixture *f)
{
    run_wait_for(&f->run,
                 &(struct run_wait){.until_ms = loop_now_ms(f->loop) + 1, .take_back = take_back},
                 ended);
}

static void begin_wait_that_is_broken(struct run_fixture *f)
{
    run_wait_for(&f->run,
                 &(struct run_wait){
                     .until_ms = loop_now_ms(f->loop) + 1, .take_back = take_back, .over = over},
                 ended);
}

static void begin_wait_by_clock(struct run_fixture *f)
{
    run_wait_for(&f->run,
                 &(struct run_wait){.until_ms = loop_now_ms(f->loop) + HUGE_MS,
                                    .until_ticks = clock_now(&f->clock) + SECOND,
                                    .take_back = take_back},
                 ended);
}

static void begin_delay(struct run_fixture *f)
{
    run_delay(&f->run, 1, ended);
}

static void begin_long_delay(struct run_fixture *f)
{
    run_delay(&f->run, HUGE_MS, ended);
}

static void advance(struct run_fixture *f)
{
    CHECK(f->run.state == RUN_WAITING);
    clock_advance(&f->clock, SECOND);
}

void test_run_wait_ends_with_its_time(void)
{
    struct run_fixture f;
    fixture_begin(&f);
    drive(&f, begin_short_wait, NULL);
    CHECK_ERR(f.outcome, ERR_OPERATION_TIMED_OUT);
    CHECK_INT(f.takes, 1);
    drive(&f, begin_wait_that_is_broken, NULL);
    CHECK_OK(f.outcome);
    CHECK_INT(f.overs, 1);
    CHECK_INT(f.takes, 1);
    drive(&f, begin_wait_by_clock, advance);
    CHECK_ERR(f.outcome, ERR_OPERATION_TIMED_OUT);
    drive(&f, begin_delay, NULL);
    CHECK_OK(f.outcome);
    fixture_end(&f);
}

/* The request's deadline ends every wait, except that of a committed request. */
void test_run_wait_ends_with_the_deadline(void)
{
    static void (*const WAITS[])(struct run_fixture *) = {begin_wait, begin_long_delay};
    for (size_t i = 0; i < sizeof WAITS / sizeof WAITS[0]; i++) {
        struct run_fixture f;
        fixture_begin(&f);
        f.run.deadline = clock_now(&f.clock) + SECOND;
        drive(&f, WAITS[i], advance);
        CHECK_ERR(f.outcome, ERR_OPERATION_TIMED_OUT);
        f.run.committed = true;
        drive(&f, begin_delay, NULL);
        CHECK_OK(f.outcome);
        fixture_end(&f);
    }
}

/* ---- another loop ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void arrived(struct run *r, struct err outcome)
{
    struct run_fixture *f = fixture_of(r);
    CHECK_OK(outcome);
    CHECK(r->loop != f->loop);
    loop_stop(r->loop);
}

void test_run_goes_on_on_another_loop(void)
{
    struct run_fixture f;
    struct loop *other;
    pthread_t thread;
    fixture_begin(&f);
    CHECK_OK(loop_new(&other));
    CHECK(pthread_create(&thread, NULL, run_loop, other) == 0);
    run_on(&f.run, other, arrived);
    CHECK(pthread_join(thread, NULL) == 0);
    loop_free(other);
    fixture_end(&f);
}
