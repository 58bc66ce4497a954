/* SPDX-License-Identifier: Apache-2.0 */
/* Immutability policies, legal holds, expiry: decode and encode. */
#include "service/blob/protect.h"

#include <assert.h>

#include "core/time.h"
#include "rest/blob/ops.h"
#include "rest/blob/protect.h"
#include "rest/blob/request.h"

#define UNTIL STR("x-ms-immutability-policy-until-date")
#define MODE  STR("x-ms-immutability-policy-mode")
#define HOLD  STR("x-ms-legal-hold")

/* ---- reading ---- */

static struct err read_mode(struct rest_call *call, bool *locked)
{
    struct str text = call_header(call, MODE);
    *locked = str_ieq(text, STR("Locked"));
    return !str_given(text) || *locked || str_ieq(text, STR("Unlocked"))
               ? OK
               : call_bad_header(call, MODE);
}

/* A policy that ends in the past would protect nothing. */
static struct err read_policy(struct rest_call *call, struct blob_protection *out)
{
    struct str text = call_header(call, UNTIL);
    if (!str_given(text))
        return str_given(call_header(call, MODE)) ? call_missing_header(call, UNTIL) : OK;
    if (!time_parse_http(text, &out->until) || out->until <= call->now)
        return call_bad_header(call, UNTIL);
    return read_mode(call, &out->locked);
}

struct err rest_blob_read_protection(struct rest_call *call, struct blob_protection *out)
{
    assert(out != NULL);
    *out = (struct blob_protection){0};
    if (!str_given(call_header(call, UNTIL)) && !str_given(call_header(call, MODE)) &&
        !str_given(call_header(call, HOLD)))
        return OK;
    if (!auth_permits(&call->who, "i"))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(read_policy(call, out));
    return call_header_bool(call, HOLD, &out->hold);
}

static struct err decode(struct rest_call *call, struct blob_protect_args **out)
{
    struct blob_protect_args *args = ARENA_NEW(call->arena, struct blob_protect_args);
    call->args = args;
    *out = args;
    return rest_blob_read_request(call, &args->request);
}

/* ---- writing ---- */

void rest_blob_put_protection(struct rest_call *call, const struct blob_head *head)
{
    const struct blob_protection *p = &head->protection;
    if (p->until != 0) {
        call_put_time(call, UNTIL, p->until);
        call_put(call, MODE, rest_blob_policy_mode_text(p));
    }
    if (p->hold)
        call_put_bool(call, HOLD, true);
    if (head->expires != 0)
        call_put_time(call, STR("x-ms-expiry-time"), head->expires);
}

struct str rest_blob_policy_mode_text(const struct blob_protection *p)
{
    return p->locked ? STR("locked") : STR("unlocked");
}

/* ---- Set and Delete Blob Immutability Policy, Set Blob Legal Hold ---- */

struct err rest_set_blob_immutability_policy_decode(struct rest_call *call)
{
    struct blob_protect_args *args;
    TRY(decode(call, &args));
    if (!str_given(call_header(call, UNTIL)))
        return call_missing_header(call, UNTIL);
    return read_policy(call, &args->protection);
}

struct err rest_set_blob_immutability_policy_encode(struct rest_call *call)
{
    const struct blob_protect_args *args = call->args;
    call_put_time(call, UNTIL, args->head.protection.until);
    call_put(call, MODE, rest_blob_policy_mode_text(&args->head.protection));
    return OK;
}

struct err rest_delete_blob_immutability_policy_decode(struct rest_call *call)
{
    struct blob_protect_args *args;
    return decode(call, &args);
}

struct err rest_delete_blob_immutability_policy_encode(struct rest_call *call)
{
    call->status = 200;
    return OK;
}

struct err rest_set_blob_legal_hold_decode(struct rest_call *call)
{
    struct blob_protect_args *args;
    TRY(decode(call, &args));
    if (!str_given(call_header(call, HOLD)))
        return call_missing_header(call, HOLD);
    return call_header_bool(call, HOLD, &args->protection.hold);
}

struct err rest_set_blob_legal_hold_encode(struct rest_call *call)
{
    const struct blob_protect_args *args = call->args;
    call_put_bool(call, HOLD, args->head.protection.hold);
    return OK;
}

/* ---- Set Blob Expiry ---- */

#define EXPIRY_TIME STR("x-ms-expiry-time")

/* Milliseconds, or a date. */
static struct err read_expiry_time(struct rest_call *call, struct blob_expiry_args *args)
{
    struct str text = call_header(call, EXPIRY_TIME);
    uint64_t ms = 0;
    if (!str_given(text))
        return call_missing_header(call, EXPIRY_TIME);
    if (args->option == BLOB_EXPIRY_AT)
        return time_parse_http(text, &args->ticks) ? OK : call_bad_header(call, EXPIRY_TIME);
    TRY(call_header_u64(call, EXPIRY_TIME, &ms));
    if (ms > BLOB_EXPIRY_MS_MAX)
        return call_bad_header(call, EXPIRY_TIME);
    args->ticks = (int64_t)ms * (TICKS_PER_SECOND / 1000);
    return OK;
}

struct err rest_set_blob_expiry_decode(struct rest_call *call)
{
    static const struct str OPTIONS[] = {[BLOB_EXPIRY_NEVER] = STR_INIT("NeverExpire"),
                                         [BLOB_EXPIRY_FROM_CREATION] =
                                             STR_INIT("RelativeToCreation"),
                                         [BLOB_EXPIRY_FROM_NOW] = STR_INIT("RelativeToNow"),
                                         [BLOB_EXPIRY_AT] = STR_INIT("Absolute")};
    const struct str name = STR("x-ms-expiry-option");
    struct blob_expiry_args *args = ARENA_NEW(call->arena, struct blob_expiry_args);
    struct str text = call_header(call, name);
    unsigned option = 0;
    call->args = args;
    TRY(rest_blob_read_base_request(call, &args->request));
    if (!str_given(text))
        return call_missing_header(call, name);
    while (option <= BLOB_EXPIRY_AT && !str_ieq(text, OPTIONS[option]))
        option++;
    if (option > BLOB_EXPIRY_AT)
        return call_bad_header(call, name);
    args->option = (enum blob_expiry_option)option;
    if (args->option != BLOB_EXPIRY_NEVER)
        return read_expiry_time(call, args);
    return str_given(call_header(call, EXPIRY_TIME)) ? call_bad_header(call, EXPIRY_TIME) : OK;
}

struct err rest_set_blob_expiry_encode(struct rest_call *call)
{
    const struct blob_expiry_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    return OK;
}
