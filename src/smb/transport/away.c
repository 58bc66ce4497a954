/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/away.h"

#include <assert.h>

#include "core/container.h"
#include "net/pool.h"
#include "smb/commands/write.h"
#include "smb/crypto/cover.h"
#include "smb/message.h"
#include "smb/server.h"

static struct pool *senders_of(const struct smb_conn *c)
{
    return smb_server_world(c->server)->senders;
}

bool smb_goes_away(const struct smb_conn *c, size_t bytes)
{
    size_t least = smb_server_options(c->server)->away_bytes_min;
    return senders_of(c) != NULL && bytes >= least;
}

/* ---- sending ---- */

static void go_away(struct smb_conn *c, struct pool *pool, void (*run)(struct loop_task *task))
{
    assert(!c->is_away && !c->closed);
    c->is_away = true;
    c->missed = 0;
    c->under_way++;
    c->away.run = run;
    pool_post(pool, &c->away);
}

static void come_back(struct smb_conn *c, void (*run)(struct loop_task *task))
{
    c->away.run = run;
    loop_post(c->loop, &c->away);
}

/* The loop owns the stream again. */
static void is_back(struct smb_conn *c)
{
    assert(c->is_away);
    c->is_away = false;
    stream_note(&c->stream, c->missed);
}

static void sent(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, away);
    is_back(c);
    smb_conn_sent_away(c, c->away_bytes);
}

/* Sends the next part of the block: its memory first, then parts of files. */
static ssize_t send_part(struct stream *stream, const struct smb_block *b)
{
    if (b->begin < b->end) {
        struct iovec part = {(void *)(uintptr_t)(b->bytes + b->begin), b->end - b->begin};
        return stream_send(stream, &part, 1, b->tail != NULL);
    }
    const struct extent_span *span = &b->tail->parts[b->tail->at];
    return stream_send_file(stream, span->fd, span->file_offset, span->length);
}

/* Reads the file parts into the block first, since the cover includes them. */
static bool put_cover_on(struct smb_block *b)
{
    assert(b->source == NULL || b->cover != NULL);
    if (b->source != NULL && !smb_tail_read(b->source, b->source_at))
        return false;
    return b->cover == NULL || smb_cover_run(b->cover);
}

/* On a sender. Continues until the socket is full, to save a round trip to the loop. */
static void send_block(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, away);
    struct smb_block *b = c->output;
    size_t total = 0;
    ssize_t n = 0;
    if (!b->covered && !put_cover_on(b))
        n = STREAM_FAILED;
    b->covered = true;
    while (n >= 0 && smb_block_bytes(b) > 0 && total < SMB_AWAY_BYTES_MAX) {
        n = send_part(&c->stream, b);
        if (n > 0) {
            smb_block_sent(b, (size_t)n);
            total += (size_t)n;
        }
    }
    c->away_bytes = total > 0 && n != STREAM_FAILED ? (ssize_t)total : n;
    come_back(c, sent);
}

bool smb_send_away(struct smb_conn *c)
{
    const struct smb_block *first = c->output;
    if (first->cover == NULL && !smb_goes_away(c, smb_block_bytes(first)))
        return false;
    go_away(c, senders_of(c), send_block);
    return true;
}

/* ---- receiving ---- */

static void received(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, away);
    is_back(c);
    smb_conn_received_away(c, c->away_bytes);
}

/* On a storer or a sender. */
static void receive_rest(struct loop_task *task)
{
    struct smb_conn *c = CONTAINER_OF(task, struct smb_conn, away);
    struct smb_block *input = c->incoming->input;
    size_t total = 0;
    ssize_t n = 1;
    while (n > 0 && c->stream.may_recv && c->incoming_have < input->end &&
           total < SMB_AWAY_BYTES_MAX) {
        size_t left = input->end - c->incoming_have;
        n = stream_recv(&c->stream, input->bytes + c->incoming_have,
                        left < SMB_RECEIVE_BYTES ? left : SMB_RECEIVE_BYTES);
        if (n > 0) {
            c->incoming_have += (size_t)n;
            total += (size_t)n;
            smb_write_early(c->incoming, c->incoming_have);
        }
    }
    struct smb_message *m = c->incoming;
    if (c->incoming_have == input->end && m->check.cover != NULL)
        m->check.good = smb_cover_run(m->check.cover);
    c->away_bytes = n == 0 ? STREAM_FAILED : n;
    come_back(c, received);
}

/* A thread switch does not pay off for messages smaller than twice the minimum. */
bool smb_is_received_away(const struct smb_conn *c)
{
    size_t end = c->incoming->input->end;
    return smb_server_world(c->server)->storers != NULL && end > 2 * (size_t)SMB_RECEIVE_HEAD &&
           smb_goes_away(c, end / 2);
}

bool smb_receives_away(const struct smb_conn *c)
{
    const struct smb_block *input = c->incoming->input;
    return smb_is_received_away(c) && c->incoming_have >= SMB_RECEIVE_HEAD &&
           c->incoming_have < input->end;
}

void smb_receive_away(struct smb_conn *c)
{
    bool stores = smb_write_expect(c->incoming, c->incoming_have);
    smb_message_expect(c->incoming);
    go_away(c, stores ? smb_server_world(c->server)->storers : senders_of(c), receive_rest);
}

/* ---- checking ---- */

static void check_ends(struct loop_task *task)
{
    struct smb_message *m = CONTAINER_OF(task, struct smb_message, check.task);
    struct smb_conn *c = m->conn;
    c->under_way++; /* the message may end soon */
    smb_cover_free(m->check.cover);
    m->check.cover = NULL;
    m->check.then(m, m->check.good);
    smb_conn_release(c);
}

/* On a sender. */
static void check(struct loop_task *task)
{
    struct smb_message *m = CONTAINER_OF(task, struct smb_message, check.task);
    m->check.good = smb_cover_run(m->check.cover);
    m->check.task.run = check_ends;
    loop_post(m->conn->loop, &m->check.task);
}

void smb_check_away(struct smb_message *m, struct smb_cover *cover,
                    void (*then)(struct smb_message *m, bool good))
{
    assert(m->check.cover == NULL);
    m->check.cover = cover;
    m->check.then = then;
    m->check.task.run = check;
    m->conn->held++;
    pool_post(senders_of(m->conn), &m->check.task);
}
