/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/listing.h"

#include "core/xml.h"

struct err listing_read_include(struct rest_call *call, bool (*take)(void *arg, struct str value),
                                void *arg)
{
    struct str rest = call_query(call, STR("include"));
    while (str_given(rest)) {
        struct str value = str_trim(str_cut(&rest, ','));
        if (value.n > 0 && !take(arg, value))
            return call_bad_query(call, STR("include"));
    }
    return OK;
}

struct err listing_read_max(struct rest_call *call, size_t limit, size_t *out)
{
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
