/* SPDX-License-Identifier: Apache-2.0 */
/* The head of another server's answer, and a body in chunks after it. */
#include "http/answer.h"

#include <assert.h>

#include "http/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_body(struct str rest)
{
    struct http_chunked state;
    http_chunked_init(&state);
    while (rest.n > 0 && !http_chunked_ended(&state)) {
        struct str piece;
        if (err_is(http_chunked_next(&state, &rest, &piece)))
            return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http_header headers[HTTP_ANSWER_HEADERS_MAX];
    struct str input = {(const char *)data, size};
    struct http_answer answer;
    size_t scanned = 0, length = 0;
    if (err_is(http_scan_head(input, &scanned, &length)) || length == 0)
        return 0;
    assert(length <= size);
    if (err_is(http_parse_answer(str_head(input, length), headers, &answer)))
        return 0;
    assert(answer.status >= 100 && answer.status <= 599);
    assert(!answer.chunked || answer.content_length < 0);
    for (size_t i = 0; i < answer.header_count; i++)
        assert(str_given(http_answer_header(&answer, answer.headers[i].name)));
    if (answer.chunked)
        read_body(str_from(input, length));
    return 0;
}
