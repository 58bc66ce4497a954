/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/cache.h"

#include "core/container.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/open.h"
#include "smb/server.h"
#include "smb/transport/clients.h"

enum {
    LEASE_READ = 1,
    LEASE_HANDLE = 2,
    LEASE_WRITE = 4,
    LEASE_HAS_PARENT = 4, /* a flag */
    FIRST_BYTES = 32,
    SECOND_BYTES = 52,
    NOTICE_ACK_NEEDED = 1,
    OPLOCK_BODY = 24,
    LEASE_ACK_BODY = 36,
    LEASE_NOTICE_BODY = 44,
};

/* ---- numbers ---- */

uint32_t smb_lease_state(unsigned cache)
{
    return ((cache & OPENS_CACHE_R) != 0 ? LEASE_READ : 0U) |
           ((cache & OPENS_CACHE_H) != 0 ? LEASE_HANDLE : 0U) |
           ((cache & OPENS_CACHE_W) != 0 ? LEASE_WRITE : 0U);
}

unsigned smb_cache_of(uint32_t state)
{
    return ((state & LEASE_READ) != 0 ? OPENS_CACHE_R : 0U) |
           ((state & LEASE_HANDLE) != 0 ? OPENS_CACHE_H : 0U) |
           ((state & LEASE_WRITE) != 0 ? OPENS_CACHE_W : 0U);
}

uint8_t smb_oplock_of(unsigned granted)
{
    if ((granted & OPENS_CACHE_W) != 0)
        return (granted & OPENS_CACHE_H) != 0 ? SMB_OPLOCK_BATCH : SMB_OPLOCK_EXCLUSIVE;
    return (granted & OPENS_CACHE_R) != 0 ? SMB_OPLOCK_II : SMB_OPLOCK_NONE;
}

static unsigned cache_of_oplock(uint8_t oplock)
{
    switch (oplock) {
    case SMB_OPLOCK_II:
        return OPENS_CACHE_R;
    case SMB_OPLOCK_EXCLUSIVE:
        return OPENS_CACHE_R | OPENS_CACHE_W;
    case SMB_OPLOCK_BATCH:
        return OPENS_CACHE_R | OPENS_CACHE_W | OPENS_CACHE_H;
    default:
        return OPENS_CACHE_NONE;
    }
}

/* ---- CREATE ---- */

bool smb_lease_read(const struct smb_conn *c, uint8_t oplock, struct str context,
                    struct smb_lease *out)
{
    *out = (struct smb_lease){0};
    if (!str_given(context) || oplock != SMB_OPLOCK_LEASE)
        return true;
    if (context.n != FIRST_BYTES && context.n != SECOND_BYTES)
        return false;
    bool second = context.n == SECOND_BYTES;
    if (second && c->dialect < SMB_DIALECT_300)
        return true;
    struct reader r = reader_of(context);
    memcpy(out->key, read_raw(&r, SMB_LEASE_KEY_BYTES).p, SMB_LEASE_KEY_BYTES);
    out->state = read_le32(&r) & (LEASE_READ | LEASE_HANDLE | LEASE_WRITE);
    out->flags = read_le32(&r) & LEASE_HAS_PARENT;
    (void)read_le64(&r);
    if (second) {
        memcpy(out->parent, read_raw(&r, SMB_LEASE_KEY_BYTES).p, SMB_LEASE_KEY_BYTES);
        out->epoch = read_le16(&r);
    }
    out->second = second;
    out->given = true;
    return true;
}

void smb_lease_put(struct buf *out, const struct smb_lease *l)
{
    buf_put(out, (struct str){(const char *)l->key, SMB_LEASE_KEY_BYTES});
    buf_put_le32(out, l->state);
    buf_put_le32(out, l->flags);
    buf_put_le64(out, 0);
    if (!l->second)
        return;
    buf_put(out, (struct str){(const char *)l->parent, SMB_LEASE_KEY_BYTES});
    buf_put_le16(out, l->epoch);
    buf_put_le16(out, 0);
}

/* A lease belongs to a client, across all its connections: the client's GUID is part of its key. */
static void table_key(const struct smb_conn *c, const unsigned char *key,
                      unsigned char out[OPENS_LEASE_KEY_BYTES])
{
    memcpy(out, c->client_guid, SMB_GUID_BYTES);
    memcpy(out + SMB_GUID_BYTES, key, SMB_LEASE_KEY_BYTES);
}

void smb_cache_wish(const struct smb_conn *c, uint8_t oplock, const struct smb_lease *lease,
                    struct opens_request *wish)
{
    wish->cache = lease->given ? smb_cache_of(lease->state) : cache_of_oplock(oplock);
    wish->lease = lease->given;
    wish->lease_epoch = lease->epoch;
    wish->lease_counts = lease->second;
    if (lease->given)
        table_key(c, lease->key, wish->lease_key);
}

/* ---- breaks ---- */

static void put_oplock(struct buf *b, uint8_t level, struct smb_file_id id)
{
    buf_put_le16(b, OPLOCK_BODY);
    buf_put_u8(b, level);
    buf_put_u8(b, 0);
    buf_put_le32(b, 0);
    smb_put_file_id(b, id);
}

static void put_lease_notice(struct buf *b, const struct smb_open *o,
                             const struct opens_notice *notice)
{
    buf_put_le16(b, LEASE_NOTICE_BODY);
    buf_put_le16(b, o->lease_second ? notice->epoch : 0);
    buf_put_le32(b, notice->ack_needed ? NOTICE_ACK_NEEDED : 0);
    buf_put(b, (struct str){(const char *)notice->lease_key + SMB_GUID_BYTES, SMB_LEASE_KEY_BYTES});
    buf_put_le32(b, smb_lease_state(notice->from));
    buf_put_le32(b, smb_lease_state(notice->to));
    buf_put_le32(b, 0);
    buf_put_le32(b, 0);
    buf_put_le32(b, 0);
}

/* Lease breaks are sent over the client's oldest connection, protected by a session there. If that
 * session protects less than the lease's session, or belongs to another account with the same GUID,
 * the lease's session is used. */
static struct smb_conn *oldest_conn(struct smb_conn *own, struct smb_session **session)
{
    struct smb_conn *c = smb_clients_oldest(smb_server_clients(own->server), own);
    const struct smb_channel *channel = c->channels;
    while (channel != NULL && !channel->bound)
        channel = channel->next;
    if (channel == NULL || ((*session)->encrypts && !channel->session->encrypts) ||
        strcmp(channel->session->account, (*session)->account) != 0)
        return own;
    *session = channel->session;
    return c;
}

static void break_over(struct loop_timer *timer)
{
    struct smb_open *o = CONTAINER_OF(timer, struct smb_open, break_timer);
    if (o->handle != NULL)
        opens_break_over(smb_server_world(o->server)->store->opens, o->handle, o->break_epoch);
}

static void tell(struct smb_open *o, const struct opens_notice *notice)
{
    struct buf body = buf_heap();
    if (notice->lease) {
        put_lease_notice(&body, o, notice);
    } else {
        put_oplock(&body, smb_oplock_of(notice->to), o->id);
        o->oplock = smb_oplock_of(notice->to);
    }
    if (notice->ack_needed) {
        o->break_epoch = notice->epoch;
        o->break_timer.fire = break_over;
        loop_timer_set(o->loop, &o->break_timer, OPENS_SMB_BREAK_MS);
    }
    struct smb_session *session = o->session;
    struct smb_conn *c = smb_session_conn(session);
    if (c != NULL && notice->lease)
        c = oldest_conn(c, &session);
    if (c != NULL) {
        smb_server_count_break(o->server);
        smb_notify(c, session, SMB_OPLOCK_BREAK, buf_str(&body));
    }
    buf_release(&body);
}

/* On the handle's thread. The client does not know the handle before CREATE is answered, so the
 * break is sent after that answer. */
static void tell_here(struct smb_open *o, const void *bytes)
{
    struct opens_notice notice;
    memcpy(&notice, bytes, sizeof notice);
    if (o->session == NULL)
        return;
    if (o->listed) {
        tell(o, &notice);
        return;
    }
    o->deferred = notice;
    o->has_deferred = true;
}

void smb_cache_tell_deferred(struct smb_open *o)
{
    if (o->has_deferred && !o->closed)
        tell(o, &o->deferred);
    o->has_deferred = false;
}

void smb_cache_break(void *owner, const struct opens_notice *notice)
{
    smb_open_post(owner, notice->tag, tell_here,
                  (struct str){(const char *)notice, sizeof *notice});
}

/* ---- answers to breaks ---- */

static void answer_oplock(struct smb_request *q)
{
    struct reader r = reader_of(str_from(q->body, 2));
    uint8_t level = read_u8(&r);
    (void)read_u8(&r);
    (void)read_le32(&r);
    struct smb_file_id id = smb_read_file_id(&r);
    uint32_t status = reader_ok(&r) ? smb_open_find(q, id) : STATUS_INVALID_PARAMETER;
    if (status == STATUS_SUCCESS && level != SMB_OPLOCK_NONE && level != SMB_OPLOCK_II)
        status = STATUS_INVALID_PARAMETER;
    if (status == STATUS_SUCCESS && (q->open->handle == NULL || q->open->leased))
        status = STATUS_INVALID_OPLOCK_PROTOCOL;
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    struct err error =
        opens_cache_ack(smb_store(q)->opens, q->open->handle, cache_of_oplock(level));
    if (err_is(error)) {
        smb_complete(q, STATUS_INVALID_OPLOCK_PROTOCOL);
        return;
    }
    q->open->oplock = level;
    put_oplock(&q->out, level, id);
    smb_complete(q, STATUS_SUCCESS);
}

static uint32_t status_of_lease_answer(struct err error)
{
    if (!err_is(error))
        return STATUS_SUCCESS;
    if (error.code == ERR_RESOURCE_NOT_FOUND)
        return STATUS_OBJECT_NAME_NOT_FOUND;
    return error.code == ERR_INVALID_INPUT ? STATUS_UNSUCCESSFUL : STATUS_REQUEST_NOT_ACCEPTED;
}

static void answer_lease(struct smb_request *q)
{
    struct reader r = reader_of(str_from(q->body, 4));
    unsigned char key[OPENS_LEASE_KEY_BYTES];
    (void)read_le32(&r);
    struct str sent = read_raw(&r, SMB_LEASE_KEY_BYTES);
    uint32_t state = read_le32(&r);
    (void)read_le64(&r);
    if (!reader_ok(&r)) {
        smb_complete(q, STATUS_INVALID_PARAMETER);
        return;
    }
    table_key(q->conn, (const unsigned char *)sent.p, key);
    struct err error = opens_lease_ack(smb_store(q)->opens, key, smb_cache_of(state));
    buf_put_le16(&q->out, LEASE_ACK_BODY);
    buf_put_le16(&q->out, 0);
    buf_put_le32(&q->out, 0);
    buf_put(&q->out, sent);
    buf_put_le32(&q->out, state);
    buf_put_le64(&q->out, 0);
    smb_complete(q, status_of_lease_answer(error));
}

void smb_oplock_break(struct smb_request *q)
{
    struct reader r = reader_of(q->body);
    if (read_le16(&r) == LEASE_ACK_BODY)
        answer_lease(q);
    else
        answer_oplock(q);
}
