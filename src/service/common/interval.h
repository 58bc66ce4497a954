/* SPDX-License-Identifier: Apache-2.0 */
/* A content that is written at any offset: the bytes of a file, the pages of a page blob. Sparse:
 * what was never written, or was cut out, is a hole and reads as zeros.
 *
 * The offsets are cut into chunks of 4 MiB, the size of the largest extent, and these into blocks
 * of 4 KiB. Under the content's key prefix there are two kinds of rows:
 *     prefix + chunk (be32)                   the chunk's extents, and which part of which lies
 * where prefix + chunk (be32) + 01 + block (be16)   the bytes of small writes within the block
 * Blocks lie over their chunk. So a small write costs one row of its own size however often the
 * content was written to before (an aligned 4 KiB write does not even read what it replaces), and a
 * large one costs an extent and the chunk's row. An extent belongs to one chunk, so what is held
 * and what of it is still used can be told from one row; a chunk that wastes too much, or has
 * gathered many blocks and is not written to any more, is folded into one new extent in the
 * background (interval_fold.h).
 *
 * All rows are versioned (vrow.h) and each piece carries the stamp of its write, so a snapshot
 * costs nothing and what changed between two is known. */
#ifndef SERVICE_COMMON_INTERVAL_H
#define SERVICE_COMMON_INTERVAL_H

#include "service/common/content.h"
#include "service/common/vrow.h"

#define INTERVAL_CHUNK_BYTES ((uint64_t)EXTENT_BYTES_MAX)
#define INTERVAL_SIZE_MAX    (INTERVAL_CHUNK_BYTES << 32)

enum {
    INTERVAL_BLOCK_BYTES = 4096,
    INTERVAL_CHUNK_BLOCKS = EXTENT_BYTES_MAX / INTERVAL_BLOCK_BYTES,
    INTERVAL_INLINE_MAX = 16 << 10, /* shorter writes go into blocks, longer ones into extents */
    INTERVAL_VOIDS_MAX = 8,
    INTERVAL_PIECES_MAX = 4096, /* in one chunk; past it writes wait for the fold */
    INTERVAL_CUT_ROWS = 2048,   /* that one transaction cuts; the rest becomes a void */
};

/* Whole chunks that were cut out but whose rows are still there: those written before `stamp` count
 * for nothing. The object's row holds the list; a sweep takes the rows away and then the void. */
struct interval_void {
    uint32_t first, last; /* chunks */
    int64_t stamp;
};

struct interval_map {
    const struct vrow_scope *rows;
    struct str prefix;
    bool has_chunks, has_blocks; /* rows of that kind may exist; kept in the object's row */
    struct interval_void voids[INTERVAL_VOIDS_MAX];
    unsigned void_count;
    /* Set by a write when a chunk should be folded; fold_soon: also while it is written to. */
    bool fold_wanted, fold_soon;
    uint32_t fold_chunk;
};

/* How an upload cuts the bytes of a write at offset: the length of the piece that begins there, and
 * whether it goes into the row or into an extent. */
uint32_t interval_piece_length(uint64_t offset, uint64_t length, enum piece_kind *kind);

/* Writes pieces one after the other from offset on; each lies within one chunk, as
 * interval_piece_length cuts them. Holes are cut out. claim says how extents come in.
 * ERR_SERVER_BUSY when a chunk is too fragmented to take more before it is folded. */
struct err interval_write(struct interval_map *m, uint64_t offset, const struct pieces *pieces,
                          enum piece_claim claim);

/* Makes [from, to) a hole. A large one may leave a void. ERR_SERVER_BUSY when there are too many
 * voids already. */
struct err interval_cut(struct interval_map *m, uint64_t from, uint64_t to);

/* One bounded step of taking away the rows of voids; *done when there are no more voids. */
struct err interval_sweep_voids(struct interval_map *m, unsigned rows_max, bool *done);
/* One bounded step of taking away all rows; *done when none is left. */
struct err interval_remove(struct interval_map *m, unsigned rows_max, bool *done);

/* ---- reading ---- */

/* from <= offset < to */
struct interval_range {
    uint64_t from;
    uint64_t to;
};

/* A written part, in order; start is its offset in the content. */
struct interval_part {
    uint64_t start;
    int64_t stamp;
    struct piece piece; /* inline bytes are borrowed for the call */
};
/* Sets *stop to end the walk. */
typedef struct err interval_visit(void *arg, const struct interval_part *part, bool *stop);
/* The written parts of [from, to), cut to it. */
struct err interval_walk(const struct interval_map *m, uint64_t from, uint64_t to,
                         interval_visit *visit, void *arg);
/* The same of the rows alone that were written after `since`: what is told may be older, but all
 * that is younger is told. The others are stepped over. */
struct err interval_walk_since(const struct interval_map *m, struct interval_range range,
                               int64_t since, interval_visit *visit, void *arg);
/* Of a snapshot's map: what it has in the rows alone that were changed or removed before the
 * snapshot `until` (VROW_LIVE: to this day). All of it that is then no longer written is told,
 * unless voids have come since. */
struct err interval_walk_changed(const struct interval_map *m, struct interval_range range,
                                 int64_t until, interval_visit *visit, void *arg);

/* How much one read may gather. */
struct interval_limits {
    size_t pieces_max;
    size_t inline_max; /* bytes */
};
extern const struct interval_limits INTERVAL_LIMITS_DEFAULT;

/* The pieces of the range with the holes, in the arena, inline bytes too; *until is where they end
 * (range.to, unless a limit came first; always past range.from). */
struct err interval_read(const struct interval_map *m, struct interval_range range,
                         const struct interval_limits *limits, struct arena *a, struct pieces *out,
                         uint64_t *until);

/* ---- rows seen from outside ---- */

/* Whether a key's part after the content's prefix is that of a chunk (which names extents). */
bool interval_key_is_chunk(struct str rest);
/* The extents of a chunk's payload; false when it cannot be read. */
bool interval_extents(struct str payload, content_named *named, void *sink);
/* Drops the extents of a chunk's payload, when the row goes. */
struct err interval_drop(struct txn *t, struct str payload);

void interval_voids_encode(struct buf *b, const struct interval_map *m);
bool interval_voids_decode(struct str bytes, struct interval_map *m);

#endif
