/* SPDX-License-Identifier: Apache-2.0 */
/* Staging of a long block list before its commit.
 *
 * Committing 50,000 blocks in one transaction would delay all other updates. So the new content is
 * written in advance, by transactions of a few hundred pieces each, under an id that no head names;
 * it holds references to the blocks' extents. Put Block List then only makes the head name it,
 * provided that the blob and its uncommitted blocks have not changed since the first step. The
 * first step also leaves a note for the sweeper, which removes a staged content that is never
 * committed. */
#ifndef SERVICE_BLOB_BLOCK_BLOCK_STAGE_H
#define SERVICE_BLOB_BLOCK_BLOCK_STAGE_H

#include "service/blob/block/block.h"
#include "service/blob/block/block_index.h"
#include "service/blob/sweep.h"

enum {
    BLOCK_STAGE_MIN = 1000, /* entries of a list; shorter ones are committed without staging */
    BLOCK_STAGE_PIECES_MAX = 256, /* per step; the pieces of one block stay together */
    BLOCK_STAGE_TRIES = 3,
};

/* A content that was written. */
struct block_content {
    uint64_t id;
    unsigned rows;
    uint64_t size;
    bool extents; /* some piece is in an extent */
    uint64_t blocks;
};

/* The state of the blob from which the content was staged. */
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
    bool missing;                 /* a block is missing: nothing more was staged */
};

/* Stages the list; waits for the store. If it cannot (the container is missing, for example),
 * *stage is NULL and the transaction reports the error. `partition` is the container's. Memory
 * comes from the request's arena. */
void block_stage_list(struct store *store, struct str partition,
                      const struct block_commit_args *args, const struct block_stage **stage);
/* Gives up an uncommitted stage: the sweeper removes its content. */
void block_stage_drop(struct store *store, struct str partition, const struct block_stage *stage);
/* The same without waiting. */
void block_stage_drop_later(struct store *store, struct str partition,
                            const struct block_stage *stage);

/* In Put Block List. ERR_STAGE_STALE if the blob has changed; ERR_INVALID_BLOCK_LIST. */
struct err block_stage_take(struct txn *t, const struct block_stage *stage, struct blob *blob,
                            struct block_content *out);

#endif
