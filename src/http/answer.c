/* SPDX-License-Identifier: Apache-2.0 */
#include "http/answer.h"

static struct err bad(void)
{
    return err_new(ERR_BAD_REQUEST);
}

/* "HTTP/1.1 200 OK"; the reason may be missing, also with its space. */
static struct err parse_status_line(struct str line, struct http_answer *out)
{
    uint64_t status;
    if (!str_starts(line, STR("HTTP/1.")))
        return str_starts(line, STR("HTTP/")) ? err_new(ERR_HTTP_VERSION) : bad();
    if (line.n < sizeof "HTTP/1.1 200" - 1 || (line.p[7] != '0' && line.p[7] != '1') ||
        line.p[8] != ' ' || !str_to_u64(str_head(str_from(line, 9), 3), &status))
        return bad();
    struct str reason = str_from(line, 12);
    if (status < 100 || status > 599 || (reason.n > 0 && reason.p[0] != ' ') ||
        !http_is_field_value(reason))
        return bad();
    out->status = (int)status;
    return OK;
}

static struct err note_length(struct str value, struct http_answer *out)
{
    uint64_t length;
    if (!str_to_u64(value, &length) || length > INT64_MAX)
        return bad();
    /* A second one is refused, even if it is equal. */
    if (out->content_length >= 0)
        return bad();
    out->content_length = (int64_t)length;
    return OK;
}

static struct err note_header(const struct http_header *header, struct http_answer *out)
{
    if (str_ieq(header->name, STR("Content-Length")))
        return note_length(header->value, out);
    if (!str_ieq(header->name, STR("Transfer-Encoding")))
        return OK;
    if (out->chunked || !str_ieq(header->value, STR("chunked")))
        return bad();
    out->chunked = true;
    return OK;
}

struct err http_parse_answer(struct str head, struct http_header *headers, struct http_answer *out)
{
    struct str rest = head;
    *out = (struct http_answer){.headers = headers, .content_length = -1};
    TRY(parse_status_line(http_next_line(&rest), out));
    for (struct str line; (line = http_next_line(&rest)).n > 0;) {
        if (out->header_count == HTTP_ANSWER_HEADERS_MAX)
            return err_new(ERR_HEADERS_TOO_LARGE);
        struct http_header *header = &headers[out->header_count++];
        TRY(http_parse_header(line, header));
        TRY(note_header(header, out));
    }
    return out->chunked && out->content_length >= 0 ? bad() : OK;
}

struct str http_answer_header(const struct http_answer *answer, struct str name)
{
    for (size_t i = 0; i < answer->header_count; i++)
        if (str_ieq(answer->headers[i].name, name))
            return answer->headers[i].value;
    return STR_NONE;
}
