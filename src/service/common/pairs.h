/* SPDX-License-Identifier: Apache-2.0 */
/* Names with values, the stored form of metadata and tags: one byte string that is read without
 * allocating. An absent or empty string has none. */
#ifndef SERVICE_COMMON_PAIRS_H
#define SERVICE_COMMON_PAIRS_H

#include "core/buf.h"
#include "core/wire.h"

struct pair {
    struct str name;
    struct str value;
};

struct pairs {
    struct pair *items;
    size_t count;
};

void pairs_put(struct buf *b, struct str name, struct str value);
/* The encoded form in the arena; absent if there are none. */
struct str pairs_encode(struct arena *a, const struct pairs *pairs);
/* The next pair, borrowed from the encoded form; false at its end. */
bool pairs_next(struct reader *r, struct pair *out);
/* The value of that name (exact case); absent if there is none. */
struct str pairs_find(struct str encoded, struct str name);
size_t pairs_count(struct str encoded);

#endif
