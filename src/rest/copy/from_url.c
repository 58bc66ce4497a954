/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/copy/from_url.h"

#include <assert.h>

#include "core/crc/crc64.h"
#include "http/range.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "rest/copy/fetch.h"
#include "rest/server.h"
#include "service/common/name.h"
#include "service/file/keys.h"

enum { PIECES_AT_ONCE = 2048 };

/* ---- reading the request ---- */

struct err from_url_read(struct rest_call *call, bool with_tags, struct from_url *out)
{
    assert(out != NULL);
    if (call->x->request.content_length > 0 || call->x->request.chunked)
        return call_bad_header(call, STR("Content-Length"));
    TRY(copy_source_read(call, &out->url));
    out->too_large = ERR_REQUEST_BODY_TOO_LARGE;
    if (copy_source_is_file(&out->url))
        return from_url_read_file(call, out);
    if (out->url.here)
        TRY(copy_source_blob(call, &out->url, &out->found));
    return copy_source_conditions(call, &out->url, with_tags, &out->found.conditions);
}

/* The source of a blob may not be a file with conditions: the page "Put Block From URL". */
struct err from_url_read_file(struct rest_call *call, struct from_url *f)
{
    const struct source_url *url = &f->url;
    struct file_request *request = &f->file.read.request;
    if (err_is(name_check(url->second.container)))
        return call_bad_header(call, second_header(SECOND_COPY_SOURCE));
    f->file.partition = file_partition(call->arena, url->second.account, url->second.container);
    *request = (struct file_request){
        .arena = call->arena, .path = url->second.object, .snapshot = url->snapshot};
    TRY(call_header_bool(call, STR("x-ms-source-allow-trailing-dot"), &request->keep_dots));
    return call->service == SERVICE_BLOB ? copy_source_no_conditions(call) : OK;
}

struct err from_url_read_range(struct rest_call *call, struct from_url *f)
{
    const struct str name = STR("x-ms-source-range");
    struct str text = call_header(call, name);
    struct http_range range;
    f->length = UINT64_MAX;
    if (!str_given(text))
        return OK;
    if (!http_range_parse(text, &range))
        return call_bad_header(call, name);
    f->has_range = true;
    f->offset = range.first;
    if (range.last != HTTP_RANGE_TO_END)
        f->length = range.last - range.first + 1;
    return OK;
}

struct err from_url_read_checksums(struct rest_call *call, struct from_url *f)
{
    char crc64[8];
    TRY(rest_blob_read_checksum(call, STR("x-ms-source-content-md5"), ERR_INVALID_MD5, f->md5,
                                MD5_BYTES, &f->has_md5));
    TRY(rest_blob_read_checksum(call, STR("x-ms-source-content-crc64"), ERR_INVALID_HEADER_VALUE,
                                crc64, sizeof crc64, &f->has_crc64));
    if (f->has_md5 && f->has_crc64)
        return err_new(ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT);
    struct reader r = reader_of((struct str){crc64, sizeof crc64});
    if (f->has_crc64)
        f->crc64 = read_le64(&r);
    return OK;
}

/* ---- fetching ---- */

static struct err too_large(struct rest_call *call, const struct from_url *f)
{
    return err_detail(
        f->too_large,
        arena_printf(call->arena, "MaxLimit\t%llu", (unsigned long long)f->size_max).p);
}

static bool wants_bytes(const struct from_url *f)
{
    return f->wants_md5 || f->has_crc64 || f->wants_crc64;
}

static void add_checksums(struct from_url *f, struct str bytes)
{
    if (f->wants_md5)
        md5_update(&f->md5_state, bytes);
    f->crc64_found = crc64(f->crc64_found, bytes);
}

static struct err count_bytes(void *arg, struct str bytes)
{
    add_checksums(arg, bytes);
    return OK;
}

static struct err store_bytes(void *arg, struct str bytes)
{
    struct from_url *f = arg;
    add_checksums(f, bytes);
    f->stored += bytes.n;
    return f->sink != NULL ? f->sink(f->sink_arg, bytes) : upload_take(&f->upload, bytes);
}

static void begin_upload(struct rest_call *call, struct from_url *f, int64_t expected)
{
    struct upload_options options = {.inline_max = f->inline_max, .expected = expected};
    if (f->sink != NULL)
        return;
    upload_init(&f->upload, call->store, call->arena, &options);
    f->uploading = true;
}

static struct err end_upload(struct from_url *f)
{
    if (f->sink != NULL)
        return OK;
    TRY(upload_end(&f->upload));
    f->pieces = &f->upload.pieces;
    f->claim = (struct blob_claim){0};
    return OK;
}

static struct err check_checksums(struct rest_call *call, struct from_url *f)
{
    if (f->wants_md5)
        md5_final(&f->md5_state, f->md5_found);
    if (f->has_md5)
        TRY(rest_blob_compare_md5(call->arena, f->md5, f->md5_found));
    return f->has_crc64 && f->crc64 != f->crc64_found ? err_new(ERR_CRC64_MISMATCH) : OK;
}

/* Reads the source's bytes, window by window. */
static struct err store_found(struct rest_call *call, struct from_url *f)
{
    struct blob_source *found = &f->found;
    uint64_t end = f->offset + f->size;
    begin_upload(call, f, (int64_t)f->size);
    for (;;) {
        TRY(feed_pieces(call->store->engine, &found->pieces, store_bytes, f));
        if (found->until >= end)
            return end_upload(f);
        found->offset = found->until;
        found->length = end - found->offset;
        TRY(store_read(call->store, found->partition, ENGINE_WAIT, blob_read_source, found));
    }
}

static struct err take_found(struct rest_call *call, struct from_url *f)
{
    struct blob_source *found = &f->found;
    uint64_t size = found->head.size;
    f->head = &found->head;
    f->size = size < f->offset ? 0 : size - f->offset;
    if (f->length < f->size)
        f->size = f->length;
    if (f->has_range && f->size == 0)
        return err_new(ERR_INVALID_RANGE);
    if (f->size > f->size_max)
        return too_large(call, f);
    bool share = f->sink == NULL && found->until == f->offset + f->size &&
                 blob_source_shareable(found, f->inline_max);
    if (!share)
        return store_found(call, f);
    if (wants_bytes(f))
        TRY(feed_pieces(call->store->engine, &found->pieces, count_bytes, f));
    f->pieces = &found->pieces;
    f->claim = (struct blob_claim){PIECE_HOLD, found};
    return OK;
}

static struct err fetch_here(struct rest_call *call, struct from_url *f)
{
    struct blob_source *found = &f->found;
    struct engine_pin *pin = store_pin(call->store);
    found->found = false;
    found->offset = f->offset;
    found->length = f->length;
    found->pieces_max = PIECES_AT_ONCE;
    struct err error =
        store_read(call->store, found->partition, ENGINE_WAIT, blob_read_source, found);
    if (!err_is(error))
        error = take_found(call, f);
    store_unpin(call->store, pin);
    return copy_source_refused(call, error);
}

/* ---- a file of this server ---- */

/* All of it is from one committed state, despite concurrent writes. */
static struct err feed_file(struct rest_call *call, struct from_url *f)
{
    struct file_source *source = &f->file;
    struct engine *engine = call->store->engine;
    struct file_read_more more;
    TRY(feed_pieces(engine, &source->read.pieces, store_bytes, f));
    file_read_more_init(&more, &source->read, source->read.outcome.incarnation);
    more.arena = call->arena;
    while (more.from < more.to) {
        TRY(store_read_state(call->store, source->state, source->partition, file_get_file_more,
                             &more));
        TRY(feed_pieces(engine, &more.pieces, store_bytes, f));
        more.from = more.until;
    }
    return end_upload(f);
}

/* The properties of a blob that is created from the file. */
static void take_node(struct from_url *f, const struct node *n)
{
    const struct node_http *http = &n->http;
    f->remote = (struct blob_head){.type = BLOB_BLOCK,
                                   .committed = true,
                                   .size = n->size,
                                   .metadata = n->metadata,
                                   .http = {.content_type = http->content_type.n > 0
                                                                ? http->content_type
                                                                : STR("application/octet-stream"),
                                            .content_encoding = http->content_encoding,
                                            .content_language = http->content_language,
                                            .content_disposition = http->content_disposition,
                                            .cache_control = http->cache_control,
                                            .content_md5 = http->content_md5}};
    f->head = &f->remote;
}

static struct err take_file(struct rest_call *call, struct from_url *f)
{
    struct file_read_args *read = &f->file.read;
    read->has_range = f->has_range;
    read->range_offset = f->offset;
    read->range_length = f->length;
    read->kept = &f->file.state;
    TRY(call_read_file(call, f->file.partition, file_get_file, read));
    take_node(f, &read->outcome.node);
    f->size = read->length;
    if (f->size > f->size_max)
        return too_large(call, f);
    begin_upload(call, f, (int64_t)f->size);
    return feed_file(call, f);
}

static struct err fetch_file(struct rest_call *call, struct from_url *f)
{
    struct engine_pin *pin = store_pin(call->store);
    struct err error = take_file(call, f);
    store_release_state(call->store, f->file.state);
    f->file.state = NULL;
    store_unpin(call->store, pin);
    return copy_source_refused(call, error);
}

struct pool *from_url_pool(const struct rest_call *call, const struct from_url *f)
{
    return f->url.here ? call->server->pool : call->server->fetch_pool;
}

/* An unknown length is counted. */
static struct err fetch_there(struct rest_call *call, struct from_url *f)
{
    struct fetch fetch;
    struct fetch_part part = {.ranged = f->has_range,
                              .offset = f->offset,
                              .length = f->length,
                              .size_max = f->length < f->size_max ? f->length : f->size_max,
                              .sink = store_bytes,
                              .arg = f,
                              .head = &f->remote};
    TRY(fetch_init(call, &f->url, &fetch));
    begin_upload(call, f, -1);
    struct err error = fetch_bytes(&fetch, &part);
    if (error.code == ERR_REQUEST_BODY_TOO_LARGE)
        return too_large(call, f);
    TRY(fetch_refused(call, &fetch, error));
    f->head = &f->remote;
    f->size = f->stored;
    f->remote.size = f->size;
    if (f->wants_tags)
        TRY(fetch_refused(call, &fetch, fetch_tags(&fetch, &f->remote.tags)));
    return end_upload(f);
}

struct err from_url_fetch(struct rest_call *call, struct from_url *f)
{
    f->crc64_found = 0;
    f->stored = 0;
    f->wants_md5 = f->has_md5 || (f->wants_crc64 && rest_blob_answers_md5(call, false));
    md5_init(&f->md5_state);
    struct err error = copy_source_is_file(&f->url) ? fetch_file(call, f)
                       : f->url.here                ? fetch_here(call, f)
                                                    : fetch_there(call, f);
    if (!err_is(error))
        error = check_checksums(call, f);
    if (err_is(error))
        from_url_drop(f);
    return error;
}

void from_url_drop(struct from_url *f)
{
    if (f->uploading)
        upload_discard(&f->upload);
    f->uploading = false;
}

void from_url_put_checksums(struct rest_call *call, const struct from_url *f)
{
    rest_blob_put_checksums(call, f->wants_md5 ? f->md5_found : NULL,
                            wants_bytes(f) ? &f->crc64_found : NULL);
}
