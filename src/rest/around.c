/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/around.h"

#include <assert.h>

#include "rest/server.h"

enum { SOURCE_TRIES = 4 };

struct rest_going {
    struct around around;
    unsigned tries;
    int64_t until_ms;    /* the loop's */
    int64_t until_ticks; /* the store's; waits end at the earlier of the two */
    struct err outcome;
};

static void transact(struct rest_call *call);

static struct rest_going *going_of(struct run *r)
{
    return rest_call_of(r)->going;
}

static void to_pool(struct rest_call *call, run_work *work, run_step *then)
{
    struct pool *pool = call->going->around.pool;
    run_in_pool(&call->run, pool != NULL ? pool : call->server->pool, work, then);
}

/* ---- the end ---- */

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

/* For the inspector: the first open handle on the file that was in the way. */
COLD static void find_holder(struct rest_call *call, const struct file_pass *pass)
{
    struct opens_select select = {.share = pass->refused.share, .node = pass->refused.node};
    if (pass->opens != NULL && pass->refused.share != 0)
        opens_list(pass->opens, &select, note_holder, call);
}

static struct err after_in_pool(struct run *r)
{
    return going_of(r)->around.after(rest_call_of(r));
}

static void finish(struct run *r, struct err outcome)
{
    rest_finish(rest_call_of(r), outcome);
}

static struct err before_in_pool(struct run *r)
{
    return going_of(r)->around.before(rest_call_of(r));
}

static void before_done(struct run *r, struct err outcome)
{
    if (err_is(outcome))
        rest_finish(rest_call_of(r), outcome);
    else
        transact(rest_call_of(r));
}

/* The state that `before` used has changed, so it runs again. */
static bool tries_again(struct rest_going *g, struct err outcome)
{
    bool changed = outcome.code == ERR_SOURCE_CONDITION_NOT_MET || outcome.code == ERR_STAGE_STALE;
    return changed && g->around.pass == NULL && g->around.before != NULL &&
           ++g->tries < SOURCE_TRIES;
}

static void settle(struct rest_call *call, struct err outcome)
{
    struct rest_going *g = call->going;
    bool failed = err_is(outcome) && outcome.code != ERR_UNKNOWN_OUTCOME;
    if (failed && g->around.failed != NULL)
        g->around.failed(call);
    if (tries_again(g, outcome))
        to_pool(call, before_in_pool, before_done);
    else if (!err_is(outcome) && g->around.after != NULL)
        to_pool(call, after_in_pool, finish);
    else
        rest_finish(call, outcome);
}

/* ---- waiting for SMB clients ---- */

static bool take_wait_back(struct run *r)
{
    return file_pass_take_back(going_of(r)->around.pass);
}

static void wait_for_others(struct rest_call *call, run_step *then)
{
    const struct rest_going *g = call->going;
    struct run_wait wait = {
        .until_ms = g->until_ms, .until_ticks = g->until_ticks, .take_back = take_wait_back};
    run_wait_for(&call->run, &wait, then);
}

static void end_pass(struct rest_call *call)
{
    struct rest_going *g = call->going;
    if (err_is(g->outcome))
        find_holder(call, g->around.pass);
    file_pass_end(g->around.pass);
    settle(call, g->outcome);
}

/* The table has called back, and no longer knows the request. */
static void heard_out(struct run *r, struct err outcome)
{
    (void)outcome.code;
    going_of(r)->around.pass->owed = false;
    end_pass(rest_call_of(r));
}

/* Leaves nothing in the open-file table: cancels a wait whose transaction ended otherwise, or, if
 * that is too late, waits for the pending callback. */
static void end(struct rest_call *call, struct err outcome)
{
    struct rest_going *g = call->going;
    g->outcome = outcome;
    if (g->around.pass == NULL)
        settle(call, outcome);
    else if (!g->around.pass->owed || file_pass_take_back(g->around.pass))
        end_pass(call);
    else
        wait_for_others(call, heard_out);
}

static void waited(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    struct file_pass *pass = call->going->around.pass;
    bool over = outcome.code == ERR_OPERATION_TIMED_OUT;
    /* If woken, the table has called back; else the wait was cancelled. */
    pass->owed = false;
    pass->waiting = false;
    if (err_is(outcome))
        end(call, over ? err_new(ERR_CLIENT_CACHE_FLUSH_DELAY) : outcome);
    else
        transact(call);
}

/* ---- the transaction ---- */

static void updated(struct run *r, struct err outcome)
{
    const struct file_pass *pass = going_of(r)->around.pass;
    if (pass != NULL && outcome.code == ERR_CLIENT_CACHE_FLUSH_DELAY && pass->waiting)
        wait_for_others(rest_call_of(r), waited);
    else
        end(rest_call_of(r), outcome);
}

static void viewed(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    struct file_pass *pass = call->going->around.pass;
    if (pass == NULL || file_pass_read_end(pass, &outcome))
        end(call, outcome);
    else if (pass->waiting)
        wait_for_others(call, waited);
    else
        transact(call);
}

/* On the engine's thread. */
static void tell_watchers(struct run *r)
{
    file_pass_committed(going_of(r)->around.pass);
}

static void transact(struct rest_call *call)
{
    struct around *around = &call->going->around;
    struct run_txn txn = {.partition = call->partition, .fn = call->op->run, .arg = call->args};
    run_expect_wake(&call->run);
    if (!around->reads) {
        txn.committed = around->pass != NULL ? tell_watchers : NULL;
        run_update(&call->run, &txn, updated);
        return;
    }
    if (call->wants_pin && call->pin == NULL)
        call->pin = store_pin(call->store);
    if (around->pass != NULL)
        file_pass_read_begin(around->pass);
    if (around->in_pool)
        run_view_in_pool(&call->run, &txn, viewed);
    else
        run_view(&call->run, &txn, viewed);
}

struct err rest_around(struct rest_call *call, struct around around)
{
    struct rest_going *g = ARENA_NEW(call->arena, struct rest_going);
    assert(call->going == NULL && !(around.in_pool && !around.reads));
    g->around = around;
    g->until_ms = loop_now_ms(call->x->loop) + around.patience_ms;
    g->until_ticks = store_now(call->store) + around.patience_ms * TICKS_PER_MS;
    call->going = g;
    if (around.before != NULL && !around.late)
        to_pool(call, before_in_pool, before_done);
    else
        transact(call);
    return OK;
}
