/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/drive.h"

#include "net/pool.h"
#include "service/file/opens/opens.h"
#include "smb/commands/session.h"
#include "smb/open.h"
#include "smb/server.h"

static struct smb_request *request_of_task(struct loop_task *task)
{
    return (struct smb_request *)((char *)task - offsetof(struct smb_request, task));
}

struct store *smb_store(const struct smb_request *q)
{
    return smb_server_world(q->conn->server)->store;
}

static void go_on(struct loop_task *task)
{
    struct smb_request *q = request_of_task(task);
    q->then(q, q->outcome);
}

static void to_loop(struct smb_request *q)
{
    q->task.run = go_on;
    loop_post(q->conn->loop, &q->task);
}

static void in_pool(struct loop_task *task)
{
    struct smb_request *q = request_of_task(task);
    q->outcome = q->off_loop(q);
    to_loop(q);
}

void smb_in_pool(struct smb_request *q, struct err (*work)(struct smb_request *q), smb_then *then)
{
    q->off_loop = work;
    q->then = then;
    q->task.run = in_pool;
    pool_post(smb_server_world(q->conn->server)->pool, &q->task);
}

/* ---- views ---- */

static struct err view_here(struct smb_request *q)
{
    return store_read(smb_store(q), q->update.partition, ENGINE_WAIT, q->update.fn, q->update.arg);
}

void smb_view_in_pool(struct smb_request *q, engine_fn *fn, void *args, smb_then *then)
{
    q->update = (struct engine_update){.partition = q->tree->partition, .fn = fn, .arg = args};
    smb_in_pool(q, view_here, then);
}

void smb_view_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                 smb_then *then)
{
    struct err error = store_read(smb_store(q), partition, ENGINE_NOWAIT, fn, args);
    if (!store_wants_pool(error)) {
        then(q, error);
        return;
    }
    q->update = (struct engine_update){.partition = partition, .fn = fn, .arg = args};
    smb_in_pool(q, view_here, then);
}

void smb_view(struct smb_request *q, engine_fn *fn, void *args, smb_then *then)
{
    smb_view_of(q, q->tree->partition, fn, args, then);
}

/* ---- updates ---- */

/* On an engine thread. */
static void update_done(struct engine_update *u)
{
    struct smb_request *q =
        (struct smb_request *)((char *)u - offsetof(struct smb_request, update));
    q->outcome = u->result;
    if (!err_is(u->result))
        file_changes_tell(&q->changes);
    to_loop(q);
}

void smb_update(struct smb_request *q, engine_fn *fn, void *args, enum engine_ack ack,
                smb_then *then)
{
    /* A handle that survives a restart has changed nothing that does not. */
    if (q->open != NULL && q->open->durable.persistent)
        ack = ENGINE_DURABLE;
    q->then = then;
    q->changes = (struct file_changes){.watches = opens_watches(smb_store(q)->opens)};
    q->update = (struct engine_update){
        .partition = q->tree->partition, .fn = fn, .arg = args, .ack = ack, .done = update_done};
    store_write(smb_store(q), &q->update);
}

static struct err change_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

/* A durable update, also one of nothing, takes all that was only visible with it. */
void smb_flush_store(struct smb_request *q, smb_then *then)
{
    smb_update(q, change_nothing, NULL, ENGINE_DURABLE, then);
}
