/* SPDX-License-Identifier: Apache-2.0 */
/* A set of public keys (RFC 7517) that tokens are signed with: RSA and P-256. */
#ifndef AUTH_JWKS_H
#define AUTH_JWKS_H

#include "auth/jwt.h"
#include "core/err.h"

enum { JWKS_KEYS_MAX = 64, JWKS_BYTES_MAX = 1 << 20, JWKS_RSA_BITS_MIN = 2048 };

struct jwks;

/* Skips keys of other kinds, keys for encryption, and keys that are too short. ERR_INVALID_INPUT if
 * the text is not a key set, or no key is left. */
struct err jwks_parse(struct str json, struct jwks **out);
void jwks_free(struct jwks *set);
size_t jwks_count(const struct jwks *set);

enum jwks_answer { JWKS_GOOD, JWKS_BAD, JWKS_UNKNOWN_KEY };
/* From any thread. A token without a key id is checked against the only key of its kind. */
enum jwks_answer jwks_verify(const struct jwks *set, const struct jwt *token);

/* Reads the text at a path, http:// or https:// URL (with certificate check). http:// only to
 * loopback: an attacker who changes the keys in transit can sign anything. Free *out with free().
 * ERR_INVALID_INPUT, ERR_IO. */
struct err jwks_fetch(const char *source, char **out, size_t *n);

#endif
