/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of files: Get File, Put Range, List Ranges. */
#include "rest/range.h"
#include "core/hash/md5.h"
#include "core/text/xml.h"
#include "rest/blob/request.h"
#include "rest/body/structured_body.h"
#include "rest/content_source.h"
#include "rest/file/drive.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/file/upload.h"
#include "rest/metadata.h"
#include "service/file/file.h"
#include "service/file/range.h"

/* ---- Get File ---- */

struct get_file {
    struct file_read_args args; /* first */
    bool wants_md5;
    unsigned char md5[MD5_BYTES];
    struct file_read_more more;
    struct rest_call *call;
};

struct err rest_get_file_decode(struct rest_call *call)
{
    const struct str md5 = STR("x-ms-range-get-content-md5");
    struct get_file *get = ARENA_NEW(call->arena, struct get_file);
    struct file_read_args *args = &get->args;
    call->args = get;
    get->call = call;
    TRY(rest_file_read_request(call, true, &args->request));
    TRY(rest_range_read(call, &args->has_range, &args->range_offset, &args->range_length));
    TRY(call_header_bool(call, md5, &get->wants_md5));
    if (get->wants_md5 && !args->has_range)
        return call_bad_header(call, md5);
    if (get->wants_md5 && args->range_length > FILE_RANGE_MAX)
        return call_error(call, ERR_OUT_OF_RANGE_INPUT, "HeaderName", md5);
    call->wants_pin = true;
    args->kept = &call->state;
    return OK;
}

/* In the pool. A range of 4 MiB is always read as a whole. */
static struct err digest(struct rest_call *call)
{
    struct get_file *get = call->args;
    size_t length = (size_t)pieces_length(&get->args.pieces);
    char *bytes = arena_bytes(call->arena, length + 1);
    struct md5 state;
    TRY(pieces_gather(call->store, &get->args.pieces, ENGINE_WAIT, bytes));
    md5_init(&state);
    md5_update(&state, (struct str){bytes, length});
    md5_final(&state, get->md5);
    return OK;
}

struct err rest_get_file_start(struct rest_call *call)
{
    const struct get_file *get = call->args;
    return rest_file_drive(call,
                           (struct around){.reads = true, .after = get->wants_md5 ? digest : NULL});
}

static struct str chosen(struct str by_sas, struct str stored)
{
    return str_given(by_sas) ? by_sas : stored;
}

/* Common to Get File and Get File Properties. */
static void put_head(struct rest_call *call, const struct file_request *request,
                     const struct file_outcome *outcome)
{
    const struct auth_result *who = &call->who;
    const struct node_http *http = &outcome->node.http;
    struct str type = chosen(who->content_type, http->content_type);
    rest_file_put_outcome(call, outcome);
    rest_metadata_put_headers(call, outcome->node.metadata);
    if (!str_given(type) || type.n > 0)
        call_put(call, STR("Content-Type"),
                 str_given(type) ? type : STR("application/octet-stream"));
    call_put_if(call, STR("Content-Encoding"),
                chosen(who->content_encoding, http->content_encoding));
    call_put_if(call, STR("Content-Language"),
                chosen(who->content_language, http->content_language));
    call_put_if(call, STR("Content-Disposition"),
                chosen(who->content_disposition, http->content_disposition));
    call_put_if(call, STR("Cache-Control"), chosen(who->cache_control, http->cache_control));
    rest_file_put_copy(call, &outcome->node.copy);
    if (request->snapshot == 0)
        rest_blob_put_lease(call, &outcome->node.lease);
    call_put_bool(call, STR("x-ms-server-encrypted"), true);
    call_put(call, STR("x-ms-type"), STR("File"));
}

static void put_range(struct rest_call *call, const struct get_file *get)
{
    const struct file_read_args *args = &get->args;
    struct str md5 = args->outcome.node.http.content_md5;
    if (!args->has_range) {
        if (str_given(md5))
            rest_blob_put_base64(call, STR("Content-MD5"), md5);
        return;
    }
    rest_range_put(call, args->offset, args->length, args->outcome.node.size);
    if (str_given(md5))
        rest_blob_put_base64(call, STR("x-ms-content-md5"), md5);
    if (get->wants_md5)
        rest_blob_put_base64(call, STR("Content-MD5"),
                             (struct str){(const char *)get->md5, MD5_BYTES});
}

/* In the pool: the next pieces of a long response. */
static struct err refill(void *arg, struct arena *a, struct pieces *next)
{
    struct get_file *get = arg;
    struct file_read_more *more = &get->more;
    *next = (struct pieces){0};
    more->arena = a;
    if (more->from >= more->to)
        return OK;
    TRY(store_read_state(get->call->store, get->call->state, get->call->partition,
                         file_get_file_more, more));
    more->from = more->until;
    *next = more->pieces;
    return OK;
}

/* A 416 includes the file's size. */
void rest_get_file_explain(struct rest_call *call, struct err error)
{
    const struct get_file *get = call->args;
    if (error.code == ERR_INVALID_RANGE)
        rest_range_put_size(call, get->args.outcome.node.size);
}

struct err rest_get_file_encode(struct rest_call *call)
{
    struct get_file *get = call->args;
    const struct file_read_args *args = &get->args;
    put_head(call, &args->request, &args->outcome);
    call_put(call, STR("Accept-Ranges"), STR("bytes"));
    put_range(call, get);
    file_read_more_init(&get->more, args, args->outcome.incarnation);
    content_source_set(call, &args->pieces);
    if (get->more.from < get->more.to)
        content_source_refill(call, refill, get);
    call->content_length = (int64_t)args->length;
    return structured_body_wrap(call);
}

struct err rest_get_file_properties_encode(struct rest_call *call)
{
    const struct file_args *args = call->args;
    const struct node *n = &args->outcome.node;
    put_head(call, &args->request, &args->outcome);
    if (str_given(n->http.content_md5))
        rest_blob_put_base64(call, STR("Content-MD5"), n->http.content_md5);
    call->content_length = (int64_t)n->size;
    return OK;
}

/* ---- Put Range ---- */

struct put_range {
    struct file_range_args args; /* first */
    struct file_upload upload;
};

static struct err begin_upload(struct rest_call *call, struct put_range *put)
{
    int64_t length = call->body_length;
    if (length >= 0 && (uint64_t)length != put->args.length && put->args.length <= FILE_RANGE_MAX)
        return call_bad_header(call, STR("Content-Length"));
    return rest_file_upload_begin(call, &put->upload, put->args.offset, put->args.length,
                                  &put->args.pieces);
}

struct err rest_put_range_decode(struct rest_call *call)
{
    const struct str write = STR("x-ms-write");
    struct put_range *put = ARENA_NEW(call->arena, struct put_range);
    struct file_range_args *args = &put->args;
    bool given;
    call->args = put;
    TRY(rest_file_read_request(call, false, &args->request));
    TRY(rest_range_read(call, &given, &args->offset, &args->length));
    if (!given)
        return call_missing_header(call, STR("x-ms-range"));
    if (args->length == UINT64_MAX)
        return call_bad_header(call, STR("x-ms-range"));
    TRY(rest_file_read_last_write(call, &args->last_write));
    struct str what = call_header(call, write);
    if (!str_given(what))
        return call_missing_header(call, write);
    if (str_ieq(what, STR("update")))
        return begin_upload(call, put);
    if (!str_ieq(what, STR("clear")))
        return call_bad_header(call, write);
    if (call->body_length > 0)
        return call_bad_header(call, STR("Content-Length"));
    return str_given(call_header(call, STR("Content-MD5")))
               ? call_bad_header(call, STR("Content-MD5"))
               : OK;
}

struct err rest_put_range_encode(struct rest_call *call)
{
    const struct put_range *put = call->args;
    const struct node *n = &put->args.outcome.node;
    rest_file_put_etag(call, n);
    rest_file_put_iso(call, STR("x-ms-file-last-write-time"), n->last_write);
    rest_file_upload_put_md5(call, &put->upload);
    call_put_bool(call, STR("x-ms-request-server-encrypted"), true);
    call->status = 201;
    return OK;
}

/* ---- List Ranges ---- */

struct err rest_list_ranges_decode(struct rest_call *call)
{
    struct file_ranges_args *args = ARENA_NEW(call->arena, struct file_ranges_args);
    uint64_t max = FILE_RANGES_MAX;
    call->args = args;
    TRY(rest_file_read_request(call, true, &args->request));
    TRY(rest_range_read(call, &args->has_range, &args->range_offset, &args->range_length));
    TRY(rest_file_read_snapshot(call, STR("prevsharesnapshot"), &args->previous));
    args->differences = args->previous != 0;
    TRY(call_header_bool(call, STR("x-ms-file-support-rename"), &args->follow_rename));
    /* Pages only if the request asks for them. */
    bool paged = str_given(call_query(call, STR("maxresults")));
    TRY(call_query_u64(call, STR("maxresults"), 1, INT32_MAX, &max));
    args->whole = !paged;
    args->max = !paged                  ? FILE_RANGES_WHOLE_MAX
                : max < FILE_RANGES_MAX ? (size_t)max
                                        : FILE_RANGES_MAX;
    struct str marker = call_query(call, STR("marker"));
    if (str_given(marker) && marker.n > 0 && !str_to_u64(marker, &args->marker))
        return call_bad_query(call, STR("marker"));
    return OK;
}

/* Scanning a file of many ranges takes long: not on the loop. */
struct err rest_list_ranges_start(struct rest_call *call)
{
    return rest_file_drive(call, (struct around){.reads = true, .in_pool = true});
}

struct err rest_list_ranges_encode(struct rest_call *call)
{
    const struct file_ranges_args *args = call->args;
    struct buf *b = &call->out;
    rest_file_put_etag(call, &args->outcome.node);
    call_put_u64(call, STR("x-ms-content-length"), args->outcome.node.size);
    call_begin_xml(call);
    xml_open(b, STR("Ranges"));
    for (size_t i = 0; i < args->count; i++) {
        const struct file_range *range = &args->ranges[i];
        struct str name = range->cleared ? STR("ClearRange") : STR("Range");
        xml_open(b, name);
        xml_element_u64(b, STR("Start"), range->start);
        xml_element_u64(b, STR("End"), range->end - 1);
        xml_close(b, name);
    }
    if (args->next != 0)
        xml_element_u64(b, STR("NextMarker"), args->next);
    xml_close(b, STR("Ranges"));
    return OK;
}
