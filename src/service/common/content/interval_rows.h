/* SPDX-License-Identifier: Apache-2.0 */
/* Decodes and encodes the two kinds of rows of interval.h. Only interval*.c include this. */
#ifndef SERVICE_COMMON_CONTENT_INTERVAL_ROWS_H
#define SERVICE_COMMON_CONTENT_INTERVAL_ROWS_H

#include "service/common/content/interval.h"

/* A part of an extent within the chunk. */
struct chunk_piece {
    uint32_t start, length; /* in the chunk */
    uint32_t extent;        /* index */
    uint32_t offset;        /* in the extent */
    int64_t stamp;
};

struct chunk_extent {
    struct extent extent;
    bool fresh; /* added by this transaction */
    enum piece_claim claim;
};

struct chunk {
    struct arena *arena;
    struct str key;
    struct vrow old;
    struct chunk_extent *extents;
    size_t extent_count, extent_capacity;
    struct chunk_piece *pieces; /* ordered, not overlapping */
    size_t piece_count, piece_capacity;
};

/* Bytes within a block. */
struct block_run {
    uint32_t start, length;
    int64_t stamp;
    const char *bytes;
};

enum { BLOCK_RUNS_MAX = INTERVAL_BLOCK_BYTES };

struct block {
    struct arena *arena;
    struct str key;
    struct vrow old;
    struct block_run *runs; /* ordered, not overlapping */
    size_t run_count, run_capacity;
};

struct str interval_chunk_key(const struct interval_map *m, uint32_t chunk);
struct str interval_block_key(const struct interval_map *m, uint32_t chunk, uint32_t block);
/* Splits what follows the prefix; *block is -1 for a chunk's row. */
bool interval_key_read(struct str rest, uint32_t *chunk, int *block);
/* True if a row of the chunk, written at `stamp`, is in a void. */
bool interval_is_void(const struct interval_map *m, uint32_t chunk, int64_t stamp);

/* Returns how long before this update a piece was written. Only the snapshots before and after
 * it matter, so it counts as written when the later of them was taken (or now, if all are
 * older); then pieces of the same age can be joined. */
uint64_t interval_age(const struct interval_map *m, int64_t stamp);
/* Removes [from, to) of the chunk from its blocks. */
struct err interval_cut_blocks(struct interval_map *m, uint32_t chunk, uint32_t from, uint32_t to);

/* ERR_CORRUPT. Reads nothing when the map has no chunks. */
struct err interval_chunk_load(const struct interval_map *m, uint32_t index, struct chunk *out);
bool interval_chunk_decode(struct str payload, int64_t stamp, struct chunk *out);
void interval_chunk_cut(struct chunk *c, uint32_t from, uint32_t to);
void interval_chunk_add(struct chunk *c, const struct chunk_piece *piece);
uint32_t interval_chunk_add_extent(struct chunk *c, const struct extent *x, enum piece_claim claim);
/* Writes the row, or deletes it if no piece is left; updates the counts of the extents. */
struct err interval_chunk_store(const struct interval_map *m, struct chunk *c);
/* Bytes of the extents that the row names. */
uint64_t interval_chunk_held_bytes(const struct chunk *c);

struct err interval_block_load(const struct interval_map *m, uint32_t chunk, uint32_t index,
                               struct block *out);
bool interval_block_decode(struct str payload, int64_t stamp, struct block *out);
void interval_block_cut(struct block *b, uint32_t from, uint32_t to);
void interval_block_add(struct block *b, const struct block_run *run);
struct err interval_block_store(const struct interval_map *m, struct block *b);

#endif
