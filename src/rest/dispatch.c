/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a request, in order:
 *   parse → match row → authenticate and permit (phases.c) → decode → stream the body (body.c) →
 *   run the transaction → encode → log
 * Every step that may leave the loop goes through run/run.h: a read runs on the loop at once, and
 * in the pool when it would wait for the disk; a write is queued to the engine, and the request
 * continues when it is durable. Work around the transaction is in around.c. */
#include "rest/dispatch.h"

#include <assert.h>
#include <stdlib.h>

#include "core/guid.h"
#include "core/log.h"
#include "core/mem.h"
#include "rest/head/phases.h"
#include "rest/reply.h"
#include "rest/server.h"
#include "rest/watch/access_log.h"
#include "rest/watch/inspector.h"
#include "rest/watch/loop_memory.h"
#include "rest/watch/requests.h"
#include "rest/watch/spoil.h"

enum { HEADERS_BYTES_USUAL = 1024 }; /* of an answer: initial capacity */

/* ---- ends ---- */

/* Passes the request with its connection to the gateway that has the share's open files. If its
 * body was already read, or it was passed on before, the client is told to retry instead. */
static bool hands_over(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    struct http_exchange *x = call->x;
    const struct rest_listener *listener = x->listener_context;
    struct http_handed handed;
    struct loop *loop = x->loop;
    bool whole = call->op->body == BODY_SMALL || x->body_bytes == 0;
    if (call->server->hand_over == NULL || x->relayed || str_given(listener->mount) || !whole)
        return false;
    const struct rest_server *server = call->server;
    d->replied = d->handed = true;
    d->outcome = OK;
    call->status = 200;
    script_ended(&d->stop);
    http_hand_over(x, buf_str(&d->small_body), &handed);
    server->hand_over(server->hand_over_arg, loop, listener, &handed);
    return true;
}

void dispatch_fail(struct dispatch *d, struct err error)
{
    assert(!d->replied);
    if (error.code == ERR_HOME_ELSEWHERE && hands_over(d))
        return;
    body_give_back(d);
    d->replied = true;
    d->outcome = error;
    d->call.answered_us = clock_mono_us();
    script_ended(&d->stop);
    reply_error(&d->call, error);
}

void dispatch_cut(struct dispatch *d)
{
    assert(!d->replied);
    d->replied = true;
    d->outcome = err_new(ERR_CLIENT_GONE);
    d->call.status = 499;
    script_ended(&d->stop);
    if (d->deed.act == SCRIPT_CLOSE)
        http_end_in_order(d->call.x);
    http_abort(d->call.x);
}

static struct err encode(struct rest_call *call)
{
    TRY(call->op->encode(call));
    reply_success_headers(call);
    return OK;
}

static void succeed(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    d->replied = true;
    d->outcome = OK;
    call->answered_us = clock_mono_us();
    inspector_succeeded(call->server->inspector, call);
    script_ended(&d->stop);
    if (call->arena->over_limit)
        log_line(LOG_WARN, "%s %s needed %zu bytes", call->op->name, call->request_id,
                 call->arena->used);
    if (d->deed.sending)
        spoil_reply(call, &d->deed);
    else
        reply_success(call);
}

void dispatch_finish(struct dispatch *d, struct err error)
{
    struct rest_call *call = &d->call;
    if (!err_is(error))
        body_is_kept(d); /* the store now owns what the sink stored */
    if (call->server->script != NULL && !d->scripted && !err_is(error)) {
        d->scripted = true;
        scripted_meet(d, SCRIPT_AFTER_COMMIT);
        return;
    }
    if (!err_is(error))
        error = encode(call);
    if (!err_is(error)) {
        succeed(d);
        return;
    }
    /* It may belong to the store: freeing it could take it from an update that was committed. */
    if (error.code == ERR_UNKNOWN_OUTCOME)
        body_is_kept(d);
    if (error.code == ERR_CLIENT_GONE) {
        dispatch_cut(d);
        return;
    }
    if (call->op->explain != NULL)
        call->op->explain(call, error);
    dispatch_fail(d, error);
}

void rest_finish(struct rest_call *call, struct err error)
{
    dispatch_finish(dispatch_of(call->x), error);
}

/* ---- run ---- */

static void finish(struct run *r, struct err outcome)
{
    rest_finish(rest_call_of(r), outcome);
}

void dispatch_run(struct dispatch *d)
{
    assert(d->call.op != NULL && !d->replied);
    struct rest_call *call = &d->call;
    struct run_txn txn = {.partition = call->partition, .fn = call->op->run, .arg = call->args};
    struct err error = OK;
    switch (call->op->mode) {
    case MODE_READ:
        if (call->wants_pin)
            call->pin = store_pin(call->store);
        run_view(&call->run, &txn, finish);
        return;
    case MODE_WRITE:
        run_update(&call->run, &txn, finish);
        return;
    case MODE_DIRECT:
        dispatch_finish(d, run_check(&call->run));
        return;
    case MODE_START:
    case MODE_START_READ:
        error = call->op->start(call);
        if (err_is(error))
            dispatch_fail(d, error);
        return;
    }
}

void dispatch_begin(struct dispatch *d, struct err error)
{
    assert(!d->replied);
    if (!err_is(error))
        error = run_check(&d->call.run);
    if (error.code == ERR_CLIENT_GONE)
        dispatch_cut(d);
    else if (err_is(error))
        dispatch_fail(d, error);
    else if (d->call.server->script != NULL)
        scripted_meet(d, SCRIPT_BEFORE);
    else
        dispatch_run(d);
}

/* ---- what HTTP calls ---- */

/* Every port serves health, metrics and control, except where the admin listener mounts a service:
 * the admin listener serves them itself, with its own rules for access. */
static bool goes_aside(struct http_exchange *x, const struct rest_listener *listener)
{
    const struct rest_server *server = listener->server;
    if (server->side == NULL || str_given(listener->mount) ||
        !str_starts(x->request.path, STR(REST_SIDE_PATH)))
        return false;
    x->handler = server->side;
    x->listener_context = server->side_context;
    server->side->on_head(x);
    return true;
}

static struct err look_at_home(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK; /* the check is the driver's */
}

static void home_looked_at(struct run *r, struct err outcome)
{
    struct dispatch *d = dispatch_of(rest_call_of(r)->x);
    if (err_is(outcome)) {
        dispatch_fail(d, outcome);
        return;
    }
    body_begin(d);
    http_body_resume(d->call.x);
}

/* A streamed body can be read only once, so the gateway that serves it is determined before. */
static void begin_body(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    struct run_txn txn = {.partition = call->partition, .fn = look_at_home};
    if (call->store->home == NULL || call->service != SERVICE_FILE ||
        call->op->body != BODY_STREAM) {
        body_begin(d);
        return;
    }
    http_body_pause(call->x);
    run_view(&call->run, &txn, home_looked_at);
}

static void on_head(struct http_exchange *x)
{
    const struct rest_listener *listener = x->listener_context;
    if (goes_aside(x, listener))
        return;
    struct dispatch *d = ARENA_NEW(x->arena, struct dispatch);
    struct rest_call *call = &d->call;
    x->user = d;
    call->x = x;
    tally_add(&((struct rest_loop *)x->loop_memory)->stats.begun[listener->service], 1);
    call->server = listener->server;
    call->store = listener->server->store;
    call->service = listener->service;
    call->mount = listener->mount;
    call->arena = x->arena;
    call->now = store_now(call->store);
    call->headers = buf_in(x->arena);
    (void)buf_reserve(&call->headers, HEADERS_BYTES_USUAL);
    call->out = buf_in(x->arena);
    call->error_headers = buf_in(x->arena);
    call->content_length = -1;
    d->small_body = buf_in(x->arena);
    struct guid id = guid_random();
    guid_text(&id, call->request_id);
    run_init(&call->run, x->loop, call->store, call->server->pool);
    struct err error = rest_head_phases(call, listener->dfs);
    d->sink_open = call->sink != NULL;
    if (err_is(error))
        dispatch_fail(d, error);
    else
        begin_body(d);
}

static void on_body(struct http_exchange *x, struct str bytes)
{
    body_take(dispatch_of(x), bytes);
}

static void on_end(struct http_exchange *x)
{
    body_end(dispatch_of(x));
}

/* The client disconnected during the request. If it can still read the response, it gets it, unless
 * that would wait for another client. */
static void on_gone(struct http_exchange *x, bool wholly)
{
    struct run *r = &dispatch_of(x)->call.run;
    r->stops_when_gone = wholly;
    run_cancel(r);
}

static void on_done(struct http_exchange *x)
{
    struct dispatch *d = dispatch_of(x);
    struct rest_call *call = &d->call;
    body_give_back(d);
    store_release_state(call->store, call->state);
    store_end_loan(&call->loan);
    arena_release(&call->list_arena);
    store_unpin(call->store, call->pin);
    if (!d->replied) {
        d->outcome = err_new(ERR_CLIENT_GONE);
        call->status = 499;
    }
    /* Most answers are sent in the turn that made them; the loop read the clock before that. */
    int64_t now_us = loop_now_us(x->loop);
    int64_t ended_us = now_us > call->answered_us ? now_us : call->answered_us;
    struct rest_stats *stats = &((struct rest_loop *)x->loop_memory)->stats;
    stats_add(stats, call, d->outcome, ended_us);
    if (call->server->script != NULL)
        requests_add(script_requests(call->server->script), call, d->outcome, d->deed.id, ended_us);
    int64_t slow_us = call->server->options.slow_us;
    if (slow_us != 0 && ended_us - x->started_us > slow_us) {
        tally_add(&stats->slow, 1);
        access_log_slow(call, ended_us - x->started_us);
    }
    if (d->handed)
        return; /* the other gateway logs it */
    if (line_log_wants(call->server->log))
        access_log_add(call->server->log, call, d->outcome);
    if (err_is(d->outcome) && log_wants(LOG_DEBUG))
        access_log_refusal(call, d->outcome);
}

static void *loop_memory_new(void)
{
    return MEM_NEW(struct rest_loop);
}

static void loop_memory_free(void *memory)
{
    free(memory);
}

const struct http_handler REST_HANDLER = {
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_gone = on_gone,
    .on_done = on_done,
    .on_bad = reply_bad,
    .loop_memory_new = loop_memory_new,
    .loop_memory_free = loop_memory_free,
};
