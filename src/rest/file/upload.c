/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/file/upload.h"

#include "core/container.h"
#include "rest/blob/request.h"

static struct file_upload *upload_of(struct rest_sink *sink)
{
    return CONTAINER_OF(sink, struct file_upload, sink);
}

static struct err take(struct rest_sink *sink, struct str bytes)
{
    return interval_upload_take(&upload_of(sink)->upload, bytes);
}

static struct err end(struct rest_sink *sink)
{
    struct file_upload *u = upload_of(sink);
    TRY(interval_upload_end(&u->upload));
    if (u->has_md5)
        TRY(rest_blob_compare_md5(u->arena, u->md5, u->upload.md5));
    *u->to = &u->upload.pieces;
    return OK;
}

static void drop(struct rest_sink *sink)
{
    interval_upload_discard(&upload_of(sink)->upload);
}

struct err rest_file_upload_begin(struct rest_call *call, struct file_upload *u, uint64_t offset,
                                  uint64_t length, const struct pieces **to)
{
    if (length > FILE_RANGE_MAX)
        return err_detail(ERR_REQUEST_BODY_TOO_LARGE, "MaxLimit\t4194304");
    TRY(rest_blob_read_checksum(call, STR("Content-MD5"), ERR_INVALID_MD5, u->md5, MD5_BYTES,
                                &u->has_md5));
    interval_upload_init(&u->upload, call->store->engine, call->arena, offset, length);
    u->upload.wants_md5 = true;
    u->arena = call->arena;
    u->to = to;
    u->sink = (struct rest_sink){.take = take, .end = end, .drop = drop};
    call->sink = &u->sink;
    return OK;
}

void rest_file_upload_put_md5(struct rest_call *call, const struct file_upload *u)
{
    if (u->to != NULL)
        rest_blob_put_base64(call, STR("Content-MD5"),
                             (struct str){(const char *)u->upload.md5, MD5_BYTES});
}
