/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/told.h"

#include "smb/commands/session.h"
#include "smb/message.h"
#include "smb/open.h"
#include "smb/server.h"

static enum err_code error_of(uint32_t status)
{
    switch (status) {
    case STATUS_SHARING_VIOLATION:
        return ERR_SHARING_VIOLATION;
    case STATUS_FILE_LOCK_CONFLICT:
    case STATUS_LOCK_NOT_GRANTED:
        return ERR_FILE_LOCK_CONFLICT;
    case STATUS_DELETE_PENDING:
        return ERR_SMB_DELETE_PENDING;
    default:
        return ERR_OK;
    }
}

static struct str letters(struct arena *arena, unsigned bits)
{
    return arena_printf(arena, "%s%s%s", (bits & OPENS_READ) != 0 ? "r" : "",
                        (bits & OPENS_WRITE) != 0 ? "w" : "",
                        (bits & OPENS_DELETE) != 0 ? "d" : "");
}

void smb_note_wish(struct smb_request *q, const struct opens_request *wish)
{
    struct str access = letters(q->arena, wish->access);
    struct str sharing = letters(q->arena, wish->sharing);
    q->met = wish->key;
    q->met_path = arena_copy(q->arena, wish->path);
    q->met_wish = arena_printf(q->arena, "access %.*s, shares %.*s", STR_ARG(access),
                               STR_ARG(sharing.n > 0 ? sharing : STR("nothing")));
}

struct search {
    struct arena *arena;
    uint64_t own;   /* the request's handle; 0: none */
    bool for_locks; /* only a handle with locks */
    struct str path, holder;
};

static bool take_holder(void *arg, const struct opens_info *info)
{
    struct search *s = arg;
    s->path = arena_copy(s->arena, info->path);
    if (info->id == s->own || (s->for_locks && info->lock_count == 0))
        return true;
    struct str access = letters(s->arena, info->access);
    struct str sharing = letters(s->arena, info->sharing);
    s->holder = arena_printf(s->arena, "SMB client %.*s, access %.*s, shares %.*s, %zu locks%s",
                             STR_ARG(info->client), STR_ARG(access), STR_ARG(sharing),
                             info->lock_count, info->disconnected ? ", its client is away" : "");
    return false;
}

/* Fills in the common fields of a report. */
static void tell(const struct smb_request *q, struct smb_told *told)
{
    const struct smb_world *world = smb_server_world(q->conn->server);
    told->command = smb_command_name(q->header.command);
    told->account = str_of(q->session->account);
    told->share = str_of(q->tree->share);
    told->client = str_of(q->session->workstation);
    told->peer = &q->conn->peer;
    told->at = smb_server_now(q->conn->server);
    world->told(world->told_arg, told);
}

static void tell_refusal(const struct smb_request *q, enum err_code error)
{
    struct search s = {.arena = q->arena, .for_locks = error == ERR_FILE_LOCK_CONFLICT};
    struct opens_key key = q->met;
    if (key.share == 0 && q->open != NULL && q->open->handle != NULL && !q->open->closed) {
        key = opens_key_of(q->open->handle);
        s.own = opens_id_of(q->open->handle);
    }
    if (key.share == 0)
        return;
    struct opens_select select = {.share = key.share, .node = key.node};
    opens_list(smb_opens_table(q), &select, take_holder, &s);
    tell(q, &(struct smb_told){.kind = SMB_TOLD_REFUSAL,
                               .error = error,
                               .path = str_given(q->met_path) ? q->met_path : s.path,
                               .wish = q->met_wish,
                               .holder = s.holder});
}

static bool take_path(void *arg, const struct opens_info *info)
{
    struct search *s = arg;
    s->path = arena_copy(s->arena, info->path);
    return false;
}

static void tell_use(const struct smb_request *q, struct smb_open *o, enum smb_told_kind kind)
{
    enum { AGAIN_MS = 1000 };
    int64_t *last = kind == SMB_TOLD_WRITE ? &o->told_write_ms : &o->told_read_ms;
    int64_t now_ms = loop_now_ms(q->conn->loop);
    if (o->handle == NULL || o->closed || o->directory || now_ms < *last)
        return;
    *last = now_ms + AGAIN_MS;
    struct search s = {.arena = q->arena};
    struct opens_key key = opens_key_of(o->handle);
    struct opens_select select = {.share = key.share, .node = key.node};
    opens_list(smb_opens_table(q), &select, take_path, &s);
    if (str_given(s.path))
        tell(q, &(struct smb_told){.kind = kind, .path = s.path});
}

void smb_tell_open(const struct smb_request *q, struct smb_open *o)
{
    if (smb_server_world(q->conn->server)->told != NULL)
        tell_use(q, o, o->action == SMB_OPENED ? SMB_TOLD_READ : SMB_TOLD_WRITE);
}

void smb_tell(const struct smb_request *q)
{
    enum err_code error = error_of(q->status);
    unsigned command = q->header.command;
    if (smb_server_world(q->conn->server)->told == NULL || q->tree == NULL || q->session == NULL)
        return;
    if (error != ERR_OK)
        tell_refusal(q, error);
    else if (q->status == STATUS_SUCCESS && q->open != NULL &&
             (command == SMB_WRITE || command == SMB_SET_INFO))
        tell_use(q, q->open, SMB_TOLD_WRITE);
    else if (q->status == STATUS_SUCCESS && q->open != NULL && command == SMB_READ)
        tell_use(q, q->open, SMB_TOLD_READ);
}
