/* SPDX-License-Identifier: Apache-2.0 */
/* The parts, headers and requests of any multipart body are inside the body. The first line is the
 * Content-Type. */
#include <assert.h>

#include "rest/multipart.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void inside(struct str part, struct str whole)
{
    assert(part.n == 0 || (part.p >= whole.p && part.p + part.n <= whole.p + whole.n));
}

static void look_at(struct str part, struct str whole, int depth);

static void walk(struct str body, struct str boundary, int depth)
{
    struct multipart m = multipart_of(body, boundary);
    struct str part;
    while (multipart_next(&m, &part)) {
        inside(part, body);
        look_at(part, body, depth);
    }
}

static void look_at(struct str part, struct str whole, int depth)
{
    struct multipart_headers headers;
    struct multipart_request request;
    struct str body;
    if (!multipart_split(part, &headers, &body))
        return;
    inside(body, whole);
    for (size_t i = 0; i < headers.count; i++) {
        inside(headers.items[i].name, whole);
        inside(headers.items[i].value, whole);
    }
    struct str boundary = multipart_boundary(multipart_header(&headers, STR("content-type")));
    if (str_given(boundary) && depth < 4)
        walk(body, boundary, depth + 1);
    if (multipart_request_of(body, &request)) {
        inside(request.method, whole);
        inside(request.address, whole);
        inside(request.body, whole);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = {(const char *)data, size};
    struct str boundary = multipart_boundary(str_cut(&body, '\n'));
    if (str_given(boundary) && str_given(body))
        walk(body, boundary, 0);
    return 0;
}
