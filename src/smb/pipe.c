/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/pipe.h"

#include <stdlib.h>

#include "core/mem.h"
#include "service/file/keys.h"
#include "service/file/list.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/rpc.h"

enum { SHARES_TOLD_MAX = 5000 };

/* ---- CREATE ---- */

void smb_pipe_create(struct smb_create *c)
{
    struct smb_request *q = c->q;
    struct smb_open *o = c->open;
    if (!rpc_pipe_exists(c->path)) {
        smb_open_drop(o);
        q->message->related_status = STATUS_OBJECT_NAME_NOT_FOUND;
        smb_complete(q, STATUS_OBJECT_NAME_NOT_FOUND);
        return;
    }
    o->pipe = true;
    o->access = smb_map_access(c->desired);
    smb_open_list(o);
    buf_put_le16(&q->out, 89);
    buf_put_le16(&q->out, 0);
    buf_put_le32(&q->out, SMB_OPENED);
    for (unsigned i = 0; i < 6; i++) /* times and sizes */
        buf_put_le64(&q->out, 0);
    buf_put_le32(&q->out, NODE_NORMAL);
    buf_put_le32(&q->out, 0);
    smb_put_file_id(&q->out, o->id);
    buf_put_le64(&q->out, 0);
    q->message->related_status = STATUS_SUCCESS;
    q->message->related_file[0] = o->id.persistent;
    q->message->related_file[1] = o->id.fleeting;
    q->message->related_file_given = true;
    smb_complete(q, STATUS_SUCCESS);
}

/* ---- calls ---- */

struct pipe_call {
    struct share_list_args list;
    struct rpc_share shares[SHARES_TOLD_MAX + 1];
    size_t count;
    struct arena *arena;
    struct str call;
    void (*then)(struct smb_request *q, struct err outcome);
};

static void begin_shares(void *sink)
{
    struct pipe_call *p = sink;
    p->count = 0;
}

static void take_share(void *sink, struct str name, const struct share *share,
                       const struct share_snapshot *snapshot)
{
    struct pipe_call *p = sink;
    if (snapshot != NULL || share->protocol != SHARE_SMB || p->count == SHARES_TOLD_MAX)
        return;
    p->shares[p->count++] =
        (struct rpc_share){.name = arena_copy(p->arena, name), .remark = STR("")};
}

static void wake_readers(struct smb_open *o);

static void listed(struct smb_request *q, struct err outcome)
{
    struct pipe_call *p = q->work;
    struct smb_open *o = q->open;
    struct smb_pipe *channel = &o->channel;
    if (err_is(outcome)) {
        p->then(q, outcome);
        return;
    }
    p->shares[p->count++] =
        (struct rpc_share){.name = STR("IPC$"), .remark = STR("Remote calls"), .pipe = true};
    struct rpc_shares shares = {p->shares, p->count};
    struct buf answer = buf_in(q->arena);
    if (!rpc_answer(q->arena, p->call, &shares, &answer)) {
        p->then(q, err_new(ERR_INVALID_INPUT));
        return;
    }
    smb_open_get(o);
    free(channel->answer);
    channel->answer = mem_alloc(answer.n);
    memcpy(channel->answer, answer.p, answer.n);
    channel->answer_n = answer.n;
    channel->answer_read = 0;
    p->then(q, OK);
    wake_readers(o);
    smb_open_put(o);
}

void smb_pipe_transceive(struct smb_request *q, struct str call,
                         void (*then)(struct smb_request *q, struct err outcome))
{
    struct pipe_call *p = ARENA_NEW(q->arena, struct pipe_call);
    q->work = p;
    p->arena = q->arena;
    p->call = call;
    p->then = then;
    p->list = (struct share_list_args){.arena = q->arena,
                                       .account = str_of(q->session->account),
                                       .max = SHARES_TOLD_MAX,
                                       .sink = p,
                                       .begin = begin_shares,
                                       .item = take_share};
    struct str partition = file_partition(q->arena, p->list.account, STR(""));
    smb_view_of(q, partition, file_list_shares, &p->list, listed);
}

struct str smb_pipe_take(struct smb_open *o, size_t max, bool *more)
{
    struct smb_pipe *channel = &o->channel;
    struct str left = {channel->answer + channel->answer_read,
                       channel->answer_n - channel->answer_read};
    struct str taken = channel->answer == NULL ? STR("") : str_head(left, max);
    channel->answer_read += taken.n;
    *more = channel->answer_read < channel->answer_n;
    return taken;
}

/* ---- READ and WRITE ---- */

static void call_written(struct smb_request *q, struct err outcome)
{
    const struct pipe_call *p = q->work;
    buf_put_le16(&q->out, 17);
    buf_put_le16(&q->out, 0);
    buf_put_le32(&q->out, (uint32_t)p->call.n);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, 0);
    smb_complete_err(q, outcome);
}

void smb_pipe_write(struct smb_request *q, struct str call)
{
    smb_pipe_transceive(q, call, call_written);
}

/* A read before there is an answer waits for one. */
struct pipe_reading {
    uint64_t length;
};

/* A read of zero bytes waits too. */
static bool can_read(const struct smb_request *q)
{
    const struct pipe_reading *r = q->work;
    const struct smb_pipe *channel = &q->open->channel;
    return r->length > 0 && channel->answer != NULL && channel->answer_read < channel->answer_n;
}

static void read_answer(struct smb_request *q)
{
    const struct pipe_reading *r = q->work;
    bool more;
    struct str bytes = smb_pipe_take(q->open, r->length, &more);
    buf_put_le16(&q->out, 17);
    buf_put_u8(&q->out, SMB_HEADER_BYTES + 16);
    buf_put_u8(&q->out, 0);
    buf_put_le32(&q->out, (uint32_t)bytes.n);
    buf_put_le64(&q->out, 0);
    buf_put(&q->out, bytes);
    smb_complete(q, more ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
}

static void waited(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome))
        smb_complete(q, STATUS_CANCELLED);
    else
        read_answer(q);
}

/* Readers are found in the list of waiting requests, so there is nothing to cancel. */
static bool take_back(struct smb_request *q)
{
    (void)q;
    return true;
}

/* The longest waiting reader; new ones are inserted at the front. */
static struct smb_request *first_reader(const struct smb_open *o)
{
    struct smb_request *first = NULL;
    const struct smb_channel *c = o->session == NULL ? NULL : o->session->channels;
    for (; c != NULL; c = c->sibling)
        for (struct smb_request *w = c->conn->waiting; w != NULL; w = w->wait_next)
            if (w->open == o && w->header.command == SMB_READ)
                first = w;
    return first;
}

static void wake_readers(struct smb_open *o)
{
    struct smb_request *q = first_reader(o);
    for (; q != NULL && can_read(q); q = first_reader(o))
        run_wake_here(&q->run);
}

void smb_pipe_read(struct smb_request *q, uint64_t length)
{
    struct pipe_reading *r = ARENA_NEW(q->arena, struct pipe_reading);
    r->length = length;
    q->work = r;
    static const struct smb_wait ANSWER = {.take_back = take_back};
    if (can_read(q))
        read_answer(q);
    else if (smb_may_wait(q))
        smb_wait_for(q, &ANSWER, waited);
    else
        smb_complete(q, STATUS_PIPE_EMPTY);
}
