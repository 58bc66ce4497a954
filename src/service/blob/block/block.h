/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks: staged one by one, then made into a blob by a list of their ids. */
#ifndef SERVICE_BLOB_BLOCK_BLOCK_H
#define SERVICE_BLOB_BLOCK_BLOCK_H

#include "service/blob/blob.h"

enum {
    BLOCK_ID_BYTES_MAX = 64,
    BLOCKS_COMMITTED_MAX = 50000,
    BLOCKS_UNCOMMITTED_MAX = 100000,
    BLOCK_INLINE_MAX = 256, /* the most small blocks that a commit stores inline in its rows */
};

/* The row of a set of uncommitted blocks. The blocks themselves are rows that hold pieces. */
struct block_set {
    struct str name; /* of the blob, so that the sweeper finds it */
    uint64_t count;
    uint64_t id_bytes; /* the length that all ids of the set have */
    int64_t touched;   /* ticks of the last Put Block */
    struct str small;  /* appends without separate rows (path_append.c) */
    bool is_new;       /* its row does not exist yet */
    uint64_t version;  /* changes whenever the set changes; 0: unknown */
    uint64_t removed;  /* the stamp of the last update that removed appends; 0: none did */
};
struct err block_set_decode(struct str row, struct block_set *out);
/* The row of the set that the blob's head names. */
struct err block_set_load(struct txn *t, const struct blob *blob, struct block_set *out);
struct err block_set_save(struct txn *t, const struct blob *blob, const struct block_set *set);
/* Releases the extents that a row of pieces names, before the row is deleted. */
struct err blob_drop_pieces(struct txn *t, struct str row);

struct block_put_args {
    struct blob_request request;
    struct str id; /* decoded */
    const struct pieces *pieces;
    struct blob_claim claim;
};
/* ERR_INVALID_BLOB_OR_BLOCK for an id of another length, ERR_BLOCK_COUNT_EXCEEDS_LIMIT,
 * ERR_INVALID_BLOB_TYPE. Changes neither the blob's ETag nor its time. */
engine_fn blob_put_block;

enum block_list_kind { BLOCK_COMMITTED, BLOCK_UNCOMMITTED, BLOCK_LATEST };

struct block_entry {
    enum block_list_kind kind; /* where to look for it */
    struct str id;             /* decoded */
};

struct block_stage;

struct block_commit_args {
    struct blob_request request;
    struct blob_properties properties;
    const struct block_entry *entries;
    size_t count;                    /* at most BLOCKS_COMMITTED_MAX */
    const struct block_stage *stage; /* prepared by block_stage_list; NULL: not staged */
    /* out */
    struct blob_head head;
};
/* ERR_INVALID_BLOCK_LIST if a block is missing, or is requested from two lists. ERR_STAGE_STALE,
 * only with a stage: the blob has changed since, so stage again. */
engine_fn blob_put_block_list;

struct block_info {
    struct str id;
    uint64_t size;
};

struct block_list_args {
    struct blob_request request;
    bool wants_committed;
    bool wants_uncommitted;
    /* out */
    struct blob_head head;
    struct block_info *committed; /* in the order of the blob */
    size_t committed_count;
    struct block_info *uncommitted; /* in the order of their ids' bytes */
    size_t uncommitted_count;
};
engine_fn blob_get_block_list;

#endif
