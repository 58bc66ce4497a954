/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/persist.h"

#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "service/common/home.h"
#include "service/file/keys.h"
#include "smb/commands/create.h"
#include "smb/commands/session.h"
#include "smb/server.h"

enum {
    FRONT_FORMAT_PERSISTENT = 2, /* of versions that stored only persistent handles */
    FRONT_FORMAT = 3,
};

bool smb_persist_wanted(const struct smb_create *c)
{
    return c->durable.second && c->durable.wants_persistent && !c->q->tree->pipe &&
           c->snapshot == 0 && (c->q->conn->client_capabilities & SMB_CAP_PERSISTENT_HANDLES) != 0;
}

/* ---- the front end's part of a row ---- */

static struct str guid_bytes(const unsigned char guid[SMB_GUID_BYTES])
{
    return (struct str){(const char *)guid, SMB_GUID_BYTES};
}

static struct str encode_front(const struct smb_open *o, struct arena *a)
{
    const struct smb_durable *d = &o->durable;
    struct buf b = buf_in(a);
    buf_put_u8(&b, FRONT_FORMAT);
    buf_put(&b, guid_bytes(d->client));
    buf_put(&b, guid_bytes(d->guid));
    buf_put_le32(&b, d->timeout_ms);
    buf_put_le32(&b, o->sharing);
    buf_put_le32(&b, o->options);
    buf_put_le32(&b, o->action);
    buf_put_le64(&b, o->allocation);
    buf_put_le64(&b, (uint64_t)o->opened_at);
    buf_put_u8(&b, o->oplock);
    buf_put_u8(&b, o->leased);
    buf_put_u8(&b, o->lease_second);
    buf_put_u8(&b, o->times_kept);
    buf_put_u8(&b, o->change_kept);
    buf_put(&b, (struct str){(const char *)o->lease_key, SMB_LEASE_KEY_BYTES});
    buf_put(&b, (struct str){(const char *)o->lock_sequences, sizeof o->lock_sequences});
    buf_put(&b, (struct str){(const char *)d->proof.digest, sizeof d->proof.digest});
    buf_put_u8(&b, d->persistent);
    buf_put_u8(&b, d->second);
    return buf_str(&b);
}

static void read_into(struct reader *r, void *to, size_t n)
{
    struct str bytes = read_raw(r, n);
    if (bytes.n == n)
        memcpy(to, bytes.p, n);
}

static bool decode_front(struct str bytes, struct smb_open *o)
{
    struct smb_durable *d = &o->durable;
    struct reader r = reader_of(bytes);
    uint8_t format = read_u8(&r);
    if (format != FRONT_FORMAT && format != FRONT_FORMAT_PERSISTENT)
        return false;
    read_into(&r, d->client, SMB_GUID_BYTES);
    read_into(&r, d->guid, SMB_GUID_BYTES);
    d->timeout_ms = read_le32(&r);
    o->sharing = read_le32(&r);
    o->options = read_le32(&r);
    o->action = read_le32(&r);
    o->allocation = read_le64(&r);
    o->opened_at = (int64_t)read_le64(&r);
    o->oplock = read_u8(&r);
    o->leased = read_u8(&r) != 0;
    o->lease_second = read_u8(&r) != 0;
    o->times_kept = read_u8(&r) != 0;
    o->change_kept = read_u8(&r) != 0;
    read_into(&r, o->lease_key, SMB_LEASE_KEY_BYTES);
    read_into(&r, o->lock_sequences, sizeof o->lock_sequences);
    read_into(&r, d->proof.digest, sizeof d->proof.digest);
    d->persistent = format == FRONT_FORMAT_PERSISTENT || read_u8(&r) != 0;
    d->second = format == FRONT_FORMAT_PERSISTENT || read_u8(&r) != 0;
    return reader_done(&r);
}

void smb_persist_describe(const struct smb_open *o, struct arena *a, struct file_held *out)
{
    out->id = o->id.persistent;
    opens_keep(smb_server_world(o->server)->store->opens, o->handle, a, &out->open);
    out->front = encode_front(o, a);
}

/* ---- writing ---- */

void smb_persist_save(struct smb_request *q, struct smb_open *o, smb_then *then)
{
    if (!o->durable.stored || o->closed) {
        then(q, OK);
        return;
    }
    struct file_hold_args *args = ARENA_NEW(q->arena, struct file_hold_args);
    args->at = (struct file_at){.arena = q->arena, .incarnation = o->incarnation, .id = o->node};
    args->opens = smb_opens_table(q);
    smb_persist_describe(o, q->arena, &args->held);
    smb_update(q, file_hold, args, ENGINE_DURABLE, then);
}

void smb_persist_let_go(struct smb_request *q, const struct smb_open *o, smb_then *then)
{
    if (!o->durable.stored) {
        then(q, OK);
        return;
    }
    struct file_let_go_args *args = ARENA_NEW(q->arena, struct file_let_go_args);
    *args = (struct file_let_go_args){o->incarnation, o->id.persistent};
    smb_update(q, file_let_go, args, ENGINE_DURABLE, then);
}

/* An update that no request waits for. */
struct detached {
    struct engine_update update;
    struct home_guarded guarded; /* skipped if another gateway has the open files by now */
    struct file_let_go_args let_go;
    struct file_mark_args mark;
    char partition[];
};

/* On an engine thread. A row that could not be deleted is restored at the next start, and expires
 * again. */
static void detached_done(struct engine_update *u)
{
    if (err_is(u->result) && u->result.code != ERR_HOME_ELSEWHERE)
        log_line(LOG_WARN, "a handle's row could not be written: error %d", u->result.code);
    free(u);
}

static struct detached *new_detached(struct str partition)
{
    struct detached *d = mem_calloc(1, sizeof *d + partition.n);
    memcpy(d->partition, partition.p, partition.n);
    d->update = (struct engine_update){
        .partition = {d->partition, partition.n}, .ack = ENGINE_VISIBLE, .done = detached_done};
    return d;
}

static void submit_detached(struct store *store, struct detached *d, engine_fn *fn, void *args)
{
    d->guarded = (struct home_guarded){.home = store->home,
                                       .partition = d->update.partition,
                                       .fn = fn,
                                       .arg = args,
                                       .strict = true};
    d->update.fn = home_guard;
    d->update.arg = &d->guarded;
    store_write(store, &d->update);
}

void smb_persist_forget(const struct smb_open *o, struct str partition)
{
    struct detached *d = new_detached(partition);
    d->let_go = (struct file_let_go_args){o->incarnation, o->id.persistent};
    submit_detached(smb_server_world(o->server)->store, d, file_let_go, &d->let_go);
}

void smb_persist_mark(struct smb_request *q, smb_then *then)
{
    struct opens_key key = {.share = q->open->incarnation, .node = q->open->node};
    if (smb_store(q)->home == NULL && !opens_any_persistent(smb_opens_table(q), key)) {
        then(q, OK);
        return;
    }
    struct file_mark_args *args = ARENA_NEW(q->arena, struct file_mark_args);
    args->at = (struct file_at){.arena = q->arena, .incarnation = key.share, .id = key.node};
    args->opens = smb_opens_table(q);
    smb_update(q, file_mark_held, args, ENGINE_DURABLE, then);
}

/* Only CREATE's option takes effect at the close; it may have been revoked since. */
static bool leaves_doomed(const struct smb_open *o, const struct store *store)
{
    struct opens_key key = {.share = o->incarnation, .node = o->node};
    return (o->options & SMB_OPTION_DELETE_ON_CLOSE) != 0 &&
           (store->home != NULL || opens_any_persistent(store->opens, key)) &&
           opens_delete_pending(store->opens, key);
}

void smb_persist_closed(struct smb_request *q, smb_then *then)
{
    if (leaves_doomed(q->open, smb_store(q)))
        smb_persist_mark(q, then);
    else
        then(q, OK);
}

void smb_persist_dropped(const struct smb_open *o, struct str partition)
{
    struct store *store = smb_server_world(o->server)->store;
    if (!leaves_doomed(o, store))
        return;
    struct detached *d = new_detached(partition);
    d->mark.at = (struct file_at){.incarnation = o->incarnation, .id = o->node};
    d->mark.opens = store->opens;
    submit_detached(store, d, file_mark_held, &d->mark);
}

/* ---- start-up ---- */

struct restoring {
    struct smb_server *server;
    size_t count;
};

/* The account is the second part of a share's partition. */
static void restore_place(struct smb_durable *d, struct str partition)
{
    struct str rest = partition;
    (void)str_cut(&rest, '/');
    struct str account = str_cut(&rest, '/');
    d->partition = mem_alloc(partition.n);
    d->partition_n = partition.n;
    memcpy(d->partition, partition.p, partition.n);
    if (account.n < sizeof d->account)
        memcpy(d->account, account.p, account.n);
}

static struct err restore_one(void *arg, struct str partition, const struct file_held *held,
                              const struct file_seen *seen)
{
    struct restoring *r = arg;
    struct store *store = smb_server_world(r->server)->store;
    struct smb_open *o = smb_open_restore(r->server, held->id);
    o->incarnation = held->open.key.share;
    o->node = held->open.key.node;
    o->access = held->open.access_mask;
    o->durable.stored = true;
    o->durable.granted = true;
    restore_place(&o->durable, partition);
    /* Entries that no longer exist, are malformed, or were opened with a key that is no longer the
     * account's are dropped. */
    if (!decode_front(held->front, o) || !seen->exists ||
        !accounts_stands(smb_server_world(r->server)->accounts, str_of(o->durable.account),
                         &o->durable.proof)) {
        smb_open_drop(o);
        return OK;
    }
    struct opens_reclaim_as place = {.path = seen->path,
                                     .parent = seen->parent,
                                     .calls = &SMB_OPENS_OWNER,
                                     .owner = r->server,
                                     .tag = o->id.fleeting,
                                     .persistent = o->durable.persistent};
    o->handle = opens_restore(store->opens, &held->open, &place);
    smb_durable_restore(o);
    r->count++;
    return OK;
}

struct err smb_persist_restore(struct smb_server *s)
{
    struct restoring r = {.server = s};
    struct store *store = smb_server_world(s)->store;
    struct err error = file_held_walk(store, restore_one, &r);
    opens_restored(store->opens);
    if (r.count > 0)
        log_line(LOG_INFO, "%zu handles wait for their SMB clients", r.count);
    return error;
}
