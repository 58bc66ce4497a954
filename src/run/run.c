/* SPDX-License-Identifier: Apache-2.0 */
#include "run/run.h"

#include <assert.h>

#include "service/common/home.h"

/* A waiting request checks the store's clock this often: tests may shift that clock, and the loop's
 * timers do not see it. */
enum { WAIT_LOOK_MS = 500 };

/* Limit of an update's wait for a frozen partition: about two seconds. */
enum { FROZEN_TRIES_MAX = 100, FROZEN_PAUSE_MS = 20 };

static bool is_late(const struct run *r)
{
    return r->deadline != 0 && !r->committed && store_now(r->store) >= r->deadline;
}

struct err run_check(const struct run *r)
{
    if (atomic_load_explicit(&r->stops_when_gone, memory_order_relaxed) && !r->committed &&
        atomic_load_explicit(&r->gone, memory_order_relaxed))
        return err_new(ERR_CLIENT_GONE);
    return is_late(r) ? err_new(ERR_OPERATION_TIMED_OUT) : OK;
}

/* ---- from one thread to another ---- */

static void come_back(struct loop_task *task)
{
    struct run *r = CONTAINER_OF(task, struct run, task);
    assert(r->state != RUN_HERE && r->state != RUN_WAITING);
    r->committed = r->committed || (r->state == RUN_IN_ENGINE && !err_is(r->outcome));
    r->state = RUN_HERE;
    r->then(r, r->outcome);
}

static void post_back(struct run *r, struct err outcome)
{
    r->outcome = outcome;
    r->task.run = come_back;
    loop_post(r->loop, &r->task);
}

static void begin(struct run *r, enum run_state state, run_step *then)
{
    assert(r->state == RUN_HERE && then != NULL);
    r->state = state;
    r->then = then;
}

/* ---- the pool ---- */

static void work_in_pool(struct loop_task *task)
{
    struct run *r = CONTAINER_OF(task, struct run, task);
    struct err refused = run_check(r);
    post_back(r, err_is(refused) ? refused : r->work(r));
}

void run_in_pool(struct run *r, struct pool *pool, run_work *work, run_step *then)
{
    assert(pool != NULL && work != NULL);
    struct err refused = run_check(r);
    if (err_is(refused)) {
        then(r, refused);
        return;
    }
    begin(r, RUN_IN_POOL, then);
    r->work = work;
    r->task.run = work_in_pool;
    pool_post(pool, &r->task);
}

/* A read, if this gateway may answer for the partition. */
static struct err read_here(struct run *r, const struct run_txn *txn, enum engine_wait wait)
{
    struct home_guarded guarded = {.home = r->store->home,
                                   .partition = txn->partition,
                                   .fn = txn->fn,
                                   .arg = txn->arg,
                                   .strict = r->from_table};
    return home_read(&guarded, r->store, wait);
}

static struct err view_and_wait(struct run *r)
{
    struct run_txn txn = {.partition = r->update.partition, .fn = r->fn, .arg = r->arg};
    return read_here(r, &txn, ENGINE_WAIT);
}

static void keep_txn(struct run *r, const struct run_txn *txn)
{
    r->update.partition = txn->partition;
    r->fn = txn->fn;
    r->arg = txn->arg;
}

void run_view_in_pool(struct run *r, const struct run_txn *txn, run_step *then)
{
    assert(txn->fn != NULL);
    keep_txn(r, txn);
    run_in_pool(r, r->pool, view_and_wait, then);
}

static struct err view_here(struct run *r, const struct run_txn *txn)
{
    assert(txn->fn != NULL);
    assert(r->state == RUN_HERE);
    TRY(run_check(r));
    return read_here(r, txn, ENGINE_NOWAIT);
}

void run_view_here(struct run *r, const struct run_txn *txn, run_step *then)
{
    then(r, view_here(r, txn));
}

static struct err view_guarded(struct txn *t, void *arg)
{
    const struct run *r = arg;
    TRY(home_check(r->store->home, t, r->update.partition, r->from_table));
    return r->fn(t, r->arg);
}

static void run_view_job(struct run *r);

static void view_ready(struct loop_task *task)
{
    assert(CONTAINER_OF(task, struct run, task)->state == RUN_READING);
    struct run *r = CONTAINER_OF(task, struct run, task);
    struct err refused = run_check(r);
    if (!err_is(refused)) {
        run_view_job(r);
        return;
    }
    store_read_drop(r->store, &r->view);
    r->state = RUN_HERE;
    r->then(r, refused);
}

/* On an engine thread. */
static void rows_came(struct engine_view_job *job)
{
    struct run *r = CONTAINER_OF(job, struct run, view);
    r->task.run = view_ready;
    loop_post(r->loop, &r->task);
}

static void run_view_job(struct run *r)
{
    assert(r->state == RUN_READING);
    struct err error = store_read_run(r->store, &r->view);
    if (r->view.waits)
        return;
    r->state = RUN_HERE;
    if (store_wants_pool(error))
        run_in_pool(r, r->pool, view_and_wait, r->then);
    else
        r->then(r, error);
}

void run_view(struct run *r, const struct run_txn *txn, run_step *then)
{
    assert(txn->fn != NULL && then != NULL);
    struct err refused = run_check(r);
    if (err_is(refused)) {
        then(r, refused);
        return;
    }
    bool guarded = r->store->home != NULL;
    begin(r, RUN_READING, then);
    keep_txn(r, txn);
    r->view = (struct engine_view_job){.partition = txn->partition,
                                       .fn = guarded ? view_guarded : txn->fn,
                                       .arg = guarded ? r : txn->arg,
                                       .ready = rows_came};
    run_view_job(r);
}

/* ---- the engine ---- */

/* Refuses updates that waited in the engine's queue too long, or that another gateway must run. */
static struct err run_checked(struct txn *t, void *arg)
{
    const struct run *r = arg;
    if (r->deadline != 0 && !r->committed && txn_now(t) >= r->deadline)
        return err_new(ERR_OPERATION_TIMED_OUT);
    TRY(home_check(r->store->home, t, r->update.partition, r->from_table));
    return r->fn(t, r->arg);
}

/* On an engine thread. */
static void update_done(struct engine_update *u)
{
    struct run *r = CONTAINER_OF(u, struct run, update);
    if (r->told != NULL && !err_is(u->result))
        r->told(r);
    post_back(r, u->result);
}

static void submit(struct run *r, run_step *then);

static void waited(struct run *r, struct err outcome)
{
    if (err_is(outcome))
        r->after_update(r, outcome);
    else
        submit(r, r->after_update);
}

static struct err rescue(struct run *r)
{
    return r->store->rescue(r->store, r->update.partition);
}

/* Waits before the next try of an update whose partition, r->update.partition, is frozen. The
 * gateway that froze it may be dead, so the first retry rescues the partition. */
static void wait_for_frozen(struct run *r, run_step *then)
{
    assert(r->tries > 0);
    if (r->tries == 1 && r->store->rescue != NULL)
        run_in_pool(r, r->pool, rescue, then);
    else
        run_delay(r, FROZEN_PAUSE_MS, then);
}

static void updated(struct run *r, struct err outcome)
{
    if (outcome.code != ERR_PATH_BEING_MOVED || ++r->tries > FROZEN_TRIES_MAX)
        r->after_update(r, outcome);
    else
        wait_for_frozen(r, waited);
}

static void submit(struct run *r, run_step *then)
{
    struct err refused = run_check(r);
    if (err_is(refused)) {
        then(r, refused);
        return;
    }
    bool checked = (r->deadline != 0 && !r->committed) || r->store->home != NULL;
    begin(r, RUN_IN_ENGINE, updated);
    r->after_update = then;
    r->update.fn = checked ? run_checked : r->fn;
    r->update.arg = checked ? r : r->arg;
    store_write(r->store, &r->update);
}

void run_update(struct run *r, const struct run_txn *txn, run_step *then)
{
    assert(txn->fn != NULL && txn->partition.n > 0);
    r->fn = txn->fn;
    r->arg = txn->arg;
    r->told = txn->committed;
    r->tries = 0;
    r->update = (struct engine_update){
        .partition = txn->partition,
        .ack = txn->ack,
        .hints = txn->hints | (loop_serves_one(r->loop) ? HINT_ALONE : 0U),
        .done = update_done,
    };
    submit(r, then);
}

/* The last update to end, or the submitting call itself, ends them all. */
static void one_less(struct run *r)
{
    assert(atomic_load(&r->updates_left) > 0);
    if (atomic_fetch_sub(&r->updates_left, 1) == 1)
        post_back(r, OK);
}

static void part_done(struct engine_update *u)
{
    struct run_part *p = CONTAINER_OF(u, struct run_part, update);
    struct run *r = p->run;
    p->outcome = u->result;
    if (p->txn.committed != NULL && !err_is(u->result))
        p->txn.committed(r);
    one_less(r);
}

static struct err part_checked(struct txn *t, void *arg)
{
    const struct run_part *p = arg;
    const struct run *r = p->run;
    if (r->deadline != 0 && !r->committed && txn_now(t) >= r->deadline)
        return err_new(ERR_OPERATION_TIMED_OUT);
    TRY(home_check(r->store->home, t, p->txn.partition, r->from_table));
    return p->txn.fn(t, p->txn.arg);
}

static void submit_part(struct run *r, struct run_part *p)
{
    assert(p->txn.fn != NULL && p->txn.partition.n > 0);
    bool checked = (r->deadline != 0 && !r->committed) || r->store->home != NULL;
    p->run = r;
    p->update = (struct engine_update){
        .partition = p->txn.partition,
        .fn = checked ? part_checked : p->txn.fn,
        .arg = checked ? p : p->txn.arg,
        .ack = p->txn.ack,
        .hints = p->txn.hints,
        .done = part_done,
    };
    store_write(r->store, &p->update);
}

static bool is_frozen(const struct run_part *p)
{
    return p->outcome.code == ERR_PATH_BEING_MOVED;
}

static void parts_ended(struct run *r, struct err outcome);

/* The first time all parts that have no error; afterwards those whose partition was frozen. */
static void submit_parts(struct run *r)
{
    begin(r, RUN_IN_ENGINE, parts_ended);
    atomic_store(&r->updates_left, r->part_count + 1);
    for (size_t i = 0; i < r->part_count; i++) {
        struct run_part *p = r->parts[i];
        if (r->tries == 0 ? !err_is(p->outcome) : is_frozen(p))
            submit_part(r, p);
        else
            one_less(r);
    }
    one_less(r);
}

/* If the wait was ended early, the frozen parts keep their outcome: others may be committed. */
static void parts_waited(struct run *r, struct err outcome)
{
    if (err_is(outcome))
        r->after_update(r, OK);
    else
        submit_parts(r);
}

static void parts_ended(struct run *r, struct err outcome)
{
    const struct run_part *frozen = NULL;
    for (size_t i = 0; i < r->part_count && frozen == NULL; i++)
        frozen = is_frozen(r->parts[i]) ? r->parts[i] : NULL;
    if (frozen == NULL || ++r->tries > FROZEN_TRIES_MAX) {
        r->after_update(r, outcome);
        return;
    }
    r->update.partition = frozen->txn.partition;
    wait_for_frozen(r, parts_waited);
}

void run_updates(struct run *r, struct run_part *const parts[], size_t count, run_step *then)
{
    assert(parts != NULL || count == 0);
    struct err refused = run_check(r);
    if (err_is(refused)) {
        then(r, refused);
        return;
    }
    r->parts = parts;
    r->part_count = count;
    r->after_update = then;
    r->tries = 0;
    submit_parts(r);
}

/* ---- waits ---- */

static void end_wait(struct run *r, struct err outcome)
{
    assert(r->state == RUN_WAITING);
    loop_timer_cancel(r->loop, &r->timer);
    r->state = RUN_HERE;
    r->then(r, outcome);
}

static void on_wake(struct loop_task *task)
{
    struct run *r = CONTAINER_OF(task, struct run, wake);
    atomic_store(&r->wake_posted, false);
    if (r->state != RUN_WAITING) {
        r->woken = true;
        return;
    }
    end_wait(r, atomic_load(&r->gone) ? err_new(ERR_CLIENT_GONE) : OK);
}

void run_wake(struct run *r)
{
    assert(r->loop != NULL);
    if (!atomic_exchange(&r->wake_posted, true)) {
        r->wake.run = on_wake;
        loop_post(r->loop, &r->wake);
    }
}

void run_wake_here(struct run *r)
{
    assert(r->state == RUN_WAITING);
    end_wait(r, OK);
}

static int64_t left_by_clock(const struct run *r, int64_t until_ticks)
{
    return until_ticks == 0 ? INT64_MAX : (until_ticks - store_now(r->store)) / TICKS_PER_MS;
}

/* Returns the time left until the earliest of the limits by the loop's clock, by the store's clock
 * and by the request's deadline. */
static int64_t wait_left_ms(const struct run *r)
{
    int64_t by_loop =
        r->wait.until_ms == INT64_MAX ? INT64_MAX : r->wait.until_ms - loop_now_ms(r->loop);
    int64_t by_clock = left_by_clock(r, r->wait.until_ticks);
    int64_t by_deadline = left_by_clock(r, r->committed ? 0 : r->deadline);
    int64_t left = by_loop < by_clock ? by_loop : by_clock;
    left = left < by_deadline ? left : by_deadline;
    return left > 0 ? left : 0;
}

static void set_timer(struct run *r, int64_t left)
{
    bool looks = r->wait.until_ticks != 0 || (r->deadline != 0 && !r->committed);
    if (left != INT64_MAX)
        loop_timer_set(r->loop, &r->timer, looks && left > WAIT_LOOK_MS ? WAIT_LOOK_MS : left);
}

static void on_timer(struct loop_timer *timer)
{
    assert(CONTAINER_OF(timer, struct run, timer)->state == RUN_WAITING);
    struct run *r = CONTAINER_OF(timer, struct run, timer);
    int64_t left = wait_left_ms(r);
    if (left > 0)
        set_timer(r, left);
    else if (r->wait.over != NULL && !is_late(r))
        r->wait.over(r);
    else if (r->wait.take_back(r)) /* else run_wake will be called */
        end_wait(r, err_new(ERR_OPERATION_TIMED_OUT));
}

void run_wait_for(struct run *r, const struct run_wait *wait, run_step *then)
{
    assert(wait->take_back != NULL);
    begin(r, RUN_WAITING, then);
    r->wait = *wait;
    r->timer.fire = on_timer;
    if (r->woken) {
        r->woken = false;
        end_wait(r, OK);
    } else if (atomic_load(&r->gone) && r->wait.take_back(r)) {
        end_wait(r, err_new(ERR_CLIENT_GONE));
    } else {
        set_timer(r, wait_left_ms(r));
    }
}

static bool nobody_wakes(struct run *r)
{
    (void)r;
    return true;
}

static void delay_over(struct run *r)
{
    end_wait(r, OK);
}

void run_delay(struct run *r, int64_t ms, run_step *then)
{
    assert(ms >= 0);
    struct run_wait wait = {
        .until_ms = loop_now_ms(r->loop) + ms, .take_back = nobody_wakes, .over = delay_over};
    run_expect_wake(r);
    run_wait_for(r, &wait, then);
}

/* ---- others ---- */

void run_on(struct run *r, struct loop *loop, run_step *then)
{
    assert(loop != NULL);
    begin(r, RUN_MOVING, then);
    r->loop = loop;
    post_back(r, OK);
}

void run_cancel(struct run *r)
{
    atomic_store(&r->gone, true);
    if (r->state == RUN_WAITING && r->wait.take_back(r))
        end_wait(r, err_new(ERR_CLIENT_GONE));
}
