/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/drive.h"

#include <assert.h>

#include "service/common/home.h"
#include "service/file/opens/opens.h"
#include "smb/commands/session.h"
#include "smb/message.h"
#include "smb/open.h"
#include "smb/server.h"

struct store *smb_store(const struct smb_request *q)
{
    return smb_server_world(q->conn->server)->store;
}

struct err smb_read_store(const struct smb_request *q, struct str partition, enum engine_wait wait,
                          engine_fn *fn, void *args)
{
    struct store *store = smb_store(q);
    struct home_guarded guarded = {
        .home = store->home, .partition = partition, .fn = fn, .arg = args, .strict = true};
    return home_read(&guarded, store, wait);
}

static void go_on(struct run *r, struct err outcome)
{
    struct smb_request *q = smb_request_of(r);
    q->then(q, outcome);
}

static struct err off_loop(struct run *r)
{
    struct smb_request *q = smb_request_of(r);
    return q->off_loop(q);
}

void smb_in_pool_of(struct smb_request *q, struct pool *pool,
                    struct err (*work)(struct smb_request *q), smb_then *then)
{
    assert(work != NULL && then != NULL);
    q->off_loop = work;
    q->then = then;
    run_in_pool(&q->run, pool, off_loop, go_on);
}

void smb_in_pool(struct smb_request *q, struct err (*work)(struct smb_request *q), smb_then *then)
{
    smb_in_pool_of(q, q->run.pool, work, then);
}

/* ---- views ---- */

void smb_view_in_pool(struct smb_request *q, engine_fn *fn, void *args, smb_then *then)
{
    assert(q->tree != NULL && then != NULL);
    struct run_txn txn = {.partition = q->tree->partition, .fn = fn, .arg = args};
    q->then = then;
    run_view_in_pool(&q->run, &txn, go_on);
}

void smb_view_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                 smb_then *then)
{
    assert(fn != NULL && then != NULL);
    struct run_txn txn = {.partition = partition, .fn = fn, .arg = args};
    q->then = then;
    run_view(&q->run, &txn, go_on);
}

void smb_view(struct smb_request *q, engine_fn *fn, void *args, smb_then *then)
{
    assert(q->tree != NULL);
    smb_view_of(q, q->tree->partition, fn, args, then);
}

/* ---- updates ---- */

/* On an engine thread. */
static void tell_changes(struct run *r)
{
    file_changes_tell(&smb_request_of(r)->changes);
}

void smb_update(struct smb_request *q, engine_fn *fn, void *args, enum engine_ack ack,
                smb_then *then)
{
    assert(q->tree != NULL && fn != NULL && then != NULL);
    /* The change must be as durable as the stored handle that made it. */
    if (q->open != NULL && q->open->durable.stored)
        ack = ENGINE_DURABLE;
    q->then = then;
    q->changes = (struct file_changes){.watches = opens_watches(smb_store(q)->opens)};
    struct run_txn txn = {.partition = q->tree->partition,
                          .fn = fn,
                          .arg = args,
                          .ack = ack,
                          .committed = tell_changes};
    run_update(&q->run, &txn, go_on);
}

void smb_update_of(struct smb_request *q, struct str partition, engine_fn *fn, void *args,
                   smb_then *then)
{
    assert(fn != NULL && then != NULL);
    struct run_txn txn = {.partition = partition, .fn = fn, .arg = args};
    q->then = then;
    run_update(&q->run, &txn, go_on);
}

static struct err change_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

/* A durable update, even an empty one, makes all earlier visible updates durable. */
void smb_flush_store(struct smb_request *q, smb_then *then)
{
    smb_update(q, change_nothing, NULL, ENGINE_DURABLE, then);
}

/* ---- waits ---- */

static bool take_back(struct run *r)
{
    struct smb_request *q = smb_request_of(r);
    return q->wait->take_back(q);
}

static void wait_over(struct run *r)
{
    struct smb_request *q = smb_request_of(r);
    q->wait->over(q);
}

bool smb_may_wait(const struct smb_request *q)
{
    return q->pending || q->message->plain.n == 0;
}

/* The wait is queued in this turn, so no posted message is processed before that. */
void smb_wait_for(struct smb_request *q, const struct smb_wait *wait, smb_then *then)
{
    struct run_wait w = {.until_ms = INT64_MAX, .take_back = take_back};
    assert(wait->patience_ms == 0 || wait->over != NULL);
    if (wait->patience_ms > 0) {
        w.until_ms = loop_now_ms(q->conn->loop) + wait->patience_ms;
        w.over = wait_over;
    }
    q->wait = wait;
    q->then = then;
    if (!wait->quiet && !q->pending && smb_may_wait(q))
        smb_pending(q);
    run_expect_wake(&q->run);
    run_wait_for(&q->run, &w, go_on);
}
