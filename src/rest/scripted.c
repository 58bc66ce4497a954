/* SPDX-License-Identifier: Apache-2.0 */
/* Test control: stops or fails a request at the points where faults and holds apply. */
#include "rest/dispatch.h"
#include "rest/server.h"

static void go_on(struct dispatch *d)
{
    if (d->point == SCRIPT_BEFORE)
        dispatch_run(d);
    else
        dispatch_finish(d, OK);
}

static void do_deed(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (d->deed.sending) {
        go_on(d);
        return;
    }
    switch (d->deed.act) {
    case SCRIPT_NOTHING:
    case SCRIPT_CORRUPT:
    case SCRIPT_SLOW:
        go_on(d);
        return;
    case SCRIPT_ERROR:
        call->forced_status = d->deed.status;
        if (d->deed.retry_after_s > 0)
            http_put_header(&call->error_headers, STR("Retry-After"),
                            arena_printf(call->arena, "%u", d->deed.retry_after_s));
        dispatch_fail(d, err_new(d->deed.error));
        return;
    case SCRIPT_STALL: /* its delay is over */
    case SCRIPT_RESET:
    case SCRIPT_CLOSE:
        dispatch_cut(d);
        return;
    }
}

/* The request may also have timed out; the next step reports that. */
static void delayed(struct run *r, struct err outcome)
{
    struct dispatch *d = dispatch_of(rest_call_of(r)->x);
    if (outcome.code == ERR_CLIENT_GONE)
        dispatch_finish(d, outcome);
    else
        do_deed(d);
}

static void meet_fault(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    d->deed = script_meets(call->server->script, call, d->point);
    if (d->deed.id[0] != '\0')
        call->x->reply_headers = arena_printf(call->arena, "%.*sx-lazuli-fault: %s\r\n",
                                              STR_ARG(call->x->reply_headers), d->deed.id);
    if (d->deed.delay_ms == 0)
        do_deed(d);
    else
        run_delay(&call->run, d->deed.delay_ms, delayed);
}

static bool leave_hold(struct run *r)
{
    return script_leaves(&dispatch_of(rest_call_of(r)->x)->stop);
}

/* Released, or the time limit has passed: then it continues by itself. */
static void held(struct run *r, struct err outcome)
{
    struct dispatch *d = dispatch_of(rest_call_of(r)->x);
    if (outcome.code == ERR_CLIENT_GONE)
        dispatch_finish(d, outcome);
    else
        meet_fault(d);
}

void scripted_meet(struct dispatch *d, enum script_point point)
{
    struct run *r = &d->call.run;
    d->point = point;
    run_expect_wake(r);
    if (!script_stops(d->call.server->script, &d->call, point, &d->stop)) {
        meet_fault(d);
        return;
    }
    struct run_wait wait = {.until_ms = loop_now_ms(r->loop) + d->stop.timeout_ms,
                            .take_back = leave_hold};
    run_wait_for(r, &wait, held);
}
