/* SPDX-License-Identifier: Apache-2.0 */
#include "http/conn.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/clock.h"
#include "core/container.h"
#include "core/hash/mix.h"
#include "core/log.h"
#include "core/mem.h"
#include "net/address_count.h"

/* ---- calls ---- */

struct http_call *http_call_take(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    struct http_call *call = w->calls;
    if (call != NULL) {
        w->calls = call->next;
        w->call_count--;
    } else {
        call = mem_alloc(sizeof *call);
        arena_init(&call->arena, HTTP_ARENA_BYTES_MAX);
    }
    call->x = (struct http_exchange){
        .handler = http_server_handler(w->server),
        .arena = &call->arena,
        .loop = w->loop,
        .loop_memory = w->handler_memory,
        .peer = &c->peer,
        .secure = c->secure || stream_is_secure(&c->stream),
        .relayed = c->relayed,
        .connection = c->number,
        .listener_context = c->listener_context,
        .started_us = c->started_us,
    };
    call->conn = c;
    call->handed = call->replied = call->paused = false;
    call->lend = NULL;
    call->interim = STR_NONE;
    call->out.at = call->out.count = 0;
    assert(c->call == NULL);
    c->call = call;
    return call;
}

void http_conn_end_call(struct http_conn *c)
{
    struct http_call *call = c->call;
    struct http_worker *w = c->worker;
    if (call->handed)
        call->x.handler->on_done(&call->x);
    c->call = NULL;
    if (w->call_count < HTTP_CALLS_KEPT_MAX) {
        arena_reset(&call->arena);
        call->next = w->calls;
        w->calls = call;
        w->call_count++;
    } else {
        arena_release(&call->arena);
        free(call);
    }
}

/* ---- lifetime ---- */

void http_conn_set_state(struct http_conn *c, enum http_conn_state state)
{
    c->state = state;
    c->since_ms = c->active_ms = loop_now_ms(c->worker->loop);
    c->moved = 0;
}

static void conn_close_stream(struct http_conn *c, bool abort)
{
    if (c->stream.fd < 0)
        return;
    loop_watch_remove(c->worker->loop, &c->watch);
    stream_close(&c->stream, abort);
}

static void conn_free(struct http_conn *c)
{
    assert(c->call == NULL && !c->again_posted && !c->sending_set && !c->is_away);
    conn_close_stream(c, false);
    loop_timer_cancel(c->worker->loop, &c->timer);
    buf_release(&c->held);
    http_server_forget(c);
    free(c);
}

/* Returns true if work elsewhere will call back: then the exchange must wait for it. */
static bool conn_is_at_work(const struct http_conn *c)
{
    return c->state == CONN_WORK || (c->state == CONN_BODY && c->call->paused) ||
           (c->state == CONN_SEND && (c->call->out.waiting || c->is_away));
}

void http_conn_cut(struct http_conn *c)
{
    if (c->is_away)
        http_away_hurry(c);
    else
        conn_close_stream(c, !c->in_order);
    c->gone = true;
    if (conn_is_at_work(c))
        return;
    if (c->call != NULL)
        http_conn_end_call(c);
    http_conn_set_state(c, CONN_CLOSED);
    http_conn_drive(c);
}

void http_conn_abandon(struct http_conn *c)
{
    c->again_posted = c->sending_set = c->is_away = false;
    http_conn_cut(c);
    if (c->state == CONN_CLOSED)
        return;
    c->call->handed = false;
    http_conn_end_call(c);
    conn_free(c);
}

void http_conn_linger(struct http_conn *c)
{
    assert(c->call == NULL);
    stream_finish(&c->stream);
    http_conn_set_state(c, CONN_LINGER);
}

void http_conn_refuse(struct http_conn *c, struct err error)
{
    const struct http_handler *handler = http_server_handler(c->worker->server);
    struct http_call *call = http_call_take(c);
    struct buf headers = buf_in(&call->arena);
    struct buf body = buf_in(&call->arena);
    if (handler->on_bad != NULL) {
        handler->on_bad(error, &headers, &body);
    } else {
        http_put_header(&headers, STR("Content-Type"), STR("text/plain"));
        buf_put(&body, str_of(err_message(error.code)));
        buf_putc(&body, '\n');
    }
    log_line(LOG_DEBUG, "connection %llu: refused: %s", (unsigned long long)c->number,
             error.detail != NULL ? error.detail : err_message(error.code));
    c->body_left = 1; /* more input may follow; it is discarded */
    http_out_begin(call, &(struct http_response){.status = err_http_status(error.code),
                                                 .headers = buf_str(&headers),
                                                 .body = buf_str(&body),
                                                 .content_length = -1,
                                                 .close = true});
    http_conn_set_state(c, CONN_SEND);
}

/* ---- deadlines ----
 * The timer is not moved for each request: a deadline follows from the state. The timer is set for
 * it or for an earlier one, and is compared with it when it fires. */

static int64_t conn_idle_ms(const struct http_conn *c)
{
    return c->idle_ms != NULL ? atomic_load_explicit(c->idle_ms, memory_order_relaxed)
                              : http_server_limits(c->worker->server)->idle_ms;
}

static int64_t conn_deadline_ms(const struct http_conn *c)
{
    const struct http_limits *limits = http_server_limits(c->worker->server);
    int64_t linger_end;
    switch (c->state) {
    case CONN_HEAD:
        if (stream_in_handshake(&c->stream))
            return c->since_ms + limits->head_ms;
        return c->in.n == 0 ? c->active_ms + conn_idle_ms(c) : c->since_ms + limits->head_ms;
    case CONN_BODY:
        return c->call->paused ? INT64_MAX : c->active_ms + limits->body_stall_ms;
    case CONN_SEND:
        return c->call->out.waiting || c->is_away ? INT64_MAX
                                                  : c->active_ms + limits->body_stall_ms;
    case CONN_DISCARD:
        return c->since_ms + limits->body_stall_ms;
    case CONN_LINGER:
        linger_end = c->since_ms + HTTP_LINGER_MS_MAX;
        return linger_end < c->active_ms + HTTP_LINGER_MS ? linger_end
                                                          : c->active_ms + HTTP_LINGER_MS;
    case CONN_WORK:
    case CONN_CLOSED:
        break;
    }
    return INT64_MAX;
}

static void conn_arm(struct http_conn *c)
{
    int64_t deadline_ms = conn_deadline_ms(c);
    if (deadline_ms == INT64_MAX ||
        (loop_timer_is_set(&c->timer) && c->timer.due_ms <= deadline_ms))
        return;
    loop_timer_set(c->worker->loop, &c->timer, deadline_ms - loop_now_ms(c->worker->loop));
}

/* True if the client moves bytes, but so few that it seems to only hold the connection. */
static bool conn_is_too_slow(const struct http_conn *c)
{
    const struct http_limits *limits = http_server_limits(c->worker->server);
    int64_t took_ms = loop_now_ms(c->worker->loop) - c->since_ms;
    return (c->state == CONN_BODY || c->state == CONN_SEND) && took_ms > limits->body_stall_ms &&
           c->moved * 1000 / (uint64_t)took_ms < (uint64_t)limits->body_bytes_per_second_min;
}

static void conn_expire(struct http_conn *c)
{
    log_line(LOG_DEBUG, "connection %llu: timed out", (unsigned long long)c->number);
    if (c->state == CONN_BODY)
        http_conn_end_call(c);
    else if (c->state != CONN_HEAD || c->in.n == 0) {
        http_conn_cut(c);
        return;
    }
    http_conn_refuse(c, err_new(ERR_REQUEST_TIMEOUT));
    http_conn_drive(c);
}

static void conn_timer(struct loop_timer *timer)
{
    struct http_conn *c = CONTAINER_OF(timer, struct http_conn, timer);
    int64_t deadline_ms = conn_deadline_ms(c);
    if (deadline_ms == INT64_MAX)
        return;
    if (deadline_ms <= loop_now_ms(c->worker->loop) || conn_is_too_slow(c))
        conn_expire(c);
    else
        conn_arm(c);
}

/* ---- driving ---- */

/* Replies are sent at the end of the loop's turn: first all input is processed, then the replies
 * are sent one after the other. Doing the same for many connections keeps the kernel's code, or
 * ours, in the processor's caches, and a client that wakes up finds more than one reply. A reply
 * waits only for a few others, and not if its connection has the next request already. */
static bool conn_holds_reply(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    struct http_out *out = &c->call->out;
    if (c->sending_set)
        return true;
    c->sending_set = out->may_wait && c->in.n == 0 && w->held_count < HTTP_REPLIES_HELD_MAX;
    out->may_wait = false;
    if (!c->sending_set)
        return false;
    w->held_count++;
    loop_at_end_of_turn(w->loop, &c->sending);
    return true;
}

static void conn_send(struct loop_task *task)
{
    struct http_conn *c = CONTAINER_OF(task, struct http_conn, sending);
    c->sending_set = false;
    c->worker->held_count--;
    http_conn_drive(c);
}

static bool conn_step(struct http_conn *c)
{
    switch (c->state) {
    case CONN_HEAD:
        return http_step_head(c);
    case CONN_BODY:
        return http_step_body(c);
    case CONN_WORK:
        if (c->call->replied)
            http_conn_set_state(c, CONN_SEND);
        return c->call->replied;
    case CONN_SEND:
        return !c->is_away && !conn_holds_reply(c) && http_step_send(c);
    case CONN_DISCARD:
        return http_step_discard(c);
    case CONN_LINGER:
        return http_step_linger(c);
    case CONN_CLOSED:
        break;
    }
    return false;
}

/* Runs later, after the other connections of this loop. */
static void conn_post(struct http_conn *c)
{
    if (c->again_posted)
        return;
    c->again_posted = true;
    loop_post(c->worker->loop, &c->again);
}

/* Does all steps that can be done now. If a handler calls http_reply while its connection is
 * driven, this loop continues, so replies to pipelined requests do not nest. */
void http_conn_drive(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    if (w->driving == c)
        return;
    if (w->driving != NULL) {
        conn_post(c);
        return;
    }
    w->driving = c;
    w->turn_left = HTTP_TURN_BYTES_MAX;
    bool more = true;
    for (int steps = 0; more && w->turn_left > 0 && steps < HTTP_TURN_STEPS_MAX; steps++)
        more = conn_step(c);
    if (w->draining && c->state == CONN_HEAD && c->in.n == 0)
        http_conn_set_state(c, CONN_CLOSED);
    http_input_keep(c);
    w->driving = NULL;
    if (more)
        conn_post(c);
    else if (c->state != CONN_CLOSED && !c->sending_set)
        conn_arm(c);
    if (c->state == CONN_CLOSED && !c->again_posted && !c->sending_set)
        conn_free(c);
}

/* Tells the handler that its client has gone. This may end the connection. */
static void conn_tell_gone(struct http_conn *c, bool wholly)
{
    struct http_call *call = c->state == CONN_WORK ? c->call : NULL;
    if (call != NULL && call->handed && !call->replied && call->x.handler->on_gone != NULL)
        call->x.handler->on_gone(&call->x, wholly);
}

/* Cuts the connection; tells the handler if it is at work. */
static void conn_lose(struct http_conn *c)
{
    bool at_work = c->state == CONN_WORK;
    http_conn_cut(c);
    if (at_work)
        conn_tell_gone(c, true);
}

static void conn_again(struct loop_task *task)
{
    struct http_conn *c = CONTAINER_OF(task, struct http_conn, again);
    c->again_posted = false;
    http_input_prefetch_ends(c);
    if (c->cut) {
        conn_lose(c);
        return;
    }
    http_conn_drive(c);
}

/* Posted to the mailbox, because the end of one connection can end another while the caller walks
 * the list of connections. */
void http_conn_wind_up(struct http_conn *c, bool cut)
{
    c->cut = cut;
    /* Check once more: a request may just have arrived. */
    if (c->is_away)
        c->missed |= EPOLLIN;
    else
        c->stream.may_recv = true;
    if (c->state == CONN_LINGER)
        c->state = CONN_CLOSED;
    conn_post(c);
}

/* ---- many ready connections ---- */

static void post_crowd(struct http_worker *w)
{
    if (w->crowd_posted)
        return;
    w->crowd_posted = true;
    loop_post(w->loop, &w->crowd_task);
}

/* Serves some of the waiting connections, one of each group in turn. Before the others continue,
 * the loop processes connections that have become ready meanwhile. */
void http_serve_crowd(struct loop_task *task)
{
    struct http_worker *w = CONTAINER_OF(task, struct http_worker, crowd_task);
    struct http_conn *served[CROWD_TURN_MAX];
    size_t count = 0;
    struct crowd_item *item;
    w->crowd_posted = false;
    while (count < CROWD_TURN_MAX && (item = crowd_take(&w->crowd)) != NULL)
        served[count++] = CONTAINER_OF(item, struct http_conn, waiting);
    for (size_t i = 0; i < count; i++)
        (void)http_input_prefetch(served[i]);
    for (size_t i = 0; i < count; i++)
        conn_again(&served[i]->again);
    if (w->crowd.waiting != 0)
        post_crowd(w);
}

/* True if the connection waits for its turn among many. Only one that waits for a request does:
 * the others hold memory, and end sooner if they continue. */
static bool conn_queues(struct http_conn *c)
{
    struct http_worker *w = c->worker;
    bool many = w->crowd.waiting != 0 || loop_ready_count(w->loop) > CROWD_MIN;
    if (!many || c->state != CONN_HEAD || c->again_posted)
        return false;
    c->again_posted = true;
    crowd_add(&w->crowd, &c->waiting, c->group);
    post_crowd(w);
    return true;
}

void http_belongs_to(struct http_exchange *x, struct str account, struct str container)
{
    struct http_conn *c = ((struct http_call *)x)->conn;
    c->group = (uint8_t)(mix_add(mix_add(c->peer_hash, account), container) % CROWD_GROUPS);
}

static void conn_ready(struct loop_watch *watch, uint32_t events)
{
    struct http_conn *c = CONTAINER_OF(watch, struct http_conn, watch);
    if (c->is_away) {
        c->missed |= events;
        return;
    }
    stream_note(&c->stream, events);
    /* While a handler works nothing is read or written, so only this event reports it. */
    if ((events & (EPOLLHUP | EPOLLERR)) && c->state == CONN_WORK) {
        conn_lose(c);
    } else if ((events & EPOLLRDHUP) && c->state == CONN_WORK) {
        conn_tell_gone(c, false);
    } else if (conn_queues(c)) {
        return;
    } else if (!c->again_posted && http_input_prefetch(c)) {
        c->again_posted = true;
        loop_after_events(c->worker->loop, &c->again);
    } else {
        http_conn_drive(c);
    }
}

void http_conn_open(const struct http_listener *listener, int fd,
                    const struct sockaddr_storage *peer, bool refused)
{
    struct http_worker *w = listener->worker;
    struct http_conn *c = MEM_NEW(struct http_conn);
    c->watch = (struct loop_watch){.ready = conn_ready, .fd = fd};
    c->timer.fire = conn_timer;
    c->again.run = conn_again;
    c->sending.run = conn_send;
    c->worker = w;
    c->held = buf_heap();
    c->peer = *peer;
    c->peer_hash = address_hash(peer);
    c->group = (uint8_t)(c->peer_hash % CROWD_GROUPS);
    c->listener_context = listener->context;
    c->idle_ms = listener->idle_ms;
    c->counted = !refused;
    c->secure = listener->secure;
    c->relayed = listener->relayed;
    stream_init(&c->stream, fd, c->relayed ? NULL : http_server_tls(w->server));
    http_conn_set_state(c, CONN_HEAD);
    http_server_remember(c);
    struct err error =
        loop_watch_add(w->loop, &c->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    /* With TLS enabled the client's protocol is still unknown, so no answer can be sent. */
    bool mute = refused && c->stream.offered != NULL;
    if (err_is(error) || mute)
        http_conn_set_state(c, CONN_CLOSED);
    else if (refused)
        http_conn_refuse(c, err_new(ERR_SERVER_BUSY));
    http_conn_drive(c);
}
