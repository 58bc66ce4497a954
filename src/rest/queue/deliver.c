/* SPDX-License-Identifier: Apache-2.0 */
/* Get Messages and Peek Messages. */
#include "rest/queue/rest.h"
#include "rest/queue/xml.h"

/* A get is a read first, and a write only when there may be something to get: so polling an empty
 * queue costs no commit. Nothing is lost by that: the read sees all that was acknowledged before.
 */
struct get_call {
    struct queue_get_messages get; /* first: encode takes call->args for it */
    struct rest_call *call;
    struct engine_update update;
    struct loop_task task;
};

static struct err decode_count(struct rest_call *call, struct queue_get_messages *get)
{
    uint64_t count = 1;
    TRY(queue_place(call));
    TRY(call_query_u64(call, STR("numofmessages"), 1, QUEUE_MESSAGES_MAX, &count));
    get->arena = call->arena;
    get->count_max = (unsigned)count;
    call->args = get;
    return OK;
}

struct err rest_get_messages_decode(struct rest_call *call)
{
    struct get_call *g = ARENA_NEW(call->arena, struct get_call);
    uint64_t visibility_s = QUEUE_VISIBILITY_DEFAULT_S;
    struct str peek = call_query(call, STR("peekonly"));
    /* Peek Messages is chosen by `true`. Who wrote something else did not mean to take messages. */
    if (str_given(peek) && !str_ieq(peek, STR("false")))
        return call_bad_query(call, STR("peekonly"));
    g->call = call;
    TRY(decode_count(call, &g->get));
    TRY(call_query_u64(call, STR("visibilitytimeout"), 1, QUEUE_VISIBILITY_MAX_S, &visibility_s));
    g->get.visibility_s = (uint32_t)visibility_s;
    return OK;
}

static void get_submit(struct get_call *g)
{
    store_write(g->call->store, &g->update);
}

static void get_back_on_loop(struct loop_task *task)
{
    struct get_call *g = (struct get_call *)((char *)task - offsetof(struct get_call, task));
    if (!err_is(g->update.result) && g->get.again)
        get_submit(g);
    else
        rest_finish(g->call, g->update.result);
}

static void get_done(struct engine_update *u)
{
    struct get_call *g = (struct get_call *)((char *)u - offsetof(struct get_call, update));
    loop_post(g->call->x->loop, &g->task);
}

struct err rest_get_messages_start(struct rest_call *call)
{
    struct get_call *g = call->args;
    struct err error =
        store_read(call->store, call->partition, ENGINE_NOWAIT, queue_poll_messages, &g->get);
    if (err_is(error) && !store_wants_pool(error))
        return error;
    if (!err_is(error) && g->get.nothing) {
        rest_finish(call, OK);
        return OK;
    }
    g->task.run = get_back_on_loop;
    g->update = (struct engine_update){
        .partition = call->partition,
        .fn = queue_get_messages,
        .arg = &g->get,
        .ack = ENGINE_DURABLE,
        .hints = HINT_SMALL, /* who gets messages deletes them, also from a full disk */
        .done = get_done,
    };
    get_submit(g);
    return OK;
}

static struct err encode_list(struct rest_call *call, enum queue_xml_view view)
{
    const struct queue_get_messages *get = call->args;
    queue_put_uncached(call);
    queue_xml_put_list(call, get->messages, get->count, view);
    return OK;
}

struct err rest_get_messages_encode(struct rest_call *call)
{
    return encode_list(call, QUEUE_XML_GET);
}

struct err rest_peek_messages_decode(struct rest_call *call)
{
    return decode_count(call, ARENA_NEW(call->arena, struct queue_get_messages));
}

struct err rest_peek_messages_encode(struct rest_call *call)
{
    return encode_list(call, QUEUE_XML_PEEK);
}
