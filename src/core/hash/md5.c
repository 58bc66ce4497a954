/* SPDX-License-Identifier: Apache-2.0 */
/* The low-level calls, because their state is a plain value; EVP's is as fast in bulk but is an
 * object on the heap. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "core/hash/md5.h"

#include <assert.h>
#include <openssl/md5.h>

_Static_assert(sizeof(MD5_CTX) <= MD5_STATE_BYTES, "the state fits");
_Static_assert(_Alignof(MD5_CTX) <= 8, "the state is aligned");

static MD5_CTX *state_of(struct md5 *m)
{
    return (MD5_CTX *)(void *)m->state;
}

void md5_init(struct md5 *m)
{
    int done = MD5_Init(state_of(m));
    assert(done == 1);
}

void md5_update(struct md5 *m, struct str bytes)
{
    int done = bytes.n == 0 ? 1 : MD5_Update(state_of(m), bytes.p, bytes.n);
    assert(done == 1);
}

bool md5_words(const struct md5 *m, uint32_t words[4])
{
    const MD5_CTX *c = (const MD5_CTX *)(const void *)m->state;
    const uint32_t now[4] = {c->A, c->B, c->C, c->D};
    memcpy(words, now, sizeof now);
    return c->num == 0;
}

void md5_set_words(struct md5 *m, const uint32_t words[4], size_t bytes)
{
    MD5_CTX *c = state_of(m);
    assert(c->num == 0 && bytes % MD5_CBLOCK == 0);
    c->A = words[0];
    c->B = words[1];
    c->C = words[2];
    c->D = words[3];
    /* The length so far, in bits: Nh is the upper half. */
    uint64_t bits = ((uint64_t)c->Nh << 32 | c->Nl) + (uint64_t)bytes * 8;
    c->Nl = (uint32_t)bits;
    c->Nh = (uint32_t)(bits >> 32);
}

void md5_final(struct md5 *m, unsigned char out[MD5_BYTES])
{
    int done = MD5_Final(out, state_of(m));
    assert(done == 1);
}
