/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth_internal.h"

static bool has(struct str letters, char letter)
{
    return str_find(letters, letter, 0) < letters.n;
}

bool permit_letters(const char *demanded, struct str letters)
{
    if (demanded == NULL)
        return false;
    while (*demanded != '\0') {
        bool all = has(letters, *demanded++);
        while (*demanded == '+') {
            all = has(letters, demanded[1]) && all;
            demanded += 2;
        }
        if (all)
            return true;
    }
    return false;
}

bool auth_permits(const struct auth_result *who, const char *letters)
{
    switch (who->kind) {
    case AUTH_SHARED_KEY:
    case AUTH_BEARER:
        return true;
    case AUTH_ACCOUNT_SAS:
    case AUTH_SERVICE_SAS:
    case AUTH_DELEGATION_SAS:
        return permit_letters(letters, who->permissions);
    case AUTH_ANONYMOUS:
        break;
    }
    return false;
}
