/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/metadata.h"

#include "core/text/xml.h"

static const struct str PREFIX = STR_INIT("x-ms-meta-");

struct err rest_metadata_from_headers(struct rest_call *call, struct str *encoded)
{
    const struct http_request *request = &call->x->request;
    struct pairs found = {.count = 0};
    for (size_t i = 0; i < request->header_count; i++) {
        const struct http_header *header = &request->headers[i];
        if (!str_istarts(header->name, PREFIX) ||
            (header->value.n == 0 && call->who.empty_is_unsigned))
            continue;
        if (found.items == NULL)
            found.items = ARENA_ARRAY(call->arena, struct pair, request->header_count - i);
        found.items[found.count++] = (struct pair){str_from(header->name, PREFIX.n), header->value};
    }
    TRY(metadata_check(&found));
    *encoded = pairs_encode(call->arena, &found);
    return OK;
}

void rest_metadata_put_headers(struct rest_call *call, struct str encoded)
{
    struct reader r = reader_of(encoded);
    struct pair pair;
    while (pairs_next(&r, &pair)) {
        struct str name =
            arena_printf(call->arena, "%.*s%.*s", STR_ARG(PREFIX), STR_ARG(pair.name));
        call_put(call, name, pair.value);
    }
}

void rest_metadata_put_xml(struct buf *out, struct str encoded)
{
    struct reader r = reader_of(encoded);
    struct pair pair;
    xml_open(out, STR("Metadata"));
    while (pairs_next(&r, &pair))
        xml_element(out, pair.name, pair.value);
    xml_close(out, STR("Metadata"));
}
