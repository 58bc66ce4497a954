/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth_internal.h"
#include "core/text/base64.h"

bool auth_is_signable(struct str value)
{
    return !str_has_control(value);
}

bool auth_is_signable_name(struct str name)
{
    return !str_has_control(name) && str_find(name, ':', 0) == name.n;
}

bool auth_is_signable_header(struct str value)
{
    if (!str_has_control(value))
        return true;
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] != '\t' && str_has_control((struct str){value.p + i, 1}))
            return false;
    return true;
}

/* Base64 of 32 bytes ends in a character of which two bits are unused, and "=". They must be zero,
 * so that a request has one valid signature and not four. */
static bool is_canonical(struct str signature)
{
    static const char LAST[] = "AEIMQUYcgkosw048";
    return signature.n == 44 && memchr(LAST, signature.p[42], sizeof LAST - 1) != NULL;
}

bool auth_mac_matches(const struct hmac_key *key, struct str text, struct str signature)
{
    unsigned char given[SHA256_BYTES], expected[SHA256_BYTES];
    if (!is_canonical(signature) || !base64_decode_exact(signature, given, sizeof given))
        return false;
    hmac_sign(key, text, expected);
    return str_eq_secret((struct str){(const char *)given, sizeof given},
                         (struct str){(const char *)expected, sizeof expected});
}

bool auth_signature_matches(const struct account *account, struct str text, struct str signature)
{
    for (unsigned i = 0; i < account->key_count; i++)
        if (auth_mac_matches(&account->keys[i], text, signature))
            return true;
    return false;
}
