/* SPDX-License-Identifier: Apache-2.0 */
/* Get Messages, Peek Messages and List Messages. */
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/queue/rest.h"

#include "rest/queue/xml.h"
#include "service/queue/inspect.h"

/* Get Messages is a read first, and a write only if there may be a message: so polling an empty
 * queue costs no commit. Nothing is missed: the read sees everything that was acknowledged
 * before. */

static struct err decode_count(struct rest_call *call, struct queue_get_messages *get)
{
    uint64_t count = 1;
    TRY(rest_queue_read_target(call));
    TRY(call_query_u64(call, STR("numofmessages"), 1, QUEUE_MESSAGES_MAX, &count));
    get->arena = call->arena;
    get->count_max = (unsigned)count;
    call->args = get;
    return OK;
}

struct err rest_get_messages_decode(struct rest_call *call)
{
    struct queue_get_messages *get = ARENA_NEW(call->arena, struct queue_get_messages);
    uint64_t visibility_s = QUEUE_VISIBILITY_DEFAULT_S;
    struct str peek = call_query(call, STR("peekonly"));
    /* Only `true` selects Peek Messages. A client that sent another value did not mean to receive
     * messages. */
    if (str_given(peek) && !str_ieq(peek, STR("false")))
        return call_bad_query(call, STR("peekonly"));
    TRY(decode_count(call, get));
    TRY(call_query_u64(call, STR("visibilitytimeout"), 1, QUEUE_VISIBILITY_MAX_S, &visibility_s));
    get->visibility_s = (uint32_t)visibility_s;
    return OK;
}

static void take_messages(struct rest_call *call);

static void messages_taken(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    const struct queue_get_messages *get = call->args;
    if (err_is(outcome) || !get->again) {
        rest_finish(call, outcome);
        return;
    }
    r->committed = false; /* it has cleaned up and found nothing: the deadline still applies */
    take_messages(call);
}

static void take_messages(struct rest_call *call)
{
    struct run_txn txn = {
        .partition = call->partition,
        .fn = queue_get_messages,
        .arg = call->args,
        .hints =
            HINT_SMALL, /* receivers delete messages, so this is admitted even on a full disk */
    };
    run_update(&call->run, &txn, messages_taken);
}

static void polled(struct run *r, struct err outcome)
{
    struct rest_call *call = rest_call_of(r);
    const struct queue_get_messages *get = call->args;
    bool unknown = store_wants_pool(outcome); /* there may be messages: the update checks anyway */
    if (!unknown && (err_is(outcome) || get->nothing))
        rest_finish(call, outcome);
    else
        take_messages(call);
}

struct err rest_get_messages_start(struct rest_call *call)
{
    struct run_txn txn = {
        .partition = call->partition, .fn = queue_poll_messages, .arg = call->args};
    run_view_here(&call->run, &txn, polled);
    return OK;
}

static struct err encode_list(struct rest_call *call, enum queue_xml_view view)
{
    const struct queue_get_messages *get = call->args;
    rest_queue_put_uncached(call);
    rest_queue_xml_put_list(call, get->messages, get->count, view);
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

/* ---- all messages ---- */

struct err rest_list_messages_decode(struct rest_call *call)
{
    struct queue_inspect *list = ARENA_NEW(call->arena, struct queue_inspect);
    TRY(rest_queue_read_target(call));
    *list = (struct queue_inspect){.arena = call->arena, .texts = true, .whole = true};
    if (str_given(call_query(call, STR("marker"))))
        TRY(call_query_u64(call, STR("marker"), 0, UINT64_MAX, &list->from));
    call->args = list;
    return OK;
}

static void put_time(struct buf *out, struct str name, int64_t ticks)
{
    xml_open(out, name);
    time_put_rfc1123(out, ticks);
    xml_close(out, name);
}

static void put_seen(struct buf *out, const struct queue_seen *m, int64_t now)
{
    char id[GUID_TEXT_BYTES];
    guid_text(&m->id, id);
    xml_open(out, STR("QueueMessage"));
    xml_element(out, STR("MessageId"), (struct str){id, sizeof id});
    put_time(out, STR("InsertionTime"), m->inserted);
    put_time(out, STR("ExpirationTime"), m->expires);
    if (m->next_visible > now)
        put_time(out, STR("TimeNextVisible"), m->next_visible);
    xml_element_u64(out, STR("DequeueCount"), m->dequeues);
    xml_element(out, STR("MessageText"), m->text);
    xml_close(out, STR("QueueMessage"));
}

struct err rest_list_messages_encode(struct rest_call *call)
{
    const struct queue_inspect *list = call->args;
    struct buf *out = &call->out;
    rest_queue_put_uncached(call);
    call_begin_xml(call);
    xml_open(out, STR("QueueMessagesList"));
    for (size_t i = 0; i < list->count; i++)
        put_seen(out, &list->messages[i], store_now(call->store));
    xml_element(out, STR("NextMarker"),
                list->cut ? arena_printf(call->arena, "%llu", (unsigned long long)list->next)
                          : STR(""));
    xml_close(out, STR("QueueMessagesList"));
    return OK;
}
