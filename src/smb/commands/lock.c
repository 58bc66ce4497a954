/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/lock.h"

#include <assert.h>

#include "core/container.h"
#include "service/file/opens/opens.h"
#include "smb/commands/negotiate.h"
#include "smb/drive.h"
#include "smb/message.h"
#include "smb/open.h"
#include "smb/persist.h"
#include "smb/server.h"
#include "smb/waiting.h"

enum {
    LOCK_SHARED = 1,
    LOCK_EXCLUSIVE = 2,
    LOCK_UNLOCK = 4,
    LOCK_AT_ONCE = 16, /* otherwise the client waits */
    SEQUENCE_BITS = 4,
};

struct element {
    struct opens_lock range;
    uint32_t flags;
};

struct locking {
    struct smb_request *q;
    uint16_t count;
    struct element elements[SMB_LOCKS_PER_REQUEST];
    uint16_t taken;
    uint8_t sequence_number;
    uint32_t sequence_index; /* 0: none */
    struct smb_waiting waiting;
    uint32_t end_status;
};

static struct opens *table_of(const struct locking *l)
{
    return smb_opens_table(l->q);
}

/* ---- replays ---- */

/* Only clients with handles that outlive a connection, or with several connections, repeat requests
 * ([MS-SMB2] 3.3.5.14). */
static uint8_t *sequence_of(const struct locking *l)
{
    struct smb_open *o = l->q->open;
    bool many = (smb_server_capabilities(l->q->conn) & SMB_CAP_MULTI_CHANNEL) != 0;
    if ((!o->durable.granted && !many) || l->sequence_index == 0 ||
        l->sequence_index > SMB_LOCK_SEQUENCES)
        return NULL;
    return &o->lock_sequences[l->sequence_index - 1];
}

static bool was_done(const struct locking *l)
{
    uint8_t *known = sequence_of(l);
    bool same = known != NULL && *known == l->sequence_number + 1;
    if (known != NULL && !same)
        *known = 0;
    return same;
}

/* ---- completion ---- */

static void saved(struct smb_request *q, struct err outcome)
{
    const struct locking *l = q->work;
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    smb_complete(q, err_is(outcome) ? err_ntstatus(outcome.code) : l->end_status);
}

static void finish(struct locking *l, uint32_t status)
{
    assert(l->q->open != NULL);
    uint8_t *known = sequence_of(l);
    if (status == STATUS_SUCCESS && known != NULL)
        *known = (uint8_t)(l->sequence_number + 1);
    l->end_status = status;
    if (status == STATUS_SUCCESS)
        smb_persist_save(l->q, l->q->open, saved);
    else
        saved(l->q, OK);
}

/* A request locks all its ranges or none. */
static void give_back(struct locking *l)
{
    while (l->taken > 0 && !l->q->open->closed) {
        const struct opens_lock *r = &l->elements[--l->taken].range;
        struct err ignored = opens_unlock(table_of(l), l->q->open->handle, r->offset, r->length);
        (void)ignored.code;
    }
}

static void fail(struct locking *l, uint32_t status)
{
    give_back(l);
    finish(l, status);
}

/* ---- locking ---- */

static void take(struct locking *l);

static void waited(struct smb_request *q, struct err outcome)
{
    struct locking *l = q->work;
    if (q->interrupted || (!err_is(outcome) && q->open->closed))
        fail(l, STATUS_RANGE_NOT_LOCKED);
    else if (err_is(outcome))
        fail(l, STATUS_CANCELLED);
    else
        take(l);
}

static uint32_t status_of(struct err error)
{
    return error.code == ERR_FILE_LOCK_CONFLICT ? STATUS_LOCK_NOT_GRANTED
                                                : err_ntstatus(error.code);
}

static void take(struct locking *l)
{
    assert(l->taken <= l->count);
    while (l->taken < l->count) {
        const struct element *e = &l->elements[l->taken];
        bool patient = (e->flags & LOCK_AT_ONCE) == 0;
        smb_waiting_init(&l->waiting, l->q);
        struct err error = opens_lock(table_of(l), l->q->open->handle, &e->range,
                                      patient && smb_may_wait(l->q), &l->waiting.wait);
        if (error.code == ERR_OTHERS_FIRST) {
            smb_wait_for_lock(&l->waiting, patient, waited);
            return;
        }
        if (err_is(error)) {
            fail(l, status_of(error));
            return;
        }
        l->taken++;
    }
    finish(l, STATUS_SUCCESS);
}

/* ---- unlocking ---- */

/* The ranges before the first invalid one are still released. */
static void release(struct locking *l)
{
    for (uint16_t i = 0; i < l->count; i++) {
        const struct element *e = &l->elements[i];
        struct err error = OK;
        if (e->flags != LOCK_UNLOCK) {
            finish(l, STATUS_INVALID_PARAMETER);
            return;
        }
        error = opens_unlock(table_of(l), l->q->open->handle, e->range.offset, e->range.length);
        if (err_is(error)) {
            finish(l, STATUS_RANGE_NOT_LOCKED);
            return;
        }
    }
    finish(l, STATUS_SUCCESS);
}

/* ---- the request ---- */

/* The end of a range may be at most 2^64. */
static bool range_fits(const struct opens_lock *r)
{
    return r->length == 0 || r->offset + (r->length - 1) >= r->offset;
}

static uint32_t check_element(const struct locking *l, uint16_t i)
{
    const struct element *e = &l->elements[i];
    uint32_t kind = e->flags & ~(uint32_t)LOCK_AT_ONCE;
    if (kind != LOCK_SHARED && kind != LOCK_EXCLUSIVE)
        return STATUS_INVALID_PARAMETER;
    /* A request can wait for only one range. */
    if ((e->flags & LOCK_AT_ONCE) == 0 && l->count > 1)
        return STATUS_INVALID_PARAMETER;
    return range_fits(&e->range) ? STATUS_SUCCESS : STATUS_INVALID_LOCK_RANGE;
}

static uint32_t read_request(struct locking *l, struct smb_file_id *id)
{
    struct reader r = reader_of(str_from(l->q->body, 2));
    l->count = read_le16(&r);
    uint32_t sequence = read_le32(&r);
    *id = smb_read_file_id(&r);
    l->sequence_number = (uint8_t)(sequence & ((1U << SEQUENCE_BITS) - 1));
    l->sequence_index = sequence >> SEQUENCE_BITS;
    if (l->count == 0 || l->count > SMB_LOCKS_PER_REQUEST)
        return STATUS_INVALID_PARAMETER;
    for (uint16_t i = 0; i < l->count; i++) {
        struct element *e = &l->elements[i];
        e->range.offset = read_le64(&r);
        e->range.length = read_le64(&r);
        e->flags = read_le32(&r);
        (void)read_le32(&r);
        e->range.exclusive = (e->flags & LOCK_EXCLUSIVE) != 0;
    }
    return reader_ok(&r) ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

static uint32_t check_open(const struct smb_open *o)
{
    if (o->directory || o->pipe || o->handle == NULL)
        return STATUS_INVALID_DEVICE_REQUEST;
    return STATUS_SUCCESS;
}

void smb_lock(struct smb_request *q)
{
    struct locking *l = ARENA_NEW(q->arena, struct locking);
    struct smb_file_id id;
    q->work = l;
    l->q = q;
    uint32_t status = read_request(l, &id);
    if (status == STATUS_SUCCESS)
        status = smb_open_find(q, id);
    if (status == STATUS_SUCCESS)
        status = check_open(q->open);
    bool unlocks = (l->elements[0].flags & LOCK_UNLOCK) != 0;
    for (uint16_t i = 0; i < l->count && status == STATUS_SUCCESS && !unlocks; i++)
        status = check_element(l, i);
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (was_done(l))
        finish(l, STATUS_SUCCESS);
    else if (unlocks)
        release(l);
    else
        take(l);
}
