/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a request's head, once in one piece and once in small portions: both must give the
 * same result, and an accepted head must satisfy the parser's guarantees. */
#include <stdlib.h>

#include "http/parse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Unlike asserts of the code under test, this one cannot be compiled out. */
static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct err scan(struct str input, size_t step, size_t *length)
{
    size_t scanned = 0;
    *length = 0;
    for (size_t n = 0; n < input.n && *length == 0;) {
        n = input.n - n < step ? input.n : n + step;
        TRY(http_scan_head(str_head(input, n), &scanned, length));
        require(scanned <= n && *length <= n);
    }
    return OK;
}

static bool within(struct str part, struct str whole)
{
    return part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n);
}

static bool has_control(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7F)
            return true;
    return false;
}

static void check_accepted(struct str head, const struct http_request *r)
{
    require(r->header_count <= HTTP_HEADERS_MAX);
    require(within(r->target, head) && r->target.n <= HTTP_TARGET_BYTES_MAX);
    require(r->path.n > 0 && r->path.p[0] == '/');
    require(!(r->chunked && r->content_length >= 0));
    require(r->version_minor == 0 || str_given(r->host));
    require(http_header_count(r, STR("Content-Length")) <= 1);
    require(http_header_count(r, STR("Transfer-Encoding")) <= 1);
    require(http_header_count(r, STR("Host")) <= 1);
    for (size_t i = 0; i < r->header_count; i++) {
        require(within(r->headers[i].name, head) && r->headers[i].name.n > 0);
        require(within(r->headers[i].value, head));
        require(!has_control(r->headers[i].name) && !has_control(r->headers[i].value));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_header headers[HTTP_HEADERS_MAX];
    struct str input = {(const char *)data, size};
    size_t whole;
    size_t by_parts;
    struct err whole_error = scan(input, size, &whole);
    struct err parts_error = scan(input, 1 + size / 7, &by_parts);
    /* Both ways must accept the input, or both must refuse it. */
    if (err_is(whole_error) || err_is(parts_error)) {
        require(err_is(whole_error) == err_is(parts_error));
        return 0;
    }
    require(whole == by_parts);
    if (whole == 0)
        return 0;
    struct http_request request;
    struct str head = str_head(input, whole);
    if (!err_is(http_parse_head(head, headers, &request)))
        check_accepted(head, &request);
    return 0;
}
