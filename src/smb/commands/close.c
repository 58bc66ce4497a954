/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/close.h"

#include <assert.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"
#include "service/common/home.h"
#include "service/file/by_id.h"
#include "smb/commands/info.h"
#include "smb/commands/io.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/persist.h"
#include "smb/server.h"

enum { FLAG_POST_QUERY = 1, REMOVAL_ARENA_MAX = 1 << 20 };

/* ---- deletion without a waiting request ---- */

struct removal {
    struct engine_update update;
    struct home_guarded guarded;
    struct file_remove_args args;
    struct file_changes changes;
    struct arena arena;
    struct opens *opens;
    struct opens_key key;
    char partition[];
};

/* On an engine thread. A directory that is no longer empty stays. */
static void removal_done(struct engine_update *u)
{
    struct removal *r = (struct removal *)u;
    if (err_is(u->result) && u->result.code != ERR_DIRECTORY_NOT_EMPTY &&
        u->result.code != ERR_SHARE_NOT_FOUND && u->result.code != ERR_HOME_ELSEWHERE)
        log_line(LOG_WARN, "a deleted file could not be removed: error %d", u->result.code);
    if (!err_is(u->result))
        file_changes_tell(&r->changes);
    opens_removed(r->opens, r->key);
    arena_release(&r->arena);
    free(r);
}

static void remove_detached(struct store *store, struct str partition, struct opens_key key)
{
    assert(partition.n > 0);
    struct removal *r = mem_calloc(1, sizeof *r + partition.n);
    memcpy(r->partition, partition.p, partition.n);
    arena_init(&r->arena, REMOVAL_ARENA_MAX);
    r->changes.watches = opens_watches(store->opens);
    r->args.at = (struct file_at){
        .arena = &r->arena, .incarnation = key.share, .id = key.node, .changes = &r->changes};
    r->opens = store->opens;
    r->key = key;
    r->update = (struct engine_update){.partition = {r->partition, partition.n},
                                       .fn = home_guard,
                                       .arg = &r->guarded,
                                       .ack = ENGINE_VISIBLE,
                                       .done = removal_done};
    r->guarded = (struct home_guarded){.home = store->home,
                                       .partition = r->update.partition,
                                       .fn = file_remove_at,
                                       .arg = &r->args,
                                       .strict = true};
    store_write(store, &r->update);
}

void smb_open_drop(struct smb_open *o)
{
    struct store *store = smb_server_world(o->server)->store;
    struct opens_key key = {.share = o->incarnation, .node = o->node};
    struct smb_tree *tree = o->tree;
    struct str kept = {o->durable.partition, o->durable.partition_n};
    struct str partition = tree != NULL ? tree->partition : kept;
    bool remove;
    /* If another gateway has the open files by now, this one only drops its state. */
    bool survives =
        (o->durable.stored && smb_durable_ending(o->server)) || !home_is_ours(store->home);
    if (o->handle != NULL)
        key =
            opens_key_of(o->handle); /* a CREATE that failed late has not returned the handle yet */
    smb_tree_get(tree);
    smb_open_get(o);
    if (o->durable.stored && !o->closed && !survives)
        smb_persist_forget(o, partition);
    smb_open_close(o, &remove);
    if (remove && !survives)
        remove_detached(store, partition, key);
    else if (!survives)
        smb_persist_dropped(o, partition);
    smb_open_put(o);
    smb_tree_put(tree);
}

/* ---- CLOSE ---- */

struct closing {
    bool wants_attributes;
    struct opens_key key;
    struct file_look_args look;
    struct file_remove_args removal;
};

static void answer(struct smb_request *q)
{
    const struct closing *c = q->work;
    const struct file_seen *seen = &c->look.seen;
    bool told = c->wants_attributes && seen->exists;
    struct buf *out = &q->out;
    buf_put_le16(out, 60);
    buf_put_le16(out, told ? FLAG_POST_QUERY : 0);
    buf_put_le32(out, 0);
    if (told) {
        smb_put_times(out, &seen->node);
        buf_put_le64(out, smb_allocation(NULL, &seen->node));
        buf_put_le64(out, seen->node.size);
        buf_put_le32(out, smb_attributes(&seen->node));
    } else {
        memset(buf_reserve(out, 52), 0, 52);
        out->n += 52;
    }
    smb_complete(q, STATUS_SUCCESS);
}

static void removed(struct smb_request *q, struct err outcome)
{
    struct closing *c = q->work;
    opens_removed(smb_opens_table(q), c->key);
    if (err_is(outcome) && outcome.code != ERR_DIRECTORY_NOT_EMPTY &&
        outcome.code != ERR_SHARE_NOT_FOUND)
        smb_complete_err(q, outcome);
    else
        answer(q);
}

static void marked(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome))
        smb_complete_err(q, outcome);
    else
        answer(q);
}

static void close_now(struct smb_request *q)
{
    assert(q->open != NULL);
    struct closing *c = q->work;
    bool remove;
    c->key = (struct opens_key){.share = q->open->incarnation, .node = q->open->node};
    smb_open_close(q->open, &remove);
    if (!remove) {
        smb_persist_closed(q, marked);
        return;
    }
    c->removal.at = smb_at(q);
    smb_update(q, file_remove_at, &c->removal, ENGINE_VISIBLE, removed);
}

static void let_go(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome))
        smb_complete_err(q, outcome);
    else
        close_now(q);
}

static void looked(struct smb_request *q, struct err outcome)
{
    struct closing *c = q->work;
    if (err_is(outcome))
        c->look.seen.exists = false;
    smb_persist_let_go(q, q->open, let_go);
}

void smb_close(struct smb_request *q)
{
    struct closing *c = ARENA_NEW(q->arena, struct closing);
    struct reader r = reader_of(str_from(q->body, 2));
    uint16_t flags = read_le16(&r);
    (void)read_le32(&r);
    struct smb_file_id id = smb_read_file_id(&r);
    uint32_t status = reader_ok(&r) ? smb_open_find(q, id) : STATUS_INVALID_PARAMETER;
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    q->work = c;
    c->wants_attributes = (flags & FLAG_POST_QUERY) != 0;
    c->look.at = smb_at(q);
    if (c->wants_attributes && !q->open->pipe)
        smb_view(q, file_look, &c->look, looked);
    else
        smb_persist_let_go(q, q->open, let_go);
}
