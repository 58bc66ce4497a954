/* SPDX-License-Identifier: Apache-2.0 */
/* Put Page From URL: decode and encode. */
#include "rest/around.h"
#include "rest/blob/ops.h"
#include "rest/blob/page.h"
#include "rest/blob/request.h"
#include "rest/copy/from_url.h"
#include "service/common/content/interval_upload.h"

struct page_from_url {
    struct blob_page_args args; /* first: run's argument */
    struct from_url from;
    struct interval_upload upload;
    bool uploading;
};

static struct err take_bytes(void *arg, struct str bytes)
{
    struct page_from_url *put = arg;
    return interval_upload_take(&put->upload, bytes);
}

struct err rest_put_page_from_url_decode(struct rest_call *call)
{
    struct page_from_url *put = ARENA_NEW(call->arena, struct page_from_url);
    struct from_url *from = &put->from;
    const struct str write = STR("x-ms-page-write");
    const struct str source_range = STR("x-ms-source-range");
    call->args = put;
    TRY(rest_blob_read_base_request(call, &put->args.request));
    TRY(rest_blob_read_sequence_conditions(call, &put->args.sequence));
    if (!str_given(call_header(call, write)))
        return call_missing_header(call, write);
    if (!str_ieq(call_header(call, write), STR("update")))
        return call_bad_header(call, write);
    TRY(rest_blob_read_page_range(call, &put->args));
    if (put->args.length > BLOB_PAGE_WRITE_MAX)
        return call_error(call, ERR_REQUEST_BODY_TOO_LARGE, "MaxLimit", STR("4194304"));
    TRY(from_url_read(call, false, from));
    TRY(from_url_read_range(call, from));
    if (!from->has_range)
        return call_missing_header(call, source_range);
    if (from->length != put->args.length)
        return call_bad_header(call, source_range);
    TRY(from_url_read_checksums(call, from));
    from->size_max = BLOB_PAGE_WRITE_MAX;
    from->wants_crc64 = true;
    from->sink = take_bytes;
    from->sink_arg = put;
    return OK;
}

static void drop(struct rest_call *call)
{
    struct page_from_url *put = call->args;
    if (put->uploading)
        interval_upload_discard(&put->upload);
    put->uploading = false;
}

static struct err fetch(struct rest_call *call, struct page_from_url *put)
{
    TRY(from_url_fetch(call, &put->from));
    if (put->from.size != put->args.length)
        return err_new(ERR_INVALID_RANGE);
    return interval_upload_end(&put->upload);
}

static struct err before(struct rest_call *call)
{
    struct page_from_url *put = call->args;
    interval_upload_init(&put->upload, call->store->engine, call->arena, put->args.offset,
                         put->args.length);
    put->uploading = true;
    put->args.pieces = &put->upload.pieces;
    struct err error = fetch(call, put);
    if (err_is(error))
        drop(call);
    return error;
}

struct err rest_put_page_from_url_start(struct rest_call *call)
{
    const struct page_from_url *from = call->args;
    return rest_around(call, (struct around){.pool = from_url_pool(call, &from->from),
                                             .before = before,
                                             .failed = drop});
}

struct err rest_put_page_from_url_encode(struct rest_call *call)
{
    const struct page_from_url *put = call->args;
    rest_blob_put_etag(call, put->args.head.etag, put->args.head.last_modified);
    from_url_put_checksums(call, &put->from);
    call_put_u64(call, STR("x-ms-blob-sequence-number"), put->args.head.sequence);
    rest_blob_put_encrypted(call, put->args.head.encryption_scope);
    call->status = 201;
    return OK;
}
