/* SPDX-License-Identifier: Apache-2.0 */
/* Create, rename, delete and lease of paths: decode and encode. */
#include "service/blob/path/path.h"
#include "core/text/uri.h"
#include "core/time.h"
#include "rest/around.h"
#include "rest/blob/request.h"
#include "rest/dfs/continuation.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "rest/head/second.h"
#include "rest/server.h"
#include "service/blob/path/path_across.h"
#include "service/common/name.h"

enum { ENCRYPTION_CONTEXT_MAX = 1024 }; /* as documented for Path Create */

/* ---- Create ---- */

static struct err read_kind(struct rest_call *call, bool *directory)
{
    const struct str name = STR("resource");
    struct str kind = call_query(call, name);
    *directory = str_ieq(kind, STR("directory"));
    return *directory || str_ieq(kind, STR("file")) ? OK : call_bad_query(call, name);
}

/* Hadoop's driver asks for append blobs in some directories, and never flushes those. */
static struct err read_blob_type(struct rest_call *call, bool *appends)
{
    const struct str name = STR("blobtype");
    struct str type = call_query(call, name);
    *appends = str_ieq(type, STR("appendblob"));
    return type.n == 0 || *appends || str_ieq(type, STR("blockblob")) ? OK
                                                                      : call_bad_query(call, name);
}

static struct err read_access(struct rest_call *call, struct path_create_args *args)
{
    struct tree_request *path = &args->request.path;
    TRY(dfs_read_id(call, STR("x-ms-owner"), &args->owner));
    TRY(dfs_read_id(call, STR("x-ms-group"), &args->group));
    TRY(dfs_read_mode(call, STR("x-ms-permissions"), &path->mode, &path->has_mode));
    TRY(dfs_read_mode(call, STR("x-ms-umask"), &path->umask, &path->has_umask));
    if (str_given(dfs_header(call, STR("x-ms-acl")))) {
        struct path_acl *acl = ARENA_NEW(call->arena, struct path_acl);
        bool given;
        TRY(dfs_read_acl(call, false, acl, &given));
        if (path->has_mode)
            return call_bad_header(call, STR("x-ms-acl"));
        args->acl = acl;
    }
    args->may_change_access = auth_permits(&call->who, "p");
    if ((str_given(args->owner) || str_given(args->group)) && !auth_permits(&call->who, "o"))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    return OK;
}

/* Listings show it, so it has to be text. */
static struct err read_encryption_context(struct rest_call *call, struct str *out)
{
    const struct str name = STR("x-ms-encryption-context");
    *out = dfs_header(call, name);
    return !str_given(*out) || (out->n <= ENCRYPTION_CONTEXT_MAX && str_is_utf8(*out))
               ? OK
               : call_bad_header(call, name);
}

/* Reads the lease that the new path gets. */
static struct err read_lease(struct rest_call *call, struct path_create_args *args)
{
    const struct str duration = STR("x-ms-lease-duration");
    struct str id = dfs_header(call, STR("x-ms-proposed-lease-id"));
    args->has_lease = str_given(id) || str_given(dfs_header(call, duration));
    if (!args->has_lease)
        return OK;
    if (!str_given(dfs_header(call, duration)))
        return call_missing_header(call, duration);
    return rest_blob_read_lease_acquire(call, &args->lease);
}

static struct err read_expiry(struct rest_call *call, struct path_create_args *args)
{
    const struct str option = STR("x-ms-expiry-option");
    const struct str time = STR("x-ms-expiry-time");
    struct str how = dfs_header(call, option);
    uint64_t ms = 0;
    args->has_expiry = str_given(how);
    if (!args->has_expiry || str_ieq(how, STR("NeverExpire")))
        return OK;
    if (!str_given(dfs_header(call, time)))
        return call_missing_header(call, time);
    if (str_ieq(how, STR("Absolute"))) {
        args->expiry = BLOB_EXPIRY_AT;
        return time_parse_http(call_header(call, time), &args->expiry_ticks)
                   ? OK
                   : call_bad_header(call, time);
    }
    args->expiry = BLOB_EXPIRY_FROM_NOW;
    if (!str_ieq(how, STR("RelativeToNow")))
        return call_bad_header(call, option);
    TRY(call_header_u64(call, time, &ms));
    if (ms > BLOB_EXPIRY_MS_MAX)
        return call_bad_header(call, time);
    args->expiry_ticks = (int64_t)ms * (TICKS_PER_SECOND / 1000);
    return OK;
}

struct err rest_create_path_decode(struct rest_call *call)
{
    struct path_create_args *args = ARENA_NEW(call->arena, struct path_create_args);
    bool directory;
    call->args = args;
    TRY(read_kind(call, &directory));
    TRY(read_blob_type(call, &args->appends));
    TRY(dfs_read_request(call, &args->request));
    args->request.path.directory = directory;
    TRY(dfs_read_http(call, &args->properties.http));
    if (!str_given(args->properties.http.content_type))
        args->properties.http.content_type = STR("application/octet-stream");
    TRY(dfs_read_properties(call, &args->properties.metadata));
    TRY(read_encryption_context(call, &args->encryption_context));
    TRY(read_access(call, args));
    TRY(read_lease(call, args));
    return read_expiry(call, args);
}

struct err rest_create_path_encode(struct rest_call *call)
{
    const struct path_create_args *args = call->args;
    rest_blob_put_etag(call, args->written.etag, args->written.last_modified);
    rest_blob_put_encrypted(call, args->written.encryption_scope);
    call->status = 201;
    return OK;
}

/* Hadoop's driver accepts an existing directory in place of the one it creates. */
void rest_create_path_explain(struct rest_call *call, struct err error)
{
    const struct path_create_args *args = call->args;
    if (args->existed && err_http_status(error.code) == 409)
        http_put_header(&call->error_headers, STR("x-ms-existing-resource-type"),
                        args->existed_as_directory ? STR("directory") : STR("file"));
}

/* ---- Rename ---- */

/* A file system may have the account's name: then the first name is the account only if the second
 * one is the destination's file system. */
static bool begins_with_account(const struct rest_call *call, struct str first, struct str rest)
{
    if (!call->path_style || !str_eq(first, call->account) || !str_given(rest) ||
        str_find(rest, '/', 0) == rest.n)
        return false;
    return !str_eq(call->container, call->account) || str_eq(str_cut(&rest, '/'), call->container);
}

/* Nine characters for each of the name's, percent-encoded, and room for account and file system. */
enum { RENAME_SOURCE_MAX = 9 * 1024 + 256 };

/* "/filesystem/path?SAS", percent-encoded; the account may precede it, because the JavaScript SDK
 * takes the whole path of its URL. */
static struct err split_source(struct rest_call *call, struct second *s)
{
    struct str query = dfs_header(call, second_header(SECOND_RENAMED_PATH)), text;
    s->path = str_cut(&query, '?');
    s->raw_query = query;
    if (s->path.n < 2 || s->path.n > RENAME_SOURCE_MAX || s->path.p[0] != '/' ||
        !uri_decode(call->arena, str_from(s->path, 1), &text) || !str_is_utf8(text) ||
        memchr(text.p, 0, text.n) != NULL || !second_read_query(call, s))
        return err_new(ERR_INVALID_SOURCE_URI);
    s->container = str_cut(&text, '/');
    if (begins_with_account(call, s->container, text))
        s->container = str_cut(&text, '/');
    s->object = dfs_clean_path(call->arena, text);
    return err_is(name_check_container(s->container)) || err_is(name_check_blob(s->object))
               ? err_new(ERR_INVALID_SOURCE_URI)
               : OK;
}

/* Whose lists count for the source: nobody's if a role or the key permits moving it. The source may
 * have other credentials than the destination, and be in another file system. */
static void read_source_caller(struct rest_call *call, const struct second *s,
                               struct tree_request *out)
{
    struct auth_resource what = {.service = s->service,
                                 .account = s->account,
                                 .container = s->container,
                                 .object = s->object};
    struct auth_demand demand = {
        .operation = call->op->name, .service_sas = "md", .write = true, .lists = true};
    out->caller = NULL;
    out->passes = false;
    if (!auth_consults_lists(&call->server->auth, s->who, &what, &demand))
        return;
    out->caller = rest_blob_caller(call, s->who);
    out->passes = rest_blob_passes(call, s->who, &what);
}

/* Moving a path needs permission at both places. */
static struct err read_source(struct rest_call *call, struct path_rename_args *args)
{
    static const struct blob_condition_names NAMES = {
        STR_INIT("x-ms-source-if-match"), STR_INIT("x-ms-source-if-none-match"),
        STR_INIT("x-ms-source-if-modified-since"), STR_INIT("x-ms-source-if-unmodified-since")};
    struct second *source = ARENA_NEW(call->arena, struct second);
    *source = (struct second){.service = SERVICE_BLOB, .account = call->account, .handed_on = true};
    TRY(split_source(call, source));
    TRY(second_permit(call, source));
    if (!str_eq(source->container, call->container))
        args->source_partition = blob_partition(call->arena, call->account, source->container);
    args->source = args->destination;
    args->source.name = source->object;
    read_source_caller(call, source, &args->source.path);
    /* The type of the path is known only after it was found. */
    args->file_only = !auth_reaches_below(source->who) || !auth_reaches_below(&call->who);
    args->source.conditions = (struct conditions){.version = call->version};
    args->source.lease = (struct lease_id){0};
    TRY(rest_blob_read_http_conditions(call, &NAMES, &args->source.conditions));
    return rest_blob_read_lease_id_of(call, STR("x-ms-source-lease-id"), &args->source.lease);
}

static struct err read_mode(struct rest_call *call, bool *legacy)
{
    const struct str name = STR("mode");
    struct str mode = call_query(call, name);
    *legacy = str_ieq(mode, STR("legacy"));
    return mode.n == 0 || *legacy || str_ieq(mode, STR("posix")) ? OK : call_bad_query(call, name);
}

struct err rest_rename_path_decode(struct rest_call *call)
{
    struct path_rename_args *args = ARENA_NEW(call->arena, struct path_rename_args);
    call->args = args;
    TRY(dfs_read_request(call, &args->destination));
    /* Permission to move does not include permission to overwrite. */
    args->destination.create_only |= !auth_permits(&call->who, "wd");
    TRY(read_source(call, args));
    TRY(read_mode(call, &args->legacy));
    TRY(dfs_read_continuation(call, &args->continuation));
    args->has_metadata = str_given(dfs_header(call, STR("x-ms-properties")));
    return dfs_read_properties(call, &args->metadata);
}

static struct err rename_across(struct run *r)
{
    struct rest_call *call = rest_call_of(r);
    return path_rename_across(call->store, call->partition, call->args);
}

static void renamed_across(struct run *r, struct err outcome)
{
    rest_finish(rest_call_of(r), outcome);
}

/* Within a file system it is one transaction; between two of them it takes several. */
struct err rest_rename_path_start(struct rest_call *call)
{
    const struct path_rename_args *args = call->args;
    if (!str_given(args->source_partition))
        return rest_around(call, (struct around){0});
    /* Not in the pool that reads wait for: a large tree, or a conflicting move, takes long. */
    run_in_pool(&call->run, call->server->fetch_pool, rename_across, renamed_across);
    return OK;
}

struct err rest_rename_path_encode(struct rest_call *call)
{
    const struct path_rename_args *args = call->args;
    if (args->head.etag != 0)
        rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    dfs_put_continuation(call, args->next);
    call->status = 201;
    return OK;
}

/* ---- Delete ---- */

struct err rest_delete_path_decode(struct rest_call *call)
{
    struct path_delete_args *args = ARENA_NEW(call->arena, struct path_delete_args);
    const struct str name = STR("recursive");
    struct str recursive = call_query(call, name);
    call->args = args;
    TRY(dfs_read_request(call, &args->request));
    if (recursive.n > 0 && !str_to_bool(recursive, &args->recursive))
        return call_bad_query(call, name);
    if (args->recursive)
        TRY(second_permit_below(call));
    const struct acl_caller *caller = args->request.path.caller;
    return caller != NULL ? dfs_read_checked(call, caller->id, &args->continuation)
                          : dfs_read_continuation(call, &args->continuation);
}

struct err rest_delete_path_encode(struct rest_call *call)
{
    const struct path_delete_args *args = call->args;
    call_put_bool(call, STR("x-ms-delete-type-permanent"), !args->kept && args->deletion_id == 0);
    if (args->deletion_id != 0)
        call_put_u64(call, STR("x-ms-deletion-id"), (uint64_t)args->deletion_id);
    const struct acl_caller *caller = args->request.path.caller;
    if (caller != NULL)
        dfs_put_checked(call, caller->id, args->next);
    else
        dfs_put_continuation(call, args->next);
    return OK;
}

/* ---- Lease ---- */

struct err rest_lease_path_decode(struct rest_call *call)
{
    struct blob_set_args *args = ARENA_NEW(call->arena, struct blob_set_args);
    call->args = args;
    TRY(dfs_read_request(call, &args->request));
    return rest_blob_read_lease_request(call, &args->lease);
}

struct err rest_lease_path_encode(struct rest_call *call)
{
    const struct blob_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_lease_outcome(call, &args->lease, &args->head.lease, args->lease_left_seconds);
    return OK;
}
