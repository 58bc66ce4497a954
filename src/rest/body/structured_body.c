/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/body/structured_body.h"

#include <unistd.h>

#include "core/crc/crc64.h"
#include "rest/body/structured.h"

#define HEADER STR("x-ms-structured-body")

/* ---- in ---- */

struct err structured_body_announced(struct rest_call *call)
{
    const struct str length = STR("x-ms-structured-content-length");
    struct str named = call_header(call, HEADER);
    uint64_t content = 0;
    call->body_length = call->x->request.content_length;
    if (!str_given(named) || call->op->body != BODY_STREAM)
        return OK;
    if (!structured_named(named))
        return call_bad_header(call, HEADER);
    if (!str_given(call_header(call, length)))
        return call_missing_header(call, length);
    TRY(call_header_u64(call, length, &content));
    if (content > INT64_MAX)
        return call_bad_header(call, length);
    call->body_length = (int64_t)content;
    call->structured = true;
    return OK;
}

struct unwrapping {
    struct rest_sink base; /* first: the sink's functions get its address */
    struct rest_sink *inner;
    struct structured_reader reader;
};

static struct err unwrap_take(struct rest_sink *sink, struct str bytes)
{
    struct unwrapping *u = (struct unwrapping *)(void *)sink;
    while (bytes.n > 0) {
        struct str content;
        TRY(structured_next(&u->reader, &bytes, &content));
        if (content.n > 0)
            TRY(u->inner->take(u->inner, content));
    }
    return OK;
}

static struct err unwrap_end(struct rest_sink *sink)
{
    struct unwrapping *u = (struct unwrapping *)(void *)sink;
    TRY(structured_end(&u->reader));
    return u->inner->end(u->inner);
}

static void unwrap_drop(struct rest_sink *sink)
{
    struct unwrapping *u = (struct unwrapping *)(void *)sink;
    u->inner->drop(u->inner);
}

void structured_body_unwrap(struct rest_call *call)
{
    if (!call->structured || call->sink == NULL)
        return;
    struct unwrapping *u = ARENA_NEW(call->arena, struct unwrapping);
    int64_t length = call->x->request.content_length;
    structured_reader_init(&u->reader, length < 0 ? UINT64_MAX : (uint64_t)length,
                           (uint64_t)call->body_length);
    u->base = (struct rest_sink){.take = unwrap_take, .end = unwrap_end, .drop = unwrap_drop};
    u->inner = call->sink;
    call->sink = &u->base;
}

/* ---- out ---- */

enum { COPY_BYTES = 64 << 10 };

struct wrapping {
    struct http_source base; /* first: pull gets its address */
    struct http_source *inner;
    struct structured_frame frame;
    enum structured_state state;
    uint64_t number;
    uint64_t left, segment_left;
    uint64_t segment_crc64, crc64;
    struct http_span span; /* of the inner source: the rest of it */
    struct buf field;
    char *copy; /* a buffer for content in files, to compute its checksum */
};

static enum http_pull pull_field(struct wrapping *w, struct http_span *out)
{
    *out = (struct http_span){.memory = w->field.p, .fd = -1, .length = w->field.n};
    return HTTP_PULL_SPAN;
}

static enum http_pull pull_header(struct wrapping *w, struct http_span *out)
{
    buf_put_u8(&w->field, 1);
    buf_put_le64(&w->field, structured_length(w->frame.content, w->frame.count));
    buf_put_le16(&w->field, 1);
    buf_put_le16(&w->field, (uint16_t)w->frame.count);
    w->state = STRUCTURED_SEGMENT;
    return pull_field(w, out);
}

static enum http_pull pull_segment(struct wrapping *w, struct http_span *out)
{
    w->segment_left = w->left < w->frame.segment ? w->left : w->frame.segment;
    w->segment_crc64 = 0;
    buf_put_le16(&w->field, (uint16_t)++w->number);
    buf_put_le64(&w->field, w->segment_left);
    w->state = w->segment_left == 0 ? STRUCTURED_SEGMENT_CRC64 : STRUCTURED_CONTENT;
    return pull_field(w, out);
}

static enum http_pull pull_segment_crc64(struct wrapping *w, struct http_span *out)
{
    uint64_t before = w->frame.content - w->left;
    uint64_t length = before - (w->number - 1) * w->frame.segment;
    buf_put_le64(&w->field, w->segment_crc64);
    w->crc64 = crc64_join(w->crc64, w->segment_crc64, length);
    w->state = w->number == w->frame.count ? STRUCTURED_FOOTER : STRUCTURED_SEGMENT;
    return pull_field(w, out);
}

static enum http_pull pull_footer(struct wrapping *w, struct http_span *out)
{
    buf_put_le64(&w->field, w->crc64);
    w->state = STRUCTURED_ENDED;
    return pull_field(w, out);
}

/* The source has reported that the part is in the page cache, so reading does not block. */
static bool copy_from_file(struct wrapping *w, size_t length, struct str *out)
{
    if (w->copy == NULL)
        return false;
    size_t done = 0;
    while (done < length) {
        ssize_t n =
            pread(w->span.fd, w->copy + done, length - done, w->span.file_offset + (int64_t)done);
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    *out = (struct str){w->copy, length};
    return true;
}

/* The next contiguous part of the content, clipped to the segment. */
static enum http_pull pull_content(struct wrapping *w, struct http_span *out)
{
    struct str part;
    if (w->span.length == 0) {
        enum http_pull pulled = w->inner->pull(w->inner, &w->span);
        if (pulled != HTTP_PULL_SPAN)
            return pulled == HTTP_PULL_END ? HTTP_PULL_FAIL : pulled;
    }
    size_t length = w->span.length;
    if (length > w->segment_left)
        length = (size_t)w->segment_left;
    if (w->span.fd >= 0 && length > COPY_BYTES)
        length = COPY_BYTES;
    if (w->span.fd < 0) {
        part = (struct str){w->span.memory, length};
        w->span.memory += length;
    } else if (!copy_from_file(w, length, &part)) {
        return HTTP_PULL_FAIL;
    }
    w->span.file_offset += (int64_t)length;
    w->span.length -= length;
    w->segment_left -= length;
    w->left -= length;
    w->segment_crc64 = crc64(w->segment_crc64, part);
    if (w->segment_left == 0)
        w->state = STRUCTURED_SEGMENT_CRC64;
    *out = (struct http_span){.memory = part.p, .fd = -1, .length = part.n};
    return HTTP_PULL_SPAN;
}

static enum http_pull wrap_pull(struct http_source *source, struct http_span *out)
{
    struct wrapping *w = (struct wrapping *)(void *)source;
    buf_clear(&w->field);
    switch (w->state) {
    case STRUCTURED_HEADER:
        return pull_header(w, out);
    case STRUCTURED_SEGMENT:
        return pull_segment(w, out);
    case STRUCTURED_CONTENT:
        return pull_content(w, out);
    case STRUCTURED_SEGMENT_CRC64:
        return pull_segment_crc64(w, out);
    case STRUCTURED_FOOTER:
        return pull_footer(w, out);
    case STRUCTURED_ENDED:
        break;
    }
    return HTTP_PULL_END;
}

bool structured_body_is_wanted(const struct rest_call *call)
{
    return str_given(call_header(call, HEADER));
}

struct err structured_body_wrap(struct rest_call *call)
{
    struct str named = call_header(call, HEADER);
    if (!str_given(named))
        return OK;
    if (!structured_named(named))
        return call_bad_header(call, HEADER);
    struct wrapping *w = ARENA_NEW(call->arena, struct wrapping);
    uint64_t content = (uint64_t)call->content_length;
    w->base.pull = wrap_pull;
    w->inner = call->source;
    w->frame = structured_frame_of(content);
    w->left = content;
    w->span.fd = -1;
    w->field = buf_in(call->arena);
    w->copy = arena_bytes(call->arena, COPY_BYTES);
    call->source = &w->base;
    call->content_length = (int64_t)structured_length(content, w->frame.count);
    call_put(call, HEADER, STRUCTURED_NAME);
    call_put_u64(call, STR("x-ms-structured-content-length"), content);
    return OK;
}
