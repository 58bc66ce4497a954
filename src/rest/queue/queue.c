/* SPDX-License-Identifier: Apache-2.0 */
/* Operations on queues: create, metadata, policies, list. */
#include "service/queue/queue.h"
#include "core/text/xml.h"
#include "rest/blob/upload.h"
#include "rest/listing.h"
#include "rest/metadata.h"
#include "rest/policy_xml.h"
#include "rest/queue/rest.h"
#include "rest/server.h"

struct err rest_create_queue_decode(struct rest_call *call)
{
    struct queue_create *create = ARENA_NEW(call->arena, struct queue_create);
    call->args = create;
    TRY(rest_queue_read_target(call));
    return rest_metadata_from_headers(call, &create->metadata);
}

struct err rest_delete_queue_decode(struct rest_call *call)
{
    struct queue_delete *delete = ARENA_NEW(call->arena, struct queue_delete);
    delete->blocked_ticks = (int64_t)call->server->options.queue_delete_seconds * TICKS_PER_SECOND;
    call->args = delete;
    return rest_queue_read_target(call);
}

struct err rest_create_queue_encode(struct rest_call *call)
{
    const struct queue_create *create = call->args;
    call->status = create->existed ? 204 : 201;
    return OK;
}

struct err rest_get_queue_metadata_decode(struct rest_call *call)
{
    struct queue_properties *properties = ARENA_NEW(call->arena, struct queue_properties);
    properties->arena = call->arena;
    call->args = properties;
    return rest_queue_read_target(call);
}

struct err rest_get_queue_metadata_encode(struct rest_call *call)
{
    const struct queue_properties *properties = call->args;
    rest_queue_put_uncached(call);
    rest_metadata_put_headers(call, properties->metadata);
    call_put_u64(call, STR("x-ms-approximate-messages-count"), properties->count);
    return OK;
}

struct err rest_set_queue_metadata_decode(struct rest_call *call)
{
    struct queue_set_metadata *set = ARENA_NEW(call->arena, struct queue_set_metadata);
    call->args = set;
    TRY(rest_queue_read_target(call));
    return rest_metadata_from_headers(call, &set->metadata);
}

struct err rest_get_queue_acl_decode(struct rest_call *call)
{
    struct queue_acl *acl = ARENA_NEW(call->arena, struct queue_acl);
    acl->arena = call->arena;
    call->args = acl;
    return rest_queue_read_target(call);
}

struct err rest_get_queue_acl_encode(struct rest_call *call)
{
    const struct queue_acl *acl = call->args;
    rest_queue_put_uncached(call);
    call_begin_xml(call);
    policies_put_xml(&call->out, acl->policies);
    return OK;
}

struct err rest_set_queue_acl_decode(struct rest_call *call)
{
    struct queue_acl *acl = ARENA_NEW(call->arena, struct queue_acl);
    call->args = acl;
    TRY(rest_queue_read_target(call));
    TRY(rest_blob_check_body_checksums(call, call->body));
    return policies_from_xml(call, STR("raup"), &acl->policies);
}

/* ---- the list ---- */

enum { LIST_QUEUES_MAX = 5000 };

struct list_call {
    struct queue_list list; /* first, because run uses call->args as this */
    struct str marker;
    bool with_metadata;
    bool with_max; /* maxresults was sent, so the answer repeats it */
};

static bool take_include(void *with_metadata, struct str word)
{
    *(bool *)with_metadata = str_ieq(word, STR("metadata"));
    return *(bool *)with_metadata;
}

/* A marker is the account and the page's first queue, in the cloud's form. Anything else did not
 * come from us, and is refused, as in the cloud. */
static struct err decode_marker(struct rest_call *call, struct list_call *l)
{
    struct str rest = call_query(call, STR("marker"));
    l->marker = rest;
    if (rest.n == 0)
        return OK;
    bool rooted = str_cut(&rest, '/').n == 0;
    if (!rooted || !str_eq(str_cut(&rest, '/'), call->account) || rest.n == 0)
        return err_new(ERR_OUT_OF_RANGE_INPUT);
    l->list.from = rest;
    return OK;
}

struct err rest_list_queues_decode(struct rest_call *call)
{
    struct list_call *l = ARENA_NEW(call->arena, struct list_call);
    uint64_t count_max = LIST_QUEUES_MAX;
    TRY(call_query_u64(call, STR("maxresults"), 1, INT32_MAX, &count_max));
    TRY(listing_read_include(call, take_include, &l->with_metadata));
    l->with_max = str_given(call_query(call, STR("maxresults")));
    struct str prefix = call_query(call, STR("prefix"));
    l->list = (struct queue_list){
        .arena = call->arena,
        .account = call->account,
        .prefix = str_given(prefix) ? prefix : STR(""),
        .from = STR_NONE,
        .count_max = count_max < LIST_QUEUES_MAX ? (size_t)count_max : LIST_QUEUES_MAX,
    };
    TRY(decode_marker(call, l));
    call->partition = queue_partition(call->arena, call->account, STR(""));
    call->args = l;
    return OK;
}

static struct str marker_of(const struct rest_call *call, struct str queue)
{
    if (!str_given(queue))
        return queue;
    return arena_printf(call->arena, "/%.*s/%.*s", STR_ARG(call->account), STR_ARG(queue));
}

static void put_asked(struct buf *out, const struct list_call *l)
{
    if (l->list.prefix.n > 0)
        xml_element(out, STR("Prefix"), l->list.prefix);
    if (l->marker.n > 0)
        xml_element(out, STR("Marker"), l->marker);
    if (l->with_max)
        xml_element_u64(out, STR("MaxResults"), l->list.count_max);
}

static void put_queue(struct buf *out, const struct queue_listed *queue, bool with_metadata)
{
    xml_open(out, STR("Queue"));
    xml_element(out, STR("Name"), queue->name);
    if (with_metadata)
        rest_metadata_put_xml(out, queue->metadata);
    xml_close(out, STR("Queue"));
}

struct err rest_list_queues_encode(struct rest_call *call)
{
    const struct list_call *l = call->args;
    struct buf *out = &call->out;
    rest_queue_put_uncached(call);
    call_begin_xml(call);
    buf_put(out, STR("<EnumerationResults ServiceEndpoint=\""));
    xml_put_attribute(out, call_endpoint(call));
    buf_put(out, STR("\">"));
    put_asked(out, l);
    xml_open(out, STR("Queues"));
    for (size_t i = 0; i < l->list.count; i++)
        put_queue(out, &l->list.queues[i], l->with_metadata);
    xml_close(out, STR("Queues"));
    xml_element(out, STR("NextMarker"), marker_of(call, l->list.next));
    xml_close(out, STR("EnumerationResults"));
    return OK;
}
