/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/listing.h"

#include <assert.h>

#include "core/text/xml.h"
#include "core/time.h"

struct err listing_read_include(struct rest_call *call, bool (*take)(void *arg, struct str value),
                                void *arg)
{
    for (size_t i = 0; i < call->query_count; i++) {
        struct str rest = call->query[i].value;
        while (str_ieq(call->query[i].name, STR("include")) && str_given(rest)) {
            struct str value = str_trim(str_cut(&rest, ','));
            if (value.n > 0 && !take(arg, value))
                return call_bad_query(call, STR("include"));
        }
    }
    return OK;
}

struct err listing_read_max(struct rest_call *call, size_t limit, size_t *out)
{
    assert(out != NULL);
    uint64_t max = limit;
    TRY(call_query_u64(call, STR("maxresults"), 1, INT32_MAX, &max));
    *out = max < limit ? (size_t)max : limit;
    return OK;
}

void listing_echo(struct rest_call *call, struct str parameter, struct str element)
{
    struct str value = call_query(call, parameter);
    if (str_given(value))
        xml_element(&call->out, element, value);
}

enum { VERSION_DIGITS = 16 };

void listing_put_version(struct buf *b, uint64_t version)
{
    buf_put(b, STR("<Deleted>true</Deleted><Version>"));
    buf_printf(b, "%016llX", (unsigned long long)version);
    buf_put(b, STR("</Version>"));
}

bool listing_parse_version(struct str text, uint64_t *out)
{
    assert(out != NULL);
    *out = 0;
    for (size_t i = 0; i < text.n; i++) {
        int digit = ascii_hex(text.p[i]);
        if (digit < 0)
            return false;
        *out = *out << 4 | (uint64_t)digit;
    }
    return text.n == VERSION_DIGITS;
}

void listing_put_retention(struct buf *b, int64_t deleted, int64_t ticks_left)
{
    buf_put(b, STR("<DeletedTime>"));
    time_put_rfc1123(b, deleted);
    buf_put(b, STR("</DeletedTime>"));
    xml_element_u64(b, STR("RemainingRetentionDays"),
                    ticks_left > 0 ? (uint64_t)(ticks_left / TICKS_PER_DAY) : 0);
}

void listing_open(struct rest_call *call)
{
    buf_clear(&call->out);
    buf_put(&call->out, STR(XML_DECLARATION "<EnumerationResults"));
    listing_attribute(call, STR("ServiceEndpoint"), call_endpoint(call));
}

void listing_attribute(struct rest_call *call, struct str name, struct str value)
{
    struct buf *b = &call->out;
    buf_putc(b, ' ');
    buf_put(b, name);
    buf_put(b, STR("=\""));
    xml_put_attribute(b, value);
    buf_putc(b, '"');
}

void listing_opened(struct rest_call *call)
{
    buf_putc(&call->out, '>');
}

void listing_echo_page(struct rest_call *call)
{
    listing_echo(call, STR("prefix"), STR("Prefix"));
    listing_echo(call, STR("marker"), STR("Marker"));
    listing_echo(call, STR("maxresults"), STR("MaxResults"));
}
