/* SPDX-License-Identifier: Apache-2.0 */
/* MD5, incremental. 0.6 GB/s, so only where the protocol asks for it. */
#ifndef CORE_HASH_MD5_H
#define CORE_HASH_MD5_H

#include "core/str.h"

enum { MD5_BYTES = 16, MD5_STATE_BYTES = 96 };

/* Holds no pointers and needs no release. */
struct md5 {
    _Alignas(8) unsigned char state[MD5_STATE_BYTES];
};

void md5_init(struct md5 *m);
void md5_update(struct md5 *m, struct str bytes);
/* Returns the chaining words of a state that contains whole 64-byte blocks only;
 * core/hash/md5_many.c then adds blocks to several states in parallel. False if the state holds a
 * partial block. */
bool md5_words(const struct md5 *m, uint32_t words[4]);
/* Puts the words back, `bytes` further on. */
void md5_set_words(struct md5 *m, const uint32_t words[4], size_t bytes);
/* Ends it: md5_init before the next use. */
void md5_final(struct md5 *m, unsigned char out[MD5_BYTES]);

#endif
