/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/service_properties.h"

#include <assert.h>

#include "core/text/xml.h"
#include "core/time.h"

struct err rest_set_service_properties_decode(struct rest_call *call)
{
    struct service_properties *p = ARENA_NEW(call->arena, struct service_properties);
    call->args = p;
    call->partition = service_properties_partition(call->arena, call->service, call->account);
    return rest_service_properties_from_xml(call->arena, call->service, call->body, p);
}

struct err rest_set_service_properties_encode(struct rest_call *call)
{
    call->status = 202;
    return OK;
}

struct err rest_get_service_properties_decode(struct rest_call *call)
{
    struct service_properties_get *get = ARENA_NEW(call->arena, struct service_properties_get);
    get->arena = call->arena;
    call->args = get;
    call->partition = service_properties_partition(call->arena, call->service, call->account);
    return OK;
}

struct err rest_get_service_properties_encode(struct rest_call *call)
{
    const struct service_properties_get *get = call->args;
    call_begin_xml(call);
    rest_service_properties_put_xml(&call->out, call->service, &get->properties);
    return OK;
}

/* Only the secondary endpoint has statistics. It is never behind: both are this server. */
struct err rest_get_service_stats_decode(struct rest_call *call)
{
    return call->secondary ? OK : call_bad_query(call, STR("comp"));
}

struct err rest_get_service_stats_encode(struct rest_call *call)
{
    call_begin_xml(call);
    buf_put(&call->out, STR("<StorageServiceStats><GeoReplication><Status>live</Status>"
                            "<LastSyncTime>"));
    time_put_rfc1123(&call->out, call->now);
    buf_put(&call->out, STR("</LastSyncTime></GeoReplication></StorageServiceStats>"));
    return OK;
}

struct err rest_service_cors_rules(struct store *store, const struct auth_container *place,
                                   struct arena *arena, struct cors_rules *out)
{
    assert(out != NULL);
    struct service_properties_get get = {.arena = arena};
    struct str partition = service_properties_partition(arena, place->service, place->account);
    TRY(store_read(store, partition, ENGINE_WAIT, service_properties_get, &get));
    *out = get.properties.cors;
    return OK;
}
