/* SPDX-License-Identifier: Apache-2.0 */
/* List Paths: decode and encode. The body is written while the rows are read. */
#include "service/blob/list.h"
#include "core/text/json.h"
#include "core/time.h"
#include "rest/blob/request.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "rest/server.h"
#include "service/common/etag.h"
#include "service/common/name.h"

enum { VERSION_CREATION_TIME = 20200612, VERSION_EXPIRY_TIME = 20210212 };

struct list_paths {
    struct blob_list_args args; /* first: run's argument */
    struct rest_call *call;
    struct json_writer json;
    struct buf text; /* of one value */
};

static void begin(void *sink)
{
    struct list_paths *list = sink;
    buf_clear(&list->call->out);
    list->json = json_writer_of(&list->call->out);
    json_open(&list->json, '{');
    json_name(&list->json, STR("paths"));
    json_open(&list->json, '[');
}

static void put_text(struct list_paths *list, struct str name)
{
    json_name(&list->json, name);
    json_string(&list->json, buf_str(&list->text));
    buf_clear(&list->text);
}

/* Ticks of 100 ns since 1601, as in Windows. */
static void put_filetime(struct list_paths *list, struct str name, int64_t ticks)
{
    buf_put_u64(&list->text, ticks == 0 ? 0 : (uint64_t)(ticks + TIME_TICKS_YEAR_1601));
    put_text(list, name);
}

static void put_owner(struct list_paths *list, const struct blob_path *path)
{
    struct json_writer *w = &list->json;
    json_name(w, STR("owner"));
    json_string(w, acl_owner(path));
    acl_put_mode(&list->text, path);
    put_text(list, STR("permissions"));
}

/* Writes the names in the service's order. */
static void put_path(void *sink, const struct blob_list_item *item)
{
    struct list_paths *list = sink;
    struct json_writer *w = &list->json;
    const struct blob_head *head = &item->head;
    json_open(w, '{');
    if (str_given(head->path.encryption_context)) {
        json_name(w, STR("EncryptionContext"));
        json_string(w, head->path.encryption_context);
    }
    if (str_given(head->encryption_scope)) {
        json_name(w, STR("EncryptionScope"));
        json_string(w, head->encryption_scope);
    }
    buf_put_u64(&list->text, head->size);
    put_text(list, STR("contentLength"));
    if (list->call->version >= VERSION_CREATION_TIME)
        put_filetime(list, STR("creationTime"), head->created);
    etag_put(&list->text, head->etag);
    put_text(list, STR("etag"));
    if (list->call->version >= VERSION_EXPIRY_TIME)
        put_filetime(list, STR("expiryTime"), head->expires);
    if (list->args.hierarchical) {
        json_name(w, STR("group"));
        json_string(w, acl_group(&head->path));
    }
    if (path_is_folder(head, list->args.hierarchical)) {
        json_name(w, STR("isDirectory"));
        json_string(w, STR("true"));
    }
    time_put_rfc1123(&list->text, head->last_modified);
    put_text(list, STR("lastModified"));
    json_name(w, STR("name"));
    json_string(w, item->name);
    if (list->args.hierarchical)
        put_owner(list, &head->path);
    json_close(w, '}');
}

/* In a flat container, a name with a further slash represents a directory. */
static void put_group(void *sink, struct str prefix)
{
    struct list_paths *list = sink;
    struct json_writer *w = &list->json;
    json_open(w, '{');
    json_name(w, STR("isDirectory"));
    json_string(w, STR("true"));
    json_name(w, STR("name"));
    json_string(w, str_head(prefix, prefix.n - 1));
    json_close(w, '}');
}

static struct err read_recursive(struct rest_call *call, bool *out)
{
    const struct str name = STR("recursive");
    struct str text = call_query(call, name);
    if (!str_given(text))
        return call_missing_query(call, name);
    return str_to_bool(text, out) ? OK : call_bad_query(call, name);
}

/* The directory as a prefix; absent when it is the root. */
static struct str directory_prefix(struct rest_call *call)
{
    struct str path = dfs_clean_path(call->arena, call_query(call, STR("directory")));
    if (path.n == 0)
        return STR_NONE;
    return arena_printf(call->arena, "%.*s/", STR_ARG(path));
}

struct err rest_list_paths_decode(struct rest_call *call)
{
    struct list_paths *list = ARENA_NEW(call->arena, struct list_paths);
    uint64_t max = LIST_RESULTS_MAX;
    bool recursive = false;
    call->args = list;
    TRY(name_check_container(call->container));
    TRY(read_recursive(call, &recursive));
    TRY(call_query_u64(call, STR("maxResults"), 1, UINT32_MAX, &max));
    call->partition = blob_partition(call->arena, call->account, call->container);
    list->call = call;
    list->text = buf_in(call->arena);
    list->args = (struct blob_list_args){
        .arena = call->arena,
        .prefix = directory_prefix(call),
        .entries_only = !recursive,
        .directory_exists = true,
        .delimiter = recursive ? STR_NONE : STR("/"),
        .start_from = call_query(call, STR("beginFrom")),
        .max = max < LIST_RESULTS_MAX ? (size_t)max : LIST_RESULTS_MAX,
        .sink = list,
        .begin = begin,
        .item = put_path,
        .prefix_found = put_group,
        .caller = call->by_lists ? rest_blob_caller(call, &call->who) : NULL,
    };
    call->lists_read = true;
    return dfs_read_continuation(call, &list->args.marker);
}

struct err rest_list_paths_encode(struct rest_call *call)
{
    struct list_paths *list = call->args;
    json_close(&list->json, ']');
    json_close(&list->json, '}');
    call_put(call, STR("Content-Type"), STR("application/json;charset=utf-8"));
    dfs_put_continuation(call, list->args.next);
    return OK;
}
