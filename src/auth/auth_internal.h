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

/* `Authorization: SharedKey account:signature` and SharedKeyLite. */
struct err shared_key_check(const struct auth_server *server, const struct auth_input *input,
                            struct str authorization, struct arena *arena,
                            struct auth_result *result);

#endif
