/* SPDX-License-Identifier: Apache-2.0 */
/* MD4 and RC4, on which NTLM is based. OpenSSL 3 has them only in its legacy provider; these
 * hundred lines avoid loading it into every process. No security depends on either of them alone.
 */
#ifndef AUTH_MD4_H
#define AUTH_MD4_H

#include "core/str.h"

enum { MD4_BYTES = 16 };

void md4(struct str bytes, unsigned char out[MD4_BYTES]);

struct rc4 {
    unsigned char state[256];
    unsigned char i, j;
};

void rc4_init(struct rc4 *c, struct str key);
/* In place; continues where the last call stopped. */
void rc4_apply(struct rc4 *c, unsigned char *bytes, size_t n);

#endif
