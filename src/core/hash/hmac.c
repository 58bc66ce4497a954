/* SPDX-License-Identifier: Apache-2.0 */
/* The low-level SHA256_* calls are the only ones whose state can be copied without an allocation.
 * OpenSSL 3 marks them deprecated in favour of EVP, which costs four times as much here. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/hash/hmac.h"

#include <assert.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "core/word.h"

enum { HMAC_BLOCK_BYTES = 64 };

_Static_assert(sizeof(SHA256_CTX) == SHA256_STATE_BYTES, "hmac_key holds whole states");

/* These three fail only for a NULL pointer. */
static void absorb(SHA256_CTX *state, const void *bytes, size_t n)
{
    int done = n == 0 ? 1 : SHA256_Update(state, bytes, n);
    assert(done == 1);
}

static void finish(SHA256_CTX *state, unsigned char out[SHA256_BYTES])
{
    int done = SHA256_Final(out, state);
    assert(done == 1);
}

static void start(SHA256_CTX *state)
{
    int done = SHA256_Init(state);
    assert(done == 1);
}

void sha256(struct str bytes, unsigned char out[SHA256_BYTES])
{
    SHA256_CTX state;
    start(&state);
    absorb(&state, bytes.p, bytes.n);
    finish(&state, out);
}

static void state_after_pad(unsigned char *to, const unsigned char *block, unsigned char pad)
{
    unsigned char padded[HMAC_BLOCK_BYTES];
    for (size_t i = 0; i < sizeof padded; i++)
        padded[i] = block[i] ^ pad;
    SHA256_CTX state;
    start(&state);
    absorb(&state, padded, sizeof padded);
    memcpy(to, &state, sizeof state);
    OPENSSL_cleanse(padded, sizeof padded);
    OPENSSL_cleanse(&state, sizeof state);
}

void hmac_key_init(struct hmac_key *key, struct str secret)
{
    unsigned char block[HMAC_BLOCK_BYTES] = {0};
    if (secret.n > sizeof block)
        sha256(secret, block);
    else if (secret.n > 0)
        memcpy(block, secret.p, secret.n);
    state_after_pad(key->inner, block, 0x36);
    state_after_pad(key->outer, block, 0x5C);
    OPENSSL_cleanse(block, sizeof block);
}

void hmac_key_wipe(struct hmac_key *key)
{
    OPENSSL_cleanse(key, sizeof *key);
}

void hmac_sign(const struct hmac_key *key, struct str text, unsigned char out[SHA256_BYTES])
{
    SHA256_CTX state;
    unsigned char digest[SHA256_BYTES];
    memcpy(&state, key->inner, sizeof state);
    absorb(&state, text.p, text.n);
    finish(&state, digest);
    memcpy(&state, key->outer, sizeof state);
    absorb(&state, digest, sizeof digest);
    finish(&state, out);
}

/* Compares in constant time: the barrier hides the result so far from the compiler, which could
 * else return early. */
bool str_eq_secret(struct str a, struct str b)
{
    uint64_t differ = 0;
    size_t i = 0;
    if (a.n != b.n)
        return false;
    for (; i + WORD_BYTES <= a.n; i += WORD_BYTES) {
        differ |= word_load(a.p + i) ^ word_load(b.p + i);
        __asm__ volatile("" : "+r"(differ));
    }
    for (; i < a.n; i++) {
        differ |= (unsigned char)(a.p[i] ^ b.p[i]);
        __asm__ volatile("" : "+r"(differ));
    }
    return differ == 0;
}
