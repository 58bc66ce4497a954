/* SPDX-License-Identifier: Apache-2.0 */
/* Whose bearer tokens are believed, and what they may do: `--oauth`. */
#ifndef AUTH_OAUTH_H
#define AUTH_OAUTH_H

#include "auth/jwt.h"
#include "auth/roles.h"
#include "service/account/account.h"

struct oauth;

/* "basic": claims are checked as Azurite checks them, signatures are not, and whoever has a token
 *     may do anything. For development.
 * "jwks=FILE|URL,issuer=…,audience=…,roles=FILE": tokens are signed by one of the keys, RS256 or
 *     ES256, and do what the roles give them. `audience` may be there several times. The keys are
 *     read again every hour, and when a token names a key that is not among them.
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
/* NULL when the token is good for the place; else what Azure (or Azurite) says is wrong with it. */
const char *oauth_refuses(struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *place);

/* Whether a token that was not refused for one place is for another, too; the place's time does not
 * count. */
bool oauth_takes_audience(const struct oauth *oauth, const struct jwt *token,
                          const struct oauth_audience *place);

/* "core.windows.net", or what stands for it in another of Azure's clouds. */
bool oauth_is_cloud(struct str domain);

#endif
