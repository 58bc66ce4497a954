/* SPDX-License-Identifier: Apache-2.0 */
/* File systems, which are containers: decode and encode. */
#include "core/text/json.h"
#include "core/time.h"
#include "rest/blob/request.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "rest/server.h"
#include "service/blob/container.h"
#include "service/blob/list.h"
#include "service/common/etag.h"

/* ---- List ---- */

struct list_filesystems {
    struct container_list_args args; /* first: run's argument */
    struct rest_call *call;
    struct json_writer json;
};

static void begin(void *sink)
{
    struct list_filesystems *list = sink;
    buf_clear(&list->call->out);
    list->json = json_writer_of(&list->call->out);
    json_open(&list->json, '{');
    json_name(&list->json, STR("filesystems"));
    json_open(&list->json, '[');
}

static void put_filesystem(void *sink, struct str name, const struct container *container)
{
    struct list_filesystems *list = sink;
    struct json_writer *w = &list->json;
    struct buf etag = buf_in(list->call->arena), time = buf_in(list->call->arena);
    etag_put(&etag, container->etag);
    time_put_rfc1123(&time, container->last_modified);
    json_open(w, '{');
    json_name(w, STR("etag"));
    json_string(w, buf_str(&etag));
    json_name(w, STR("lastModified"));
    json_string(w, buf_str(&time));
    json_name(w, STR("name"));
    json_string(w, name);
    json_close(w, '}');
}

struct err rest_list_filesystems_decode(struct rest_call *call)
{
    struct list_filesystems *list = ARENA_NEW(call->arena, struct list_filesystems);
    uint64_t max = LIST_RESULTS_MAX;
    call->args = list;
    call->partition = blob_partition(call->arena, call->account, STR(""));
    list->call = call;
    list->args = (struct container_list_args){.arena = call->arena,
                                              .account = call->account,
                                              .prefix = call_query(call, STR("prefix")),
                                              .sink = list,
                                              .begin = begin,
                                              .item = put_filesystem};
    TRY(call_query_u64(call, STR("maxResults"), 1, UINT32_MAX, &max));
    list->args.max = max < LIST_RESULTS_MAX ? (size_t)max : LIST_RESULTS_MAX;
    return dfs_read_continuation(call, &list->args.marker);
}

struct err rest_list_filesystems_encode(struct rest_call *call)
{
    struct list_filesystems *list = call->args;
    json_close(&list->json, ']');
    json_close(&list->json, '}');
    call_put(call, STR("Content-Type"), STR("application/json;charset=utf-8"));
    dfs_put_continuation(call, list->args.next);
    return OK;
}

/* ---- the others ---- */

static struct err decode(struct rest_call *call, struct container_args **out)
{
    struct container_args *args = ARENA_NEW(call->arena, struct container_args);
    call->args = args;
    *out = args;
    return rest_blob_read_container_request(call, &args->request);
}

static void put_namespace(struct rest_call *call, bool hierarchical)
{
    call_put_bool(call, STR("x-ms-namespace-enabled"), hierarchical);
}

struct err rest_create_filesystem_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode(call, &args));
    args->hierarchical = accounts_is_hierarchical(call->server->auth.accounts, call->account);
    if (call->who.kind == AUTH_BEARER)
        args->owner = call->who.identity;
    return dfs_read_properties(call, &args->metadata);
}

struct err rest_create_filesystem_encode(struct rest_call *call)
{
    const struct container_args *args = call->args;
    rest_blob_put_etag(call, args->container.etag, args->container.last_modified);
    put_namespace(call, args->container.hierarchical);
    call->status = 201;
    return OK;
}

struct err rest_get_filesystem_properties_decode(struct rest_call *call)
{
    struct container_args *args;
    return decode(call, &args);
}

struct err rest_get_filesystem_properties_encode(struct rest_call *call)
{
    const struct container_args *args = call->args;
    struct blob_head properties = {.metadata = args->container.metadata};
    rest_blob_put_etag(call, args->container.etag, args->container.last_modified);
    dfs_put_properties(call, &properties);
    put_namespace(call, args->container.hierarchical);
    return OK;
}

struct err rest_set_filesystem_properties_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode(call, &args));
    return dfs_read_properties(call, &args->metadata);
}

struct err rest_set_filesystem_properties_encode(struct rest_call *call)
{
    const struct container_args *args = call->args;
    rest_blob_put_etag(call, args->container.etag, args->container.last_modified);
    return OK;
}
