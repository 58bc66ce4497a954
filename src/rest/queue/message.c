/* SPDX-License-Identifier: Apache-2.0 */
/* Put, Update, Delete Message: decode and encode. Get and Peek are in deliver.c. */
#include "core/text/base64.h"
#include "rest/queue/rest.h"
#include "rest/queue/xml.h"
#include "service/common/name.h"
#include "service/queue/queue.h"

struct err rest_queue_read_target(struct rest_call *call)
{
    TRY(name_check(call->container));
    call->partition = queue_partition(call->arena, call->account, call->container);
    return OK;
}

struct err rest_queue_no_content(struct rest_call *call)
{
    call->status = 204;
    return OK;
}

void rest_queue_put_uncached(struct rest_call *call)
{
    call_put(call, STR("Cache-Control"), STR("no-cache"));
}

static struct err bad_query_because(struct rest_call *call, struct str name, const char *reason)
{
    struct err error = call_bad_query(call, name);
    error.detail = arena_printf(call->arena, "%s\nReason\t%s", error.detail, reason).p;
    return error;
}

/* Versions before 2017-07-29 limit the time to live to seven days. */
static struct err decode_ttl(struct rest_call *call, int64_t *ttl_s)
{
    struct str text = call_query(call, STR("messagettl"));
    *ttl_s = QUEUE_TTL_DEFAULT_S;
    if (!str_given(text))
        return OK;
    uint64_t seven_days;
    if (call->version < 20170729)
        TRY(call_query_u64(call, STR("messagettl"), 1, QUEUE_TTL_DEFAULT_S, &seven_days));
    if (!str_to_i64(text, ttl_s) || *ttl_s == 0 || *ttl_s < QUEUE_TTL_NEVER)
        return bad_query_because(call, STR("messagettl"),
                                 "Value must be greater than or equal to 1, or -1 to indicate an "
                                 "infinite TTL.");
    return OK;
}

struct err rest_put_message_decode(struct rest_call *call)
{
    struct queue_put_message *put = ARENA_NEW(call->arena, struct queue_put_message);
    uint64_t visibility_s = 0;
    TRY(rest_queue_read_target(call));
    TRY(call_query_u64(call, STR("visibilitytimeout"), 0, QUEUE_VISIBILITY_MAX_S, &visibility_s));
    TRY(decode_ttl(call, &put->ttl_s));
    if (put->ttl_s != QUEUE_TTL_NEVER && (int64_t)visibility_s >= put->ttl_s)
        return bad_query_because(call, STR("visibilitytimeout"),
                                 "messagettl must be greater than visibilitytimeout");
    TRY(rest_queue_xml_message_text(call, &put->text));
    put->visibility_s = (uint32_t)visibility_s;
    call->args = put;
    return OK;
}

/* Versions before 2016-05-31 answer without a body. */
struct err rest_put_message_encode(struct rest_call *call)
{
    const struct queue_put_message *put = call->args;
    call->status = 201;
    if (call->version < 20160531)
        return OK;
    rest_queue_xml_put_list(call, &put->message, 1, QUEUE_XML_PUT);
    return OK;
}

/* ---- update and delete ---- */

/* An id that is not a GUID names no message. The cloud reports that if the receipt is base64 of any
 * length. It checks the receipt's form first, then the queue, then the message. */
static struct err decode_held(struct rest_call *call, struct queue_change_message *change)
{
    struct str receipt = call_query(call, STR("popreceipt"));
    TRY(rest_queue_read_target(call));
    if (!str_given(receipt))
        return call_missing_query(call, STR("popreceipt"));
    bool sound = base64_decode_exact(receipt, change->receipt.bytes, sizeof change->receipt.bytes);
    bool named = guid_parse(call->object, &change->id);
    struct str other;
    if (!sound && (named || receipt.n == 0 || !base64_decode(call->arena, receipt, &other)))
        return bad_query_because(call, STR("popreceipt"), "Invalid pop receipt format");
    change->names_none = !named;
    call->args = change;
    return OK;
}

struct err rest_update_message_decode(struct rest_call *call)
{
    struct queue_change_message *change = ARENA_NEW(call->arena, struct queue_change_message);
    uint64_t visibility_s = 0;
    TRY(decode_held(call, change));
    if (!str_given(call_query(call, STR("visibilitytimeout"))))
        return call_missing_query(call, STR("visibilitytimeout"));
    TRY(call_query_u64(call, STR("visibilitytimeout"), 0, QUEUE_VISIBILITY_MAX_S, &visibility_s));
    change->visibility_s = (uint32_t)visibility_s;
    /* Without a body only the visibility changes. */
    if (call->body.n > 0)
        TRY(rest_queue_xml_message_text(call, &change->text));
    return OK;
}

struct err rest_update_message_encode(struct rest_call *call)
{
    const struct queue_change_message *change = call->args;
    struct buf receipt = buf_in(call->arena);
    rest_queue_xml_put_receipt(&receipt, &change->new_receipt);
    call_put(call, STR("x-ms-popreceipt"), buf_str(&receipt));
    call_put_time(call, STR("x-ms-time-next-visible"), change->next_visible);
    call->status = 204;
    return OK;
}

struct err rest_delete_message_decode(struct rest_call *call)
{
    return decode_held(call, ARENA_NEW(call->arena, struct queue_change_message));
}
