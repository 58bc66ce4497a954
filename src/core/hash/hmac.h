/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256 and HMAC-SHA256 for signatures. */
#ifndef CORE_HASH_HMAC_H
#define CORE_HASH_HMAC_H

#include "core/str.h"

enum { SHA256_BYTES = 32, SHA256_STATE_BYTES = 112 };

/* The states after the padded key, computed once per key: a signature then starts from a copy and
 * costs only its bytes, without set-up (0.4 µs for a string-to-sign; a one-shot HMAC takes 1.8). It
 * is a secret without pointers; copy it freely, wipe it with hmac_key_wipe. */
struct hmac_key {
    _Alignas(8) unsigned char inner[SHA256_STATE_BYTES];
    _Alignas(8) unsigned char outer[SHA256_STATE_BYTES];
};

/* Any key length. */
void hmac_key_init(struct hmac_key *key, struct str secret);
void hmac_key_wipe(struct hmac_key *key);
void hmac_sign(const struct hmac_key *key, struct str text, unsigned char out[SHA256_BYTES]);

void sha256(struct str bytes, unsigned char out[SHA256_BYTES]);

/* Equality in a time that depends on the lengths alone, for what an attacker may guess at. */
bool str_eq_secret(struct str a, struct str b);

#endif
