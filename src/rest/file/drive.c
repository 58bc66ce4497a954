/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/file/drive.h"

#include "net/pool.h"
#include "rest/server.h"
#include "service/file/access.h"

/* One call under way. All on the loop's thread, but for the functions that say otherwise; whoever
 * works on it elsewhere posts `task` when done. */
struct drive {
    struct rest_call *call;
    struct file_pass *pass;
    bool reads;
    struct file_around around;
    struct engine_update update;
    struct loop_task task;
    struct loop_task wake; /* of a wait in the open-file table */
    struct loop_timer timer;
    bool woken;             /* since the transaction was last begun */
    bool waiting;           /* the timer runs */
    int64_t deadline_ms;    /* the loop's */
    int64_t deadline_ticks; /* the store's; it ends at the earlier of the two */
    struct err outcome;
};

/* A waiting call looks at the store's clock this often: that one may be shifted, as tests do, and
 * the loop's timers do not know. */
enum { WAIT_LOOK_MS = 500 };

static void run(struct drive *d);

static struct drive *drive_of_task(struct loop_task *task)
{
    return (struct drive *)((char *)task - offsetof(struct drive, task));
}

static struct drive *drive_of_wake(struct loop_task *task)
{
    return (struct drive *)((char *)task - offsetof(struct drive, wake));
}

static struct drive *drive_of_timer(struct loop_timer *timer)
{
    return (struct drive *)((char *)timer - offsetof(struct drive, timer));
}

static struct drive *drive_of_update(struct engine_update *u)
{
    return (struct drive *)((char *)u - offsetof(struct drive, update));
}

static void to_loop(struct drive *d, void (*step)(struct loop_task *task))
{
    d->task.run = step;
    loop_post(d->call->x->loop, &d->task);
}

static void to_pool(struct drive *d, void (*step)(struct loop_task *task))
{
    d->task.run = step;
    pool_post(d->around.pool != NULL ? d->around.pool : d->call->server->pool, &d->task);
}

/* ---- the end ---- */

static void finish(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    rest_finish(d->call, d->outcome);
}

static void after_in_pool(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    d->outcome = d->around.after(d->call);
    to_loop(d, finish);
}

static bool note_holder(void *arg, const struct opens_info *info)
{
    struct rest_call *call = arg;
    const char *cut = info->disconnected ? ", its client is away" : "";
    call->holder = arena_printf(
        call->arena, "SMB client %.*s, access %s%s%s, shares %s%s%s, %zu locks%s",
        STR_ARG(info->client), (info->access & OPENS_READ) != 0 ? "r" : "",
        (info->access & OPENS_WRITE) != 0 ? "w" : "", (info->access & OPENS_DELETE) != 0 ? "d" : "",
        (info->sharing & OPENS_READ) != 0 ? "r" : "", (info->sharing & OPENS_WRITE) != 0 ? "w" : "",
        (info->sharing & OPENS_DELETE) != 0 ? "d" : "", info->lock_count, cut);
    return false;
}

/* Who has the file open that was in the way, for the inspector: the first who does. */
COLD static void find_holder(struct drive *d)
{
    struct opens_key key = d->pass->refused;
    struct opens_select select = {.share = key.share, .node = key.node};
    if (d->pass->opens != NULL && key.share != 0)
        opens_list(d->pass->opens, &select, note_holder, d->call);
}

static void end(struct drive *d, struct err outcome)
{
    if (err_is(outcome))
        find_holder(d);
    file_pass_end(d->pass);
    d->outcome = outcome;
    if (err_is(outcome) && outcome.code != ERR_UNKNOWN_OUTCOME && d->around.failed != NULL)
        d->around.failed(d->call);
    if (!err_is(outcome) && d->around.after != NULL)
        to_pool(d, after_in_pool);
    else
        rest_finish(d->call, outcome);
}

/* ---- waiting for SMB clients ---- */

static void on_wake(struct loop_task *task)
{
    struct drive *d = drive_of_wake(task);
    d->woken = true;
    if (!d->waiting)
        return;
    d->waiting = false;
    loop_timer_cancel(d->call->x->loop, &d->timer);
    run(d);
}

/* On any thread. */
static void wait_done(struct opens_wait *wait)
{
    struct file_pass *pass = (struct file_pass *)((char *)wait - offsetof(struct file_pass, wait));
    struct drive *d = pass->front;
    loop_post(d->call->x->loop, &d->wake);
}

static int64_t time_left_ms(const struct drive *d)
{
    int64_t by_loop = d->deadline_ms - loop_now_ms(d->call->x->loop);
    int64_t by_clock = (d->deadline_ticks - store_now(d->call->store)) / TICKS_PER_MS;
    int64_t left = by_loop < by_clock ? by_loop : by_clock;
    return left > 0 ? left : 0;
}

static void set_timer(struct drive *d)
{
    int64_t left = time_left_ms(d);
    loop_timer_set(d->call->x->loop, &d->timer, left < WAIT_LOOK_MS ? left : WAIT_LOOK_MS);
}

static void on_timer(struct loop_timer *timer)
{
    struct drive *d = drive_of_timer(timer);
    if (time_left_ms(d) > 0) {
        set_timer(d);
        return;
    }
    /* When the wait cannot be taken back, it has just ended: on_wake comes. */
    if (!opens_wait_cancel(d->pass->opens, &d->pass->wait))
        return;
    d->waiting = false;
    end(d, err_new(ERR_CLIENT_CACHE_FLUSH_DELAY));
}

static void wait_or_run(struct drive *d)
{
    if (d->woken) {
        run(d);
        return;
    }
    d->waiting = true;
    set_timer(d);
}

/* ---- writes ---- */

static void after_update(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    if (err_is(d->outcome) && d->pass->waiting)
        wait_or_run(d);
    else
        end(d, d->outcome);
}

/* On an engine thread. */
static void update_done(struct engine_update *u)
{
    struct drive *d = drive_of_update(u);
    d->outcome = u->result;
    if (!err_is(u->result))
        file_pass_committed(d->pass);
    to_loop(d, after_update);
}

/* ---- reads ---- */

static void after_view(struct drive *d, struct err outcome)
{
    if (file_pass_read_end(d->pass, &outcome))
        end(d, outcome);
    else if (d->pass->waiting)
        wait_or_run(d);
    else
        run(d);
}

static void view_back(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    after_view(d, d->outcome);
}

static void view_in_pool(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    struct rest_call *call = d->call;
    d->outcome = store_read(call->store, call->partition, ENGINE_WAIT, call->op->run, call->args);
    to_loop(d, view_back);
}

static void run_view(struct drive *d)
{
    struct rest_call *call = d->call;
    if (call->wants_pin && call->pin == NULL)
        call->pin = store_pin(call->store);
    file_pass_read_begin(d->pass);
    struct err error = err_new(ERR_WOULD_BLOCK);
    if (!d->around.in_pool)
        error = store_read(call->store, call->partition, ENGINE_NOWAIT, call->op->run, call->args);
    if (store_wants_pool(error))
        to_pool(d, view_in_pool);
    else
        after_view(d, error);
}

/* ---- both ---- */

static void run(struct drive *d)
{
    d->woken = false;
    if (d->reads) {
        run_view(d);
        return;
    }
    rest_update(d->call, &d->update, update_done);
}

static void before_back(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    if (err_is(d->outcome))
        rest_finish(d->call, d->outcome);
    else
        run(d);
}

static void before_in_pool(struct loop_task *task)
{
    struct drive *d = drive_of_task(task);
    d->outcome = d->around.before(d->call);
    to_loop(d, before_back);
}

static struct err start(struct rest_call *call, bool reads, struct file_around around)
{
    struct file_request *request = call->args;
    struct drive *d = ARENA_NEW(call->arena, struct drive);
    uint64_t seconds = OPENS_WAIT_MS / 1000;
    TRY(call_query_u64(call, STR("timeout"), 0, INT32_MAX, &seconds));
    d->call = call;
    d->pass = &request->pass;
    d->reads = reads;
    d->around = around;
    d->wake.run = on_wake;
    d->timer.fire = on_timer;
    int64_t patience_ms = file_pass_patience_ms(seconds);
    d->deadline_ms = loop_now_ms(call->x->loop) + patience_ms;
    d->deadline_ticks = store_now(call->store) + patience_ms * TICKS_PER_MS;
    d->pass->opens = call->store->opens;
    d->pass->front = d;
    d->pass->wait.done = wait_done;
    if (around.before != NULL)
        to_pool(d, before_in_pool);
    else
        run(d);
    return OK;
}

struct err file_drive_write(struct rest_call *call, struct file_around around)
{
    return start(call, false, around);
}

struct err file_drive_read(struct rest_call *call, struct file_around around)
{
    return start(call, true, around);
}

struct err file_start_write(struct rest_call *call)
{
    return start(call, false, (struct file_around){0});
}

struct err file_start_read(struct rest_call *call)
{
    return start(call, true, (struct file_around){0});
}
