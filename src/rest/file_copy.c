/* SPDX-License-Identifier: Apache-2.0 */
/* Copy File, Abort Copy File and Put Range From URL. Sources are files of this server. */
#include "core/md5.h"
#include "core/time.h"
#include "core/uri.h"
#include "http/range.h"
#include "rest/blob_request.h"
#include "rest/file_drive.h"
#include "rest/file_ops.h"
#include "rest/file_request.h"
#include "rest/metadata.h"
#include "rest/range.h"
#include "rest/server.h"
#include "service/common/interval_upload.h"
#include "service/common/name.h"
#include "service/file/copy.h"
#include "service/file/keys.h"
#include "service/file/range.h"

enum { COPY_STEPS = 16, RANGE_MAX = 4 << 20, SOURCE_QUERY_MAX = 32 };

/* ---- the source's URL ---- */

struct source_url {
    struct uri uri;
    struct str account, share, path;
    int64_t snapshot;
    struct auth_pair query[SOURCE_QUERY_MAX];
    size_t query_count;
    bool has_signature;
};

static struct err cannot_verify(void)
{
    return err_new(ERR_CANNOT_VERIFY_COPY_SOURCE);
}

/* Another server's files are not fetched: only a URL that leads to this endpoint is a source. */
static bool leads_here(struct rest_call *call, const struct uri *uri)
{
    struct str rest = call->x->request.host;
    struct str host = str_cut(&rest, ':');
    uint64_t port = call->x->secure ? 443 : 80;
    if (str_given(rest) && !str_to_u64(rest, &port))
        return false;
    return str_ieq(uri->host, host) && uri->port == port;
}

static struct err read_query(struct rest_call *call, struct source_url *out)
{
    struct uri_query walk = uri_query_of(str_given(out->uri.query) ? out->uri.query : STR(""));
    struct uri_param param;
    while (uri_query_next(&walk, call->arena, &param)) {
        if (out->query_count == SOURCE_QUERY_MAX)
            return call_bad_header(call, STR("x-ms-copy-source"));
        out->query[out->query_count++] = (struct auth_pair){param.name, param.value};
        if (str_ieq(param.name, STR("sig")))
            out->has_signature = true;
        if (str_ieq(param.name, STR("sharesnapshot")) &&
            !time_parse_iso(param.value, &out->snapshot))
            return call_bad_header(call, STR("x-ms-copy-source"));
    }
    return OK;
}

static struct err read_source(struct rest_call *call, struct source_url *out)
{
    const struct str name = STR("x-ms-copy-source");
    struct str text = call_header(call, name);
    struct str path;
    if (!str_given(text))
        return call_missing_header(call, name);
    if (text.n > COPY_SOURCE_MAX || !uri_parse(text, &out->uri) ||
        !uri_decode(call->arena, out->uri.path, &path) || !str_is_utf8(path))
        return call_bad_header(call, name);
    if (!leads_here(call, &out->uri))
        return cannot_verify();
    struct str rest = str_from(path, 1);
    out->account = call->path_style ? str_cut(&rest, '/') : call->account;
    if (!str_given(rest))
        return call_bad_header(call, name);
    out->share = str_cut(&rest, '/');
    out->path = rest;
    if (!str_given(rest) || rest.n == 0 || err_is(name_check(out->share)))
        return call_bad_header(call, name);
    return read_query(call, out);
}

/* With a signature of its own, or by the request's where both are of one account. */
static struct err authorize(struct rest_call *call, const struct source_url *source)
{
    struct auth_input input = {
        .service = SERVICE_FILE,
        .method = STR("GET"),
        .path = source->uri.path,
        .raw_query = source->uri.query,
        .query = source->query,
        .query_count = source->query_count,
        .content_length = -1,
        .account = source->account,
        .container = source->share,
        .object = source->path,
        .peer = call->x->peer,
        .secure = call->x->secure,
    };
    struct auth_demand demand = {
        .operation = "GetFile", .account_sas = "r", .account_sas_type = 'o', .service_sas = "r"};
    struct auth_result who;
    struct str challenge;
    if (source->has_signature)
        return auth_check(&call->server->auth, &input, &demand, call->arena, &who, &challenge);
    bool own = str_eq(source->account, call->account) &&
               (call->who.kind == AUTH_SHARED_KEY || call->who.kind == AUTH_BEARER);
    return own ? OK : cannot_verify();
}

/* ---- Copy File ---- */

struct copy_call {
    struct copy_args args; /* first */
    struct copy_source source;
};

/* Whether a kind of property is the source's (`source`) or what the request says (`override`). */
static struct err read_copy_mode(struct rest_call *call, struct str name, bool *source)
{
    struct str mode = call_header(call, name);
    *source = str_given(mode) && str_ieq(mode, STR("source"));
    return !str_given(mode) || *source || str_ieq(mode, STR("override"))
               ? OK
               : call_bad_header(call, name);
}

static struct err read_copy_settings(struct rest_call *call, struct copy_args *args)
{
    struct str attributes = call_header(call, STR("x-ms-file-attributes"));
    struct file_settings *s = &args->settings;
    if (str_given(attributes) && str_ieq(attributes, STR("source"))) {
        args->source_attributes = true;
    } else if (str_given(attributes)) {
        s->has_attributes = true;
        TRY(file_read_attributes(call, attributes, &s->attributes));
    }
    TRY(file_read_time(call, STR("x-ms-file-creation-time"), &args->source_created, &s->created));
    TRY(file_read_time(call, STR("x-ms-file-last-write-time"), &args->source_last_write,
                       &s->last_write));
    TRY(file_read_time(call, STR("x-ms-file-change-time"), &args->source_changed, &s->changed));
    TRY(file_read_nfs(call, s));
    TRY(read_copy_mode(call, STR("x-ms-file-mode-copy-mode"), &args->source_mode));
    TRY(read_copy_mode(call, STR("x-ms-file-owner-copy-mode"), &args->source_owner));
    TRY(read_copy_mode(call, STR("x-ms-file-permission-copy-mode"), &args->source_permission));
    if (args->source_permission)
        return OK;
    struct file_settings permission = {0};
    TRY(file_read_permission(call, &permission));
    s->permission = permission.permission;
    s->sd = permission.sd;
    s->key = permission.key;
    return OK;
}

struct err rest_copy_file_decode(struct rest_call *call)
{
    struct copy_call *copy = ARENA_NEW(call->arena, struct copy_call);
    struct source_url *url = ARENA_NEW(call->arena, struct source_url);
    struct copy_args *args = &copy->args;
    call->args = copy;
    TRY(file_read_request(call, false, &args->request));
    TRY(read_source(call, url));
    TRY(authorize(call, url));
    copy->source =
        (struct copy_source){.arena = call->arena,
                             .partition = file_partition(call->arena, url->account, url->share),
                             .path = url->path,
                             .snapshot = url->snapshot};
    TRY(call_header_bool(call, STR("x-ms-source-allow-trailing-dot"), &copy->source.keep_dots));
    args->source = &copy->source;
    args->url = call_header(call, STR("x-ms-copy-source"));
    args->url = str_head(args->url, str_find(args->url, '?', 0));
    args->id = guid_random();
    args->create_only = call->who.create_only;
    TRY(call_header_bool(call, STR("x-ms-file-copy-ignore-readonly"), &args->ignore_read_only));
    TRY(call_header_bool(call, STR("x-ms-file-copy-set-archive"), &args->set_archive));
    TRY(read_copy_settings(call, args));
    TRY(metadata_from_headers(call, &args->metadata));
    args->has_metadata = str_given(args->metadata);
    return OK;
}

/* In the pool. */
static struct err find_source(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    struct err error =
        store_read(call->store, copy->source.partition, ENGINE_WAIT, file_copy_find, &copy->source);
    return err_http_status(error.code) == 404 ? cannot_verify() : error;
}

/* In the pool: a small file is whole when the answer goes out. */
static struct err advance(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    struct file_outcome *outcome = &copy->args.outcome;
    struct copy_progress progress = {
        .arena = call->arena, .incarnation = outcome->incarnation, .id = outcome->id};
    TRY(file_copy_advance(call->store, call->partition, COPY_STEPS, &progress));
    if (progress.node.copy.status != COPY_NONE)
        outcome->node = progress.node;
    return OK;
}

struct err rest_copy_file_start(struct rest_call *call)
{
    return file_drive_write(call, (struct file_around){.before = find_source, .after = advance});
}

struct err rest_copy_file_encode(struct rest_call *call)
{
    const struct copy_call *copy = call->args;
    const struct node *n = &copy->args.outcome.node;
    char id[GUID_TEXT_BYTES];
    guid_text(&copy->args.id, id);
    file_put_etag(call, n);
    call_put(call, STR("x-ms-copy-id"), (struct str){id, sizeof id});
    call_put(call, STR("x-ms-copy-status"), file_copy_status_text(n->copy.status));
    call->status = 202;
    return OK;
}

/* ---- Abort Copy File ---- */

struct err rest_abort_copy_file_decode(struct rest_call *call)
{
    struct copy_abort_args *args = ARENA_NEW(call->arena, struct copy_abort_args);
    call->args = args;
    TRY(file_read_request(call, false, &args->request));
    return guid_parse(call_query(call, STR("copyid")), &args->id)
               ? OK
               : call_bad_query(call, STR("copyid"));
}

struct err rest_abort_copy_file_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}

/* ---- Put Range From URL ---- */

struct range_from_url {
    struct file_range_args args; /* first */
    struct interval_upload upload;
    struct file_read_args source;
    struct str source_partition;
    bool has_crc64;
    uint64_t crc64;
};

static void drop_pieces(struct rest_call *call)
{
    struct range_from_url *put = call->args;
    interval_upload_discard(&put->upload);
}

static struct err read_crc64(struct rest_call *call, struct range_from_url *put)
{
    char bytes[8];
    TRY(blob_read_checksum(call, STR("x-ms-source-content-crc64"), ERR_INVALID_CRC64, bytes,
                           sizeof bytes, &put->has_crc64));
    struct reader r = reader_of((struct str){bytes, sizeof bytes});
    if (put->has_crc64)
        put->crc64 = read_le64(&r);
    return OK;
}

static struct err read_source_range(struct rest_call *call, struct range_from_url *put)
{
    const struct str name = STR("x-ms-source-range");
    struct str text = call_header(call, name);
    struct http_range range = {.first = 0, .last = put->args.length - 1};
    if (str_given(text) && (!http_range_parse(text, &range) || range.last == HTTP_RANGE_TO_END ||
                            range.last - range.first + 1 != put->args.length))
        return call_bad_header(call, name);
    put->source.has_range = true;
    put->source.range_offset = range.first;
    put->source.range_length = put->args.length;
    return OK;
}

struct err rest_put_range_from_url_decode(struct rest_call *call)
{
    struct range_from_url *put = ARENA_NEW(call->arena, struct range_from_url);
    struct source_url *url = ARENA_NEW(call->arena, struct source_url);
    struct file_range_args *args = &put->args;
    bool given;
    call->args = put;
    TRY(file_read_request(call, false, &args->request));
    TRY(range_read(call, &given, &args->offset, &args->length));
    if (!given)
        return call_missing_header(call, STR("x-ms-range"));
    if (args->length > RANGE_MAX)
        return call_bad_header(call, STR("x-ms-range"));
    if (call->x->request.content_length > 0)
        return call_bad_header(call, STR("Content-Length"));
    TRY(read_source(call, url));
    TRY(authorize(call, url));
    put->source_partition = file_partition(call->arena, url->account, url->share);
    put->source.request =
        (struct file_request){.arena = call->arena, .path = url->path, .snapshot = url->snapshot};
    TRY(read_source_range(call, put));
    TRY(read_crc64(call, put));
    args->last_write.kind = FILE_TIME_NOW;
    struct str time = call_header(call, STR("x-ms-file-last-write-time"));
    if (str_given(time) && str_ieq(time, STR("preserve")))
        args->last_write.kind = FILE_TIME_KEEP;
    return OK;
}

static struct err take_piece(struct rest_call *call, struct interval_upload *upload,
                             const struct piece *piece)
{
    char *bytes = arena_bytes(call->arena, (size_t)piece->length);
    if (piece->kind == PIECE_INLINE)
        memcpy(bytes, piece->bytes, piece->length);
    else if (piece->kind == PIECE_HOLE)
        memset(bytes, 0, piece->length);
    else
        TRY(extent_read(call->store->engine, &piece->extent, piece->extent_offset,
                        (uint32_t)piece->length, bytes));
    return interval_upload_take(upload, (struct str){bytes, (size_t)piece->length});
}

static struct err read_bytes_of_source(struct rest_call *call, struct range_from_url *put)
{
    struct file_read_args *source = &put->source;
    struct err error =
        store_read(call->store, put->source_partition, ENGINE_WAIT, file_get_file, source);
    if (err_http_status(error.code) == 404)
        return cannot_verify();
    TRY(error);
    if (source->length != put->args.length || source->until != source->offset + source->length)
        return err_new(ERR_INVALID_RANGE);
    for (size_t i = 0; i < source->pieces.count; i++)
        TRY(take_piece(call, &put->upload, &source->pieces.items[i]));
    TRY(interval_upload_end(&put->upload));
    put->args.pieces = &put->upload.pieces;
    return put->has_crc64 && put->crc64 != put->upload.crc64 ? err_new(ERR_CRC64_MISMATCH) : OK;
}

/* In the pool. */
static struct err fetch_source(struct rest_call *call)
{
    struct range_from_url *put = call->args;
    struct engine_pin *pin = engine_pin(call->store->engine);
    interval_upload_init(&put->upload, call->store->engine, call->arena, put->args.offset,
                         put->args.length);
    put->upload.wants_crc64 = true;
    struct err error = read_bytes_of_source(call, put);
    engine_unpin(call->store->engine, pin);
    if (err_is(error))
        drop_pieces(call);
    return error;
}

struct err rest_put_range_from_url_start(struct rest_call *call)
{
    return file_drive_write(call,
                            (struct file_around){.before = fetch_source, .failed = drop_pieces});
}

struct err rest_put_range_from_url_encode(struct rest_call *call)
{
    const struct range_from_url *put = call->args;
    const struct node *n = &put->args.outcome.node;
    file_put_etag(call, n);
    file_put_iso(call, STR("x-ms-file-last-write-time"), n->last_write);
    blob_put_crc64(call, put->upload.crc64);
    call_put_bool(call, STR("x-ms-request-server-encrypted"), true);
    call->status = 201;
    return OK;
}
