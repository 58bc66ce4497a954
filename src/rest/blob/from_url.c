/* SPDX-License-Identifier: Apache-2.0 */
/* Copy Blob From URL, Put Blob From URL, Put Block From URL, Append Block From URL: decode and
 * encode. Put Page From URL is with the other page operations. */
#include "rest/copy/from_url.h"

#include "core/text/base64.h"
#include "rest/around.h"
#include "rest/blob/append.h"
#include "rest/blob/block.h"
#include "rest/blob/copy.h"
#include "rest/blob/ops.h"
#include "rest/blob/protect.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/blob/upload.h"
#include "rest/metadata.h"
#include "service/blob/append.h"
#include "service/blob/block/block.h"

#define MIB (1ULL << 20)

/* x-ms-copy-source-tag-option: whether to copy the source's tags. */
static struct err read_tag_option(struct rest_call *call, struct from_url *from, bool *copies)
{
    const struct str name = STR("x-ms-copy-source-tag-option");
    struct str text = call_header(call, name);
    *copies = str_given(text) && str_ieq(text, STR("COPY"));
    if (str_given(text) && !*copies && !str_ieq(text, STR("REPLACE")))
        return call_bad_header(call, name);
    if (!*copies)
        return OK;
    /* A file has none. */
    if (copy_source_is_file(&from->url))
        return call_bad_header(call, name);
    from->wants_tags = true;
    if (str_given(call_header(call, STR("x-ms-tags"))))
        return call_bad_header(call, STR("x-ms-tags"));
    TRY(rest_blob_need_tag_permission(call));
    return copy_source_need_tags(call, &from->url);
}

/* ---- Copy Blob From URL ---- */

struct copy_from_url {
    struct blob_copy_args args; /* first: run's argument */
    struct from_url from;
    bool copies_tags;
};

struct err rest_copy_blob_from_url_decode(struct rest_call *call)
{
    struct copy_from_url *copy = ARENA_NEW(call->arena, struct copy_from_url);
    struct blob_copy_args *args = &copy->args;
    call->args = copy;
    TRY(rest_blob_read_base_request(call, &args->request));
    copy->from.url.key_signs = true;
    TRY(from_url_read(call, false, &copy->from));
    TRY(from_url_read_checksums(call, &copy->from));
    TRY(rest_blob_read_copy_wishes(call, &args->wishes));
    TRY(read_tag_option(call, &copy->from, &copy->copies_tags));
    copy->from.length = UINT64_MAX;
    copy->from.size_max = 256 * MIB;
    copy->from.too_large = ERR_COPY_SOURCE_CONFLICT;
    copy->from.inline_max = UPLOAD_INLINE_MAX;
    args->id = guid_random();
    args->url = copy->from.url.shown;
    args->as_block_blob = true;
    return OK;
}

static struct err copy_before(struct rest_call *call)
{
    struct copy_from_url *copy = call->args;
    struct blob_copy_args *args = &copy->args;
    struct from_url *from = &copy->from;
    TRY(from_url_fetch(call, from));
    args->from = from->head;
    args->source = from->claim.source;
    args->pieces = from->pieces;
    args->claim = from->claim.how;
    if (copy->copies_tags)
        args->wishes.tags = from->head->tags;
    return OK;
}

static void copy_failed(struct rest_call *call)
{
    struct copy_from_url *copy = call->args;
    from_url_drop(&copy->from);
}

struct err rest_copy_blob_from_url_start(struct rest_call *call)
{
    const struct copy_from_url *from = call->args;
    return rest_around(call, (struct around){.pool = from_url_pool(call, &from->from),
                                             .before = copy_before,
                                             .failed = copy_failed});
}

struct err rest_copy_blob_from_url_encode(struct rest_call *call)
{
    const struct copy_from_url *copy = call->args;
    const struct blob_copy_args *args = &copy->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    from_url_put_checksums(call, &copy->from);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_encrypted(call, args->head.encryption_scope);
    rest_blob_put_copy_outcome(call, &args->id, STR("success"));
    return OK;
}

/* ---- Put Blob From URL ---- */

struct put_from_url {
    struct blob_put_args args; /* first: run's argument */
    struct from_url from;
    struct blob_http http; /* as sent */
    bool copies_tags;
    bool copies_properties;
};

struct err rest_put_blob_from_url_decode(struct rest_call *call)
{
    struct put_from_url *put = ARENA_NEW(call->arena, struct put_from_url);
    struct blob_put_args *args = &put->args;
    call->args = put;
    put->copies_properties = true;
    TRY(rest_blob_read_base_request(call, &args->request));
    TRY(from_url_read(call, true, &put->from));
    TRY(from_url_read_checksums(call, &put->from));
    TRY(rest_blob_read_http(call, false, &put->http));
    TRY(rest_metadata_from_headers(call, &args->properties.metadata));
    TRY(rest_blob_read_tags_header(call, &args->properties.tags));
    TRY(rest_blob_read_protection(call, &args->properties.protection));
    TRY(rest_blob_read_tier(call, false, &args->properties.tier));
    TRY(read_tag_option(call, &put->from, &put->copies_tags));
    TRY(call_header_bool(call, STR("x-ms-copy-source-blob-properties"), &put->copies_properties));
    put->from.length = UINT64_MAX;
    put->from.size_max = rest_blob_body_max(call);
    put->from.too_large = ERR_COPY_SOURCE_CONFLICT;
    put->from.inline_max = UPLOAD_INLINE_MAX;
    put->from.wants_crc64 = true;
    return OK;
}

static struct str chosen(struct str sent, struct str of_source)
{
    return str_given(sent) ? sent : of_source;
}

/* Values of the request take precedence over the source's. */
static void merge_http(struct put_from_url *put)
{
    struct blob_http none = {0};
    const struct blob_http *source = put->copies_properties ? &put->from.head->http : &none;
    struct blob_http *http = &put->args.properties.http;
    http->content_type = chosen(put->http.content_type, source->content_type);
    if (!str_given(http->content_type))
        http->content_type = STR("application/octet-stream");
    http->content_encoding = chosen(put->http.content_encoding, source->content_encoding);
    http->content_language = chosen(put->http.content_language, source->content_language);
    http->content_disposition = chosen(put->http.content_disposition, source->content_disposition);
    http->cache_control = chosen(put->http.cache_control, source->cache_control);
    http->content_md5 = chosen(put->http.content_md5, source->content_md5);
    if (put->from.has_md5)
        http->content_md5 = (struct str){(const char *)put->from.md5_found, MD5_BYTES};
}

static struct err put_before(struct rest_call *call)
{
    struct put_from_url *put = call->args;
    struct from_url *from = &put->from;
    struct err error = from_url_fetch(call, from);
    /* With only date conditions on the source, the service answers that it cannot verify it. */
    const struct conditions *c = &from->found.conditions;
    if (error.code == ERR_SOURCE_CONDITION_NOT_MET && !str_given(c->if_match) &&
        !str_given(c->if_none_match) && c->if_tags == NULL)
        error.code = ERR_COPY_SOURCE_CONDITION;
    TRY(error);
    merge_http(put);
    if (put->copies_tags)
        put->args.properties.tags = from->head->tags;
    put->args.pieces = from->pieces;
    put->args.claim = from->claim;
    put->args.size = from->size;
    return OK;
}

static void put_failed(struct rest_call *call)
{
    struct put_from_url *put = call->args;
    from_url_drop(&put->from);
}

struct err rest_put_blob_from_url_start(struct rest_call *call)
{
    const struct put_from_url *from = call->args;
    return rest_around(call, (struct around){.pool = from_url_pool(call, &from->from),
                                             .before = put_before,
                                             .failed = put_failed});
}

struct err rest_put_blob_from_url_encode(struct rest_call *call)
{
    const struct put_from_url *put = call->args;
    rest_blob_put_etag(call, put->args.head.etag, put->args.head.last_modified);
    from_url_put_checksums(call, &put->from);
    rest_blob_put_version_id(call, put->args.head.version);
    rest_blob_put_encrypted(call, put->args.head.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Put Block From URL ---- */

struct block_from_url {
    struct block_put_args args; /* first: run's argument */
    struct from_url from;
};

struct err rest_put_block_from_url_decode(struct rest_call *call)
{
    struct block_from_url *put = ARENA_NEW(call->arena, struct block_from_url);
    call->args = put;
    TRY(rest_blob_read_base_request(call, &put->args.request));
    TRY(rest_blob_read_block_id(call, &put->args.id));
    TRY(from_url_read(call, false, &put->from));
    TRY(from_url_read_range(call, &put->from));
    TRY(from_url_read_checksums(call, &put->from));
    put->from.size_max = rest_block_body_max(call);
    put->from.inline_max = BLOCK_INLINE_MAX;
    put->from.wants_crc64 = true;
    return OK;
}

static struct err block_before(struct rest_call *call)
{
    struct block_from_url *put = call->args;
    TRY(from_url_fetch(call, &put->from));
    put->args.pieces = put->from.pieces;
    put->args.claim = put->from.claim;
    /* A block has at least one byte. */
    return put->from.size == 0 ? err_new(ERR_INVALID_RANGE) : OK;
}

static void block_failed(struct rest_call *call)
{
    struct block_from_url *put = call->args;
    from_url_drop(&put->from);
}

struct err rest_put_block_from_url_start(struct rest_call *call)
{
    const struct block_from_url *from = call->args;
    return rest_around(call, (struct around){.pool = from_url_pool(call, &from->from),
                                             .before = block_before,
                                             .failed = block_failed});
}

struct err rest_put_block_from_url_encode(struct rest_call *call)
{
    const struct block_from_url *put = call->args;
    from_url_put_checksums(call, &put->from);
    rest_blob_put_encrypted(call, put->args.request.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Append Block From URL ---- */

struct append_from_url {
    struct blob_append_args args; /* first: run's argument */
    struct from_url from;
};

struct err rest_append_block_from_url_decode(struct rest_call *call)
{
    struct append_from_url *append = ARENA_NEW(call->arena, struct append_from_url);
    call->args = append;
    TRY(rest_blob_read_base_request(call, &append->args.request));
    TRY(rest_blob_read_append_position(call, &append->args));
    TRY(from_url_read(call, false, &append->from));
    TRY(from_url_read_range(call, &append->from));
    TRY(from_url_read_checksums(call, &append->from));
    append->from.size_max = rest_blob_append_max(call);
    append->from.inline_max = UPLOAD_INLINE_MAX;
    append->from.wants_crc64 = true;
    return OK;
}

static struct err append_before(struct rest_call *call)
{
    struct append_from_url *append = call->args;
    TRY(from_url_fetch(call, &append->from));
    append->args.pieces = append->from.pieces;
    append->args.claim = append->from.claim;
    append->args.size = append->from.size;
    return append->from.size == 0 ? err_new(ERR_INVALID_RANGE) : OK;
}

static void append_failed(struct rest_call *call)
{
    struct append_from_url *append = call->args;
    from_url_drop(&append->from);
}

struct err rest_append_block_from_url_start(struct rest_call *call)
{
    const struct append_from_url *from = call->args;
    return rest_around(call, (struct around){.pool = from_url_pool(call, &from->from),
                                             .before = append_before,
                                             .failed = append_failed});
}

struct err rest_append_block_from_url_encode(struct rest_call *call)
{
    const struct append_from_url *append = call->args;
    rest_blob_put_append_outcome(call, &append->args);
    from_url_put_checksums(call, &append->from);
    return OK;
}
