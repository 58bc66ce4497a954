/* SPDX-License-Identifier: Apache-2.0 */
/* The low-level SHA256_* calls are the only ones whose state can be copied without an allocation.
 * OpenSSL 3 marks them deprecated in favour of EVP, which costs four times as much here. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/hmac.h"

#include <assert.h>
#include <endian.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include "core/word.h"

enum { HMAC_BLOCK_BYTES = 64 };

_Static_assert(sizeof(SHA256_CTX) == SHA256_STATE_BYTES, "hmac_key holds whole states");
_Static_assert(offsetof(SHA256_CTX, h) == 0, "and a state begins with its eight words");

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

static void put_digest(const SHA256_CTX *state, unsigned char out[SHA256_BYTES])
{
    for (size_t i = 0; i < SHA256_BYTES / sizeof(uint32_t); i++) {
        uint32_t word = htobe32(state->h[i]);
        memcpy(out + i * sizeof word, &word, sizeof word);
    }
}

/* The rest of a text of so many bytes, the padded key among them, and the padding of FIPS 180-4,
 * 5.1.1. SHA256_Final does the same, for five times as much beside the hash itself. */
static void end_text(SHA256_CTX *state, struct str text, size_t before, unsigned char *out)
{
    unsigned char last[2 * HMAC_BLOCK_BYTES] = {0};
    uint64_t bits = htobe64((before + text.n) * 8);
    for (; text.n >= HMAC_BLOCK_BYTES; text = str_from(text, HMAC_BLOCK_BYTES))
        SHA256_Transform(state, (const unsigned char *)text.p);
    size_t size = text.n + 1 + sizeof bits <= HMAC_BLOCK_BYTES ? sizeof last / 2 : sizeof last;
    if (text.n > 0)
        memcpy(last, text.p, text.n);
    last[text.n] = 0x80;
    memcpy(last + size - sizeof bits, &bits, sizeof bits);
    for (size_t at = 0; at < size; at += HMAC_BLOCK_BYTES)
        SHA256_Transform(state, last + at);
    put_digest(state, out);
}

void hmac_sign(const struct hmac_key *key, struct str text, unsigned char out[SHA256_BYTES])
{
    SHA256_CTX state;
    unsigned char digest[SHA256_BYTES];
    memcpy(state.h, key->inner, sizeof state.h);
    end_text(&state, text, HMAC_BLOCK_BYTES, digest);
    memcpy(state.h, key->outer, sizeof state.h);
    end_text(&state, (struct str){(const char *)digest, sizeof digest}, HMAC_BLOCK_BYTES, out);
}

/* No comparison is cut short: what the words so far say is hidden from the compiler. */
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
