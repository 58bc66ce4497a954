/* SPDX-License-Identifier: Apache-2.0 */
/* Set Blob Tier: decode and encode. */
#include "service/blob/tier.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/server.h"

struct err rest_blob_read_rehydrate_priority(struct rest_call *call, bool *high)
{
    const struct str name = STR("x-ms-rehydrate-priority");
    struct str text = call_header(call, name);
    *high = str_ieq(text, STR("High"));
    if (str_given(text) && !*high && !str_ieq(text, STR("Standard")))
        return call_bad_header(call, name);
    return OK;
}

/* The blob's type determines the valid tiers, so this is checked later. */
struct err rest_set_blob_tier_decode(struct rest_call *call)
{
    const struct str name = STR("x-ms-access-tier");
    struct blob_tier_args *args = ARENA_NEW(call->arena, struct blob_tier_args);
    struct str text = call_header(call, name);
    call->args = args;
    TRY(rest_blob_read_request(call, &args->request));
    if (!str_given(text))
        return call_missing_header(call, name);
    if (!rest_blob_parse_tier(call, text, &args->tier))
        return call_bad_header(call, name);
    args->rehydrate_ticks = (int64_t)call->server->options.rehydrate_seconds * TICKS_PER_SECOND;
    return rest_blob_read_rehydrate_priority(call, &args->high_priority);
}

struct err rest_set_blob_tier_encode(struct rest_call *call)
{
    const struct blob_tier_args *args = call->args;
    call->status = args->rehydrates ? 202 : 200;
    return OK;
}
