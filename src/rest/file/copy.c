/* SPDX-License-Identifier: Apache-2.0 */
/* Copy File, Abort Copy File and Put Range From URL. */
#include "service/file/copy/copy.h"
#include "rest/blob/request.h"
#include "rest/copy/copier.h"
#include "rest/copy/fetch.h"
#include "rest/copy/from_url.h"
#include "rest/file/drive.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/metadata.h"
#include "rest/range.h"
#include "rest/server.h"
#include "service/common/content/interval_upload.h"
#include "service/common/name.h"
#include "service/file/copy/copy_foreign.h"
#include "service/file/keys.h"
#include "service/file/range.h"

enum { COPY_STEPS = 16, RANGE_MAX = 4 << 20 };

/* ---- Copy File ---- */

struct copy_call {
    struct copy_args args; /* first */
    struct source_url url;
    struct copy_source source;
    struct copy_foreign foreign; /* if it is not a file of this server */
    struct blob_source blob;
};

static struct err read_source(struct rest_call *call, struct copy_call *copy)
{
    const struct source_url *url = &copy->url;
    struct copy_args *args = &copy->args;
    copy->source = (struct copy_source){.arena = call->arena};
    args->source = &copy->source;
    if (!copy_source_is_file(url)) {
        args->foreign = &copy->foreign;
        copy->foreign.url = url->url;
        return url->here ? copy_source_blob(call, url, &copy->blob) : OK;
    }
    if (err_is(name_check(url->second.container)))
        return call_bad_header(call, second_header(SECOND_COPY_SOURCE));
    copy->source.partition =
        file_partition(call->arena, url->second.account, url->second.container);
    copy->source.path = url->second.object;
    copy->source.snapshot = url->snapshot;
    return call_header_bool(call, STR("x-ms-source-allow-trailing-dot"), &copy->source.keep_dots);
}

/* Reads whether a property is copied (`source`) or set by the request (`override`). */
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
        TRY(rest_file_read_attributes(call, attributes, &s->attributes));
    }
    TRY(rest_file_read_time(call, STR("x-ms-file-creation-time"), &args->source_created,
                            &s->created));
    TRY(rest_file_read_time(call, STR("x-ms-file-last-write-time"), &args->source_last_write,
                            &s->last_write));
    TRY(rest_file_read_time(call, STR("x-ms-file-change-time"), &args->source_changed,
                            &s->changed));
    TRY(rest_file_read_nfs(call, s));
    TRY(read_copy_mode(call, STR("x-ms-file-mode-copy-mode"), &args->source_mode));
    TRY(read_copy_mode(call, STR("x-ms-file-owner-copy-mode"), &args->source_owner));
    TRY(read_copy_mode(call, STR("x-ms-file-permission-copy-mode"), &args->source_permission));
    if (args->source_permission)
        return OK;
    struct file_settings permission = {0};
    TRY(rest_file_read_permission(call, &permission));
    s->permission = permission.permission;
    s->sd = permission.sd;
    s->key = permission.key;
    return OK;
}

struct err rest_copy_file_decode(struct rest_call *call)
{
    struct copy_call *copy = ARENA_NEW(call->arena, struct copy_call);
    struct copy_args *args = &copy->args;
    call->args = copy;
    TRY(rest_file_read_request(call, false, &args->request));
    copy->url.key_signs = true;
    TRY(copy_source_read(call, &copy->url));
    TRY(read_source(call, copy));
    args->url = copy->url.shown;
    args->id = guid_random();
    args->create_only = call->who.create_only;
    TRY(call_header_bool(call, STR("x-ms-file-copy-ignore-readonly"), &args->ignore_read_only));
    TRY(call_header_bool(call, STR("x-ms-file-copy-set-archive"), &args->set_archive));
    TRY(read_copy_settings(call, args));
    TRY(rest_metadata_from_headers(call, &args->metadata));
    args->has_metadata = str_given(args->metadata);
    return OK;
}

/* The properties of a file that is created from a blob, or from another server's object. */
static struct err take_head(struct rest_call *call, struct copy_call *copy,
                            const struct blob_head *head)
{
    struct node *n = &copy->source.node;
    const struct blob_http *http = &head->http;
    if (head->size > NODE_SIZE_MAX)
        return call_error(call, ERR_COPY_SOURCE_CONFLICT, "MaxLimit", STR("4398046511104"));
    copy->foreign.type = head->type;
    copy->foreign.size = head->size;
    n->size = head->size;
    n->metadata = head->metadata;
    n->http =
        (struct node_http){http->content_type,  http->content_encoding,    http->content_language,
                           http->cache_control, http->content_disposition, http->content_md5};
    return OK;
}

/* In the pool. */
static struct err find_blob(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    copy->blob.found = false;
    copy->blob.length = 0;
    TRY(store_read(call->store, copy->blob.partition, ENGINE_WAIT, blob_read_source, &copy->blob));
    copy->foreign.blob = &copy->blob;
    return take_head(call, copy, &copy->blob.head);
}

static struct err ask_there(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    struct fetch fetch;
    struct blob_head head;
    TRY(fetch_init(call, &copy->url, &fetch));
    struct err error = fetch_properties(&fetch, &head, &copy->foreign.etag);
    TRY(fetch_refused(call, &fetch, error));
    return take_head(call, copy, &head);
}

static struct err find_source(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    if (!copy->url.here)
        return ask_there(call);
    struct err error =
        copy_source_is_file(&copy->url)
            ? call_read_file(call, copy->source.partition, file_copy_find, &copy->source)
            : find_blob(call);
    return copy_source_refused(call, error);
}

/* The copier does the rest. */
static struct err advance_foreign(struct rest_call *call, const struct copy_call *copy)
{
    const struct file_outcome *outcome = &copy->args.outcome;
    struct copy_job_ref place = {call->partition, outcome->incarnation, outcome->id,
                                 file_step_copy};
    bool ended = outcome->node.copy.status != COPY_PENDING;
    for (unsigned i = 0; copy->url.here && i < COPY_STEPS && !ended; i++)
        TRY(copy_job_advance(call->store, &place, &ended));
    if (ended)
        file_copy_ended(call->store, outcome->incarnation);
    else
        copier_add(call->server->copier, call->partition, outcome->incarnation, outcome->id);
    return OK;
}

/* In the pool: a small file is complete when the answer is sent. */
static struct err advance(struct rest_call *call)
{
    struct copy_call *copy = call->args;
    struct file_outcome *outcome = &copy->args.outcome;
    struct copy_progress progress = {
        .arena = call->arena, .incarnation = outcome->incarnation, .id = outcome->id};
    bool foreign = copy->args.foreign != NULL;
    if (foreign)
        TRY(advance_foreign(call, copy));
    TRY(file_copy_advance(call->store, call->partition, foreign ? 0 : COPY_STEPS, &progress));
    if (progress.node.copy.status != COPY_NONE)
        outcome->node = progress.node;
    return OK;
}

struct err rest_copy_file_start(struct rest_call *call)
{
    const struct copy_call *copy = call->args;
    return rest_file_drive(
        call, (struct around){.before = find_source,
                              .after = advance,
                              .pool = copy->url.here ? NULL : call->server->fetch_pool});
}

struct err rest_copy_file_encode(struct rest_call *call)
{
    const struct copy_call *copy = call->args;
    const struct node *n = &copy->args.outcome.node;
    char id[GUID_TEXT_BYTES];
    guid_text(&copy->args.id, id);
    rest_file_put_etag(call, n);
    call_put(call, STR("x-ms-copy-id"), (struct str){id, sizeof id});
    call_put(call, STR("x-ms-copy-status"), rest_file_copy_status_text(n->copy.status));
    call->status = 202;
    return OK;
}

/* ---- Abort Copy File ---- */

struct err rest_abort_copy_file_decode(struct rest_call *call)
{
    struct copy_abort_args *args = ARENA_NEW(call->arena, struct copy_abort_args);
    call->args = args;
    TRY(rest_file_read_request(call, false, &args->request));
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
    struct from_url from;
    bool if_match, if_none_match; /* conditions on the source's checksum */
    uint64_t match, none_match;
};

static void drop_pieces(struct rest_call *call)
{
    struct range_from_url *put = call->args;
    interval_upload_discard(&put->upload);
}

static struct err take_bytes(void *arg, struct str bytes)
{
    struct range_from_url *put = arg;
    return interval_upload_take(&put->upload, bytes);
}

static struct err read_crc64(struct rest_call *call, struct str name, bool *given, uint64_t *out)
{
    char bytes[8];
    TRY(rest_blob_read_checksum(call, name, ERR_INVALID_HEADER_VALUE, bytes, sizeof bytes, given));
    struct reader r = reader_of((struct str){bytes, sizeof bytes});
    if (*given)
        *out = read_le64(&r);
    return OK;
}

static struct err read_source_range(struct rest_call *call, struct range_from_url *put)
{
    const struct str name = STR("x-ms-source-range");
    struct from_url *from = &put->from;
    TRY(from_url_read_range(call, from));
    if (from->has_range && from->length != put->args.length)
        return call_bad_header(call, name);
    from->has_range = true;
    from->length = put->args.length;
    return OK;
}

static struct err read_range_source(struct rest_call *call, struct range_from_url *put)
{
    struct from_url *from = &put->from;
    TRY(from_url_read(call, false, from));
    TRY(read_source_range(call, put));
    TRY(from_url_read_checksums(call, from));
    TRY(read_crc64(call, STR("x-ms-source-if-match-crc64"), &put->if_match, &put->match));
    TRY(read_crc64(call, STR("x-ms-source-if-none-match-crc64"), &put->if_none_match,
                   &put->none_match));
    from->size_max = RANGE_MAX;
    from->wants_crc64 = true;
    from->sink = take_bytes;
    from->sink_arg = put;
    return OK;
}

/* It has only one valid value, but the header is required. */
static struct err read_write(struct rest_call *call)
{
    const struct str name = STR("x-ms-write");
    struct str what = call_header(call, name);
    if (!str_given(what))
        return call_missing_header(call, name);
    return str_ieq(what, STR("update")) ? OK : call_bad_header(call, name);
}

struct err rest_put_range_from_url_decode(struct rest_call *call)
{
    struct range_from_url *put = ARENA_NEW(call->arena, struct range_from_url);
    struct file_range_args *args = &put->args;
    bool given;
    call->args = put;
    TRY(rest_file_read_request(call, false, &args->request));
    TRY(read_write(call));
    TRY(rest_range_read(call, &given, &args->offset, &args->length));
    if (!given)
        return call_missing_header(call, STR("x-ms-range"));
    if (args->length > RANGE_MAX)
        return call_bad_header(call, STR("x-ms-range"));
    TRY(read_range_source(call, put));
    return rest_file_read_last_write(call, &args->last_write);
}

/* The checksums of the request cover a local file's bytes just like fetched ones. */
static struct err check_bytes(const struct range_from_url *put)
{
    uint64_t found = put->upload.crc64;
    if ((put->if_match && put->match != found) || (put->if_none_match && put->none_match == found))
        return err_new(ERR_SOURCE_CONDITION_NOT_MET);
    return put->from.has_crc64 && put->from.crc64 != found ? err_new(ERR_CRC64_MISMATCH) : OK;
}

static struct err fetch_bytes_of(struct rest_call *call, struct range_from_url *put)
{
    TRY(from_url_fetch(call, &put->from));
    if (put->upload.left > 0)
        return err_new(ERR_INVALID_RANGE);
    TRY(interval_upload_end(&put->upload));
    put->args.pieces = &put->upload.pieces;
    return check_bytes(put);
}

/* In the pool. */
static struct err fetch_source(struct rest_call *call)
{
    struct range_from_url *put = call->args;
    interval_upload_init(&put->upload, call->store->engine, call->arena, put->args.offset,
                         put->args.length);
    put->upload.wants_crc64 = true;
    struct err error = fetch_bytes_of(call, put);
    if (err_is(error))
        drop_pieces(call);
    return error;
}

struct err rest_put_range_from_url_start(struct rest_call *call)
{
    const struct range_from_url *put = call->args;
    return rest_file_drive(call, (struct around){.before = fetch_source,
                                                 .failed = drop_pieces,
                                                 .pool = from_url_pool(call, &put->from)});
}

struct err rest_put_range_from_url_encode(struct rest_call *call)
{
    const struct range_from_url *put = call->args;
    const struct node *n = &put->args.outcome.node;
    rest_file_put_etag(call, n);
    rest_file_put_iso(call, STR("x-ms-file-last-write-time"), n->last_write);
    rest_blob_put_crc64(call, put->upload.crc64);
    call_put_bool(call, STR("x-ms-request-server-encrypted"), true);
    call->status = 201;
    return OK;
}
