/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/table/token.h"

#include "core/text/base64.h"

static char swap(char c, const char *from, const char *to)
{
    for (size_t i = 0; from[i] != '\0'; i++)
        if (c == from[i])
            return to[i];
    return c;
}

void rest_token_put(struct buf *out, struct str key)
{
    buf_put(out, STR("1!"));
    buf_put_u64(out, base64_length(key.n));
    buf_putc(out, '!');
    size_t start = out->n;
    base64_put(out, key);
    for (size_t i = start; i < out->n; i++)
        out->p[i] = swap(out->p[i], "=/+", "-_*");
}

bool rest_token_read(struct arena *a, struct str token, struct str *key)
{
    uint64_t length;
    struct str version = str_cut(&token, '!');
    struct str count = str_cut(&token, '!');
    if (!str_eq(version, STR("1")) || !str_to_u64(count, &length) || length != token.n)
        return false;
    char *text = arena_bytes(a, token.n);
    for (size_t i = 0; i < token.n; i++)
        text[i] = swap(token.p[i], "-_*", "=/+");
    return base64_decode(a, (struct str){text, token.n}, key) && str_is_utf8(*key);
}
