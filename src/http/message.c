/* SPDX-License-Identifier: Apache-2.0 */
#include "http/message.h"

#include "http/exchange.h"

struct str http_find_header(const struct http_request *request, struct str name)
{
    for (size_t i = 0; i < request->header_count; i++)
        if (request->headers[i].value.n > 0 && str_ieq(request->headers[i].name, name))
            return request->headers[i].value;
    return STR_NONE;
}

size_t http_header_count(const struct http_request *request, struct str name)
{
    size_t count = 0;
    if (request->names != 0 && (request->names & http_name_mark(name)) == 0)
        return 0;
    for (size_t i = 0; i < request->header_count; i++)
        count += request->headers[i].value.n > 0 && str_ieq(request->headers[i].name, name);
    return count;
}

static void replace_controls(char *p, size_t n)
{
    if (!str_has_control((struct str){p, n}))
        return;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)p[i];
        if ((c < 0x20 && c != '\t') || c == 0x7F)
            p[i] = '?';
    }
}

/* Returns the address of the value. */
static char *put_header(struct buf *headers, struct str name, struct str value)
{
    char *at = buf_reserve(headers, name.n + value.n + 4);
    memcpy(at, name.p, name.n);
    at += name.n;
    *at++ = ':';
    *at++ = ' ';
    if (value.n > 0)
        memcpy(at, value.p, value.n);
    at[value.n] = '\r';
    at[value.n + 1] = '\n';
    headers->n += name.n + value.n + 4;
    return at;
}

void http_put_header(struct buf *headers, struct str name, struct str value)
{
    replace_controls(put_header(headers, name, value), value.n);
}

void http_put_own_header(struct buf *headers, struct str name, struct str value)
{
    (void)put_header(headers, name, value);
}

#define LINE(status, reason)                                    \
    {                                                           \
        status, STR_INIT("HTTP/1.1 " #status " " reason "\r\n") \
    }
static const struct {
    int status;
    struct str line;
} STATUS_LINES[] = {
    LINE(200, "OK"),
    LINE(201, "Created"),
    LINE(202, "Accepted"),
    LINE(204, "No Content"),
    LINE(206, "Partial Content"),
    LINE(301, "Moved Permanently"),
    LINE(302, "Found"),
    LINE(304, "Not Modified"),
    LINE(307, "Temporary Redirect"),
    LINE(400, "Bad Request"),
    LINE(401, "Unauthorized"),
    LINE(403, "Forbidden"),
    LINE(404, "Not Found"),
    LINE(405, "Method Not Allowed"),
    LINE(406, "Not Acceptable"),
    LINE(408, "Request Timeout"),
    LINE(409, "Conflict"),
    LINE(410, "Gone"),
    LINE(411, "Length Required"),
    LINE(412, "Precondition Failed"),
    LINE(413, "Payload Too Large"),
    LINE(414, "URI Too Long"),
    LINE(415, "Unsupported Media Type"),
    LINE(416, "Range Not Satisfiable"),
    LINE(417, "Expectation Failed"),
    LINE(421, "Misdirected Request"),
    LINE(422, "Unprocessable Entity"),
    LINE(429, "Too Many Requests"),
    LINE(431, "Request Header Fields Too Large"),
    LINE(500, "Internal Server Error"),
    LINE(501, "Not Implemented"),
    LINE(502, "Bad Gateway"),
    LINE(503, "Service Unavailable"),
    LINE(504, "Gateway Timeout"),
    LINE(505, "HTTP Version Not Supported"),
    LINE(507, "Insufficient Storage"),
};
#undef LINE

void http_put_status_line(struct buf *head, int status)
{
    for (size_t i = 0; i < sizeof STATUS_LINES / sizeof STATUS_LINES[0]; i++)
        if (STATUS_LINES[i].status == status) {
            buf_put(head, STATUS_LINES[i].line);
            return;
        }
    buf_put(head, STR("HTTP/1.1 "));
    buf_put_i64(head, status);
    buf_put(head, STR(" \r\n")); /* the reason may be empty, but the space is required */
}
