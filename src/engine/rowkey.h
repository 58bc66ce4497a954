/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes partition and key as one ordered key.
 *
 * A space byte, then the partition with each 0x00 written as 00 FF and terminated by 00 01, then
 * the key unchanged. So the rows of a partition are adjacent, partitions sort by memcmp, no
 * encoded partition is a prefix of another, and the first key past a partition is the same with
 * 00 02 as terminator. */
#ifndef ENGINE_ROWKEY_H
#define ENGINE_ROWKEY_H

#include "core/buf.h"

enum rowkey_space {
    SPACE_ENGINE = 'e', /* the engine's own rows */
    SPACE_GARBAGE = 'g',
    SPACE_ROWS = 'r',
    SPACE_EXTENTS = 'x',
};

/* Appends the common prefix of all keys of partitions that start with `prefix`. */
void rowkey_put_prefix(struct buf *b, struct str prefix);
void rowkey_put_partition(struct buf *b, struct str partition);
/* Appends the first key past the partition. */
void rowkey_put_past(struct buf *b, struct str partition);
/* Splits a key of SPACE_ROWS; the partition is written into b. False if it is malformed. */
bool rowkey_split(struct str physical, struct buf *partition, struct str *key);

/* The same, but borrows the partition from the key if it contains no zero byte, which is nearly
 * always; otherwise overwrites scratch. For scans, which split every key. */
bool rowkey_divide(struct str physical, struct buf *scratch, struct str *partition,
                   struct str *key);

/* Turns the string in place into the smallest string greater than all that start with it.
 * Returns the new length, 0 if there is none. */
size_t rowkey_past_prefix(char *p, size_t n);

enum { ROWKEY_SMALL_BYTES = 320, ROWKEY_END = 0x01 };

/* Builds the keys of one partition one after the other in the same memory. */
struct rowkey {
    struct arena *arena;
    char *p;
    size_t partition_n;
    size_t capacity;
    char small[ROWKEY_SMALL_BYTES];
};

void rowkey_init(struct rowkey *k, struct arena *arena, struct str partition);
void rowkey_grow(struct rowkey *k, size_t capacity);
/* Valid until the next call of either. */
static inline struct str rowkey_of(struct rowkey *k, struct str key)
{
    size_t n = k->partition_n + key.n;
    if (n > k->capacity)
        rowkey_grow(k, n + n / 2);
    if (key.n > 0)
        memcpy(k->p + k->partition_n, key.p, key.n);
    k->p[k->partition_n - 1] = ROWKEY_END; /* rowkey_past may have changed it */
    return (struct str){k->p, n};
}
/* Returns the first possible key of the partition past all that start with `prefix`. */
struct str rowkey_past(struct rowkey *k, struct str prefix);

#endif
