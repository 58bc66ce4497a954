/* SPDX-License-Identifier: Apache-2.0 */
/* A JSON web token in its compact form, decoded but not verified: jwks.h checks its signature,
 * oauth.h its claims. */
#ifndef AUTH_JWT_H
#define AUTH_JWT_H

#include "core/arena.h"

enum { JWT_BYTES_MAX = 32 << 10, JWT_AUDIENCES_MAX = 16, JWT_GROUPS_MAX = 256 };

enum jwt_algorithm { JWT_OTHER, JWT_RS256, JWT_ES256 };

struct jwt {
    enum jwt_algorithm algorithm;
    bool critical;          /* names extensions that must be understood; none are */
    struct str key_id;      /* absent when not given, like all text below */
    struct str signed_part; /* "header.payload" */
    struct str signature;   /* decoded */
    struct str issuer, subject, object_id, tenant_id, app_id;
    struct str audiences[JWT_AUDIENCES_MAX];
    size_t audience_count;
    struct str *groups;
    size_t group_count;
    bool timed;                 /* has nbf, exp and iat, all numbers */
    int64_t not_before, expiry; /* seconds since 1970 */
};

/* False when it is not three parts of base64url with two JSON objects, is too long, or names a
 * claim twice that is read here. Everything lives in the arena or in the token. */
bool jwt_parse(struct arena *arena, struct str token, struct jwt *out);

/* The alphabet with '-' and '_', no padding. False when it is not that. */
bool base64url_decode(struct arena *arena, struct str text, struct str *out);

#endif
