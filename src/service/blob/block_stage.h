/* SPDX-License-Identifier: Apache-2.0 */
/* A long block list, made ready before it is committed.
 *
 * To commit 50,000 blocks in one transaction would hold up all other updates. So the new content is
 * written ahead, by transactions of a few hundred pieces each, under an id that no head names: it
 * holds the extents that the blocks hold. Put Block List then only lets the head name it, provided
 * that the blob and its uncommitted blocks are what they were when the first step ran. A note for
 * the sweeper lies beside it from the first step on, so that nothing is left of what nobody came
 * to commit. */
#ifndef SERVICE_BLOB_BLOCK_STAGE_H
#define SERVICE_BLOB_BLOCK_STAGE_H

#include "service/blob/block.h"
#include "service/blob/block_index.h"
#include "service/blob/sweep.h"

enum {
    BLOCK_STAGE_MIN = 1000,       /* entries of a list; shorter ones are committed at once */
    BLOCK_STAGE_PIECES_MAX = 256, /* in a step; the pieces of one block stay together */
    BLOCK_STAGE_TRIES = 3,
};

/* A content that was written. */
struct block_content {
    uint64_t id;
    unsigned rows;
    uint64_t size;
    bool extents; /* some piece lies in an extent */
    uint64_t blocks;
};

/* What of the blob the staged content was made from. */
struct block_origin {
    uint64_t incarnation;
    int64_t etag;
    uint64_t content;
    uint64_t blocks; /* the set's id */
    uint64_t version;
};

struct block_stage {
    const struct block_commit_args *args;
    struct block_origin origin;
    struct block_index committed; /* of the origin */
    struct block_content content; /* so far; id 0: no step has run */
    size_t done;                  /* entries */
    struct str list;              /* the row of the new block list that is being filled */
    bool missing;                 /* a block is not there: nothing more was staged */
};

/* Stages the list; waits for the store. What is not possible (there is no such container, say) is
 * left to the transaction: then *stage is NULL. `partition` is the container's. Memory comes from
 * the request's arena. */
void block_stage_list(struct store *store, struct str partition,
                      const struct block_commit_args *args, const struct block_stage **stage);
/* Gives a stage up that was not committed: the sweeper takes its content away. */
void block_stage_drop(struct store *store, struct str partition, const struct block_stage *stage);
/* The same without waiting for it. */
void block_stage_drop_later(struct store *store, struct str partition,
                            const struct block_stage *stage);

/* In Put Block List. ERR_STAGE_STALE when the blob is not what it was; ERR_INVALID_BLOCK_LIST. */
struct err block_stage_take(struct txn *t, const struct block_stage *stage, struct blob *blob,
                            struct block_content *out);

#endif
