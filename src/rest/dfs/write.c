/* SPDX-License-Identifier: Apache-2.0 */
/* Append and flush: decode and encode. */
#include "rest/around.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "service/blob/path/path_merge.h"

#define MIB (1ULL << 20)

struct write_path {
    struct path_write_args args; /* first: run's argument */
    struct blob_upload *upload;
};

/* The path. The letter for adding does not include what the file already has. */
static struct err read_target(struct rest_call *call, struct path_write_args *args)
{
    args->adds_only = !auth_permits(&call->who, "w");
    return dfs_read_request(call, &args->request);
}

static struct err read_position(struct rest_call *call, struct path_write_args *args)
{
    const struct str name = STR("position");
    if (!str_given(call_query(call, name)))
        return call_missing_query(call, name);
    return call_query_u64(call, name, 0, INT64_MAX, &args->position);
}

static struct err read_flag(struct rest_call *call, struct str name, bool *out)
{
    struct str text = call_query(call, name);
    return text.n == 0 || str_to_bool(text, out) ? OK : call_bad_query(call, name);
}

/* The lease action of the request; release only with a flush. */
static struct err read_lease_action(struct rest_call *call, struct path_write_args *args,
                                    bool flushes)
{
    static const struct {
        struct str name;
        enum path_lease_action action;
    } ACTIONS[] = {
        {STR_INIT("acquire"), PATH_LEASE_ACQUIRE},
        {STR_INIT("auto-renew"), PATH_LEASE_AUTO_RENEW},
        {STR_INIT("release"), PATH_LEASE_RELEASE},
        {STR_INIT("acquire-release"), PATH_LEASE_ACQUIRE_RELEASE},
    };
    const struct str name = STR("x-ms-lease-action");
    struct str text = dfs_header(call, name);
    if (!str_given(text))
        return OK;
    for (size_t i = 0; i < sizeof ACTIONS / sizeof ACTIONS[0]; i++)
        if (str_ieq(text, ACTIONS[i].name))
            args->lease_action = ACTIONS[i].action;
    bool releases = args->lease_action == PATH_LEASE_RELEASE;
    bool acquires = args->lease_action == PATH_LEASE_ACQUIRE ||
                    args->lease_action == PATH_LEASE_ACQUIRE_RELEASE;
    if (args->lease_action == PATH_LEASE_NONE || (releases && !flushes))
        return call_bad_header(call, name);
    if (!acquires && !args->request.lease.given)
        return call_missing_header(call, STR("x-ms-lease-id"));
    return acquires ? rest_blob_read_lease_acquire(call, &args->lease) : OK;
}

/* ---- many appends ---- */

static struct err merge_appends(struct rest_call *call)
{
    struct write_path *write = call->args;
    return path_merge_appends(call->store, call->partition, &write->args);
}

struct err rest_write_path_start(struct rest_call *call)
{
    return rest_around(call, (struct around){.before = merge_appends, .late = true});
}

/* ---- Append ---- */

static struct err append_end(struct rest_sink *sink)
{
    struct blob_upload *u = (struct blob_upload *)(void *)sink;
    struct write_path *write = u->call->args;
    TRY(rest_blob_upload_end(u));
    write->args.size = u->upload.size;
    return OK;
}

/* The type of the body becomes the file's, but only when the append flushes. */
static struct err read_flushing(struct rest_call *call, struct path_write_args *args)
{
    TRY(read_flag(call, STR("flush"), &args->flush));
    TRY(read_lease_action(call, args, args->flush));
    struct str type = dfs_header(call, STR("Content-Type"));
    if (args->flush && str_given(type))
        args->http.content_type = type;
    return OK;
}

struct err rest_append_path_decode(struct rest_call *call)
{
    struct write_path *write = ARENA_NEW(call->arena, struct write_path);
    struct blob_upload_options options = {
        .size_max = 4000 * MIB, .inline_max = UPLOAD_INLINE_MAX, .sent_only = true};
    call->args = write;
    TRY(read_target(call, &write->args));
    write->args.request.conditions = (struct conditions){0}; /* an append takes none */
    TRY(read_position(call, &write->args));
    TRY(read_flushing(call, &write->args));
    if (call->x->request.content_length == 0)
        return call_bad_header(call, STR("Content-Length"));
    TRY(rest_blob_upload_begin(call, &options, &write->upload));
    write->upload->size_min = 1;
    write->upload->base.end = append_end;
    write->args.pieces = &write->upload->upload.pieces;
    return OK;
}

static void put_lease_renewed(struct rest_call *call, const struct path_write_args *args)
{
    if (args->lease_action == PATH_LEASE_AUTO_RENEW)
        call_put_bool(call, STR("x-ms-lease-renewed"), args->lease_renewed);
}

struct err rest_append_path_encode(struct rest_call *call)
{
    const struct write_path *write = call->args;
    if (write->args.flush)
        rest_blob_put_etag(call, write->args.written.etag, write->args.written.last_modified);
    if (write->upload->has_md5 || write->upload->has_crc64)
        rest_blob_upload_put_checksums(call, write->upload);
    rest_blob_put_encrypted(call, write->args.written.encryption_scope);
    put_lease_renewed(call, &write->args);
    call->status = 202;
    return OK;
}

/* ---- Flush ---- */

struct err rest_flush_path_decode(struct rest_call *call)
{
    struct write_path *write = ARENA_NEW(call->arena, struct write_path);
    bool close = false;
    call->args = write;
    /* A client that sends the data with the flush would lose it. */
    if (call->x->request.content_length > 0)
        return err_new(ERR_CONTENT_LENGTH_MUST_BE_ZERO);
    TRY(read_target(call, &write->args));
    TRY(read_position(call, &write->args));
    TRY(read_flag(call, STR("retainUncommittedData"), &write->args.retain));
    TRY(read_flag(call, STR("close"),
                  &close)); /* it only concerns event subscribers, which do not exist */
    TRY(read_lease_action(call, &write->args, true));
    return dfs_read_http(call, &write->args.http);
}

struct err rest_flush_path_encode(struct rest_call *call)
{
    const struct write_path *write = call->args;
    rest_blob_put_etag(call, write->args.written.etag, write->args.written.last_modified);
    call_put_bool(call, STR("x-ms-request-server-encrypted"), false);
    put_lease_renewed(call, &write->args);
    return OK;
}
