/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth_internal.h"
#include "core/text/base64.h"
#include "core/time.h"

/* Text that no string-to-sign begins with, so that no signature is ever a delegation key. */
#define PURPOSE "lazuli user delegation key 1"

enum { DELEGATION_TEXT_MAX = 4096 };

/* SDKs write the same second in different ways. */
static bool put_time(struct buf *text, struct str time)
{
    int64_t ticks;
    if (!time_parse_iso(time, &ticks))
        return false;
    buf_putc(text, '\n');
    time_put_rfc1123(text, ticks);
    return true;
}

static void put_line(struct buf *text, struct str value)
{
    buf_putc(text, '\n');
    buf_put(text, value);
}

static bool is_signable(const struct delegation *d)
{
    return auth_is_signable(d->object_id) && auth_is_signable(d->tenant_id) &&
           auth_is_signable(d->service) && auth_is_signable(d->version) &&
           auth_is_signable(d->user_tenant_id);
}

bool delegation_derive(const struct hmac_key *account_key, const struct delegation *delegation,
                       unsigned char out[SHA256_BYTES])
{
    if (!is_signable(delegation))
        return false;
    struct arena scratch;
    arena_init(&scratch, DELEGATION_TEXT_MAX);
    struct buf text = buf_in(&scratch);
    buf_put(&text, STR(PURPOSE));
    put_line(&text, delegation->object_id);
    put_line(&text, delegation->tenant_id);
    bool timed = put_time(&text, delegation->start) && put_time(&text, delegation->expiry);
    put_line(&text, delegation->service);
    put_line(&text, delegation->version);
    put_line(&text, delegation->user_tenant_id);
    if (timed)
        hmac_sign(account_key, buf_str(&text), out);
    arena_release(&scratch);
    return timed;
}

struct err auth_delegate(const struct auth_server *server, struct str account,
                         const struct delegation *delegation, struct arena *arena,
                         struct str *value)
{
    unsigned char secret[SHA256_BYTES];
    struct account *held = accounts_get(server->accounts, account);
    if (held == NULL)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    bool derived = delegation_derive(&held->keys[0], delegation, secret);
    account_put(held);
    if (!derived)
        return err_new(ERR_INVALID_INPUT);
    *value = base64_encode(arena, (struct str){(const char *)secret, sizeof secret});
    explicit_bzero(secret, sizeof secret);
    return OK;
}
