/* SPDX-License-Identifier: Apache-2.0 */
/* Encoded text decodes to the original; the query walk ends and URLs parse without a bad read. */
#include <assert.h>

#include "core/text/uri.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    struct str out;
    struct uri url;
    struct uri_param param;
    arena_init(&a, 1 << 24);
    for (int keep = URI_KEEP_NONE; keep <= URI_KEEP_PATH; keep++) {
        struct buf text = buf_in(&a);
        uri_encode(&text, in, (enum uri_keep)keep);
        assert(uri_decode(&a, buf_str(&text), &out) && str_eq(out, in));
    }
    if (uri_decode(&a, in, &out))
        assert(out.n <= in.n && str_eq(uri_decode_loose(&a, in), out));
    struct uri_query query = uri_query_of(in);
    for (size_t count = 0; uri_query_next(&query, &a, &param); count++)
        assert(count < size + 1);
    if (uri_parse(in, &url))
        assert(url.host.n > 0 && url.port > 0 && url.path.p[0] == '/');
    arena_release(&a);
    return 0;
}
