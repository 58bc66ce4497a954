/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/message.h"

#include <assert.h>
#include <stdlib.h>

#include "core/hash/hmac.h"
#include "service/common/home.h"
#include "smb/command_log.h"
#include "smb/commands/negotiate.h"
#include "smb/commands/session.h"
#include "smb/commands/write.h"
#include "smb/crypto/cover.h"
#include "smb/drive.h"
#include "smb/open.h"
#include "smb/server.h"
#include "smb/told.h"
#include "smb/transport/away.h"

/* A gateway that is not sure to have the open files (home.h) checks this often, and lets a client
 * wait this long. */
enum { DOUBT_LOOK_MS = 50, DOUBT_MS_MAX = 30000 };

enum { FLAGS_AT = 16 }; /* in a header */

static void run_next(struct smb_message *m);

void smb_message_free(struct smb_message *m)
{
    smb_write_forget(m);
    smb_cover_free(m->check.cover);
    smb_session_put(m->sealing);
    arena_release(&m->arena);
    smb_block_give(m->conn->blocks, m->input);
    smb_block_give(m->conn->blocks, m->block);
    free(m);
}

/* ---- answers ---- */

/* Encrypts the block in place and puts a transform header before it. A large block is encrypted by
 * the sender. */
static bool seal(const struct smb_conn *c, struct smb_session *session, struct smb_block *block)
{
    char *plain = block->bytes + block->begin;
    size_t n = block->end - block->begin;
    if (smb_goes_away(c, n)) {
        block->cover = smb_cover_seal(session, plain, n);
        block->begin -= SMB_TRANSFORM_BYTES;
        return true;
    }
    struct smb_transform t = {.original_size = (uint32_t)n, .flags = 1, .session_id = session->id};
    struct buf head = {.p = plain - SMB_TRANSFORM_BYTES, .capacity = SMB_TRANSFORM_BYTES};
    smb_session_nonce(session, t.nonce);
    smb_transform_put(&head, &t);
    struct str aad = {head.p + 20, SMB_TRANSFORM_BYTES - 20};
    if (!smb_seal(session->sealer, aad, t.nonce, plain, n, t.signature))
        return false;
    memcpy(head.p + 4, t.signature, SMB_SIGNATURE_BYTES);
    block->begin -= SMB_TRANSFORM_BYTES;
    return true;
}

/* Returns the signer of the answer; NULL: unsigned. Only a request that has proved the session's
 * key gets a signed answer: a client that could get any answer signed could find a GMAC key. Until
 * a connection has joined the session, bind.c decides whether a nonce is left. Encrypted answers
 * are not signed. */
static struct smb_signer *answer_signer(const struct smb_request *q)
{
    bool required = q->session != NULL && q->session->signing_required;
    if (q->message->sealing != NULL || !q->verified)
        return NULL;
    if (q->channel == NULL || !q->channel->bound)
        return q->borrowed_signer;
    return (q->header.flags & SMB_FLAG_SIGNED) != 0 || required ||
                   q->header.command == SMB_SESSION_SETUP
               ? smb_channel_signer(q->channel)
               : NULL;
}

static void put_signature(const struct smb_request *q, char *packet, size_t n)
{
    struct smb_signer *signer = answer_signer(q);
    unsigned char signature[SMB_SIGNATURE_BYTES];
    if (signer == NULL)
        return;
    packet[FLAGS_AT] = (char)(packet[FLAGS_AT] | SMB_FLAG_SIGNED);
    if (smb_signer_sign(signer, (struct str){packet, n}, true, signature))
        memcpy(packet + 48, signature, SMB_SIGNATURE_BYTES);
}

/* Copies the answers to a separate block, with space for headers before them. */
static struct smb_block *take_answers(struct smb_message *m)
{
    struct smb_block *block = m->block;
    if (block == NULL) {
        block = smb_block_take(m->conn->blocks, SMB_FRONT_BYTES + m->answer.n);
        block->begin = SMB_FRONT_BYTES;
        block->end = SMB_FRONT_BYTES + m->answer.n;
        memcpy(block->bytes + block->begin, m->answer.p, m->answer.n);
    }
    m->block = NULL;
    buf_clear(&m->answer);
    return block;
}

static void send_answers(struct smb_message *m)
{
    struct smb_block *block = take_answers(m);
    if (m->sealing == NULL || seal(m->conn, m->sealing, block)) {
        smb_conn_queue(m->conn, block);
        return;
    }
    smb_block_give(m->conn->blocks, block);
    smb_conn_close(m->conn);
}

static void finish_message(struct smb_message *m, struct smb_session *session)
{
    struct smb_conn *c = m->conn;
    if (m->answer.n > 0)
        send_answers(m);
    if (session != NULL && session->logged_off)
        smb_session_end(session);
    smb_session_put(session);
    smb_message_free(m);
    smb_conn_work_done(c);
}

static void put_error_body(struct buf *out)
{
    buf_put_le16(out, 9);
    buf_put_le16(out, 0);
    buf_put_le32(out, 0);
    buf_put_u8(out, 0);
}

/* Writes an error with four bytes of error data; 3.1.1 wraps them in an error context. */
static void put_error_data(const struct smb_request *q, struct buf *out)
{
    enum { DATA_BYTES = 4, CONTEXT_BYTES = 8 };
    bool wrapped = q->conn->dialect == SMB_DIALECT_311;
    buf_put_le16(out, 9);
    buf_put_u8(out, wrapped ? 1 : 0);
    buf_put_u8(out, 0);
    buf_put_le32(out, wrapped ? CONTEXT_BYTES + DATA_BYTES : DATA_BYTES);
    if (wrapped) {
        buf_put_le32(out, DATA_BYTES);
        buf_put_le32(out, 0);
    }
    buf_put(out, (struct str){q->error_data, DATA_BYTES});
}

static bool has_own_body(uint32_t status)
{
    return status == STATUS_SUCCESS || status == STATUS_BUFFER_OVERFLOW ||
           status == STATUS_MORE_PROCESSING_REQUIRED || status == STATUS_STOPPED_ON_SYMLINK ||
           status == STATUS_NOTIFY_ENUM_DIR;
}

static bool is_refusal(uint32_t status)
{
    return status >> 30 == 3 && status != STATUS_MORE_PROCESSING_REQUIRED;
}

static struct smb_header answer_header(struct smb_request *q)
{
    struct smb_header h = q->header;
    h.status = q->status;
    h.flags = SMB_FLAG_RESPONSE | (q->header.flags & SMB_FLAG_RELATED);
    h.next = 0;
    h.credits = q->pending ? 0 : smb_window_grant(&q->conn->window, q->header.credits);
    h.session_id = q->answer_session_id;
    h.tree_id = q->answer_tree_id;
    if (q->pending) {
        h.flags |= SMB_FLAG_ASYNC;
        h.process_id = (uint32_t)q->async_id;
        h.tree_id = (uint32_t)(q->async_id >> 32);
    }
    /* An unsigned refusal returns the request's flag and signature unchanged, as in Windows:
     * clients that sign recognise it, and it proves nothing. */
    if (is_refusal(q->status) && q->message->sealing == NULL && answer_signer(q) == NULL)
        h.flags |= q->header.flags & SMB_FLAG_SIGNED;
    else
        memset(h.signature, 0, sizeof h.signature);
    return h;
}

void smb_reserve_answer(struct smb_request *q, size_t bytes)
{
    struct smb_message *m = q->message;
    if (m->count > 1 || m->plain.n > 0 || q->block != NULL) {
        (void)buf_reserve(&q->out, bytes); /* other answers precede or follow it */
        return;
    }
    q->block = smb_block_take(q->conn->blocks, SMB_FRONT_BYTES + bytes);
    q->out = (struct buf){.p = q->block->bytes + SMB_FRONT_BYTES,
                          .capacity = q->block->capacity - SMB_FRONT_BYTES};
}

bool smb_answer_is_bare(const struct smb_request *q)
{
    return q->block != NULL && q->message->sealing == NULL && answer_signer(q) == NULL;
}

/* Writes the header right before the body, which is not copied. */
static void add_answer_in_place(struct smb_request *q)
{
    struct smb_message *m = q->message;
    struct smb_header h = answer_header(q);
    struct buf head = {.p = q->out.p - SMB_HEADER_BYTES, .capacity = SMB_HEADER_BYTES};
    smb_header_put(&head, &h);
    m->block = q->block;
    q->block = NULL;
    m->block->begin = SMB_FRONT_BYTES - SMB_HEADER_BYTES;
    m->block->end = SMB_FRONT_BYTES + q->out.n;
    m->answer.n = SMB_HEADER_BYTES + q->out.n;
    const struct smb_signer *signer = answer_signer(q);
    if (signer == NULL || signer == q->borrowed_signer || !smb_goes_away(q->conn, m->answer.n)) {
        put_signature(q, head.p, m->answer.n);
        return;
    }
    head.p[FLAGS_AT] = (char)(head.p[FLAGS_AT] | SMB_FLAG_SIGNED);
    m->block->cover = smb_cover_sign(q->channel, head.p, m->answer.n);
}

/* Appends the answer, aligned to eight bytes, and sets the offset in the previous one. */
static void add_answer(struct smb_request *q, bool last)
{
    struct smb_message *m = q->message;
    struct buf *out = &m->answer;
    size_t begin = out->n;
    if (q->block != NULL && has_own_body(q->status) && q->out.n > 0) {
        add_answer_in_place(q);
        return;
    }
    struct smb_header h = answer_header(q);
    smb_header_put(out, &h);
    if ((has_own_body(q->status) || q->keeps_body) && q->out.n > 0)
        buf_put(out, buf_str(&q->out));
    else if (q->error_data != NULL)
        put_error_data(q, out);
    else
        put_error_body(out);
    while (!last && out->n % 8 != 0)
        buf_putc(out, 0);
    if (!last) {
        uint32_t next = (uint32_t)(out->n - begin);
        for (unsigned i = 0; i < 4; i++)
            out->p[begin + 20 + i] = (char)(next >> (8 * i));
    }
    put_signature(q, out->p + begin, out->n - begin);
    smb_negotiate_hash_answer(q, (struct str){out->p + begin, out->n - begin});
}

/* ---- completing a request ---- */

void smb_leave_waiting(struct smb_request *q)
{
    if (q->wait_previous != NULL)
        q->wait_previous->wait_next = q->wait_next;
    else if (q->conn->waiting == q)
        q->conn->waiting = q->wait_next;
    if (q->wait_next != NULL)
        q->wait_next->wait_previous = q->wait_previous;
    q->wait_previous = q->wait_next = NULL;
}

/* True: `then` is called later, to check again. */
static bool waits_in_doubt(struct smb_request *q, run_step *then)
{
    struct home *home = smb_store(q)->home;
    if (home_holds(home) || !home_is_ours(home) || q->conn->closed || atomic_load(&q->run.gone))
        return false;
    int64_t now = loop_now_ms(q->run.loop);
    if (q->doubt_until_ms == 0)
        q->doubt_until_ms = now + DOUBT_MS_MAX;
    if (now >= q->doubt_until_ms)
        return false;
    run_delay(&q->run, DOUBT_LOOK_MS, then);
    return true;
}

static void complete_after_doubt(struct run *r, struct err outcome)
{
    struct smb_request *q = smb_request_of(r);
    (void)outcome;
    smb_complete(q, q->status);
}

void smb_complete(struct smb_request *q, uint32_t status)
{
    struct smb_message *m = q->message;
    struct smb_session *session = q->session;
    bool last = m->plain.n == 0;
    q->status = status;
    if (waits_in_doubt(q, complete_after_doubt))
        return;
    smb_server_count(q->conn->server, q, !has_own_body(status));
    smb_command_log(q);
    smb_tell(q);
    if (q->pending)
        smb_leave_waiting(q);
    /* Results that depend on open files of another gateway are not sent. */
    if (!home_holds(smb_store(q)->home))
        smb_conn_close(q->conn);
    if (!q->no_answer && !q->conn->closed)
        add_answer(q, last);
    smb_signer_free(q->borrowed_signer);
    q->borrowed_signer = NULL;
    smb_channel_put(q->channel);
    q->channel = NULL;
    smb_block_give(q->conn->blocks, q->block);
    q->block = NULL;
    if (q->open != NULL)
        smb_sequence_end(q);
    smb_open_put(q->open);
    smb_tree_put(q->tree);
    if (last || q->conn->closed) {
        finish_message(m, session);
        return;
    }
    smb_session_put(session);
    run_next(m);
}

void smb_complete_err(struct smb_request *q, struct err error)
{
    if (err_is(error))
        q->why = err_message(error.code);
    smb_complete(q, err_is(error) ? err_ntstatus(error.code) : STATUS_SUCCESS);
}

void smb_pending(struct smb_request *q)
{
    struct smb_message *m = q->message;
    struct smb_conn *c = q->conn;
    assert(!q->pending && smb_may_wait(q));
    /* Now sends the answers of the commands before it, followed by the interim answer. */
    q->pending = true;
    q->async_id = ++c->last_async_id;
    q->status = STATUS_PENDING;
    struct smb_header h = answer_header(q);
    h.credits = smb_window_grant(&c->window, q->header.credits);
    /* Not signed ([MS-SMB2] 3.3.4.1.1): the final answer has the same message id, which is GMAC's
     * nonce. */
    smb_header_put(&m->answer, &h);
    put_error_body(&m->answer);
    /* Added to this list before sending: closing the connection cancels the requests in it. */
    q->wait_next = c->waiting;
    if (c->waiting != NULL)
        c->waiting->wait_previous = q;
    c->waiting = q;
    send_answers(m);
}

void smb_cancel_wait(struct smb_request *q)
{
    smb_leave_waiting(q);
    run_cancel(&q->run);
}

void smb_notify(struct smb_conn *c, struct smb_session *session, uint16_t command, struct str body)
{
    struct smb_message m = {.conn = c,
                            .sealing = session != NULL && session->encrypts ? session : NULL};
    struct smb_header h = {
        .command = command, .flags = SMB_FLAG_RESPONSE, .message_id = UINT64_MAX};
    arena_init(&m.arena, 1 << 20);
    m.answer = buf_in(&m.arena);
    smb_header_put(&m.answer, &h);
    buf_put(&m.answer, body);
    send_answers(&m);
    arena_release(&m.arena);
}

/* ---- checks before a command runs ---- */

static uint32_t refuse(struct smb_request *q, uint32_t status, const char *why)
{
    q->why = why;
    return status;
}

/* Checked before the command or its names. The message id is used up in any case. Sets
 * q->verified. */
static uint32_t check_protection(struct smb_request *q)
{
    struct smb_session *s = q->session;
    const struct smb_session *sealing = q->message->sealing;
    if (s == NULL && sealing != NULL && sealing->ended && sealing->id == q->header.session_id)
        return refuse(q, STATUS_USER_SESSION_DELETED, "the session has ended");
    if (sealing != NULL) {
        q->verified = sealing == s;
        return q->verified ? STATUS_SUCCESS
                           : refuse(q, STATUS_ACCESS_DENIED, "encrypted for another session");
    }
    if (s == NULL || !s->established)
        return STATUS_SUCCESS;
    if (s->encrypts && q->header.command != SMB_SESSION_SETUP)
        return refuse(q, STATUS_ACCESS_DENIED, "the session is encrypted, the request is not");
    if ((q->header.flags & SMB_FLAG_SIGNED) != 0) {
        q->verified = q->checked ? q->check_good
                                 : smb_signer_verifies(smb_channel_signer(q->channel), q->packet);
        return q->verified ? STATUS_SUCCESS
                           : refuse(q, STATUS_ACCESS_DENIED, "the signature is not right");
    }
    return s->signing_required || s->encrypts
               ? refuse(q, STATUS_ACCESS_DENIED, "the request is not signed")
               : STATUS_SUCCESS;
}

static void find_session(struct smb_request *q, uint64_t id)
{
    q->channel = smb_channel_find(q->conn, id);
    if (q->channel != NULL && !smb_channel_stands(q->channel))
        q->channel = NULL;
    q->session = q->channel == NULL ? NULL : q->channel->session;
    smb_channel_get(q->channel);
    smb_session_get(q->session);
}

/* Related commands in a compound inherit the session, tree and file of the previous one. */
static uint32_t inherit(struct smb_request *q)
{
    struct smb_message *m = q->message;
    if ((q->header.flags & SMB_FLAG_RELATED) == 0) {
        m->related_file_given = false;
        m->related_status = STATUS_SUCCESS;
        return STATUS_SUCCESS;
    }
    if (m->count == 1)
        m->related_status = STATUS_INVALID_PARAMETER;
    else
        q->header.session_id = m->previous.session_id;
    if (m->related_status == STATUS_SUCCESS)
        q->header.tree_id = m->previous.tree_id;
    return m->related_status;
}

static uint32_t find_places(struct smb_request *q, const struct smb_command *command)
{
    if (!command->needs_session)
        return STATUS_SUCCESS;
    if (q->session == NULL || !q->session->established || !q->channel->bound)
        return refuse(q, STATUS_USER_SESSION_DELETED, "this connection has no such session");
    if (q->session->expired && q->header.command != SMB_LOGOFF)
        return STATUS_NETWORK_SESSION_EXPIRED;
    if (!command->needs_tree)
        return STATUS_SUCCESS;
    q->tree = smb_tree_find(q->session, q->header.tree_id);
    if (q->tree == NULL)
        return refuse(q, STATUS_NETWORK_NAME_DELETED, "the session has no such tree");
    smb_tree_get(q->tree);
    return STATUS_SUCCESS;
}

/* Every body begins with the size of its fixed part; a variable part may follow. */
static bool body_fits(const struct smb_request *q, const struct smb_command *command)
{
    struct reader r = reader_of(q->body);
    uint16_t size = read_le16(&r);
    size_t least = size & ~1U;
    bool known = size == command->body_bytes || size == command->other_body_bytes;
    return reader_ok(&r) && known && q->body.n >= least;
}

static uint32_t check_request(struct smb_request *q, const struct smb_command **out)
{
    if (q->header.command >= SMB_COMMAND_COUNT)
        return STATUS_INVALID_PARAMETER;
    const struct smb_command *command = &SMB_COMMANDS[q->header.command];
    *out = command;
    uint32_t status = check_protection(q);
    if (status == STATUS_SUCCESS)
        status = q->related;
    if (status == STATUS_SUCCESS) {
        status = find_places(q, command);
        if (status != STATUS_SUCCESS)
            q->message->related_status = STATUS_INVALID_PARAMETER;
    }
    if (status == STATUS_SUCCESS && q->conn->dialect == SMB_DIALECT_NONE &&
        q->header.command != SMB_NEGOTIATE)
        status = STATUS_ACCESS_DENIED;
    /* Checked after the session was found, so that the refusal is signed like any other answer. */
    if (status == STATUS_SUCCESS && command->run == NULL)
        return STATUS_NOT_SUPPORTED;
    if (status == STATUS_SUCCESS && !body_fits(q, command))
        status = STATUS_INVALID_PARAMETER;
    return status;
}

/* ---- the commands of a message ---- */

/* Cuts the next command off m->plain. False when it is not well-formed. */
static bool take_command(struct smb_message *m, struct smb_request *q)
{
    struct str rest = m->plain;
    *q = (struct smb_request){
        .message = m, .conn = m->conn, .arena = &m->arena, .started_us = clock_mono_us()};
    if (!smb_header_read(rest, &q->header) || (q->header.flags & SMB_FLAG_RESPONSE) != 0)
        return false;
    size_t length = q->header.next == 0 ? rest.n : q->header.next;
    if (length < SMB_HEADER_BYTES || length > rest.n || (q->header.next != 0 && length % 8 != 0))
        return false;
    q->packet = str_head(rest, length);
    q->body = str_from(q->packet, SMB_HEADER_BYTES);
    q->out = buf_in(&m->arena);
    m->plain = str_from(rest, length);
    const struct smb_world *world = smb_server_world(m->conn->server);
    run_init(&q->run, m->conn->loop, world->store, world->pool);
    return ++m->count <= SMB_COMPOUND_MAX;
}

static void give_up(struct smb_message *m)
{
    struct smb_conn *c = m->conn;
    smb_conn_close(c);
    finish_message(m, NULL);
}

static void check_and_run(struct smb_request *q)
{
    const struct smb_command *command = NULL;
    uint32_t status = check_request(q, &command);
    q->run.from_table = q->tree != NULL && !q->tree->pipe;
    q->answer_session_id = q->header.session_id;
    q->answer_tree_id = q->header.tree_id;
    q->message->previous = q->header;
    if (status != STATUS_SUCCESS) {
        q->no_answer = q->header.command == SMB_CANCEL;
        smb_complete(q, status);
        return;
    }
    command->run(q);
}

/* A sender has checked the request's signature. The session may have ended meanwhile. */
static void signature_checked(struct smb_message *m, bool good)
{
    struct smb_request *q = &m->request;
    q->checked = true;
    q->check_good = good;
    if (q->channel->ended || !smb_channel_stands(q->channel)) {
        smb_channel_put(q->channel);
        smb_session_put(q->session);
        q->channel = NULL;
        q->session = NULL;
    }
    check_and_run(q);
}

/* Lets a sender check the signature of a large request, if it is signed. */
static bool check_signature_away(struct smb_request *q)
{
    if (q->session == NULL || !q->session->established || q->message->sealing != NULL ||
        (q->header.flags & SMB_FLAG_SIGNED) == 0 || !smb_goes_away(q->conn, q->packet.n))
        return false;
    smb_check_away(q->message, smb_cover_verify(q->channel, q->packet), signature_checked);
    return true;
}

/* A gateway that no longer has the open files answers nothing. */
static void run_command(struct run *r, struct err outcome)
{
    struct smb_request *q = smb_request_of(r);
    struct smb_message *m = q->message;
    (void)outcome;
    if (waits_in_doubt(q, run_command))
        return;
    if (q->conn->closed || !home_holds(smb_store(q)->home)) {
        give_up(m);
        return;
    }
    if (q->header.command < SMB_COMMAND_COUNT) {
        q->related = inherit(q);
        find_session(q, q->header.session_id);
    }
    if (!check_signature_away(q))
        check_and_run(q);
}

static void run_next(struct smb_message *m)
{
    struct smb_request *q = &m->request;
    if (!take_command(m, q)) {
        give_up(m);
        return;
    }
    /* CANCEL uses the id of the request it cancels. */
    if (q->header.command != SMB_CANCEL &&
        !smb_window_take(&m->conn->window, q->header.message_id, q->header.credit_charge)) {
        give_up(m);
        return;
    }
    run_command(&q->run, OK);
}

/* ---- encryption around it ---- */

static void unsealed(struct smb_message *m, bool good)
{
    if (good && !m->conn->closed)
        run_next(m);
    else
        give_up(m);
}

/* The channel of the session that the message is encrypted for; NULL: none. */
static const struct smb_channel *find_sealing(const struct smb_message *m, struct smb_transform *t)
{
    struct str whole = {m->input->bytes, m->input->end};
    if (!smb_transform_read(whole, t) || t->flags != 1 ||
        t->original_size != whole.n - SMB_TRANSFORM_BYTES)
        return NULL;
    const struct smb_channel *c = smb_channel_find(m->conn, t->session_id);
    return c != NULL && c->bound && c->session->unsealer != NULL ? c : NULL;
}

static void hold_sealing(struct smb_message *m, const struct smb_channel *channel)
{
    m->sealing = channel->session;
    smb_session_get(m->sealing);
    m->plain =
        (struct str){m->input->bytes + SMB_TRANSFORM_BYTES, m->input->end - SMB_TRANSFORM_BYTES};
}

void smb_message_expect(struct smb_message *m)
{
    struct smb_transform t;
    struct str head = {m->input->bytes, SMB_TRANSFORM_BYTES};
    if (m->sealing != NULL || smb_magic_of(head) != SMB_MAGIC_ENCRYPTED)
        return;
    const struct smb_channel *channel = find_sealing(m, &t);
    if (channel == NULL)
        return; /* it fails when it is complete */
    hold_sealing(m, channel);
    m->check.cover = smb_cover_unseal(m->sealing, &t, m->input->bytes);
}

static void unseal(struct smb_message *m)
{
    struct smb_transform t;
    if (m->sealing != NULL) { /* the thread that received it has decrypted it */
        smb_cover_free(m->check.cover);
        m->check.cover = NULL;
        unsealed(m, m->check.good);
        return;
    }
    const struct smb_channel *channel = find_sealing(m, &t);
    if (channel == NULL) {
        give_up(m);
        return;
    }
    struct str whole = {m->input->bytes, m->input->end};
    struct str aad = {whole.p + 20, SMB_TRANSFORM_BYTES - 20};
    hold_sealing(m, channel);
    if (smb_goes_away(m->conn, whole.n))
        smb_check_away(m, smb_cover_unseal(m->sealing, &t, m->input->bytes), unsealed);
    else
        unsealed(m,
                 smb_unseal(m->sealing->unsealer, aad, t.nonce,
                            m->input->bytes + SMB_TRANSFORM_BYTES, t.original_size, t.signature));
}

void smb_message_run(struct smb_message *m)
{
    struct str whole = {m->input->bytes, m->input->end};
    if (m->sealing == NULL)
        m->plain = whole;
    m->answer = buf_in(&m->arena);
    m->conn->under_way++;
    switch (smb_magic_of(whole)) {
    case SMB_MAGIC_SMB2:
        run_next(m);
        return;
    case SMB_MAGIC_ENCRYPTED:
        unseal(m);
        return;
    case SMB_MAGIC_SMB1:
        if (smb_negotiate_smb1(m, &m->answer))
            finish_message(m, NULL);
        else
            give_up(m);
        return;
    case SMB_MAGIC_OTHER:
        give_up(m);
        return;
    }
}
