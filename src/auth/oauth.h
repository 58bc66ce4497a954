/* SPDX-License-Identifier: Apache-2.0 */
/* Which bearer tokens are accepted, and what they may do: `--oauth`. */
#ifndef AUTH_OAUTH_H
#define AUTH_OAUTH_H

#include "auth/jwt.h"
#include "auth/roles.h"
#include "service/account/account.h"

struct oauth;

/* "basic": claims are checked as Azurite checks them, signatures are not, and any token
 *     gives full access. For development.
 * "jwks=FILE|URL,issuer=…,audience=…,roles=FILE": tokens must be signed by one of the keys, RS256
 * or
 *     ES256; the roles define what they may do. `audience` may occur several times. The keys are
 *     read again every hour, and when a token names an unknown key.
 * ERR_INVALID_INPUT or ERR_IO, with a sentence in `detail` (static). */
struct err oauth_new(const char *setting, struct oauth **out);
void oauth_free(struct oauth *oauth);

/* NULL when everything is allowed. */
const struct roles *oauth_roles(const struct oauth *oauth);
/* Where to get a token: the WWW-Authenticate header of a refusal. `oauth` may be NULL. */
struct str oauth_challenge(const struct oauth *oauth);

struct oauth_audience {
    enum service_kind service;
    struct str account;
    int64_t now; /* ticks */
};
/* Returns NULL if the token is valid for the place; else the reason in Azure's (or Azurite's)
 * words. */
const char *oauth_refuses(struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *place);

/* Returns true if a token accepted for one place is also for another; ignores the time of the
 * place. */
bool oauth_takes_audience(const struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *place);

/* "core.windows.net", or the corresponding domain of another of Azure's clouds. */
bool oauth_is_cloud(struct str domain);

#endif
