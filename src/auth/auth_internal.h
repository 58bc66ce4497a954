/* SPDX-License-Identifier: Apache-2.0 */
/* Shared inside auth/: one function per kind of credential, and what several of them use. */
#ifndef AUTH_AUTH_INTERNAL_H
#define AUTH_AUTH_INTERNAL_H

#include "auth/auth.h"
#include "core/buf.h"

enum { AUTH_CLOCK_SKEW_SECONDS = 15 * 60 };

/* A header's value by its name in any case; absent when not sent. */
struct str auth_header(const struct auth_input *input, struct str name);
/* The same for a query parameter. */
struct str auth_query(const struct auth_input *input, struct str name);
/* How many there are. */
size_t auth_header_count(const struct auth_input *input, struct str name);

/* 403 AuthenticationFailed whose AuthenticationErrorDetail is the text (which may hold newlines).
 */
struct err auth_failed(struct arena *arena, struct str text);

/* Whether one of the account's keys signs the text so. The comparison takes the same time whatever
 * the difference. */
bool auth_signature_matches(const struct account *account, struct str text, struct str signature);
/* The same with one key. */
bool auth_mac_matches(const struct hmac_key *key, struct str text, struct str signature);

/* Whether the letters satisfy those of a row (see auth_demand); never for NULL. */
bool permit_letters(const char *demanded, struct str letters);

/* What a user delegation key was given out for: the sk* parameters of a SAS made with it. */
struct delegation {
    struct str object_id, tenant_id;
    struct str start, expiry; /* as text; counted in whole seconds */
    struct str service, version;
    struct str user_tenant_id; /* absent when it is not for another tenant's user */
};
enum { DELEGATION_DAYS_MAX = 7 };

/* The key itself: 32 bytes that the account's key and the delegation determine. Nothing is stored,
 * and rotating the account's key takes back all that was delegated with it. False when a time is
 * not well-formed. */
bool delegation_derive(const struct hmac_key *account_key, const struct delegation *delegation,
                       unsigned char out[SHA256_BYTES]);

/* `Authorization: SharedKey account:signature` and SharedKeyLite. */
struct err shared_key_check(const struct auth_server *server, const struct auth_input *input,
                            struct str authorization, struct arena *arena,
                            struct auth_result *result);

#endif
