/* SPDX-License-Identifier: Apache-2.0 */
/* A content that is written at any offset: the bytes of a file, the pages of a page blob. It is
 * sparse: what was never written, or was cut out, is a hole and reads as zeros.
 *
 * Offsets are divided into chunks of 4 MiB, the size of the largest extent, and those into
 * blocks of 4 KiB. Under the content's key prefix there are two kinds of rows:
 * prefix + chunk (be32): the chunk's extents, and which part of which extent is where
 * prefix + chunk (be32) + 01 + block (be16): the bytes of small writes within the block
 *
 * Blocks cover their chunk. So a small write costs one row of its size, however often the
 * content was written before (an aligned 4 KiB write does not even read what it replaces), and a
 * large write costs an extent and the chunk's row. An extent belongs to one chunk, so one row
 * shows what is allocated and how much of it is still used. A chunk that wastes too much space, or
 * has collected many blocks and is no longer written to, is folded into one new extent in the
 * background (interval_fold.h).
 *
 * All rows are versioned (vrow.h) and each piece has the stamp of its write. So a snapshot
 * costs nothing, and the changes between two snapshots are known. */
#ifndef SERVICE_COMMON_CONTENT_INTERVAL_H
#define SERVICE_COMMON_CONTENT_INTERVAL_H

#include "service/common/content/content.h"
#include "service/common/vrow.h"

#define INTERVAL_CHUNK_BYTES ((uint64_t)EXTENT_BYTES_MAX)
#define INTERVAL_SIZE_MAX    (INTERVAL_CHUNK_BYTES << 32)

enum {
    INTERVAL_BLOCK_BYTES = 4096,
    INTERVAL_CHUNK_BLOCKS = EXTENT_BYTES_MAX / INTERVAL_BLOCK_BYTES,
    INTERVAL_INLINE_MAX = 16 << 10, /* shorter writes go into blocks, longer ones into extents */
    INTERVAL_VOIDS_MAX = 8,
    INTERVAL_PIECES_MAX = 4096, /* in one chunk; beyond it, writes wait for the fold */
    INTERVAL_CUT_ROWS = 1024,   /* rows that one transaction cuts; the rest becomes a void */
};

/* A range of chunks that was cut out but whose rows still exist: rows written before `stamp` do
 * not count. The object's row holds the list. A sweep removes the rows and then the void. */
struct interval_void {
    uint32_t first, last; /* chunks */
    int64_t stamp;
};

struct interval_map {
    const struct vrow_scope *rows;
    struct str prefix;
    bool has_chunks, has_blocks; /* rows of that kind may exist; stored in the object's row */
    struct interval_void voids[INTERVAL_VOIDS_MAX];
    unsigned void_count;
    /* Set by a write if a chunk should be folded; fold_soon: even while it is written to. */
    bool fold_wanted, fold_soon;
    uint32_t fold_chunk;
};

/* Tells how an upload divides the bytes of a write: returns the length of the piece that begins
 * at offset, and whether it goes into the row or into an extent. */
uint32_t interval_piece_length(uint64_t offset, uint64_t length, enum piece_kind *kind);

/* Writes pieces one after the other from offset on. Each is within one chunk, as
 * interval_piece_length divides them. Holes are cut out. `claim` says how extents are referenced.
 * ERR_SERVER_BUSY if a chunk is too fragmented for more writes before it is folded. */
struct err interval_write(struct interval_map *m, uint64_t offset, const struct pieces *pieces,
                          enum piece_claim claim);

/* Makes [from, to) a hole. A large hole may leave a void. ERR_SERVER_BUSY if there are too many
 * voids. */
struct err interval_cut(struct interval_map *m, uint64_t from, uint64_t to);

/* Does one bounded step of removing the rows of voids; sets *done if no void is left. */
struct err interval_sweep_voids(struct interval_map *m, unsigned rows_max, bool *done);
/* Does one bounded step of removing all rows; sets *done if none is left. */
struct err interval_remove(struct interval_map *m, unsigned rows_max, bool *done);

/* ---- reading ---- */

/* from <= offset < to */
struct interval_range {
    uint64_t from;
    uint64_t to;
};

/* A written part; parts come in order. `start` is its offset in the content. */
struct interval_part {
    uint64_t start;
    int64_t stamp;
    struct piece piece; /* inline bytes are borrowed for the call */
};
/* Sets *stop to end the walk. */
typedef struct err interval_visit(void *arg, const struct interval_part *part, bool *stop);
/* Visits the written parts of [from, to), clipped to it. */
struct err interval_walk(const struct interval_map *m, uint64_t from, uint64_t to,
                         interval_visit *visit, void *arg);
/* Visits only rows that were written after `since`: it may report older parts as well, but
 * reports all newer ones. Other rows are skipped. */
struct err interval_walk_since(const struct interval_map *m, struct interval_range range,
                               int64_t since, interval_visit *visit, void *arg);
/* For a snapshot's map: visits only the rows that were changed or removed before the snapshot
 * `until` (VROW_LIVE: up to now). It reports everything that is no longer written then, unless
 * voids were added since. */
struct err interval_walk_changed(const struct interval_map *m, struct interval_range range,
                                 int64_t until, interval_visit *visit, void *arg);

/* Limits for one read. */
struct interval_limits {
    size_t pieces_max;
    size_t inline_max; /* bytes */
};
extern const struct interval_limits INTERVAL_LIMITS_DEFAULT;

/* Returns the pieces of the range including holes, in the arena with their inline bytes. *until
 * is where they end: range.to, unless a limit came first; always past range.from. */
struct err interval_read(const struct interval_map *m, struct interval_range range,
                         const struct interval_limits *limits, struct arena *a, struct pieces *out,
                         uint64_t *until);

/* ---- rows seen from outside ---- */

/* True if the rest of a key after the content's prefix is that of a chunk, which names extents. */
bool interval_key_is_chunk(struct str rest);
/* Reports the extents of a chunk's payload; false if it is malformed. */
bool interval_extents(struct str payload, content_named *named, void *sink);
/* Drops the extents of a chunk's payload when the row is deleted. */
struct err interval_drop(struct txn *t, struct str payload);

void interval_voids_encode(struct buf *b, const struct interval_map *m);
bool interval_voids_decode(struct str bytes, struct interval_map *m);

#endif
