/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/open.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "smb/commands/notify.h"
#include "smb/commands/session.h"
#include "smb/message.h"
#include "smb/open_table.h"
#include "smb/server.h"

struct smb_opens *smb_opens_new(struct smb_server *server)
{
    struct smb_opens *t = MEM_NEW(struct smb_opens);
    (void)pthread_mutex_init(&t->lock, NULL);
    t->server = server;
    return t;
}

void smb_opens_free(struct smb_opens *t)
{
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

size_t smb_opens_count(struct smb_opens *t)
{
    size_t count = 0;
    (void)pthread_mutex_lock(&t->lock);
    for (size_t i = 0; i < SMB_OPEN_BUCKETS; i++)
        for (const struct smb_open *o = t->buckets[i]; o != NULL; o = o->chain)
            count++;
    (void)pthread_mutex_unlock(&t->lock);
    return count;
}

static struct smb_open **link_of(struct smb_opens *t, uint64_t fleeting)
{
    struct smb_open **link = &t->buckets[fleeting % SMB_OPEN_BUCKETS];
    while (*link != NULL && (*link)->id.fleeting != fleeting)
        link = &(*link)->chain;
    return link;
}

/* The persistent half is random: ids of an earlier run must not recur, and others' ids must not be
 * guessable. */
static void enter_table(struct smb_opens *t, struct smb_open *o)
{
    if (o->id.persistent == 0)
        o->id.persistent = smb_random_id();
    (void)pthread_mutex_lock(&t->lock);
    o->id.fleeting = ++t->last_id;
    struct smb_open **link = link_of(t, o->id.fleeting);
    o->chain = *link;
    *link = o;
    (void)pthread_mutex_unlock(&t->lock);
}

static void leave_table(struct smb_opens *t, struct smb_open *o)
{
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open **link = link_of(t, o->id.fleeting);
    assert(*link == o);
    *link = o->chain;
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- one handle ---- */

struct smb_open *smb_open_new(struct smb_request *q)
{
    if (q->session->open_count >= SMB_OPENS_PER_SESSION)
        return NULL;
    struct smb_open *o = MEM_NEW(struct smb_open);
    q->session->open_count++;
    atomic_init(&o->refs, 1);
    o->server = q->conn->server;
    o->loop = q->conn->loop;
    o->session = q->session;
    o->tree = q->tree;
    smb_session_get(o->session);
    smb_tree_get(o->tree);
    o->opened_at = smb_server_now(o->server);
    smb_sequence_start(o, q);
    enter_table(smb_server_opens(o->server), o);
    return o;
}

struct smb_open *smb_open_restore(struct smb_server *s, uint64_t persistent)
{
    struct smb_open *o = MEM_NEW(struct smb_open);
    atomic_init(&o->refs, 1);
    o->server = s;
    o->loop = smb_server_world(s)->loops[0];
    o->id.persistent = persistent;
    enter_table(smb_server_opens(s), o);
    return o;
}

void smb_open_list(struct smb_open *o)
{
    assert(!o->listed && !o->closed);
    o->listed = true;
    o->next = o->tree->opens;
    if (o->next != NULL)
        o->next->previous = o;
    o->tree->opens = o;
}

void smb_open_get(struct smb_open *o)
{
    if (o != NULL)
        atomic_fetch_add(&o->refs, 1);
}

void smb_open_put(struct smb_open *o)
{
    if (o == NULL || atomic_fetch_sub(&o->refs, 1) > 1)
        return;
    assert(o->closed);
    if (o->session != NULL)
        o->session->open_count--;
    smb_tree_put(o->tree);
    smb_session_put(o->session);
    free(o->listing.pattern);
    free(o->listing.marker);
    free(o->channel.answer);
    free(o->durable.partition);
    free(o);
}

void smb_open_unlist(struct smb_open *o)
{
    if (!o->listed)
        return;
    if (o->previous != NULL)
        o->previous->next = o->next;
    else
        o->tree->opens = o->next;
    if (o->next != NULL)
        o->next->previous = o->previous;
    o->previous = o->next = NULL;
    o->listed = false;
}

void smb_open_close(struct smb_open *o, bool *remove)
{
    *remove = false;
    if (o->closed)
        return;
    o->closed = true;
    leave_table(smb_server_opens(o->server), o);
    smb_open_unlist(o);
    loop_timer_cancel(o->loop, &o->break_timer);
    smb_open_interrupt(o);
    smb_notify_end(o);
    smb_durable_forget(o);
    if (o->handle != NULL)
        opens_close(smb_server_world(o->server)->store->opens, o->handle, remove);
    o->handle = NULL;
    smb_open_put(o);
}

struct opens *smb_opens_table(const struct smb_request *q)
{
    return smb_server_world(q->conn->server)->store->opens;
}

/* Completing a request changes the list, so the search restarts after each one. */
static void interrupt_on(const struct smb_open *o, const struct smb_conn *c)
{
    for (struct smb_request *w = c->waiting; w != NULL;) {
        bool ours = w->open == o;
        if (ours) {
            w->interrupted = true;
            smb_cancel_wait(w);
        }
        w = ours ? c->waiting : w->wait_next;
    }
}

void smb_open_interrupt(struct smb_open *o)
{
    const struct smb_channel *c = o->session == NULL ? NULL : o->session->channels;
    for (; c != NULL; c = c->sibling)
        interrupt_on(o, c->conn);
}

void smb_opens_end(struct smb_tree *t, bool keeps_durable)
{
    while (t->opens != NULL)
        if (!keeps_durable || !smb_durable_park(t->opens))
            smb_open_drop(t->opens);
}

/* ---- finding ---- */

struct smb_file_id smb_read_file_id(struct reader *r)
{
    struct smb_file_id id;
    id.persistent = read_le64(r);
    id.fleeting = read_le64(r);
    return id;
}

void smb_put_file_id(struct buf *b, struct smb_file_id id)
{
    buf_put_le64(b, id.persistent);
    buf_put_le64(b, id.fleeting);
}

struct smb_open *smb_open_of_session(const struct smb_session *s, struct smb_file_id id)
{
    struct smb_opens *t = smb_server_opens(s->server);
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open *o = *link_of(t, id.fleeting);
    /* Another thread owns its fields unless it belongs to this session. */
    bool ours = o != NULL && o->session == s;
    (void)pthread_mutex_unlock(&t->lock);
    return ours && o->listed && o->id.persistent == id.persistent ? o : NULL;
}

uint32_t smb_open_find(struct smb_request *q, struct smb_file_id id)
{
    struct smb_message *m = q->message;
    if ((q->header.flags & SMB_FLAG_RELATED) != 0 && m->related_file_given)
        id = (struct smb_file_id){m->related_file[0], m->related_file[1]};
    struct smb_open *o = smb_open_of_session(q->session, id);
    if (o == NULL || o->tree != q->tree)
        return STATUS_FILE_CLOSED;
    m->related_file[0] = id.persistent;
    m->related_file[1] = id.fleeting;
    m->related_file_given = true;
    /* Its CREATE was received, so it will not be repeated. */
    if (o->durable.entered)
        smb_durable_forget(o);
    smb_open_get(o);
    q->open = o;
    return smb_sequence_begin(q);
}

/* ---- from other threads ---- */

struct call {
    struct loop_task task;
    struct smb_server *server;
    uint64_t fleeting;
    const struct loop *loop;
    smb_open_fn *fn;
    char bytes[];
};

/* The table's lock keeps the handle alive while its loop is read; the handle's thread looks the
 * handle up again, because it may be closed by then. */
static struct loop *loop_of(struct smb_opens *t, uint64_t fleeting)
{
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open *o = *link_of(t, fleeting);
    struct loop *loop = o == NULL ? NULL : o->loop;
    (void)pthread_mutex_unlock(&t->lock);
    return loop;
}

static void call_here(struct loop_task *task)
{
    struct call *call = (struct call *)task;
    struct smb_opens *t = smb_server_opens(call->server);
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open *o = *link_of(t, call->fleeting);
    (void)atomic_fetch_sub(smb_server_calls(call->server, call->loop), 1);
    if (o != NULL && o->loop != call->loop)
        o = NULL;
    (void)pthread_mutex_unlock(&t->lock);
    if (o != NULL)
        call->fn(o, call->bytes);
    free(call);
}

void smb_open_post(struct smb_server *s, uint64_t fleeting, smb_open_fn *fn, struct str bytes)
{
    struct loop *loop = loop_of(smb_server_opens(s), fleeting);
    if (loop == NULL)
        return;
    struct call *call = mem_alloc(sizeof *call + bytes.n);
    *call = (struct call){
        .task.run = call_here, .server = s, .fleeting = fleeting, .loop = loop, .fn = fn};
    if (bytes.n > 0)
        memcpy(call->bytes, bytes.p, bytes.n);
    (void)atomic_fetch_add(smb_server_calls(s, loop), 1);
    loop_post(loop, &call->task);
}

static void close_by_force(struct smb_open *o, const void *bytes)
{
    (void)bytes;
    if (o->listed || smb_durable_unpark(o, o->loop))
        smb_open_drop(o);
}

static void force_close(void *owner, uint64_t tag)
{
    smb_open_post(owner, tag, close_by_force, STR(""));
}

const struct opens_owner SMB_OPENS_OWNER = {.break_cache = smb_cache_break,
                                            .force_close = force_close};
