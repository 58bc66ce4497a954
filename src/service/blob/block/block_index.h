/* SPDX-License-Identifier: Apache-2.0 */
/* The blocks of a blob by id, for Put Block List. In the given arena, or in the transaction's. */
#ifndef SERVICE_BLOB_BLOCK_BLOCK_INDEX_H
#define SERVICE_BLOB_BLOCK_BLOCK_INDEX_H

#include "engine/engine.h"

struct block_index_entry {
    struct str id;
    uint64_t size;
    uint64_t offset;   /* of a committed block: its offset in the blob */
    struct str pieces; /* of an uncommitted one, encoded */
    bool used;
};

struct block_index {
    struct block_index_entry *entries;
    size_t count;
    size_t capacity;
    size_t used; /* entries that are */
};

/* One entry of a row of the committed list. */
void block_list_put(struct buf *b, struct str id, uint64_t size);
/* Loads all rows of the committed list under the prefix, in the blob's order. ERR_CORRUPT unless
 * there are `count`. */
struct err block_index_committed(struct txn *t, struct arena *a, struct str prefix, uint64_t count,
                                 struct block_index *out);
/* Loads all blocks of the set whose row has that key, in the order of their ids. */
struct err block_index_uncommitted(struct txn *t, struct str set, struct block_index *out);

/* Sorts by id: needed before block_index_find in an index of committed blocks. */
void block_index_sort(struct block_index *index);
/* NULL if there is none. */
struct block_index_entry *block_index_find(struct block_index *index, struct str id);

#endif
