/* SPDX-License-Identifier: Apache-2.0 */
/* Receives and sends: the four-byte length, the message after it, and the queue of answers. */
#include "smb/transport/conn.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/container.h"
#include "core/log.h"
#include "core/mem.h"
#include "net/address_count.h"
#include "smb/commands/session.h"
#include "smb/commands/write.h"
#include "smb/message.h"
#include "smb/server.h"
#include "smb/transport/away.h"
#include "smb/transport/clients.h"

enum {
    MESSAGE_ARENA_MAX = 16 << 20,
    OUTPUT_PARTS = 16,
    /* Received per turn; then other connections are served. */
    BYTES_PER_TURN = 256 << 10,
};

#define WATCHED (EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET)

static void conn_receive(struct smb_conn *c);
static void read_and_settle(struct smb_conn *c);

/* ---- clients without a proved key ---- */

/* An estimate of the memory of a session being set up, mostly NTLM messages. */
static size_t early_cost(const struct smb_conn *c)
{
    enum { SESSION_BYTES = 8192 };
    if (c->proved || c->closed)
        return 0;
    size_t incoming = c->incoming == NULL ? 0 : c->incoming->input->end;
    return sizeof *c + incoming + c->output_bytes + c->channel_count * SESSION_BYTES;
}

/* Called when the memory of an unauthenticated connection has changed. If all of them together hold
 * too much, the oldest is cut: honest clients authenticate soon. False if that was this one. */
static bool recount(struct smb_conn *c)
{
    size_t cost = early_cost(c);
    bool fits = smb_server_count_early(c->server, cost, c->early_bytes);
    bool grows = cost > c->early_bytes;
    c->early_bytes = cost;
    if (fits || !grows)
        return true;
    struct smb_conn *oldest = smb_server_oldest_stranger(c->server, c->loop);
    smb_conn_close(oldest);
    return oldest != c;
}

void smb_conn_proved(struct smb_conn *c)
{
    loop_timer_cancel(c->loop, &c->early);
    c->proved = true;
    (void)recount(c);
}

static void conn_free_if_idle(struct smb_conn *c)
{
    if (!c->closed || c->under_way > 0)
        return;
    if (c->counted)
        address_counts_drop(smb_server_world(c->server)->addresses, &c->peer);
    smb_server_forget(c->server, c);
    free(c);
}

void smb_conn_work_done(struct smb_conn *c)
{
    assert(c->under_way > 0);
    c->under_way--;
    conn_free_if_idle(c);
}

static void drop_output(struct smb_conn *c)
{
    while (c->output != NULL) {
        struct smb_block *next = c->output->next;
        smb_block_give(c->blocks, c->output);
        c->output = next;
    }
    c->output_tail = &c->output;
    c->output_bytes = 0;
}

/* The loop must own the stream and its current block. */
static void cut_stream(struct smb_conn *c)
{
    stream_close(&c->stream, false);
    if (c->incoming != NULL)
        smb_message_free(c->incoming);
    c->incoming = NULL;
    drop_output(c);
}

void smb_conn_close(struct smb_conn *c)
{
    if (c->closed)
        return;
    c->closed = true;
    loop_timer_cancel(c->loop, &c->early);
    loop_watch_remove(c->loop, &c->watch);
    if (c->is_away)
        (void)shutdown(c->stream.fd, SHUT_RDWR); /* so that it returns soon; then it is cut */
    else
        cut_stream(c);
    (void)recount(c);
    /* Waits for locks or changes end now, without an answer. The connection lives until all its
     * work has ended. */
    c->under_way++;
    smb_clients_leave(smb_server_clients(c->server), c);
    while (c->waiting != NULL) {
        struct smb_request *request = c->waiting;
        smb_leave_waiting(request);
        if (!request->outlives || request->session->channel_count <= 1)
            smb_cancel_wait(request);
    }
    smb_sessions_end(c);
    smb_conn_work_done(c);
}

/* ---- out ---- */

static void note_sent(struct smb_conn *c, size_t n)
{
    c->output_bytes -= n;
    while (c->output != NULL) {
        struct smb_block *o = c->output;
        size_t part = smb_block_bytes(o) < n ? smb_block_bytes(o) : n;
        smb_block_sent(o, part);
        n -= part;
        if (smb_block_bytes(o) > 0)
            return;
        c->output = o->next;
        smb_block_give(c->blocks, o);
    }
    c->output_tail = &c->output;
}

/* Sends the memory of several answers, up to one that continues in a file or is sent by a
 * sender. */
static ssize_t send_memory(struct smb_conn *c)
{
    struct iovec parts[OUTPUT_PARTS];
    size_t count = 0;
    bool more = false;
    for (struct smb_block *o = c->output; o != NULL && count < OUTPUT_PARTS && !more; o = o->next) {
        if (count > 0 && (o->cover != NULL || smb_goes_away(c, smb_block_bytes(o))))
            break;
        parts[count++] = (struct iovec){o->bytes + o->begin, o->end - o->begin};
        more = o->tail != NULL;
    }
    return stream_send(&c->stream, parts, count, more);
}

static ssize_t send_some(struct smb_conn *c)
{
    const struct smb_block *o = c->output;
    if (o->begin < o->end)
        return send_memory(c);
    const struct extent_span *part = &o->tail->parts[o->tail->at];
    return stream_send_file(&c->stream, part->fd, part->file_offset, part->length);
}

static void close_broken(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, close_later);
    smb_conn_close(c);
    smb_conn_work_done(c);
}

/* A failed send does not close the connection at once: answers are queued while sessions, trees and
 * handles end, which closing would restart. */
static void note_broken(struct smb_conn *c)
{
    c->broken = true;
    c->under_way++;
    c->close_later.run = close_broken;
    loop_post(c->loop, &c->close_later);
}

static void conn_send(struct smb_conn *c)
{
    while (!c->is_away && c->output != NULL && c->stream.may_send && !c->broken) {
        if (smb_send_away(c))
            return;
        ssize_t n = send_some(c);
        if (n == STREAM_AGAIN)
            return;
        if (n < 0) {
            note_broken(c);
            return;
        }
        note_sent(c, (size_t)n);
    }
}

/* The sender has already advanced the block. */
static void note_sent_away(struct smb_conn *c, size_t n)
{
    struct smb_block *first = c->output;
    c->output_bytes -= n;
    if (smb_block_bytes(first) > 0)
        return;
    c->output = first->next;
    if (c->output == NULL)
        c->output_tail = &c->output;
    smb_block_give(c->blocks, first);
}

void smb_conn_sent_away(struct smb_conn *c, ssize_t sent)
{
    if (c->closed) {
        cut_stream(c);
        smb_conn_work_done(c);
        return;
    }
    if (sent > 0)
        note_sent_away(c, (size_t)sent);
    if (sent < 0 && sent != STREAM_AGAIN && !c->broken)
        note_broken(c);
    conn_send(c);
    read_and_settle(c);
}

void smb_conn_queue(struct smb_conn *c, struct smb_block *message)
{
    if (c->closed || c->broken) {
        smb_block_give(c->blocks, message);
        return;
    }
    size_t n = smb_block_bytes(message);
    assert(message->begin >= SMB_FRAME_BYTES);
    message->begin -= SMB_FRAME_BYTES;
    char *frame = message->bytes + message->begin;
    frame[0] = 0;
    frame[1] = (char)(n >> 16);
    frame[2] = (char)(n >> 8);
    frame[3] = (char)n;
    message->next = NULL;
    *c->output_tail = message;
    c->output_tail = &message->next;
    c->output_bytes += SMB_FRAME_BYTES + n;
    conn_send(c);
}

/* ---- in ---- */

static size_t message_limit(const struct smb_conn *c)
{
    return c->proved ? SMB_MESSAGE_BYTES_MAX : SMB_EARLY_MESSAGE_BYTES_MAX;
}

static size_t output_limit(const struct smb_conn *c)
{
    return c->proved ? SMB_OUTPUT_BYTES_MAX : SMB_EARLY_OUTPUT_BYTES_MAX;
}

/* Allocates a message of the length in the four bytes. */
static bool begin_message(struct smb_conn *c)
{
    size_t length =
        (size_t)c->length_bytes[1] << 16 | (size_t)c->length_bytes[2] << 8 | c->length_bytes[3];
    if (c->length_bytes[0] != 0 || length < 4 || length > message_limit(c))
        return false;
    struct smb_message *m = MEM_NEW(struct smb_message);
    arena_init(&m->arena, MESSAGE_ARENA_MAX);
    m->conn = c;
    m->input = smb_block_take(c->blocks, length);
    m->input->end = length;
    c->incoming = m;
    c->incoming_have = 0;
    return recount(c);
}

/* Reads the length or the message. Returns bytes; 0: nothing now; <0: closed. */
static ssize_t receive_some(struct smb_conn *c)
{
    if (c->incoming == NULL) {
        ssize_t n =
            stream_recv(&c->stream, (char *)c->length_bytes + c->length_have, 4 - c->length_have);
        if (n <= 0)
            return n == STREAM_AGAIN ? 0 : -1;
        c->length_have += (size_t)n;
        return c->length_have == 4 && !begin_message(c) ? -1 : n;
    }
    struct smb_block *input = c->incoming->input;
    size_t left = input->end - c->incoming_have;
    size_t most = c->incoming_have < SMB_RECEIVE_HEAD && smb_is_received_away(c)
                      ? SMB_RECEIVE_HEAD - c->incoming_have
                      : BYTES_PER_TURN;
    ssize_t n = stream_recv(&c->stream, input->bytes + c->incoming_have, left < most ? left : most);
    if (n <= 0)
        return n == STREAM_AGAIN ? 0 : -1;
    c->incoming_have += (size_t)n;
    return n;
}

/* ---- to another loop ---- */

static void arrive(struct run *r, struct err outcome)
{
    struct smb_request *q = smb_request_of(r);
    struct smb_conn *c = q->conn;
    (void)outcome.code; /* the move cannot fail */
    c->moving = NULL;
    smb_server_remember(c->server, c);
    if (err_is(loop_watch_add(c->loop, &c->watch, WATCHED)))
        smb_conn_close(c);
    else
        loop_timer_set(c->loop, &c->early, smb_server_early_ms(c->server));
    q->then(q, c->closed ? err_new(ERR_IO) : OK);
}

/* Do not touch the connection on this loop's thread afterwards. */
static void leave_loop(struct smb_request *q)
{
    struct smb_conn *c = q->conn;
    if (c->broken)
        smb_conn_close(c);
    if (c->closed) {
        c->moving = NULL;
        q->then(q, err_new(ERR_IO));
        return;
    }
    assert(!c->is_away && c->held == 0 && !c->reads_later);
    smb_clients_leave(smb_server_clients(c->server), c);
    loop_timer_cancel(c->loop, &c->early);
    loop_watch_remove(c->loop, &c->watch);
    smb_server_forget(c->server, c);
    c->previous = c->next = NULL;
    c->loop = c->moves_to;
    c->blocks = smb_server_blocks(c->server, c->loop);
    c->calls = smb_server_calls(c->server, c->loop);
    run_on(&q->run, c->loop, arrive);
}

bool smb_conn_move(struct smb_request *q, struct loop *to,
                   void (*then)(struct smb_request *q, struct err outcome))
{
    enum { READING_AND_THIS = 2 }; /* under way when a lone message runs */
    struct smb_conn *c = q->conn;
    if (c->loop == to) {
        then(q, OK);
        return true;
    }
    if (c->channels != NULL || c->under_way > READING_AND_THIS)
        return false;
    q->then = then;
    c->moving = q;
    c->moves_to = to;
    return true;
}

/* ---- messages, one after the other ---- */

/* Reading may close the connection, or move it to another loop; `under_way` has kept its memory
 * until now. */
static void read_and_settle(struct smb_conn *c)
{
    conn_receive(c);
    struct smb_request *moving = c->moving;
    smb_conn_work_done(c);
    if (moving != NULL)
        leave_loop(moving);
}

static void read_on(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, read_on);
    c->reads_later = false;
    read_and_settle(c);
}

static void read_later(struct smb_conn *c)
{
    if (c->reads_later)
        return;
    c->reads_later = true;
    c->under_way++;
    c->read_on.run = read_on;
    loop_post(c->loop, &c->read_on);
}

/* Messages that a request caused for handles of this loop, especially lease breaks, are sent before
 * the next answer: a client may rely on that order. */
static void let_calls_pass(struct smb_conn *c)
{
    if (!c->closed && c->moving == NULL && atomic_load(c->calls) > 0)
        read_later(c);
}

void smb_conn_release(struct smb_conn *c)
{
    assert(c->held > 0);
    c->held--;
    let_calls_pass(c);
    read_and_settle(c);
}

static void run_message(struct smb_conn *c, struct smb_message *m)
{
    smb_message_run(m);
    if (c->moving == NULL)
        (void)recount(c);
    let_calls_pass(c);
}

/* Part of a message has arrived, or all of it. */
static void take_message(struct smb_conn *c)
{
    struct smb_message *m = c->incoming;
    if (c->incoming_have < m->input->end) {
        if (!smb_receives_away(c) && smb_write_expect(m, c->incoming_have))
            smb_write_early(m, c->incoming_have);
        return;
    }
    c->incoming = NULL;
    c->length_have = 0;
    run_message(c, m);
}

void smb_conn_received_away(struct smb_conn *c, ssize_t received)
{
    if (c->closed) {
        cut_stream(c);
        smb_conn_work_done(c);
        return;
    }
    if (received == STREAM_FAILED)
        smb_conn_close(c);
    else if (c->incoming_have == c->incoming->input->end)
        take_message(c);
    conn_send(c);
    read_and_settle(c);
}

static bool may_read(const struct smb_conn *c)
{
    /* Do not read from a client that does not receive its answers. */
    return !c->closed && !c->broken && !c->is_away && !c->reads_later && c->held == 0 &&
           c->moving == NULL && c->output_bytes < output_limit(c);
}

static void conn_receive(struct smb_conn *c)
{
    for (size_t taken = 0; may_read(c);) {
        if (c->incoming != NULL && smb_receives_away(c)) {
            if (c->stream.may_recv)
                smb_receive_away(c);
            return;
        }
        if (taken >= BYTES_PER_TURN) {
            read_later(c);
            return;
        }
        ssize_t n = receive_some(c);
        if (n == 0)
            return;
        if (n < 0) {
            smb_conn_close(c);
            return;
        }
        taken += (size_t)n;
        if (c->incoming_have > 0 && c->incoming != NULL)
            take_message(c);
    }
}

static void conn_ready(struct loop_watch *watch, uint32_t events)
{
    struct smb_conn *c = (struct smb_conn *)watch;
    if (c->is_away) { /* the sender owns the stream */
        c->missed |= events;
        return;
    }
    stream_note(&c->stream, events);
    c->under_way++;
    conn_send(c);
    (void)recount(c);
    read_and_settle(c);
}

static void conn_too_slow(struct loop_timer *timer)
{
    smb_conn_close(CONTAINER_OF(timer, struct smb_conn, early));
}

struct smb_conn *smb_conn_open(struct smb_server *server, struct loop *loop, int fd,
                               const struct sockaddr_storage *peer)
{
    struct smb_conn *c = MEM_NEW(struct smb_conn);
    int yes = 1;
    c->server = server;
    c->loop = loop;
    c->peer = *peer;
    c->output_tail = &c->output;
    c->blocks = smb_server_blocks(server, loop);
    c->calls = smb_server_calls(server, loop);
    c->watch = (struct loop_watch){.ready = conn_ready, .fd = fd};
    c->early.fire = conn_too_slow;
    smb_window_init(&c->window);
    stream_init(&c->stream, fd, NULL);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    smb_server_remember(server, c);
    struct err error = loop_watch_add(loop, &c->watch, WATCHED);
    if (err_is(error)) {
        smb_conn_close(c);
        return NULL;
    }
    loop_timer_set(loop, &c->early, smb_server_early_ms(c->server));
    return recount(c) ? c : NULL;
}
