/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/reply.h"

#include <assert.h>

#include "core/guid.h"
#include "core/log.h"
#include "core/text/json.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/body/structured.h"
#include "rest/cors.h"
#include "rest/dfs/dialect.h"
#include "rest/server.h"
#include "rest/watch/inspector.h"

enum { CLIENT_REQUEST_ID_MAX = 1024 };

/* Echoed only if it is visible ASCII of at most 1024 characters. */
static void echo_client_request_id(struct rest_call *call, struct buf *headers)
{
    struct str id = call_header(call, STR("x-ms-client-request-id"));
    if (!str_given(id) || id.n > CLIENT_REQUEST_ID_MAX)
        return;
    for (size_t i = 0; i < id.n; i++)
        if (id.p[i] < 0x20 || id.p[i] > 0x7E)
            return;
    http_put_header(headers, STR("x-ms-client-request-id"), id);
}

/* Written without checks, because every answer has them: the server makes their values, or they
 * have the form of a version. */
void reply_common_headers(struct rest_call *call, struct buf *headers)
{
    buf_put(headers, STR("Server: "));
    buf_put(headers, str_of(call->server->options.server_name));
    buf_put(headers, STR("\r\nx-ms-request-id: "));
    buf_put(headers, (struct str){call->request_id, GUID_TEXT_BYTES});
    buf_put(headers, STR("\r\nx-ms-version: "));
    buf_put(headers, call->version_text);
    buf_put(headers, STR("\r\n"));
    echo_client_request_id(call, headers);
}

void reply_success_headers(struct rest_call *call)
{
    assert(call->op != NULL);
    reply_common_headers(call, &call->headers);
    cors_put_headers(call, &call->headers);
    if (call->structured)
        http_put_header(&call->headers, STR("x-ms-structured-body"), STRUCTURED_NAME);
    if (call->status == 0)
        call->status = 200;
}

void reply_success(struct rest_call *call)
{
    struct http_response response = {
        .status = call->status,
        .headers = buf_str(&call->headers),
        .body = str_given(call->content) ? call->content : buf_str(&call->out),
        .content_length = call->content_length,
        .source = call->source,
    };
    http_reply(call->x, &response);
}

/* Azure's format: message, request id and time on separate lines. */
static struct str error_message(struct rest_call *call, struct err error)
{
    struct buf text = buf_in(call->arena);
    buf_put(&text, call->error_prefix);
    buf_put(&text, str_of(err_message(error.code)));
    buf_put(&text, STR("\nRequestId:"));
    buf_put(&text, str_of(call->request_id));
    buf_put(&text, STR("\nTime:"));
    time_put_iso(&text, call->now);
    return buf_str(&text);
}

/* detail's lines: "Element\tvalue". They never become headers, because they may contain a client's
 * text. */
static void put_details(struct rest_call *call, struct str detail, struct buf *xml)
{
    while (str_given(detail) && detail.n > 0) {
        struct str value = str_cut(&detail, '\n');
        struct str name = str_cut(&value, '\t');
        char *copy = arena_cstr(call->arena, value);
        for (size_t i = 0; i < value.n; i++)
            if (copy[i] == ERR_DETAIL_NEWLINE)
                copy[i] = '\n';
        xml_element(xml, name, (struct str){copy, value.n});
    }
}

static void put_json_error(struct rest_call *call, struct err error, struct buf *headers,
                           struct buf *out)
{
    http_put_header(headers, STR("Content-Type"),
                    STR("application/json;odata=minimalmetadata;streaming=true;charset=utf-8"));
    struct json_writer w = json_writer_of(out);
    json_open(&w, '{');
    json_name(&w, STR("odata.error"));
    json_open(&w, '{');
    json_name(&w, STR("code"));
    json_string(&w, str_of(err_azure_code(error.code)));
    json_name(&w, STR("message"));
    json_open(&w, '{');
    json_name(&w, STR("lang"));
    json_string(&w, STR("en-US"));
    json_name(&w, STR("value"));
    json_string(&w, error_message(call, error));
    json_close(&w, '}');
    json_close(&w, '}');
    json_close(&w, '}');
}

static void put_xml_error(struct rest_call *call, struct err error, struct buf *headers,
                          struct buf *out)
{
    http_put_header(headers, STR("Content-Type"), STR("application/xml"));
    buf_put(out, STR("<?xml version=\"1.0\" encoding=\"utf-8\"?><Error>"));
    xml_element(out, STR("Code"), str_of(err_azure_code(error.code)));
    xml_element(out, STR("Message"), error_message(call, error));
    put_details(call, str_of(error.detail), out);
    buf_put(out, STR("</Error>"));
}

/* For the table operations that use XML (properties, statistics, policies), which have their own
 * format. */
static void put_table_xml_error(struct rest_call *call, struct err error, struct buf *headers,
                                struct buf *out)
{
    http_put_header(headers, STR("Content-Type"), STR("application/xml"));
    buf_put(out,
            STR("<?xml version=\"1.0\" encoding=\"utf-8\"?><m:error "
                "xmlns:m=\"http://schemas.microsoft.com/ado/2007/08/dataservices/metadata\">"));
    xml_element(out, STR("m:code"), str_of(err_azure_code(error.code)));
    buf_put(out, STR("<m:message xml:lang=\"en-US\">"));
    xml_put_text(out, error_message(call, error));
    buf_put(out, STR("</m:message></m:error>"));
}

/* The Data Lake API's: details go beside the message. */
static void put_dfs_error(struct rest_call *call, struct err error, struct buf *headers,
                          struct buf *out)
{
    http_put_header(headers, STR("Content-Type"), STR("application/json;charset=utf-8"));
    struct json_writer w = json_writer_of(out);
    struct str detail = str_of(error.detail == NULL ? "" : error.detail);
    json_open(&w, '{');
    json_name(&w, STR("error"));
    json_open(&w, '{');
    json_name(&w, STR("code"));
    json_string(&w, str_of(err_azure_code(error.code)));
    json_name(&w, STR("message"));
    json_string(&w, error_message(call, error));
    if (detail.n > 0) {
        json_name(&w, STR("detail"));
        json_open(&w, '{');
        while (str_given(detail) && detail.n > 0) {
            struct str value = str_cut(&detail, '\n');
            json_name(&w, str_cut(&value, '\t'));
            json_string(&w, str_given(value) && str_is_utf8(value) ? value : STR(""));
        }
        json_close(&w, '}');
    }
    json_close(&w, '}');
    json_close(&w, '}');
}

void reply_error_body(struct rest_call *call, struct err error, struct buf *headers,
                      struct buf *out)
{
    if (call->dfs)
        error.code = dfs_error_code(error.code);
    uint64_t event = inspector_refused(call->server->inspector, call, error);
    if (event != 0)
        http_put_header(headers, STR("x-lazuli-explain"),
                        arena_printf(call->arena, "%llu", (unsigned long long)event));
    http_put_header(headers, STR("x-ms-error-code"), str_of(err_azure_code(error.code)));
    if (str_given(call->challenge))
        http_put_header(headers, STR("WWW-Authenticate"), call->challenge);
    buf_put(headers, buf_str(&call->error_headers));
    /* An answer without a body has no Content-Type either. */
    if (err_http_status(error.code) == 304 || call->x->request.method == HTTP_HEAD)
        return;
    if (call->dfs)
        put_dfs_error(call, error, headers, out);
    else if (call->service == SERVICE_TABLE && call->op != NULL && call->op->comp != NULL)
        put_table_xml_error(call, error, headers, out);
    else if (call->service == SERVICE_TABLE)
        put_json_error(call, error, headers, out);
    else
        put_xml_error(call, error, headers, out);
}

void reply_error(struct rest_call *call, struct err error)
{
    assert(err_is(error));
    int status = call->forced_status != 0 ? call->forced_status : err_http_status(error.code);
    if (status >= 500)
        log_line(LOG_ERROR, "%s %s failed: error %d, cause %d",
                 call->op == NULL ? "-" : call->op->name, call->request_id, error.code,
                 error.cause);
    buf_clear(&call->headers);
    buf_clear(&call->out);
    reply_common_headers(call, &call->headers);
    reply_error_body(call, error, &call->headers, &call->out);
    cors_put_headers(call, &call->headers);
    struct http_response response = {
        .status = status,
        .headers = buf_str(&call->headers),
        .body = buf_str(&call->out),
        .content_length = -1,
    };
    call->status = status;
    http_reply(call->x, &response);
}

/* Service and version are still unknown: XML, which most services use. */
void reply_bad(struct err error, struct buf *headers, struct buf *body)
{
    struct guid id = guid_random();
    struct str code = str_of(err_azure_code(error.code));
    http_put_header(headers, STR("x-ms-error-code"), code);
    buf_put(headers, STR("x-ms-request-id: "));
    guid_put(headers, &id);
    buf_put(headers, STR("\r\n"));
    http_put_header(headers, STR("Content-Type"), STR("application/xml"));
    buf_put(body, STR("<?xml version=\"1.0\" encoding=\"utf-8\"?><Error>"));
    xml_element(body, STR("Code"), code);
    xml_element(body, STR("Message"), str_of(err_message(error.code)));
    buf_put(body, STR("</Error>"));
}
