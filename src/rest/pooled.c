/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/pooled.h"

enum { TRIES = 4 };

struct pooled_call {
    struct rest_call *call;
    struct pooled around;
    struct engine_update update;
    struct loop_task task;
    struct err outcome;
    unsigned tries;
};

static struct pooled_call *of_task(struct loop_task *task)
{
    return (struct pooled_call *)((char *)task - offsetof(struct pooled_call, task));
}

static void to_loop(struct pooled_call *p, void (*step)(struct loop_task *task))
{
    p->task.run = step;
    loop_post(p->call->x->loop, &p->task);
}

static void to_pool(struct pooled_call *p, void (*step)(struct loop_task *task))
{
    p->task.run = step;
    pool_post(p->around.pool, &p->task);
}

static void finish(struct loop_task *task)
{
    struct pooled_call *p = of_task(task);
    rest_finish(p->call, p->outcome);
}

static void run_after(struct loop_task *task)
{
    struct pooled_call *p = of_task(task);
    p->outcome = p->around.after(p->call);
    to_loop(p, finish);
}

static void run_before(struct loop_task *task);

/* A source that changed between being found and being used is looked at again. */
static void after_update(struct loop_task *task)
{
    struct pooled_call *p = of_task(task);
    bool failed = err_is(p->outcome) && p->outcome.code != ERR_UNKNOWN_OUTCOME;
    if (failed && p->around.failed != NULL)
        p->around.failed(p->call);
    if (p->outcome.code == ERR_SOURCE_CONDITION_NOT_MET && ++p->tries < TRIES)
        to_pool(p, run_before);
    else if (!err_is(p->outcome) && p->around.after != NULL)
        to_pool(p, run_after);
    else
        rest_finish(p->call, p->outcome);
}

/* On an engine thread. */
static void update_done(struct engine_update *u)
{
    struct pooled_call *p =
        (struct pooled_call *)((char *)u - offsetof(struct pooled_call, update));
    p->outcome = u->result;
    to_loop(p, after_update);
}

static void run_update(struct loop_task *task)
{
    struct pooled_call *p = of_task(task);
    struct rest_call *call = p->call;
    if (err_is(p->outcome)) {
        rest_finish(call, p->outcome);
        return;
    }
    rest_update(call, &p->update, update_done);
}

static void run_before(struct loop_task *task)
{
    struct pooled_call *p = of_task(task);
    p->outcome = p->around.before(p->call);
    to_loop(p, run_update);
}

struct err pooled_write(struct rest_call *call, struct pooled around)
{
    struct pooled_call *p = ARENA_NEW(call->arena, struct pooled_call);
    p->call = call;
    p->around = around;
    to_pool(p, run_before);
    return OK;
}
