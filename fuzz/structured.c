/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a structured body, in one piece and byte by byte: both give the same content or both
 * are refused, and never more content than announced. The first byte sets the announced length. */
#include <stdlib.h>

#include "core/buf.h"
#include "rest/body/structured.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct err read_body(struct str input, uint64_t content, size_t step, struct buf *out)
{
    struct structured_reader r;
    structured_reader_init(&r, UINT64_MAX, content);
    while (input.n > 0) {
        struct str portion = str_head(input, step);
        input = str_from(input, portion.n);
        while (portion.n > 0) {
            size_t before = portion.n;
            struct str part;
            TRY(structured_next(&r, &portion, &part));
            require(portion.n < before);
            buf_put(out, part);
            require(out->n <= content);
        }
    }
    return structured_end(&r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0)
        return 0;
    struct str input = {(const char *)data + 1, size - 1};
    struct buf whole = buf_heap();
    struct buf bytes = buf_heap();
    struct err first = read_body(input, data[0], input.n, &whole);
    struct err second = read_body(input, data[0], 1, &bytes);
    require(first.code == second.code);
    require(str_eq(buf_str(&whole), buf_str(&bytes)));
    require(err_is(first) || whole.n == data[0]);
    buf_release(&whole);
    buf_release(&bytes);
    return 0;
}
