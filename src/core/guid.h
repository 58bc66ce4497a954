/* SPDX-License-Identifier: Apache-2.0 */
/* GUIDs: request ids, lease ids, receipts, table properties. The bytes are stored in the order of
 * the text, most significant first, so byte order is text order. */
#ifndef CORE_GUID_H
#define CORE_GUID_H

#include "core/buf.h"

enum { GUID_BYTES = 16, GUID_TEXT_BYTES = 36 };

struct guid {
    unsigned char bytes[GUID_BYTES];
};

/* Random, version 4, from the kernel's generator (read in batches, about 50 ns each): cannot be
 * guessed, so it may serve as a lease id or a receipt. Any thread; not across fork(). */
struct guid guid_random(void);
/* n bytes from the same source. */
void random_bytes(void *out, size_t n);
uint64_t random_u64(void);

/* Every text form that .NET's Guid.Parse accepts, in any case of the digits: 32 digits; 8-4-4-4-12;
 * the latter in {} or (); {0x…,0x…,0x…,{0x…, eight of these}}. White space around it is allowed.
 * False if it is malformed; *out is then unchanged. */
bool guid_parse(struct str text, struct guid *out);

/* Writes the canonical text (lower case, 8-4-4-4-12), no NUL. */
void guid_text(const struct guid *g, char out[GUID_TEXT_BYTES]);
void guid_put(struct buf *out, const struct guid *g);

static inline bool guid_eq(const struct guid *a, const struct guid *b)
{
    return memcmp(a->bytes, b->bytes, GUID_BYTES) == 0;
}

#endif
