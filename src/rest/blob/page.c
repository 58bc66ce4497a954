/* SPDX-License-Identifier: Apache-2.0 */
/* Put Blob of a page blob, Put Page, Get Page Ranges, and the page part of Set Blob Properties. */
#include "rest/blob/page.h"

#include "core/container.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "http/range.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "rest/head/second.h"
#include "service/common/content/interval_upload.h"

enum { PAGE_WRITE_MAX = 4 << 20, VERSION_PAGED = 20201002 };

static const struct str LENGTH = STR_INIT("x-ms-blob-content-length");
static const struct str NUMBER = STR_INIT("x-ms-blob-sequence-number");
static const struct str ACTION = STR_INIT("x-ms-sequence-number-action");

static struct err read_size(struct rest_call *call, uint64_t *out)
{
    TRY(call_header_u64(call, LENGTH, out));
    return *out % BLOB_PAGE_BYTES == 0 && *out <= BLOB_PAGE_SIZE_MAX
               ? OK
               : call_bad_header(call, LENGTH);
}

static struct err read_number(struct rest_call *call, uint64_t *out)
{
    TRY(call_header_u64(call, NUMBER, out));
    return *out <= INT64_MAX ? OK : call_bad_header(call, NUMBER);
}

/* ---- Put Blob ---- */

struct err rest_put_page_blob_decode(struct rest_call *call)
{
    struct blob_create_page_args *args = ARENA_NEW(call->arena, struct blob_create_page_args);
    call->args = args;
    TRY(rest_blob_read_base_request(call, &args->request));
    TRY(rest_blob_read_properties(call, true, &args->properties));
    if (call->body_length > 0 || call->x->request.chunked)
        return call_bad_header(call, STR("Content-Length"));
    if (!str_given(call_header(call, LENGTH)))
        return call_missing_header(call, LENGTH);
    TRY(rest_blob_read_tier(call, true, &args->properties.tier));
    TRY(read_size(call, &args->size));
    return read_number(call, &args->sequence);
}

struct err rest_put_page_blob_encode(struct rest_call *call)
{
    const struct blob_create_page_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_encrypted(call, args->head.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Put Page ---- */

struct put_page {
    struct blob_page_args args; /* first: run's argument */
    struct rest_sink sink;
    struct rest_call *call;
    struct interval_upload upload;
    bool has_md5, has_crc64;
    unsigned char md5[MD5_BYTES];
    char crc64[8];
};

static struct put_page *page_of(struct rest_sink *sink)
{
    return CONTAINER_OF(sink, struct put_page, sink);
}

static struct err page_take(struct rest_sink *sink, struct str bytes)
{
    struct put_page *put = page_of(sink);
    if (put->args.pieces == NULL)
        return call_bad_header(put->call, STR("Content-Length")); /* a clear has no body */
    if (bytes.n > put->upload.left)
        return call_bad_header(put->call, STR("Content-Length"));
    return interval_upload_take(&put->upload, bytes);
}

static struct err page_end(struct rest_sink *sink)
{
    struct put_page *put = page_of(sink);
    if (put->args.pieces == NULL)
        return OK;
    if (put->upload.left > 0)
        return call_bad_header(put->call, STR("Content-Length"));
    TRY(interval_upload_end(&put->upload));
    if (put->has_md5)
        TRY(rest_blob_compare_md5(put->call->arena, put->md5, put->upload.md5));
    struct reader r = reader_of((struct str){put->crc64, sizeof put->crc64});
    return put->has_crc64 && read_le64(&r) != put->upload.crc64 ? err_new(ERR_CRC64_MISMATCH) : OK;
}

static void page_drop(struct rest_sink *sink)
{
    struct put_page *put = page_of(sink);
    if (put->args.pieces != NULL)
        interval_upload_discard(&put->upload);
}

/* x-ms-range, else Range: both ends, on pages. */
struct err rest_blob_read_page_range(struct rest_call *call, struct blob_page_args *args)
{
    struct str text = call_header(call, STR("x-ms-range"));
    struct http_range range;
    if (!str_given(text))
        text = call_header(call, STR("Range"));
    if (!str_given(text))
        return call_missing_header(call, STR("Range"));
    if (!http_range_parse(text, &range) || range.last == HTTP_RANGE_TO_END)
        return err_new(ERR_INVALID_PAGE_RANGE);
    args->offset = range.first;
    args->length = range.last - range.first + 1;
    return args->offset % BLOB_PAGE_BYTES == 0 && args->length % BLOB_PAGE_BYTES == 0
               ? OK
               : err_new(ERR_INVALID_PAGE_RANGE);
}

struct err rest_blob_read_sequence_conditions(struct rest_call *call,
                                              struct blob_sequence_conditions *c)
{
    const struct {
        struct str name;
        bool *has;
        uint64_t *value;
    } all[] = {
        {STR("x-ms-if-sequence-number-le"), &c->has_le, &c->le},
        {STR("x-ms-if-sequence-number-lt"), &c->has_lt, &c->lt},
        {STR("x-ms-if-sequence-number-eq"), &c->has_eq, &c->eq},
    };
    for (size_t i = 0; i < 3; i++) {
        struct str text = call_header(call, all[i].name);
        *all[i].has = str_given(text);
        /* A number, but out of range for a sequence number: the service has separate errors. */
        if (str_starts(text, STR("-")))
            return err_new(ERR_INVALID_INPUT);
        TRY(call_header_u64(call, all[i].name, all[i].value));
    }
    return OK;
}

static struct err begin_update(struct rest_call *call, struct put_page *put)
{
    int64_t length = call->body_length;
    if (put->args.length > PAGE_WRITE_MAX)
        return call_error(call, ERR_REQUEST_BODY_TOO_LARGE, "MaxLimit", STR("4194304"));
    if (length >= 0 && (uint64_t)length != put->args.length)
        return call_bad_header(call, STR("Content-Length"));
    TRY(rest_blob_read_checksum(call, STR("Content-MD5"), ERR_INVALID_MD5, put->md5, MD5_BYTES,
                                &put->has_md5));
    TRY(rest_blob_read_checksum(call, STR("x-ms-content-crc64"), ERR_INVALID_HEADER_VALUE,
                                put->crc64, sizeof put->crc64, &put->has_crc64));
    if (put->has_md5 && put->has_crc64)
        return err_new(ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT);
    interval_upload_init(&put->upload, call->store->engine, call->arena, put->args.offset,
                         put->args.length);
    put->upload.wants_md5 = rest_blob_answers_md5(call, put->has_md5);
    put->upload.wants_crc64 = true;
    put->args.pieces = &put->upload.pieces;
    return OK;
}

struct err rest_put_page_decode(struct rest_call *call)
{
    struct put_page *put = ARENA_NEW(call->arena, struct put_page);
    struct str write = call_header(call, STR("x-ms-page-write"));
    call->args = put;
    put->call = call;
    put->sink = (struct rest_sink){.take = page_take, .end = page_end, .drop = page_drop};
    TRY(rest_blob_read_base_request(call, &put->args.request));
    TRY(rest_blob_read_sequence_conditions(call, &put->args.sequence));
    if (!str_given(write))
        return call_missing_header(call, STR("x-ms-page-write"));
    TRY(rest_blob_read_page_range(call, &put->args));
    call->sink = &put->sink;
    if (str_ieq(write, STR("update")))
        return begin_update(call, put);
    if (!str_ieq(write, STR("clear")))
        return call_bad_header(call, STR("x-ms-page-write"));
    return call->body_length > 0 ? call_bad_header(call, STR("Content-Length")) : OK;
}

struct err rest_put_page_encode(struct rest_call *call)
{
    const struct put_page *put = call->args;
    rest_blob_put_etag(call, put->args.head.etag, put->args.head.last_modified);
    if (put->args.pieces != NULL)
        rest_blob_put_checksums(call, put->upload.wants_md5 ? put->upload.md5 : NULL,
                                &put->upload.crc64);
    call_put_u64(call, NUMBER, put->args.head.sequence);
    rest_blob_put_encrypted(call, put->args.head.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Get Page Ranges ---- */

/* prevsnapshot, or the snapshot that x-ms-previous-snapshot-url names. */
static struct err read_previous(struct rest_call *call, struct blob_page_ranges_args *args)
{
    const struct str query = STR("prevsnapshot");
    const struct str header = STR("x-ms-previous-snapshot-url");
    struct str text = call_query(call, query);
    struct str url = call_header(call, header);
    if (!str_given(text) && str_given(url)) {
        const struct str mark = STR("snapshot=");
        size_t at = str_find_str(url, mark);
        if (at == url.n)
            return call_bad_header(call, header);
        text = str_from(url, at + mark.n);
        text = uri_decode_loose(call->arena, str_head(text, str_find(text, '&', 0)));
    }
    args->differences = str_given(text);
    if (args->differences && !time_parse_iso(text, &args->previous))
        return str_given(url) ? call_bad_header(call, header) : call_bad_query(call, query);
    return args->differences ? second_permit_snapshot(call, text) : OK;
}

struct err rest_get_page_ranges_decode(struct rest_call *call)
{
    struct blob_page_ranges_args *args = ARENA_NEW(call->arena, struct blob_page_ranges_args);
    struct str text = call_header(call, STR("x-ms-range"));
    struct http_range range;
    uint64_t max = BLOB_PAGE_RANGES_MAX;
    call->args = args;
    TRY(rest_blob_read_request(call, &args->request));
    TRY(read_previous(call, args));
    if (!str_given(text))
        text = call_header(call, STR("Range"));
    if (str_given(text) && http_range_parse(text, &range)) {
        /* All pages that the range touches. */
        args->has_range = true;
        args->range_offset = range.first - range.first % BLOB_PAGE_BYTES;
        args->range_length = UINT64_MAX;
        if (range.last < BLOB_PAGE_SIZE_MAX)
            args->range_length = (range.last | (BLOB_PAGE_BYTES - 1)) - args->range_offset + 1;
    }
    struct str marker = call_query(call, STR("marker"));
    if (str_given(marker) && marker.n > 0 && !str_to_u64(marker, &args->marker))
        return call_bad_query(call, STR("marker"));
    TRY(call_query_u64(call, STR("maxresults"), 1, UINT32_MAX, &max));
    args->max = max < BLOB_PAGE_RANGES_MAX ? (size_t)max : BLOB_PAGE_RANGES_MAX;
    /* Before paging existed, an answer had all ranges. */
    if (call->version < VERSION_PAGED)
        args->max = 1 << 20;
    return OK;
}

static void put_ranges(struct buf *b, const struct blob_page_ranges_args *args)
{
    for (size_t i = 0; i < args->count; i++) {
        const struct blob_page_range *range = &args->ranges[i];
        struct str name = range->cleared ? STR("ClearRange") : STR("PageRange");
        xml_open(b, name);
        xml_element_u64(b, STR("Start"), range->start);
        xml_element_u64(b, STR("End"), range->end - 1);
        xml_close(b, name);
    }
}

struct err rest_get_page_ranges_encode(struct rest_call *call)
{
    const struct blob_page_ranges_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    call_put_u64(call, LENGTH, args->head.size);
    call_begin_xml(call);
    xml_open(&call->out, STR("PageList"));
    put_ranges(&call->out, args);
    if (args->more)
        xml_element_u64(&call->out, STR("NextMarker"), args->next);
    else if (str_given(call_query(
                 call, STR("maxresults")))) /* a flag in the last range when more follow */
        xml_element(&call->out, STR("NextMarker"), STR(""));
    xml_close(&call->out, STR("PageList"));
    return OK;
}

/* ---- Set Blob Properties ---- */

static struct err read_action(struct rest_call *call, struct blob_page_change *change)
{
    struct str action = call_header(call, ACTION);
    bool number = str_given(call_header(call, NUMBER));
    if (!str_given(action))
        return number ? call_missing_header(call, ACTION) : OK;
    if (str_ieq(action, STR("increment"))) {
        change->action = BLOB_SEQUENCE_INCREMENT;
        return number ? call_bad_header(call, NUMBER) : OK;
    }
    if (str_ieq(action, STR("max")))
        change->action = BLOB_SEQUENCE_MAX;
    else if (str_ieq(action, STR("update")))
        change->action = BLOB_SEQUENCE_UPDATE;
    else
        return call_bad_header(call, ACTION);
    return number ? read_number(call, &change->number) : call_missing_header(call, NUMBER);
}

struct err rest_blob_read_page_change(struct rest_call *call, struct blob_set_args *args)
{
    struct blob_page_change *change = ARENA_NEW(call->arena, struct blob_page_change);
    change->resize = str_given(call_header(call, LENGTH));
    if (change->resize)
        TRY(read_size(call, &change->size));
    TRY(read_action(call, change));
    if (!change->resize && change->action == BLOB_SEQUENCE_KEEP)
        return OK;
    args->pages = change;
    /* Setting only the size or the number keeps the other properties. */
    const struct blob_http *http = &args->http;
    args->keep_http = !str_given(http->content_type) && !str_given(http->content_encoding) &&
                      !str_given(http->content_language) && !str_given(http->content_disposition) &&
                      !str_given(http->cache_control) && !str_given(http->content_md5);
    return OK;
}
