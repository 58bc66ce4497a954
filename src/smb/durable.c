/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/durable.h"

#include <assert.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/container.h"
#include "core/mem.h"
#include "service/common/home.h"
#include "smb/commands/create.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/open_table.h"
#include "smb/persist.h"
#include "smb/server.h"

enum { FIRST_BYTES = 16 };

static struct smb_opens *table_of(const struct smb_open *o)
{
    return smb_server_opens(o->server);
}

/* ---- the contexts ---- */

static bool read_second(struct smb_durable_wish *w, struct str context)
{
    struct reader r = reader_of(context);
    w->timeout_ms = read_le32(&r);
    w->wants_persistent = (read_le32(&r) & SMB_PERSISTENT) != 0;
    (void)read_le64(&r);
    struct str guid = read_raw(&r, SMB_GUID_BYTES);
    if (!reader_ok(&r))
        return false;
    memcpy(w->guid, guid.p, SMB_GUID_BYTES);
    return true;
}

static bool read_return_second(struct smb_durable_wish *w, struct str context)
{
    struct reader r = reader_of(context);
    w->persistent = read_le64(&r);
    (void)read_le64(&r);
    struct str guid = read_raw(&r, SMB_GUID_BYTES);
    w->wants_persistent = (read_le32(&r) & SMB_PERSISTENT) != 0;
    if (!reader_ok(&r))
        return false;
    memcpy(w->guid, guid.p, SMB_GUID_BYTES);
    return true;
}

uint32_t smb_durable_read(struct smb_create *c)
{
    const struct smb_create_contexts *x = &c->contexts;
    struct smb_durable_wish *w = &c->durable;
    struct reader r = reader_of(x->reconnect);
    bool knows_second = c->q->conn->dialect >= SMB_DIALECT_300;
    w->first = str_given(x->durable);
    w->second = knows_second && str_given(x->durable_v2);
    w->returns_first = str_given(x->reconnect);
    w->returns_second = knows_second && str_given(x->reconnect_v2);
    /* A context of the second version excludes the others. */
    if ((w->second && (w->first || w->returns_first || w->returns_second)) ||
        (w->returns_second && (w->first || w->returns_first)))
        return STATUS_INVALID_PARAMETER;
    if (w->first && x->durable.n < FIRST_BYTES)
        return STATUS_INVALID_PARAMETER;
    if (w->returns_first) {
        w->persistent = read_le64(&r);
        if (x->reconnect.n < FIRST_BYTES)
            return STATUS_INVALID_PARAMETER;
    }
    if ((w->second && !read_second(w, x->durable_v2)) ||
        (w->returns_second && !read_return_second(w, x->reconnect_v2)))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

void smb_durable_put(const struct smb_open *o, struct buf *out)
{
    if (!o->durable.second) {
        buf_put_le64(out, 0);
        return;
    }
    buf_put_le32(out, o->durable.timeout_ms);
    buf_put_le32(out, o->durable.persistent ? SMB_PERSISTENT : 0);
}

/* ---- lookup by the client's GUID ---- */

static struct smb_open **guid_bucket(struct smb_opens *t, const unsigned char *guid)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < SMB_GUID_BYTES; i++)
        hash = hash * 31 + guid[i];
    return &t->guids[hash % SMB_OPEN_BUCKETS];
}

static bool has_guid(const struct smb_open *o, const unsigned char *client,
                     const unsigned char *guid)
{
    return memcmp(o->durable.client, client, SMB_GUID_BYTES) == 0 &&
           memcmp(o->durable.guid, guid, SMB_GUID_BYTES) == 0;
}

static void enter_guids(struct smb_open *o)
{
    struct smb_opens *t = table_of(o);
    (void)pthread_mutex_lock(&t->lock);
    o->durable.entered = true;
    struct smb_open **bucket = guid_bucket(t, o->durable.guid);
    o->durable.guid_chain = *bucket;
    *bucket = o;
    (void)pthread_mutex_unlock(&t->lock);
}

void smb_durable_reserve(struct smb_create *c)
{
    struct smb_durable *d = &c->open->durable;
    if (!c->durable.second)
        return;
    memcpy(d->client, c->q->conn->client_guid, SMB_GUID_BYTES);
    memcpy(d->guid, c->durable.guid, SMB_GUID_BYTES);
    d->pending = true;
    enter_guids(c->open);
}

void smb_durable_settle(struct smb_open *o)
{
    struct smb_opens *t = table_of(o);
    if (!o->durable.pending)
        return;
    (void)pthread_mutex_lock(&t->lock);
    o->durable.pending = false;
    (void)pthread_mutex_unlock(&t->lock);
}

void smb_durable_forget(struct smb_open *o)
{
    struct smb_opens *t = table_of(o);
    if (!o->durable.entered)
        return;
    (void)pthread_mutex_lock(&t->lock);
    o->durable.entered = false;
    struct smb_open **link = guid_bucket(t, o->durable.guid);
    while (*link != o)
        link = &(*link)->durable.guid_chain;
    *link = o->durable.guid_chain;
    (void)pthread_mutex_unlock(&t->lock);
}

/* ---- granting ---- */

static uint32_t timeout_of(uint32_t asked)
{
    if (asked == 0)
        return SMB_DURABLE_MS;
    return asked < SMB_DURABLE_MS_MAX ? asked : SMB_DURABLE_MS_MAX;
}

void smb_durable_grant(struct smb_create *c)
{
    struct smb_open *o = c->open;
    struct smb_durable *d = &o->durable;
    const struct smb_durable_wish *w = &c->durable;
    d->persistent = smb_persist_wanted(c) && !o->directory;
    /* Only a handle with caching becomes durable: with a batch oplock or a handle lease. */
    if ((!w->first && !w->second) || o->directory || o->handle == NULL ||
        (!d->persistent && (c->granted & OPENS_CACHE_H) == 0))
        return;
    d->granted = true;
    d->stored = d->persistent || smb_server_world(o->server)->store->home != NULL;
    d->second = w->second;
    d->timeout_ms = timeout_of(w->timeout_ms);
    d->proof = c->q->session->proof.of;
    memcpy(d->client, c->q->conn->client_guid, SMB_GUID_BYTES);
    memcpy(d->guid, w->guid, SMB_GUID_BYTES);
}

/* ---- parking ---- */

static void unlink_parked(struct smb_opens *t, struct smb_open *o)
{
    struct smb_durable *d = &o->durable;
    if (d->park_previous != NULL)
        d->park_previous->durable.park_next = d->park_next;
    else
        t->parked = d->park_next;
    if (d->park_next != NULL)
        d->park_next->durable.park_previous = d->park_previous;
    d->park_previous = d->park_next = NULL;
    d->parked = false;
}

static bool stands(const struct smb_open *o)
{
    const struct smb_durable *d = &o->durable;
    return accounts_stands(smb_server_world(o->server)->accounts, str_of(d->account), &d->proof);
}

void smb_durable_look(struct smb_server *s)
{
    struct smb_opens *t = smb_server_opens(s);
    struct smb_open *o;
    do {
        (void)pthread_mutex_lock(&t->lock);
        o = t->parked;
        while (o != NULL && stands(o))
            o = o->durable.park_next;
        if (o != NULL) {
            unlink_parked(t, o);
            o->loop = smb_server_world(s)->loops[0];
        }
        (void)pthread_mutex_unlock(&t->lock);
        if (o != NULL)
            smb_open_drop(o);
    } while (o != NULL);
}

static void close_expired(struct loop_timer *timer)
{
    struct smb_opens *t = CONTAINER_OF(timer, struct smb_opens, timer);
    struct loop *loop = smb_server_world(t->server)->loops[0];
    int64_t now = clock_mono_ms();
    struct smb_open *o;
    do {
        (void)pthread_mutex_lock(&t->lock);
        o = t->parked;
        while (o != NULL && o->durable.expires_ms > now)
            o = o->durable.park_next;
        if (o != NULL) {
            unlink_parked(t, o);
            o->loop = loop;
        }
        t->looking = t->parked != NULL;
        bool again = t->looking;
        (void)pthread_mutex_unlock(&t->lock);
        if (o != NULL)
            smb_open_drop(o);
        else if (again)
            loop_timer_set(loop, timer, SMB_DURABLE_LOOK_MS);
    } while (o != NULL);
}

static void begin_looking(struct loop_task *task)
{
    struct smb_opens *t = CONTAINER_OF(task, struct smb_opens, look);
    loop_timer_set(smb_server_world(t->server)->loops[0], &t->timer, SMB_DURABLE_LOOK_MS);
}

/* With the lock held. True: the caller must post t->look. */
static bool link_parked(struct smb_opens *t, struct smb_open *o)
{
    assert(!o->durable.parked && o->session == NULL && o->tree == NULL);
    struct smb_durable *d = &o->durable;
    d->parked = true;
    d->expires_ms = clock_mono_ms() + d->timeout_ms;
    d->park_next = t->parked;
    if (t->parked != NULL)
        t->parked->durable.park_previous = o;
    t->parked = o;
    if (t->looking)
        return false;
    t->looking = true;
    t->timer.fire = close_expired;
    t->look.run = begin_looking;
    return true;
}

static void keep_place(struct smb_open *o)
{
    assert(o->tree != NULL && o->session != NULL);
    struct smb_durable *d = &o->durable;
    free(d->partition);
    d->partition_n = o->tree->partition.n;
    d->partition = mem_alloc(d->partition_n);
    memcpy(d->partition, o->tree->partition.p, d->partition_n);
    memcpy(d->account, o->session->account, sizeof d->account);
    d->proof = o->session->proof.of;
}

bool smb_durable_park(struct smb_open *o)
{
    struct smb_opens *t = table_of(o);
    struct opens *opens = smb_server_world(o->server)->store->opens;
    struct smb_session *session = o->session;
    struct smb_tree *tree = o->tree;
    bool begins = false;
    if (!o->durable.granted || o->handle == NULL || o->closed ||
        !home_is_ours(smb_server_world(o->server)->store->home) ||
        !opens_disconnect(opens, o->handle))
        return false;
    smb_open_interrupt(o);
    loop_timer_cancel(o->loop, &o->break_timer);
    keep_place(o);
    (void)pthread_mutex_lock(&t->lock);
    bool parks = !t->ending;
    if (parks) {
        smb_open_unlist(o);
        o->session = NULL;
        o->tree = NULL;
        begins = link_parked(t, o);
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (!parks)
        return false;
    session->open_count--;
    smb_tree_put(tree);
    smb_session_put(session);
    if (begins)
        loop_post(smb_server_world(t->server)->loops[0], &t->look);
    return true;
}

bool smb_durable_unpark(struct smb_open *o, struct loop *loop)
{
    struct smb_opens *t = table_of(o);
    (void)pthread_mutex_lock(&t->lock);
    bool parked = o->durable.parked;
    if (parked) {
        unlink_parked(t, o);
        o->loop = loop;
    }
    (void)pthread_mutex_unlock(&t->lock);
    return parked;
}

void smb_durable_restore(struct smb_open *o)
{
    struct smb_opens *t = table_of(o);
    if (o->durable.second)
        enter_guids(o);
    (void)pthread_mutex_lock(&t->lock);
    bool begins = link_parked(t, o);
    (void)pthread_mutex_unlock(&t->lock);
    if (begins)
        loop_post(smb_server_world(t->server)->loops[0], &t->look);
}

void smb_durable_abandon(struct smb_server *s)
{
    struct smb_opens *t = smb_server_opens(s);
    struct smb_open *o;
    do {
        (void)pthread_mutex_lock(&t->lock);
        o = t->parked;
        if (o != NULL) {
            unlink_parked(t, o);
            o->loop = smb_server_world(s)->loops[0];
        }
        (void)pthread_mutex_unlock(&t->lock);
        if (o != NULL)
            smb_open_drop(o);
    } while (o != NULL);
}

bool smb_durable_ending(struct smb_server *s)
{
    struct smb_opens *t = smb_server_opens(s);
    (void)pthread_mutex_lock(&t->lock);
    bool ending = t->ending;
    (void)pthread_mutex_unlock(&t->lock);
    return ending;
}

void smb_durable_end(struct smb_server *s)
{
    struct smb_opens *t = smb_server_opens(s);
    struct smb_open *o;
    do {
        (void)pthread_mutex_lock(&t->lock);
        t->ending = true;
        o = t->parked;
        if (o != NULL)
            unlink_parked(t, o);
        (void)pthread_mutex_unlock(&t->lock);
        if (o != NULL)
            smb_open_drop(o);
    } while (o != NULL);
}

/* ---- reconnecting ---- */

/* Checks that the reconnect comes from the handle's client, with the original parameters. */
static bool fits(const struct smb_create *c, const struct smb_open *o)
{
    const struct smb_durable *d = &o->durable;
    const struct smb_durable_wish *w = &c->durable;
    const struct smb_tree *tree = c->q->tree;
    struct str place = {d->partition, d->partition_n};
    if (o->id.persistent != w->persistent || strcmp(d->account, c->q->session->account) != 0 ||
        !str_eq(place, tree->partition) || o->incarnation != tree->incarnation || !stands(o))
        return false;
    if (w->returns_second &&
        (memcmp(d->guid, w->guid, SMB_GUID_BYTES) != 0 || w->wants_persistent != d->persistent))
        return false;
    if (o->leased != c->lease.given)
        return false;
    return !o->leased || (memcmp(o->lease_key, c->lease.key, SMB_LEASE_KEY_BYTES) == 0 &&
                          memcmp(d->client, c->q->conn->client_guid, SMB_GUID_BYTES) == 0);
}

/* Takes the handle for this connection. A lease is for one file, so the name must match; sets
 * *status. */
static struct smb_open *take(struct smb_create *c, uint32_t *status)
{
    struct smb_request *q = c->q;
    struct smb_opens *t = smb_server_opens(q->conn->server);
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open *o = t->parked;
    while (o != NULL && !fits(c, o))
        o = o->durable.park_next;
    *status = o == NULL ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_SUCCESS;
    if (o != NULL && o->leased && (!c->look.seen.exists || c->look.seen.id != o->node)) {
        *status = STATUS_INVALID_PARAMETER;
        o = NULL;
    }
    if (o != NULL) {
        unlink_parked(t, o);
        o->loop = q->conn->loop;
        o->session = q->session;
        o->tree = q->tree;
    }
    (void)pthread_mutex_unlock(&t->lock);
    if (o == NULL)
        return NULL;
    smb_sequence_start(o, q);
    q->session->open_count++;
    smb_session_get(q->session);
    smb_tree_get(q->tree);
    return o;
}

static void looked(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    if (err_is(outcome) || !c->look.seen.exists) {
        smb_create_fail(c, STATUS_OBJECT_NAME_NOT_FOUND);
        return;
    }
    c->seen = c->look.seen;
    smb_create_returned(c);
}

static void named(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    struct opens *opens = smb_opens_table(q);
    uint32_t status;
    struct opens_return back = {.session = q->session->id,
                                .client = smb_client_address(q),
                                .client_name = str_of(q->session->workstation),
                                .now_ticks = smb_server_now(q->conn->server)};
    if (err_is(outcome))
        c->look.seen.exists = false;
    c->open = take(c, &status);
    if (c->open != NULL && !opens_reconnect(opens, c->open->handle, &back))
        status = STATUS_OBJECT_NAME_NOT_FOUND;
    if (status != STATUS_SUCCESS) {
        smb_create_fail(c, status);
        return;
    }
    c->cache = opens_cache_info(opens, c->open->handle);
    c->granted = c->cache.state;
    c->look = (struct file_look_args){
        .at = {.arena = q->arena, .incarnation = c->open->incarnation, .id = c->open->node}};
    smb_view(q, file_look, &c->look, looked);
}

void smb_durable_reconnect(struct smb_create *c)
{
    c->look = (struct file_look_args){
        .at = {.arena = c->q->arena, .incarnation = c->q->tree->incarnation},
        .by_path = true,
        .path = c->path};
    smb_view(c->q, file_look, &c->look, named);
}

/* ---- a replayed CREATE ---- */

static void replay_looked(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    struct smb_open *o = c->replayed;
    if (err_is(outcome) || o->closed) {
        smb_create_fail(c, STATUS_FILE_CLOSED);
    } else {
        c->open = o;
        c->seen = c->look.seen;
        smb_create_replayed(c);
    }
    smb_open_put(o);
}

bool smb_durable_replay(struct smb_create *c)
{
    struct smb_request *q = c->q;
    struct smb_opens *t = smb_server_opens(q->conn->server);
    if (!c->durable.second)
        return false;
    (void)pthread_mutex_lock(&t->lock);
    struct smb_open *o = *guid_bucket(t, c->durable.guid);
    while (o != NULL && !has_guid(o, q->conn->client_guid, c->durable.guid))
        o = o->durable.guid_chain;
    bool known = o != NULL;
    bool ours = known && o->session == q->session;
    bool pending = known && o->durable.pending;
    bool waits = known && o->durable.parked && o->durable.persistent;
    uint64_t id = known ? o->id.persistent : 0;
    (void)pthread_mutex_unlock(&t->lock);
    if (!known)
        return false;
    if (pending) {
        smb_create_fail(c, STATUS_FILE_NOT_AVAILABLE);
        return true;
    }
    /* The answer to the first request was lost, with its connection or its server. */
    if (waits && (q->header.flags & SMB_FLAG_REPLAY) != 0) {
        c->durable.returns_second = true;
        c->durable.persistent = id;
        smb_durable_reconnect(c);
        return true;
    }
    if ((q->header.flags & SMB_FLAG_REPLAY) == 0 || !ours || !o->listed) {
        smb_create_fail(c, STATUS_DUPLICATE_OBJECTID);
        return true;
    }
    if (c->lease.given &&
        (!o->leased || memcmp(o->lease_key, c->lease.key, SMB_LEASE_KEY_BYTES) != 0)) {
        smb_create_fail(c, STATUS_ACCESS_DENIED);
        return true;
    }
    c->replayed = o;
    smb_open_get(o);
    c->cache = opens_cache_info(smb_opens_table(q), o->handle);
    c->granted = c->cache.state;
    c->look = (struct file_look_args){
        .at = {.arena = q->arena, .incarnation = o->incarnation, .id = o->node}};
    smb_view(q, file_look, &c->look, replay_looked);
    return true;
}
