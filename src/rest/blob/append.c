/* SPDX-License-Identifier: Apache-2.0 */
/* Put Blob of an append blob, Append Block, Append Blob Seal: decode and encode. */
#include "rest/blob/append.h"

#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"

#define MIB (1ULL << 20)

enum { VERSION_LARGE_BLOCKS = 20221102 };

struct err rest_put_append_blob_decode(struct rest_call *call)
{
    struct blob_create_append_args *args = ARENA_NEW(call->arena, struct blob_create_append_args);
    call->args = args;
    TRY(rest_blob_read_base_request(call, &args->request));
    TRY(rest_blob_read_properties(call, true, &args->properties));
    if (call->body_length > 0 || call->x->request.chunked)
        return call_bad_header(call, STR("Content-Length"));
    const struct str tier = STR("x-ms-access-tier");
    return str_given(call_header(call, tier)) ? call_bad_header(call, tier) : OK;
}

struct err rest_put_append_blob_encode(struct rest_call *call)
{
    const struct blob_create_append_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_encrypted(call, args->head.encryption_scope);
    call->status = 201;
    return OK;
}

struct append_block {
    struct blob_append_args args; /* first: run's argument */
    struct blob_upload *upload;
};

uint64_t rest_blob_append_max(const struct rest_call *call)
{
    return call->version >= VERSION_LARGE_BLOCKS ? 100 * MIB : 4 * MIB;
}

struct err rest_blob_read_append_position(struct rest_call *call, struct blob_append_args *args)
{
    const struct str position = STR("x-ms-blob-condition-appendpos");
    const struct str size_max = STR("x-ms-blob-condition-maxsize");
    args->has_position = str_given(call_header(call, position));
    args->has_size_max = str_given(call_header(call, size_max));
    TRY(call_header_u64(call, position, &args->position));
    return call_header_u64(call, size_max, &args->size_max);
}

static struct err append_block_end(struct rest_sink *sink)
{
    struct blob_upload *u = (struct blob_upload *)(void *)sink;
    struct append_block *append = u->call->args;
    TRY(rest_blob_upload_end(u));
    append->args.size = u->upload.size;
    return OK;
}

struct err rest_append_block_decode(struct rest_call *call)
{
    struct append_block *append = ARENA_NEW(call->arena, struct append_block);
    call->args = append;
    TRY(rest_blob_read_base_request(call, &append->args.request));
    TRY(rest_blob_read_append_position(call, &append->args));
    if (call->body_length == 0)
        return call_bad_header(call, STR("Content-Length"));
    struct blob_upload_options options = {.size_max = rest_blob_append_max(call),
                                          .inline_max = UPLOAD_INLINE_MAX};
    TRY(rest_blob_upload_begin(call, &options, &append->upload));
    append->upload->size_min = 1;
    append->upload->base.end = append_block_end;
    append->args.pieces = &append->upload->upload.pieces;
    return OK;
}

void rest_blob_put_append_outcome(struct rest_call *call, const struct blob_append_args *args)
{
    const struct blob_head *head = &args->head;
    rest_blob_put_etag(call, head->etag, head->last_modified);
    call_put_u64(call, STR("x-ms-blob-append-offset"), args->offset);
    call_put_u64(call, STR("x-ms-blob-committed-block-count"), head->block_count);
    rest_blob_put_encrypted(call, head->encryption_scope);
    call->status = 201;
}

struct err rest_append_block_encode(struct rest_call *call)
{
    const struct append_block *append = call->args;
    rest_blob_put_append_outcome(call, &append->args);
    rest_blob_upload_put_checksums(call, append->upload);
    return OK;
}

struct err rest_append_blob_seal_decode(struct rest_call *call)
{
    struct blob_append_args *args = ARENA_NEW(call->arena, struct blob_append_args);
    call->args = args;
    TRY(rest_blob_read_base_request(call, &args->request));
    return rest_blob_read_append_position(call, args);
}

struct err rest_append_blob_seal_encode(struct rest_call *call)
{
    const struct blob_append_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    call_put_bool(call, STR("x-ms-blob-sealed"), true);
    return OK;
}
