/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a chunked body, in one piece and byte by byte: both give the same body, end and
 * rest, or both are refused. */
#include <stdlib.h>

#include "core/buf.h"
#include "http/chunked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct outcome {
    struct buf body;
    size_t taken;
    bool ended;
    bool refused;
};

static void require(bool holds)
{
    if (!holds)
        abort();
}

static struct outcome read_body(struct str input, size_t step)
{
    struct outcome o = {.body = buf_heap()};
    struct http_chunked c;
    http_chunked_init(&c);
    while (o.taken < input.n && !o.ended) {
        struct str portion = str_head(str_from(input, o.taken), step);
        struct str data;
        size_t before = portion.n;
        if (err_is(http_chunked_next(&c, &portion, &data))) {
            o.refused = true;
            return o;
        }
        buf_put(&o.body, data);
        o.ended = http_chunked_ended(&c);
        require(portion.n < before);
        require(data.n > 0 || portion.n == 0 || o.ended);
        o.taken += before - portion.n;
    }
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str input = {(const char *)data, size};
    struct outcome whole = read_body(input, size);
    struct outcome bytes = read_body(input, 1);
    require(whole.refused == bytes.refused && whole.ended == bytes.ended);
    require(whole.refused || whole.taken == bytes.taken);
    require(str_eq(buf_str(&whole.body), buf_str(&bytes.body)));
    buf_release(&whole.body);
    buf_release(&bytes.body);
    return 0;
}
