/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/dfs/continuation.h"

#include "core/hash/hmac.h"
#include "core/text/base64.h"
#include "core/time.h"
#include "rest/server.h"

enum { TIME_BYTES = 8 };
#define CHECKED_TICKS_MAX (10 * 60 * TICKS_PER_SECOND)

/* Covers everything that was checked, so that it is valid for nothing else. False if the account
 * was deleted. */
static bool sign(const struct rest_call *call, struct str caller, struct str checked,
                 unsigned char out[SHA256_BYTES])
{
    struct buf text = buf_in(call->arena);
    struct account *account = accounts_get(call->server->auth.accounts, call->account);
    if (account == NULL)
        return false;
    buf_put_bytes(&text, STR("recursive delete"));
    buf_put_bytes(&text, call->account);
    buf_put_bytes(&text, call->container);
    buf_put_bytes(&text, call->object);
    buf_put_bytes(&text, caller);
    buf_put_bytes(&text, checked);
    hmac_sign(&account->keys[0], buf_str(&text), out);
    account_put(account);
    return true;
}

void dfs_put_checked(struct rest_call *call, struct str caller, struct str next)
{
    struct buf checked = buf_in(call->arena), token = buf_in(call->arena);
    unsigned char digest[SHA256_BYTES];
    if (!str_given(next))
        return;
    buf_put_be64(&checked, (uint64_t)call->now);
    buf_put(&checked, next);
    if (!sign(call, caller, buf_str(&checked), digest))
        return;
    buf_put(&token, (struct str){(const char *)digest, sizeof digest});
    buf_put(&token, buf_str(&checked));
    call_put(call, STR("x-ms-continuation"), base64_encode(call->arena, buf_str(&token)));
}

struct err dfs_read_checked(struct rest_call *call, struct str caller, struct str *out)
{
    const struct str name = STR("continuation");
    struct str text = call_query(call, name), token;
    unsigned char digest[SHA256_BYTES];
    *out = STR_NONE;
    if (text.n == 0)
        return OK;
    if (!base64_decode(call->arena, text, &token) || token.n <= SHA256_BYTES + TIME_BYTES)
        return call_bad_query(call, name);
    struct str checked = str_from(token, SHA256_BYTES);
    struct reader r = reader_of(checked);
    int64_t age = call->now - (int64_t)read_be64(&r);
    if (!sign(call, caller, checked, digest) || age < 0 || age > CHECKED_TICKS_MAX ||
        !str_eq_secret((struct str){(const char *)digest, sizeof digest},
                       str_head(token, SHA256_BYTES)))
        return call_bad_query(call, name);
    *out = str_from(checked, TIME_BYTES);
    return OK;
}
