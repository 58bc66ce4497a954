/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/create.h"

#include <arpa/inet.h>
#include <assert.h>

#include "core/container.h"
#include "service/file/ea.h"
#include "service/file/security/rights.h"
#include "smb/commands/close.h"
#include "smb/commands/info.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/persist.h"
#include "smb/pipe.h"
#include "smb/server.h"
#include "smb/told.h"
#include "smb/tunnel.h"

enum { ANSWER_CONTEXTS_OFFSET = SMB_HEADER_BYTES + 88 };

static void look(struct smb_create *c);
static void look_again(struct smb_create *c);

static bool overwrites(const struct smb_create *c)
{
    return c->disposition == SMB_SUPERSEDE || c->disposition == SMB_OVERWRITE ||
           c->disposition == SMB_OVERWRITE_IF;
}

/* ---- completion ---- */

/* Undoes what was registered. */
void smb_create_fail(struct smb_create *c, uint32_t status)
{
    struct smb_request *q = c->q;
    if (c->open != NULL)
        smb_open_drop(c->open);
    c->open = NULL;
    q->message->related_status = status;
    smb_complete(q, status);
}

/* Appends a context to the answer: each is padded to eight bytes and has the offset of the next. */
static void put_context(struct buf *out, size_t *last, struct str name, struct str data)
{
    enum { NAME_AT = 16, DATA_AT = 24 };
    while (out->n % 8 != 0)
        buf_putc(out, 0);
    if (out->n > 0) {
        uint32_t next = (uint32_t)(out->n - *last);
        for (unsigned i = 0; i < 4; i++)
            out->p[*last + i] = (char)(next >> (8 * i));
    }
    *last = out->n;
    buf_put_le32(out, 0);
    buf_put_le16(out, NAME_AT);
    buf_put_le16(out, (uint16_t)name.n);
    buf_put_le16(out, 0);
    buf_put_le16(out, data.n > 0 ? DATA_AT : 0);
    buf_put_le32(out, (uint32_t)data.n);
    buf_put(out, name);
    buf_put_le32(out, 0);
    buf_put(out, data);
}

/* A replayed CREATE is judged by the oplock that it requests now. */
static bool may_be_durable(const struct smb_create *c)
{
    return c->replayed == NULL || c->open->durable.persistent || c->oplock == SMB_OPLOCK_BATCH ||
           c->oplock == SMB_OPLOCK_LEASE;
}

static void put_contexts(struct smb_create *c, struct buf *out)
{
    struct arena *a = c->q->arena;
    size_t last = 0;
    if (str_given(c->contexts.max_access)) {
        struct buf data = buf_in(a);
        buf_put_le32(&data, STATUS_SUCCESS);
        buf_put_le32(&data, c->max_access);
        put_context(out, &last, STR("MxAc"), buf_str(&data));
    }
    if (str_given(c->contexts.disk_id)) {
        struct buf data = buf_in(a);
        buf_put_le64(&data, smb_file_index(c->open->incarnation, c->open->node));
        buf_put_le64(&data, c->open->incarnation);
        buf_put_le64(&data, 0);
        buf_put_le64(&data, 0);
        put_context(out, &last, STR("QFid"), buf_str(&data));
    }
    if (c->lease.given) {
        struct buf data = buf_in(a);
        smb_lease_put(&data, &c->lease);
        put_context(out, &last, STR("RqLs"), buf_str(&data));
    }
    if (c->open->durable.granted && (c->durable.first || c->durable.second) && may_be_durable(c)) {
        struct buf data = buf_in(a);
        smb_durable_put(c->open, &data);
        put_context(out, &last, c->durable.second ? STR("DH2Q") : STR("DHnQ"), buf_str(&data));
    }
}

static void tell_lease(struct smb_create *c)
{
    /* A lease keeps the version of its first request. */
    c->lease.second = c->cache.counts;
    c->lease.state = smb_lease_state(c->granted);
    c->lease.epoch = c->cache.epoch;
    if (c->cache.breaking)
        c->lease.flags |= SMB_LEASE_BREAKING;
}

/* Encodes the granted caching for the answer. */
static void take_cache(struct smb_create *c)
{
    struct smb_open *o = c->open;
    if (!c->lease.given || o->directory) {
        c->lease.given = false;
        o->oplock = smb_oplock_of(c->granted);
    } else {
        tell_lease(c);
        o->oplock = SMB_OPLOCK_LEASE;
        o->leased = true;
        o->lease_second = c->lease.second;
        memcpy(o->lease_key, c->lease.key, SMB_LEASE_KEY_BYTES);
    }
    c->answer_oplock = o->oplock;
}

static void put_answer(struct smb_create *c)
{
    struct buf *out = &c->q->out;
    struct smb_open *o = c->open;
    struct buf contexts = buf_in(c->q->arena);
    put_contexts(c, &contexts);
    buf_put_le16(out, 89);
    buf_put_u8(out, c->answer_oplock);
    buf_put_u8(out, 0);
    buf_put_le32(out, o->action);
    smb_put_times(out, &c->seen.node);
    buf_put_le64(out, smb_allocation(o, &c->seen.node));
    buf_put_le64(out, c->seen.node.size);
    buf_put_le32(out, smb_attributes(&c->seen.node));
    buf_put_le32(out, 0);
    smb_put_file_id(out, o->id);
    buf_put_le32(out, contexts.n > 0 ? ANSWER_CONTEXTS_OFFSET : 0);
    buf_put_le32(out, (uint32_t)contexts.n);
    buf_put(out, buf_str(&contexts));
}

/* The client owns the handle from now on. A break that was deferred is sent after the answer. */
static void answer(struct smb_create *c)
{
    assert(c->open != NULL);
    struct smb_request *q = c->q;
    struct smb_open *o = c->open;
    put_answer(c);
    smb_open_get(o);
    q->message->related_status = STATUS_SUCCESS;
    q->message->related_file[0] = o->id.persistent;
    q->message->related_file[1] = o->id.fleeting;
    q->message->related_file_given = true;
    smb_complete(q, STATUS_SUCCESS);
    smb_cache_tell_deferred(o);
    smb_open_put(o);
}

static bool is_cut(const struct smb_request *q)
{
    bool gone = q->conn->closed && (!q->outlives || q->session->channel_count == 0);
    return gone || q->session->ended || q->tree->ended;
}

/* Fills in the handle after it is registered and its file is known. */
static void fill_open(struct smb_create *c, const struct file_seen *seen, enum smb_action action)
{
    assert(c->open != NULL);
    struct smb_open *o = c->open;
    o->action = action;
    o->node = seen->id;
    o->directory = seen->node.kind == NODE_DIRECTORY;
    o->sharing = c->sharing;
    o->options = c->options;
    o->allocation = c->allocation;
    take_cache(c);
    smb_durable_grant(c);
}

static void hand_over(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    struct smb_open *o = c->open;
    if (err_is(outcome)) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    smb_durable_settle(o);
    /* The client of a stored handle sends the CREATE again, and then gets this handle. */
    if (is_cut(q) && o->durable.stored && smb_durable_park(o))
        c->open = NULL;
    if (is_cut(q)) {
        smb_create_fail(c, STATUS_NETWORK_NAME_DELETED);
        return;
    }
    smb_open_list(o);
    smb_tell_open(q, o);
    answer(c);
}

static void succeed(struct smb_create *c, enum smb_action action)
{
    if (is_cut(c->q)) {
        smb_create_fail(c, STATUS_NETWORK_NAME_DELETED);
        return;
    }
    fill_open(c, &c->seen, action);
    smb_persist_save(c->q, c->open, hand_over);
}

void smb_create_returned(struct smb_create *c)
{
    assert(c->open != NULL);
    if (is_cut(c->q)) {
        if (smb_durable_park(c->open))
            c->open = NULL;
        smb_create_fail(c, STATUS_NETWORK_NAME_DELETED);
        return;
    }
    c->open->action = SMB_OPENED;
    take_cache(c);
    smb_open_list(c->open);
    answer(c);
}

/* The handle stays unchanged; the answer has the level requested now, as in Windows. */
void smb_create_replayed(struct smb_create *c)
{
    if (c->lease.given)
        tell_lease(c);
    c->answer_oplock = c->oplock;
    answer(c);
}

/* ---- registering ---- */

struct str smb_client_address(const struct smb_request *q)
{
    char text[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_storage *peer = &q->conn->peer;
    const void *address = peer->ss_family == AF_INET6
                              ? (const void *)&((const struct sockaddr_in6 *)peer)->sin6_addr
                              : (const void *)&((const struct sockaddr_in *)peer)->sin_addr;
    (void)inet_ntop(peer->ss_family, address, text, sizeof text);
    return arena_copy(q->arena, str_of(text));
}

static struct opens_request wish_of(struct smb_create *c, const struct file_seen *seen)
{
    assert(c->open != NULL);
    struct smb_open *o = c->open;
    int64_t now = smb_server_now(o->server);
    bool directory = seen->node.kind == NODE_DIRECTORY;
    struct opens_request wish = {
        .key = {.share = o->incarnation, .node = seen->id},
        .path = seen->path,
        .parent = seen->parent,
        .directory = directory,
        .access = smb_opens_access(o->access),
        .sharing = c->sharing,
        .access_mask = o->access,
        .delete_on_close = (c->options & SMB_OPTION_DELETE_ON_CLOSE) != 0,
        .overwrites = overwrites(c),
        .rest_leased = lease_locked(lease_state(&seen->node.lease, now)),
        .persistent = !directory && smb_persist_wanted(c),
        .calls = &SMB_OPENS_OWNER,
        .owner = o->server,
        .tag = o->id.fleeting,
        .session = o->session->id,
        .client = smb_client_address(c->q),
        .client_name = str_of(c->q->session->workstation),
        .now_ticks = now,
    };
    smb_cache_wish(c->q->conn, c->oplock, &c->lease, &wish);
    return wish;
}

/* On an engine thread for new files. */
static struct err register_handle(struct smb_create *c, const struct file_seen *seen)
{
    assert(c->open->handle == NULL);
    struct opens *opens = smb_store(c->q)->opens;
    struct opens_request wish = wish_of(c, seen);
    struct err error = opens_open(opens, &wish, &c->waiting.wait, &c->open->handle, &c->granted);
    if (err_is(error) && error.code != ERR_OTHERS_FIRST)
        smb_note_wish(c->q, &wish);
    TRY(error);
    c->cache = opens_cache_info(opens, c->open->handle);
    return OK;
}

static void unregister(struct smb_create *c)
{
    struct opens *opens = smb_opens_table(c->q);
    struct opens_key key;
    bool remove = false;
    if (c->open->handle == NULL)
        return;
    key = opens_key_of(c->open->handle);
    opens_close(opens, c->open->handle, &remove);
    c->open->handle = NULL;
    if (remove)
        opens_removed(opens, key);
}

/* ---- an existing file ---- */

static void try_register(struct smb_create *c);

static void waited(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    if (err_is(outcome) || is_cut(q))
        smb_create_fail(c, STATUS_CANCELLED);
    else
        try_register(c);
}

static void try_register(struct smb_create *c)
{
    /* Only once: the table must know on a retry that this request has waited before. */
    if (c->waiting.q == NULL)
        smb_waiting_init(&c->waiting, c->q);
    struct err error = register_handle(c, &c->look.seen);
    if (error.code == ERR_OTHERS_FIRST)
        smb_wait_for_caches(&c->waiting, waited);
    else if (err_is(error))
        smb_create_fail(c, err_ntstatus(error.code));
    else
        look_again(c);
}

static void try_again(struct smb_create *c)
{
    unregister(c);
    if (++c->tries > SMB_CREATE_TRIES)
        smb_create_fail(c, STATUS_INSUFFICIENT_RESOURCES);
    else
        look(c);
}

static void overwritten(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    if (outcome.code == ERR_RESOURCE_NOT_FOUND) {
        try_again(c);
        return;
    }
    if (err_is(outcome)) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    c->seen = c->overwrite.seen;
    succeed(c, c->disposition == SMB_SUPERSEDE ? SMB_SUPERSEDED : SMB_OVERWRITTEN);
}

static void looked_again(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    if (err_is(outcome) && outcome.code != ERR_PARENT_NOT_FOUND) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    if (err_is(outcome) || !c->look.seen.exists ||
        c->look.seen.id != opens_key_of(c->open->handle).node) {
        try_again(c);
        return;
    }
    c->seen = c->look.seen;
    succeed(c, SMB_OPENED);
}

/* Once the handle is registered, the rows stay valid with respect to sharing. */
static void look_again(struct smb_create *c)
{
    if (!overwrites(c)) {
        smb_view(c->q, file_look, &c->look, looked_again);
        return;
    }
    c->overwrite = (struct file_overwrite_args){
        .at = c->look.at, .attributes = c->attributes | NODE_ARCHIVE, .eas = c->eas};
    c->overwrite.at.id = c->look.seen.id;
    smb_update(c->q, file_overwrite, &c->overwrite, ENGINE_VISIBLE, overwritten);
}

/* Grants the requested access, or for MAXIMUM_ALLOWED what is permitted. */
static uint32_t check_rights(struct smb_create *c)
{
    uint32_t wanted = rights_map_generic(c->desired) & ~(uint32_t)SMB_MAXIMUM_ALLOWED;
    uint32_t needed = wanted;
    if (overwrites(c))
        needed |= SMB_WRITE_DATA;
    if (c->disposition == SMB_SUPERSEDE)
        needed |= SMB_DELETE;
    c->max_access = c->look.rights;
    if ((needed & ~c->look.rights) != 0)
        return STATUS_ACCESS_DENIED;
    c->open->access = wanted;
    if ((c->desired & SMB_MAXIMUM_ALLOWED) != 0)
        c->open->access |= c->look.rights;
    return STATUS_SUCCESS;
}

/* Checks the existing file against the request; returns a status. */
static uint32_t check_existing(struct smb_create *c)
{
    const struct node *n = &c->look.seen.node;
    bool directory = n->kind == NODE_DIRECTORY;
    bool read_only = !directory && (n->attributes & NODE_READ_ONLY) != 0;
    const uint32_t guarded = NODE_HIDDEN | NODE_SYSTEM;
    if (c->disposition == SMB_CREATE_NEW)
        return STATUS_OBJECT_NAME_COLLISION;
    if (directory && (c->options & SMB_OPTION_NON_DIRECTORY) != 0)
        return STATUS_FILE_IS_A_DIRECTORY;
    if (!directory && (c->options & SMB_OPTION_DIRECTORY) != 0)
        return STATUS_NOT_A_DIRECTORY;
    if (directory && overwrites(c))
        return STATUS_OBJECT_NAME_COLLISION;
    uint32_t status = check_rights(c);
    if (status != STATUS_SUCCESS)
        return status;
    if (overwrites(c) && (read_only || (n->attributes & guarded & ~c->attributes) != 0))
        return STATUS_ACCESS_DENIED;
    if (read_only && (c->desired & SMB_MAXIMUM_ALLOWED) != 0)
        c->open->access &= ~(uint32_t)(SMB_WRITE_DATA | SMB_APPEND_DATA);
    else if (read_only && (c->open->access & (SMB_WRITE_DATA | SMB_APPEND_DATA)) != 0)
        return STATUS_ACCESS_DENIED;
    if (read_only && (c->options & SMB_OPTION_DELETE_ON_CLOSE) != 0)
        return STATUS_CANNOT_DELETE;
    if ((c->options & SMB_OPTION_NO_EA) != 0 && ea_any_needed(n->eas))
        return STATUS_ACCESS_DENIED;
    return STATUS_SUCCESS;
}

/* ---- a new file ---- */

/* Runs in the transaction: no other request can know the new file yet, so there is no conflict. A
 * persistent handle is stored together with its file. */
static struct err register_made(struct txn *t, void *front, const struct file_seen *seen)
{
    struct smb_create *c = front;
    struct file_held held;
    unregister(c);
    TRY(register_handle(c, seen));
    if (seen->node.kind == NODE_DIRECTORY || !smb_persist_wanted(c))
        return OK;
    fill_open(c, seen, SMB_CREATED);
    smb_persist_describe(c->open, txn_arena(t), &held);
    return file_held_put(t, &held);
}

static void made(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    if (outcome.code == ERR_RESOURCE_ALREADY_EXISTS) {
        try_again(c);
        return;
    }
    if (err_is(outcome)) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    c->seen = c->make.seen;
    if (c->open->durable.persistent)
        hand_over(q, OK);
    else
        succeed(c, SMB_CREATED);
}

static void make(struct smb_create *c)
{
    bool directory = (c->options & SMB_OPTION_DIRECTORY) != 0;
    if ((c->attributes & NODE_READ_ONLY) != 0 && (c->options & SMB_OPTION_DELETE_ON_CLOSE) != 0) {
        smb_create_fail(c, STATUS_CANNOT_DELETE);
        return;
    }
    uint32_t right = directory ? RIGHT_ADD_DIRECTORY : RIGHT_ADD_FILE;
    if ((c->look.rights & right) == 0) {
        smb_create_fail(c, STATUS_ACCESS_DENIED);
        return;
    }
    c->max_access = SMB_ACCESS_ALL;
    c->make = (struct file_make_args){
        .at = c->look.at,
        .opens = smb_opens_table(c->q),
        .path = c->path,
        .kind = directory ? NODE_DIRECTORY : NODE_FILE,
        .attributes = c->attributes | (directory ? 0U : NODE_ARCHIVE),
        .sd = c->sd,
        .eas = c->eas,
        .made = register_made,
        .front = c,
    };
    enum engine_ack ack = smb_persist_wanted(c) ? ENGINE_DURABLE : ENGINE_VISIBLE;
    smb_update(c->q, file_make, &c->make, ack, made);
}

/* ---- lookup ---- */

/* A snapshot cannot change, so its opens are not registered. */
static void open_snapshot(struct smb_create *c)
{
    const uint32_t changes = SMB_WRITE_DATA | SMB_APPEND_DATA | SMB_WRITE_EA | SMB_DELETE_CHILD |
                             SMB_WRITE_ATTRIBUTES | SMB_DELETE | SMB_WRITE_DAC | SMB_WRITE_OWNER;
    if ((c->desired & SMB_MAXIMUM_ALLOWED) != 0)
        c->open->access &= ~changes;
    if (overwrites(c) || (c->open->access & changes) != 0) {
        smb_create_fail(c, STATUS_MEDIA_WRITE_PROTECTED);
        return;
    }
    c->open->snapshot = c->look.at.snapshot;
    c->seen = c->look.seen;
    succeed(c, SMB_OPENED);
}

static void absent(struct smb_create *c)
{
    if (c->disposition == SMB_OPEN || c->disposition == SMB_OVERWRITE)
        smb_create_fail(c, STATUS_OBJECT_NAME_NOT_FOUND);
    else if (c->snapshot != 0)
        smb_create_fail(c, STATUS_MEDIA_WRITE_PROTECTED);
    else
        make(c);
}

/* A missing name may have been a file's short name until recently. */
static struct str remembered(struct smb_create *c, struct str path)
{
    struct smb_server *server = c->q->conn->server;
    struct str known = smb_tunnel_find(smb_server_tunnel(server), c->q->arena,
                                       c->look.at.incarnation, c->path, smb_server_now(server));
    if (!str_given(known))
        return path;
    struct buf b = buf_in(c->q->arena);
    buf_put(&b, str_head(path, path.n - path_last(path).n));
    buf_put(&b, path_last(known));
    return buf_str(&b);
}

static void lengthened(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    struct smb_server *server = q->conn->server;
    struct str path = c->lengthen.long_path;
    if (err_is(outcome)) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    if (c->lengthen.exists)
        smb_tunnel_keep(smb_server_tunnel(server), c->look.at.incarnation, c->path, path,
                        smb_server_now(server));
    else
        path = remembered(c, path);
    c->path = path;
    look(c);
}

/* A name is tried as a short name only if no long name matches. */
static bool lengthens(struct smb_create *c)
{
    if (c->lengthened || !short_name_in_path(c->path))
        return false;
    c->lengthened = true;
    c->lengthen = (struct file_long_path_args){.at = c->look.at, .path = c->path};
    smb_view_in_pool(c->q, file_long_path, &c->lengthen, lengthened);
    return true;
}

static void looked(struct smb_request *q, struct err outcome)
{
    struct smb_create *c = q->work;
    bool lost = outcome.code == ERR_PARENT_NOT_FOUND;
    if ((lost || (!err_is(outcome) && !c->look.seen.exists)) && lengthens(c))
        return;
    if (err_is(outcome)) {
        smb_create_fail(c, err_ntstatus(outcome.code));
        return;
    }
    if (!c->look.seen.exists) {
        absent(c);
        return;
    }
    uint32_t status = check_existing(c);
    if (status != STATUS_SUCCESS)
        smb_create_fail(c, status);
    else if (c->snapshot != 0)
        open_snapshot(c);
    else
        try_register(c);
}

static void look(struct smb_create *c)
{
    c->look = (struct file_look_args){
        .at = {.arena = c->q->arena,
               .changes = &c->q->changes,
               .incarnation = c->q->tree->incarnation,
               .snapshot = c->snapshot},
        .by_path = true,
        .path = c->path,
        .wants_rights = true,
    };
    c->open->access = smb_map_access(c->desired);
    smb_view(c->q, file_look, &c->look, looked);
}

static void begin(struct smb_create *c)
{
    c->open = smb_open_new(c->q);
    if (c->open == NULL) {
        smb_create_fail(c, STATUS_INSUFFICIENT_RESOURCES);
        return;
    }
    c->open->incarnation = c->q->tree->incarnation;
    c->q->outlives = c->durable.second;
    smb_durable_reserve(c);
    if (c->q->tree->pipe)
        smb_pipe_create(c);
    else
        look(c);
}

void smb_create(struct smb_request *q)
{
    struct smb_create *c = ARENA_NEW(q->arena, struct smb_create);
    q->work = c;
    c->q = q;
    uint32_t status = q->session->anonymous ? STATUS_ACCESS_DENIED : smb_create_read(q, c);
    if (status != STATUS_SUCCESS)
        smb_create_fail(c, status);
    else if (c->durable.returns_first || c->durable.returns_second)
        smb_durable_reconnect(c);
    else if (!smb_durable_replay(c))
        begin(c);
}
