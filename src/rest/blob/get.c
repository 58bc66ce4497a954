/* SPDX-License-Identifier: Apache-2.0 */
/* Get Blob, Get Blob Properties, Get Blob Metadata: decode and encode. */
#include "rest/blob/get.h"

#include "core/crc/crc64.h"
#include "core/hash/md5.h"
#include "core/time.h"
#include "rest/blob/ops.h"
#include "rest/blob/protect.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/body/structured_body.h"
#include "rest/content_source.h"
#include "rest/dfs/request.h"
#include "rest/metadata.h"
#include "rest/range.h"
#include "service/blob/copy/copy_state.h"
#include "service/blob/touch.h"
#include "service/common/etag.h"

enum {
    VERSION_TIER_ON_GET = 20261006,
    VERSION_RESOURCE_TYPE = 20201002,
    VERSION_ACL = 20231103,
};

/* ---- decode ---- */

struct err rest_blob_get_read_range(struct rest_call *call, struct blob_get_args *args)
{
    /* Suffix ranges are not supported: the whole blob is sent, whichever header has the range. */
    if (str_istarts(call_header(call, STR("x-ms-range")), STR("bytes=-")))
        return OK;
    return rest_range_read(call, &args->has_range, &args->range_offset, &args->range_length);
}

static struct err read_range_checksums(struct rest_call *call, struct get_blob *get)
{
    const struct str md5 = STR("x-ms-range-get-content-md5");
    const struct str crc64 = STR("x-ms-range-get-content-crc64");
    TRY(call_header_bool(call, md5, &get->wants_md5));
    TRY(call_header_bool(call, crc64, &get->wants_crc64));
    if (!get->wants_md5 && !get->wants_crc64)
        return OK;
    if (get->wants_md5 && get->wants_crc64)
        return err_new(ERR_BOTH_CRC64_AND_MD5_RANGE_HEADER_PRESENT);
    if (!get->args.has_range)
        return call_bad_header(call, get->wants_md5 ? md5 : crc64);
    /* The blob's size determines the length of an open range. */
    bool open = get->args.range_length == UINT64_MAX;
    if (get->args.range_length > BLOB_RANGE_BYTES_MAX && !open)
        return call_error(call, ERR_OUT_OF_RANGE_INPUT, "HeaderName", get->wants_md5 ? md5 : crc64);
    get->args.wants_bytes = true;
    return OK;
}

struct err rest_get_blob_decode(struct rest_call *call)
{
    struct get_blob *get = ARENA_NEW(call->arena, struct get_blob);
    call->args = get;
    TRY(rest_blob_read_request(call, &get->args.request));
    get->args.store = call->store;
    get->args.wants_content = true;
    get->args.loan = &call->loan;
    call->wants_pin = true;
    TRY(rest_blob_get_read_range(call, &get->args));
    return read_range_checksums(call, get);
}

/* Properties and metadata. */
struct err rest_get_blob_properties_decode(struct rest_call *call)
{
    struct get_blob *get = ARENA_NEW(call->arena, struct get_blob);
    call->args = get;
    return rest_blob_read_request(call, &get->args.request);
}

/* ---- encode ---- */

/* A SAS may override response headers. */
static struct str chosen(struct str by_sas, struct str stored)
{
    return str_given(by_sas) ? by_sas : stored;
}

void rest_blob_get_put_http(struct rest_call *call, const struct blob_http *http)
{
    const struct auth_result *who = &call->who;
    struct str type = chosen(who->content_type, http->content_type);
    call_put_if(call, STR("Content-Type"), type);
    call_put_if(call, STR("Content-Encoding"),
                chosen(who->content_encoding, http->content_encoding));
    call_put_if(call, STR("Content-Language"),
                chosen(who->content_language, http->content_language));
    call_put_if(call, STR("Content-Disposition"),
                chosen(who->content_disposition, http->content_disposition));
    call_put_if(call, STR("Cache-Control"), chosen(who->cache_control, http->cache_control));
}

/* A block blob always has a tier, a page blob when it was given one. */
static void put_tier(struct rest_call *call, const struct blob_head *head)
{
    if (head->type != BLOB_BLOCK && head->tier == BLOB_TIER_NONE)
        return;
    call_put_if(call, STR("x-ms-archive-status"), blob_archive_status_text(head));
    call_put_if(call, STR("x-ms-rehydrate-priority"), blob_rehydrate_priority_text(head));
    call_put(call, STR("x-ms-access-tier"), blob_tier_text(head->tier));
    if (head->tier == BLOB_TIER_SMART)
        call_put(call, STR("x-ms-smart-access-tier"), STR("Hot"));
    if (head->tier == BLOB_TIER_NONE)
        call_put_bool(call, STR("x-ms-access-tier-inferred"), true);
    else
        call_put_time(call, STR("x-ms-access-tier-change-time"), head->tier_changed);
}

static void put_version(struct rest_call *call, const struct get_blob *get)
{
    rest_blob_put_version_id(call, get->args.head.version);
    if (get->args.head.version != 0 && get->args.at.item == BLOB_BASE &&
        call->version >= VERSION_BLOB_VERSIONS)
        call_put_bool(call, STR("x-ms-is-current-version"), true);
}

static void put_copy(struct rest_call *call, const struct blob_copy_state *copy)
{
    char id[GUID_TEXT_BYTES];
    guid_text(&copy->id, id);
    call_put(call, STR("x-ms-copy-id"), (struct str){id, sizeof id});
    call_put(call, STR("x-ms-copy-status"), blob_copy_status_text(copy->status));
    call_put_if(call, STR("x-ms-copy-source"), copy->source);
    call_put(call, STR("x-ms-copy-progress"),
             arena_printf(call->arena, "%llu/%llu", (unsigned long long)copy->done,
                          (unsigned long long)copy->total));
    if (copy->completed != 0)
        call_put_time(call, STR("x-ms-copy-completion-time"), copy->completed);
    call_put_if(call, STR("x-ms-copy-status-description"), copy->description);
}

/* Only Get Blob Properties returns it. */
static void put_incremental_copy(struct rest_call *call, const struct blob_copy_state *copy)
{
    char time[TIME_ISO_BYTES];
    if (!copy->incremental)
        return;
    call_put_bool(call, STR("x-ms-incremental-copy"), true);
    if (copy->snapshot == 0)
        return;
    time_iso(copy->snapshot, time);
    call_put(call, STR("x-ms-copy-destination-snapshot"), (struct str){time, sizeof time});
}

/* A directory of a hierarchical account has a mark among its metadata. */
static void put_metadata(struct rest_call *call, const struct blob_head *head)
{
    rest_metadata_put_headers(call, head->metadata);
    if (head->path.directory)
        call_put(call, STR("x-ms-meta-hdi_isfolder"), STR("true"));
}

/* Additional headers for a path of a hierarchical account. */
static void put_path(struct rest_call *call, const struct blob_head *head)
{
    if (call->version >= VERSION_RESOURCE_TYPE || call->dfs)
        dfs_put_status(call, head, true);
    if (call->version >= VERSION_ACL)
        dfs_put_acl(call, head);
    call_put_if(call, STR("x-ms-encryption-context"), head->path.encryption_context);
}

/* Common to Get Blob and Get Blob Properties. */
static void put_head(struct rest_call *call, const struct get_blob *get)
{
    const struct blob_head *head = &get->args.head;
    rest_blob_put_etag(call, head->etag, head->last_modified);
    call_put_time(call, STR("x-ms-creation-time"), head->created);
    put_metadata(call, head);
    rest_blob_get_put_http(call, &head->http);
    call_put_own(call, STR("x-ms-blob-type"), blob_type_text(head->type));
    put_version(call, get);
    /* The lease belongs to the base blob: a request for its current version does not show it. */
    if (get->args.at.item == BLOB_BASE && get->args.request.at.item == BLOB_BASE)
        rest_blob_put_lease(call, &head->lease);
    if (head->type == BLOB_PAGE)
        call_put_u64(call, STR("x-ms-blob-sequence-number"), head->sequence);
    if (head->type == BLOB_APPEND) {
        call_put_u64(call, STR("x-ms-blob-committed-block-count"), head->block_count);
        if (head->sealed)
            call_put_bool(call, STR("x-ms-blob-sealed"), true);
    }
    if (get->copy.status != BLOB_COPY_NONE)
        put_copy(call, &get->copy);
    rest_blob_put_tag_count(call, head->tags);
    call_put_bool(call, STR("x-ms-server-encrypted"), true);
    call_put_if(call, STR("x-ms-encryption-scope"), head->encryption_scope);
    rest_blob_put_protection(call, head);
    if (head->accessed != 0)
        call_put_time(call, STR("x-ms-last-access-time"), head->accessed);
    call_put_own(call, STR("Accept-Ranges"), STR("bytes"));
    if (get->args.hierarchical)
        put_path(call, head);
}

static void put_range_checksum(struct rest_call *call, const struct get_blob *get)
{
    struct str bytes = get->args.bytes;
    if (get->wants_crc64)
        rest_blob_put_crc64(call, crc64(0, bytes));
    if (!get->wants_md5)
        return;
    unsigned char md5[MD5_BYTES];
    struct md5 state;
    md5_init(&state);
    md5_update(&state, bytes);
    md5_final(&state, md5);
    rest_blob_put_base64(call, STR("Content-MD5"), (struct str){(const char *)md5, MD5_BYTES});
}

/* In a partial answer, the MD5 of the whole blob has another header name. */
void rest_blob_get_put_range(struct rest_call *call, const struct get_blob *get)
{
    const struct blob_get_args *args = &get->args;
    struct str md5 = args->head.http.content_md5;
    if (!args->has_range) {
        if (str_given(md5))
            rest_blob_put_base64(call, STR("Content-MD5"), md5);
        return;
    }
    rest_range_put(call, args->offset, args->length, args->head.size);
    if (str_given(md5))
        rest_blob_put_base64(call, STR("x-ms-blob-content-md5"), md5);
    put_range_checksum(call, get);
}

/* A 304 carries the ETag and the time that it is about, a 416 the blob's size. */
void rest_get_blob_explain(struct rest_call *call, struct err error)
{
    const struct get_blob *get = call->args;
    const struct blob_head *head = &get->args.head;
    struct buf text = buf_in(call->arena);
    if (error.code == ERR_NOT_MODIFIED) {
        etag_put_quoted(&text, head->etag);
        http_put_header(&call->error_headers, STR("ETag"), buf_str(&text));
        buf_clear(&text);
        time_put_rfc1123(&text, head->last_modified);
        http_put_header(&call->error_headers, STR("Last-Modified"), buf_str(&text));
    } else if (error.code == ERR_INVALID_RANGE) {
        rest_range_put_size(call, head->size);
    }
}

/* One piece in memory is sent directly, without a source. */
static struct err put_content(struct rest_call *call, const struct pieces *pieces)
{
    bool whole = pieces->count == 1 && pieces->items[0].kind == PIECE_INLINE;
    if (whole && !structured_body_is_wanted(call)) {
        call->content = (struct str){pieces->items[0].bytes, (size_t)pieces->items[0].length};
        return OK;
    }
    content_source_set(call, pieces);
    return structured_body_wrap(call);
}

struct err rest_get_blob_encode(struct rest_call *call)
{
    struct get_blob *get = call->args;
    TRY(blob_copy_decode(get->args.head.copy, &get->copy));
    struct blob_touch touch = {call->partition, get->args.name, call->now};
    if (get->args.request.at.item == BLOB_BASE)
        blob_touch(call->store->touches, &touch, &get->args.head);
    put_head(call, get);
    rest_blob_get_put_range(call, get);
    if (call->version >= VERSION_TIER_ON_GET)
        put_tier(call, &get->args.head);
    return put_content(call, &get->args.pieces);
}

struct err rest_get_blob_properties_encode(struct rest_call *call)
{
    struct get_blob *get = call->args;
    const struct blob_head *head = &get->args.head;
    TRY(blob_copy_decode(head->copy, &get->copy));
    put_head(call, get);
    put_incremental_copy(call, &get->copy);
    if (str_given(head->http.content_md5))
        rest_blob_put_base64(call, STR("Content-MD5"), head->http.content_md5);
    put_tier(call, head);
    call->content_length = (int64_t)head->size;
    return OK;
}

struct err rest_get_blob_metadata_encode(struct rest_call *call)
{
    const struct get_blob *get = call->args;
    rest_blob_put_etag(call, get->args.head.etag, get->args.head.last_modified);
    put_metadata(call, &get->args.head);
    return OK;
}
