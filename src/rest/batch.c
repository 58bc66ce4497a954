/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/batch.h"

#include <assert.h>

#include "rest/server.h"
#include "rest/watch/inspector.h"

#include "core/guid.h"
#include "http/message.h"
#include "rest/reply.h"

/* ---- reading ---- */

static enum http_method method_named(struct str name)
{
    for (unsigned i = HTTP_GET; i < HTTP_METHOD_OTHER; i++)
        if (str_eq(name, http_method_name((enum http_method)i)))
            return (enum http_method)i;
    return HTTP_METHOD_OTHER;
}

/* Addresses are absolute, or begin with '/'. Their host is ignored: it is the batch's, for which
 * the batch was signed. */
static bool split_address(struct str address, struct http_request *request)
{
    size_t scheme = str_istarts(address, STR("http://"))    ? 7
                    : str_istarts(address, STR("https://")) ? 8
                                                            : 0;
    size_t path = str_find(address, '/', scheme);
    if (path == address.n || (scheme == 0 && path > 0))
        return false;
    request->query = str_from(address, path);
    request->path = str_cut(&request->query, '?');
    return true;
}

/* The part is zeroed: members not set here are as in a new call. */
static void part_init(struct batch_part *part, const struct rest_call *outer)
{
    struct http_request *request = &part->exchange.request;
    struct rest_call *call = &part->call;
    request->method = method_named(part->request.method);
    request->method_text = part->request.method;
    request->target = part->request.address;
    request->host = outer->x->request.host;
    request->headers = part->request.headers.items;
    request->header_count = part->request.headers.count;
    request->content_length = (int64_t)part->request.body.n;
    request->version_minor = 1;
    part->exchange.arena = outer->arena;
    part->exchange.loop = outer->x->loop;
    part->exchange.peer = outer->x->peer;
    part->exchange.secure = outer->x->secure;
    call->x = &part->exchange;
    call->server = outer->server;
    call->arena = outer->arena;
    call->store = outer->store;
    call->now = outer->now;
    call->service = outer->service;
    call->mount = outer->mount;
    call->version = outer->version;
    call->version_text = outer->version_text;
    call->who = outer->who;
    call->body = part->request.body;
    call->body_length = (int64_t)part->request.body.n;
    call->headers = buf_in(outer->arena);
    call->out = buf_in(outer->arena);
    call->error_headers = buf_in(outer->arena);
    call->content_length = -1;
    memcpy(call->request_id, outer->request_id, sizeof call->request_id);
}

bool batch_part_read(const struct rest_call *outer, struct str text, struct batch_part **out)
{
    assert(out != NULL);
    struct batch_part *part = ARENA_NEW(outer->arena, struct batch_part);
    struct multipart_headers headers;
    struct str body;
    if (!multipart_split(text, &headers, &body) ||
        !str_ieq(multipart_header(&headers, STR("Content-Type")), STR("application/http")) ||
        !multipart_request_of(body, &part->request))
        return false;
    part->content_id = multipart_header(&headers, STR("Content-ID"));
    if (!str_given(part->content_id))
        part->content_id = multipart_header(&part->request.headers, STR("Content-ID"));
    part_init(part, outer);
    *out = part;
    return true;
}

struct batch_part *batch_part_blank(const struct rest_call *outer)
{
    struct batch_part *part = ARENA_NEW(outer->arena, struct batch_part);
    part_init(part, outer);
    return part;
}

struct err batch_part_match(struct batch_part *part)
{
    if (!split_address(part->request.address, &part->exchange.request))
        return err_new(ERR_INVALID_INPUT);
    return rest_match_part(&part->call);
}

/* ---- answering ---- */

void batch_part_fail(struct batch_part *part, struct err error)
{
    struct rest_call *call = &part->call;
    call->status = err_http_status(error.code);
    buf_clear(&call->headers);
    buf_clear(&call->out);
    reply_error_body(call, error, &call->headers, &call->out);
}

struct err batch_part_encode(struct batch_part *part)
{
    enum { USUAL_HEADERS_BYTES = 512 };
    struct rest_call *call = &part->call;
    (void)buf_reserve(&call->headers, USUAL_HEADERS_BYTES);
    TRY(call->op->encode(call));
    if (call->status == 0)
        call->status = 200;
    inspector_succeeded(call->server->inspector, call);
    return OK;
}

void batch_put_part(struct buf *out, const struct batch_part *part, struct str delimiter,
                    enum batch_id_position position)
{
    const struct rest_call *call = &part->call;
    bool numbered = str_given(part->content_id);
    buf_put(out, delimiter);
    buf_put(out, STR("\r\nContent-Type: application/http\r\n"));
    if (position == BATCH_ID_INSIDE)
        buf_put(out, STR("Content-Transfer-Encoding: binary\r\n"));
    if (numbered && position == BATCH_ID_OUTSIDE)
        http_put_header(out, STR("Content-ID"), part->content_id);
    buf_put(out, STR("\r\n"));
    http_put_status_line(out, call->status);
    if (numbered && position == BATCH_ID_INSIDE)
        http_put_header(out, STR("Content-ID"), part->content_id);
    buf_put(out, buf_str(&call->headers));
    buf_put(out, STR("\r\n"));
    buf_put(out, buf_str(&call->out));
    buf_put(out, STR("\r\n"));
}

struct str batch_delimiter(struct arena *a, const char *kind)
{
    char text[GUID_TEXT_BYTES];
    struct guid guid = guid_random();
    guid_text(&guid, text);
    return arena_printf(a, "--%s_%.*s", kind, GUID_TEXT_BYTES, text);
}

void batch_put_head(struct rest_call *call, struct str delimiter)
{
    struct buf type = buf_in(call->arena);
    buf_put(&type, STR("multipart/mixed; boundary="));
    buf_put(&type, str_from(delimiter, 2));
    call->status = 202;
    call_put(call, STR("Content-Type"), buf_str(&type));
}
