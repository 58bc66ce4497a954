/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on directories and files, except for their bytes: decode and encode. */
#include "core/text/uri.h"
#include "http/exchange.h"
#include "rest/blob/request.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/file/upload.h"
#include "rest/head/second.h"
#include "rest/head/target.h"
#include "rest/metadata.h"
#include "rest/server.h"
#include "service/file/directory.h"
#include "service/file/file.h"
#include "service/file/link.h"
#include "service/file/rename.h"

enum { VERSION_CREATE_WITH_DATA = 20260606 };

static struct err decode_directory(struct rest_call *call, bool snapshot,
                                   struct directory_args **out)
{
    struct directory_args *args = ARENA_NEW(call->arena, struct directory_args);
    call->args = args;
    *out = args;
    return rest_file_read_request(call, snapshot, &args->request);
}

static struct err decode_file(struct rest_call *call, bool snapshot, struct file_args **out)
{
    struct file_args *args = ARENA_NEW(call->arena, struct file_args);
    call->args = args;
    *out = args;
    return rest_file_read_request(call, snapshot, &args->request);
}

static void put_encrypted(struct rest_call *call)
{
    call_put_bool(call, STR("x-ms-request-server-encrypted"), true);
}

/* ---- directories ---- */

struct err rest_create_directory_decode(struct rest_call *call)
{
    struct directory_args *args;
    TRY(decode_directory(call, false, &args));
    TRY(rest_file_read_new_settings(call, &args->settings));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_create_directory_encode(struct rest_call *call)
{
    const struct directory_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    put_encrypted(call);
    call->status = 201;
    return OK;
}

struct err rest_get_directory_decode(struct rest_call *call)
{
    struct directory_args *args;
    return decode_directory(call, true, &args);
}

struct err rest_get_directory_properties_encode(struct rest_call *call)
{
    const struct directory_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    rest_metadata_put_headers(call, args->outcome.node.metadata);
    call_put_bool(call, STR("x-ms-server-encrypted"), true);
    return OK;
}

struct err rest_get_directory_metadata_encode(struct rest_call *call)
{
    const struct directory_args *args = call->args;
    rest_file_put_etag(call, &args->outcome.node);
    rest_metadata_put_headers(call, args->outcome.node.metadata);
    return OK;
}

struct err rest_set_directory_properties_decode(struct rest_call *call)
{
    struct directory_args *args;
    TRY(decode_directory(call, false, &args));
    return rest_file_read_settings(call, &args->settings);
}

struct err rest_set_directory_properties_encode(struct rest_call *call)
{
    const struct directory_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    put_encrypted(call);
    return OK;
}

struct err rest_set_directory_metadata_decode(struct rest_call *call)
{
    struct directory_args *args;
    TRY(decode_directory(call, false, &args));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_set_directory_metadata_encode(struct rest_call *call)
{
    const struct directory_args *args = call->args;
    rest_file_put_etag(call, &args->outcome.node);
    put_encrypted(call);
    return OK;
}

struct err rest_delete_directory_decode(struct rest_call *call)
{
    struct directory_args *args;
    return decode_directory(call, false, &args);
}

struct err rest_delete_node_encode(struct rest_call *call)
{
    call->status = 202;
    return OK;
}

/* ---- files ---- */

static struct err read_size(struct rest_call *call, bool needed, struct file_args *args)
{
    const struct str name = STR("x-ms-content-length");
    args->has_size = str_given(call_header(call, name));
    if (!args->has_size && needed)
        return call_missing_header(call, name);
    TRY(call_header_u64(call, name, &args->size));
    return args->size <= NODE_SIZE_MAX ? OK : call_bad_header(call, name);
}

struct create_file {
    struct file_args args; /* first */
    struct file_upload upload;
};

/* The initial content, if any: at most the first 4 MiB. */
static struct err begin_upload(struct rest_call *call, struct create_file *create)
{
    if (call->body_length == 0)
        return OK;
    if (call->body_length < 0)
        return err_new(ERR_MISSING_CONTENT_LENGTH_HEADER);
    uint64_t length = (uint64_t)call->body_length;
    if (call->version < VERSION_CREATE_WITH_DATA || length > create->args.size)
        return call_bad_header(call, STR("Content-Length"));
    return rest_file_upload_begin(call, &create->upload, 0, length, &create->args.pieces);
}

static struct err read_type(struct rest_call *call)
{
    const struct str name = STR("x-ms-type");
    const struct str nfs_name = STR("x-ms-file-file-type");
    struct str type = call_header(call, name);
    struct str nfs_type = call_header(call, nfs_name);
    if (!str_given(type))
        return call_missing_header(call, name);
    if (!str_ieq(type, STR("file")))
        return call_bad_header(call, name);
    return !str_given(nfs_type) || str_ieq(nfs_type, STR("Regular"))
               ? OK
               : call_bad_header(call, nfs_name);
}

struct err rest_create_file_decode(struct rest_call *call)
{
    struct create_file *create = ARENA_NEW(call->arena, struct create_file);
    struct file_args *args = &create->args;
    call->args = create;
    TRY(rest_file_read_request(call, false, &args->request));
    TRY(read_type(call));
    TRY(read_size(call, true, args));
    TRY(rest_file_read_new_settings(call, &args->settings));
    TRY(rest_file_read_http(call, &args->http, &args->has_http));
    TRY(rest_metadata_from_headers(call, &args->metadata));
    args->create_only = call->who.create_only;
    return begin_upload(call, create);
}

struct err rest_create_file_encode(struct rest_call *call)
{
    const struct create_file *create = call->args;
    rest_file_put_outcome(call, &create->args.outcome);
    rest_file_upload_put_md5(call, &create->upload);
    put_encrypted(call);
    call->status = 201;
    return OK;
}

struct err rest_get_file_properties_decode(struct rest_call *call)
{
    struct file_args *args;
    return decode_file(call, true, &args);
}

struct err rest_get_file_metadata_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    rest_file_put_etag(call, &args->outcome.node);
    rest_metadata_put_headers(call, args->outcome.node.metadata);
    return OK;
}

struct err rest_set_file_properties_decode(struct rest_call *call)
{
    struct file_args *args;
    TRY(decode_file(call, false, &args));
    TRY(read_size(call, false, args));
    TRY(rest_file_read_settings(call, &args->settings));
    TRY(rest_file_read_http(call, &args->http, &args->has_http));
    /* The HTTP properties are set together, and those not given are cleared. A resize does not
     * change them. */
    args->has_http = args->has_http || !args->has_size;
    if (!str_given(args->http.content_type))
        args->http.content_type = STR("");
    return OK;
}

struct err rest_set_file_properties_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    put_encrypted(call);
    return OK;
}

struct err rest_set_file_metadata_decode(struct rest_call *call)
{
    struct file_args *args;
    TRY(decode_file(call, false, &args));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_set_file_metadata_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    rest_file_put_etag(call, &args->outcome.node);
    put_encrypted(call);
    return OK;
}

struct err rest_delete_file_decode(struct rest_call *call)
{
    struct file_args *args;
    return decode_file(call, false, &args);
}

struct err rest_delete_file_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    if (!args->outcome.is_smb)
        call_put_u64(call, STR("x-ms-link-count"), args->outcome.node.links);
    call->status = 202;
    return OK;
}

struct err rest_lease_file_decode(struct rest_call *call)
{
    struct file_args *args;
    TRY(decode_file(call, false, &args));
    args->request.lease = (struct lease_id){0};
    return rest_file_read_lease_request(call, &args->lease);
}

struct err rest_lease_file_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    rest_file_put_etag(call, &args->outcome.node);
    rest_blob_put_lease_outcome(call, &args->lease, &args->outcome.node.lease,
                                args->lease_left_seconds);
    return OK;
}

/* ---- what renames and links name beside their own path ---- */

/* By its URL, which must be in the same account and share, and may contain a SAS. A path in a
 * snapshot of the share can be neither moved nor linked. */
static struct err read_neighbour_url(struct rest_call *call, struct str text, struct second *out)
{
    const struct str name = second_header(call->op->second);
    struct uri uri;
    struct target target;
    if (text.n > SECOND_URL_MAX || !uri_parse(text, &uri))
        return call_bad_header(call, name);
    struct target_request wanted = {.service = SERVICE_FILE,
                                    .host = uri.host,
                                    .path = uri.path,
                                    .product_style = call->server->options.product_style};
    if (err_is(target_parse(call->arena, &wanted, &target)) || target.resource != R_OBJECT ||
        !str_eq(target.account, call->account) || !str_eq(target.container, call->container))
        return call_bad_header(call, name);
    *out = (struct second){.service = SERVICE_FILE,
                           .account = target.account,
                           .container = target.container,
                           .object = target.object,
                           .path = uri.path,
                           .raw_query = uri.query,
                           .handed_on = true};
    if (!second_read_query(call, out) || second_query(out, STR("sharesnapshot")).n > 0)
        return call_bad_header(call, name);
    return OK;
}

/* The same, or by its path from the share's root. */
static struct err read_neighbour(struct rest_call *call, struct str text, struct second *out)
{
    const struct str name = second_header(call->op->second);
    struct str path;
    if (str_istarts(text, STR("http://")) || str_istarts(text, STR("https://")))
        return read_neighbour_url(call, text, out);
    if (!uri_decode(call->arena, text, &path) || !str_is_utf8(path))
        return call_bad_header(call, name);
    while (path.n > 0 && path.p[0] == '/')
        path = str_from(path, 1);
    *out = (struct second){.service = SERVICE_FILE,
                           .account = call->account,
                           .container = call->container,
                           .object = path,
                           .handed_on = true};
    return path.n > 0 ? OK : call_bad_header(call, name);
}

/* ---- Rename ---- */

static struct err read_source(struct rest_call *call, struct rename_args *args)
{
    struct second source = {0};
    struct str text = call_header(call, second_header(call->op->second));
    if (!str_given(text))
        return call_missing_header(call, second_header(call->op->second));
    TRY(read_neighbour_url(call, text, &source));
    args->source = source.object;
    return second_permit(call, &source);
}

static struct err read_lease_header(struct rest_call *call, struct str name, struct lease_id *out)
{
    struct str text = call_header(call, name);
    out->given = str_given(text);
    out->verdict = &call->verdict;
    return !out->given || guid_parse(text, &out->id) ? OK : call_bad_header(call, name);
}

static struct err decode_rename(struct rest_call *call, enum file_kind kind)
{
    struct rename_args *args = ARENA_NEW(call->arena, struct rename_args);
    call->args = args;
    args->kind = kind;
    TRY(rest_file_read_request(call, false, &args->request));
    TRY(read_source(call, args));
    TRY(read_lease_header(call, STR("x-ms-source-lease-id"), &args->source_lease));
    TRY(read_lease_header(call, STR("x-ms-destination-lease-id"), &args->request.lease));
    TRY(call_header_bool(call, STR("x-ms-source-allow-trailing-dot"), &args->source_keep_dots));
    TRY(call_header_bool(call, STR("x-ms-file-rename-replace-if-exists"), &args->replace));
    TRY(call_header_bool(call, STR("x-ms-file-rename-ignore-readonly"), &args->ignore_read_only));
    TRY(rest_file_read_settings(call, &args->settings));
    TRY(rest_metadata_from_headers(call, &args->metadata));
    args->has_metadata = str_given(args->metadata);
    args->content_type = call_header(call, STR("x-ms-content-type"));
    args->has_content_type = kind == FILE_FILE && str_given(args->content_type);
    return OK;
}

struct err rest_rename_file_decode(struct rest_call *call)
{
    return decode_rename(call, FILE_FILE);
}

struct err rest_rename_directory_decode(struct rest_call *call)
{
    return decode_rename(call, FILE_DIRECTORY);
}

struct err rest_rename_encode(struct rest_call *call)
{
    const struct rename_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    put_encrypted(call);
    return OK;
}

/* ---- links ---- */

static struct err decode_link(struct rest_call *call, struct link_args **out)
{
    struct link_args *args = ARENA_NEW(call->arena, struct link_args);
    call->args = args;
    *out = args;
    return rest_file_read_request(call, true, &args->request);
}

struct err rest_create_symbolic_link_decode(struct rest_call *call)
{
    const struct str name = STR("x-ms-link-text");
    struct str text = call_header(call, name);
    struct link_args *args;
    TRY(decode_link(call, &args));
    if (!str_given(text))
        return call_missing_header(call, name);
    if (!uri_decode(call->arena, text, &args->target) || args->target.n == 0 ||
        args->target.n > LINK_TEXT_MAX || !str_is_utf8(args->target))
        return call_bad_header(call, name);
    TRY(rest_file_read_settings(call, &args->settings));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_create_link_encode(struct rest_call *call)
{
    const struct link_args *args = call->args;
    rest_file_put_outcome(call, &args->outcome);
    call->status = 201;
    return OK;
}

struct err rest_get_symbolic_link_decode(struct rest_call *call)
{
    struct link_args *args;
    return decode_link(call, &args);
}

struct err rest_get_symbolic_link_encode(struct rest_call *call)
{
    const struct link_args *args = call->args;
    struct buf text = buf_in(call->arena);
    uri_encode(&text, args->outcome.node.target, URI_KEEP_PATH);
    rest_file_put_etag(call, &args->outcome.node);
    call_put(call, STR("x-ms-link-text"), buf_str(&text));
    return OK;
}

struct err rest_create_hard_link_decode(struct rest_call *call)
{
    struct str text = call_header(call, second_header(call->op->second));
    struct second file = {0};
    struct link_args *args;
    TRY(decode_link(call, &args));
    if (!str_given(text))
        return call_missing_header(call, second_header(call->op->second));
    TRY(read_neighbour(call, text, &file));
    args->target = file.object;
    return second_permit(call, &file);
}
