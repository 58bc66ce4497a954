/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/blob/upload.h"

#include <assert.h>

#include "core/crc/crc64.h"
#include "core/wire.h"
#include "rest/blob/request.h"

enum {
    VERSION_LARGE = 20191212,
    VERSION_MEDIUM = 20160531,
    VERSION_CRC64 = 20190202,
    VERSION_BOTH = 20261006
};
#define MIB (1ULL << 20)

uint64_t rest_blob_body_max(const struct rest_call *call)
{
    return call->version >= VERSION_LARGE    ? 5000 * MIB
           : call->version >= VERSION_MEDIUM ? 256 * MIB
                                             : 64 * MIB;
}

uint64_t rest_block_body_max(const struct rest_call *call)
{
    return call->version >= VERSION_LARGE    ? 4000 * MIB
           : call->version >= VERSION_MEDIUM ? 100 * MIB
                                             : 4 * MIB;
}

static struct err too_large(struct rest_call *call, uint64_t size_max)
{
    return err_detail(ERR_REQUEST_BODY_TOO_LARGE,
                      arena_printf(call->arena, "MaxLimit\t%llu", (unsigned long long)size_max).p);
}

static struct err sink_take(struct rest_sink *sink, struct str bytes)
{
    struct blob_upload *u = (struct blob_upload *)(void *)sink;
    if (bytes.n > u->size_max - u->upload.size)
        return too_large(u->call, u->size_max);
    return upload_take(&u->upload, bytes);
}

static struct md5 *sink_md5(struct rest_sink *sink)
{
    return upload_md5(&((struct blob_upload *)(void *)sink)->upload);
}

static struct err sink_take_summed(struct rest_sink *sink, struct str bytes)
{
    struct blob_upload *u = (struct blob_upload *)(void *)sink;
    if (bytes.n > u->size_max - u->upload.size)
        return too_large(u->call, u->size_max);
    return upload_take_summed(&u->upload, bytes);
}

struct err rest_blob_upload_end(struct blob_upload *u)
{
    TRY(upload_end(&u->upload));
    if (u->upload.size < u->size_min)
        return call_bad_header(u->call, STR("Content-Length"));
    if (u->has_md5)
        TRY(rest_blob_compare_md5(u->call->arena, u->md5, u->upload.md5));
    if (u->has_crc64 && u->crc64 != u->upload.crc64)
        return err_new(ERR_CRC64_MISMATCH);
    return OK;
}

static struct err sink_end(struct rest_sink *sink)
{
    return rest_blob_upload_end((struct blob_upload *)(void *)sink);
}

static bool sink_digest(struct rest_sink *sink, struct md5_job *job)
{
    return upload_digest(&((struct blob_upload *)(void *)sink)->upload, job);
}

static void sink_drop(struct rest_sink *sink)
{
    upload_discard(&((struct blob_upload *)(void *)sink)->upload);
}

static struct err read_checksums(struct rest_call *call, struct blob_upload *u)
{
    char crc64[8];
    TRY(rest_blob_read_checksum(call, STR("Content-MD5"), ERR_INVALID_MD5, u->md5, MD5_BYTES,
                                &u->has_md5));
    TRY(rest_blob_read_checksum(call, STR("x-ms-content-crc64"), ERR_INVALID_HEADER_VALUE, crc64,
                                sizeof crc64, &u->has_crc64));
    if (u->has_md5 && u->has_crc64)
        return err_new(ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT);
    struct reader r = reader_of((struct str){crc64, sizeof crc64});
    if (u->has_crc64)
        u->crc64 = read_le64(&r);
    return OK;
}

static void md5_of(struct str body, unsigned char out[MD5_BYTES])
{
    struct md5 state;
    md5_init(&state);
    md5_update(&state, body);
    md5_final(&state, out);
}

struct err rest_blob_check_body_checksums(struct rest_call *call, struct str body)
{
    struct blob_upload sent = {0};
    unsigned char md5[MD5_BYTES];
    TRY(read_checksums(call, &sent));
    if (sent.has_md5) {
        md5_of(body, md5);
        TRY(rest_blob_compare_md5(call->arena, sent.md5, md5));
    }
    if (sent.has_crc64 && sent.crc64 != crc64(0, body))
        return err_new(ERR_CRC64_MISMATCH);
    return OK;
}

bool rest_blob_answers_md5(const struct rest_call *call, bool sent)
{
    return sent || call->version < VERSION_CRC64;
}

void rest_blob_put_checksums(struct rest_call *call, const unsigned char *md5,
                             const uint64_t *crc64)
{
    if (md5 != NULL)
        rest_blob_put_base64(call, STR("Content-MD5"), (struct str){(const char *)md5, MD5_BYTES});
    bool wanted = call->version >= (md5 != NULL ? VERSION_BOTH : VERSION_CRC64);
    if (crc64 != NULL && wanted)
        rest_blob_put_crc64(call, *crc64);
}

void rest_blob_put_body_checksums(struct rest_call *call, struct str body)
{
    bool has_md5 = rest_blob_answers_md5(call, str_given(call_header(call, STR("Content-MD5"))));
    unsigned char md5[MD5_BYTES];
    uint64_t crc = crc64(0, body);
    if (has_md5)
        md5_of(body, md5);
    rest_blob_put_checksums(call, has_md5 ? md5 : NULL, &crc);
}

struct err rest_blob_upload_begin(struct rest_call *call, const struct blob_upload_options *options,
                                  struct blob_upload **out)
{
    assert(out != NULL);
    struct blob_upload *u = ARENA_NEW(call->arena, struct blob_upload);
    int64_t length = call->body_length;
    TRY(read_checksums(call, u));
    if (length > 0 && (uint64_t)length > options->size_max)
        return too_large(call, options->size_max);
    bool sent_only = options->sent_only;
    struct upload_options upload = {
        .inline_max = options->inline_max,
        .expected = length,
        .wants_md5 =
            sent_only ? u->has_md5 : options->always_md5 || rest_blob_answers_md5(call, u->has_md5),
        .wants_crc64 = !sent_only || u->has_md5 || u->has_crc64};
    upload_init(&u->upload, call->store, call->arena, &upload);
    u->base =
        (struct rest_sink){sink_take, sink_end, sink_drop, sink_digest, sink_md5, sink_take_summed};
    u->call = call;
    u->size_max = options->size_max;
    u->always_md5 = options->always_md5;
    call->sink = &u->base;
    *out = u;
    return OK;
}

/* Put Blob has always answered with both. */
void rest_blob_upload_put_checksums(struct rest_call *call, const struct blob_upload *u)
{
    const unsigned char *md5 = u->upload.md5_how != UPLOAD_NO_MD5 ? u->upload.md5 : NULL;
    rest_blob_put_checksums(call, md5, &u->upload.crc64);
    if (u->always_md5 && call->version >= VERSION_CRC64 && call->version < VERSION_BOTH)
        rest_blob_put_crc64(call, u->upload.crc64);
}
