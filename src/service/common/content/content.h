/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a blob or file: a map from offsets to pieces. A piece is a few bytes in the row
 * itself, a part of an extent, or a hole that reads as zeros.
 *
 * The map has separate rows, apart from the object's properties, so that listings never touch it.
 * The service chooses a key prefix for each content. Each row is a chunk of the map, keyed by
 * prefix + the offset (big-endian) where it begins, so that one seek finds a range. The space
 * between two chunks is a hole. The rows that name an extent count as its references. */
#ifndef SERVICE_COMMON_CONTENT_CONTENT_H
#define SERVICE_COMMON_CONTENT_CONTENT_H

#include "service/common/store.h"

enum {
    CONTENT_CHUNK_PIECES = 256,
    CONTENT_CHUNK_BYTES = 64 << 10,
    CONTENT_OFFSET_BYTES = 8, /* what a chunk's key adds to the prefix */
};

enum piece_kind { PIECE_INLINE = 1, PIECE_EXTENT = 2, PIECE_HOLE = 3 };

struct piece {
    enum piece_kind kind;
    uint64_t length;
    const char *bytes;      /* PIECE_INLINE */
    struct extent extent;   /* PIECE_EXTENT */
    uint32_t extent_offset; /* where in the extent the piece begins */
};

struct pieces {
    struct piece *items;
    size_t count;
    size_t capacity;
};

/* Appends, in the arena. */
void pieces_add(struct pieces *list, struct arena *a, const struct piece *piece);
uint64_t pieces_length(const struct pieces *list);
/* Copies the bytes of the pieces, one after the other. The caller has a pin. ERR_WOULD_BLOCK with
 * ENGINE_NOWAIT. */
struct err pieces_gather(struct store *s, const struct pieces *list, enum engine_wait wait,
                         char *to);

void piece_encode(struct buf *b, const struct piece *piece);
/* False at the end or if the bytes are malformed; reader_ok tells which. Inline bytes are
 * borrowed from the row. */
bool piece_decode(struct reader *r, struct piece *out);
/* A list of pieces in a separate row (an uncommitted block). */
void pieces_encode(struct buf *b, const struct pieces *list);

/* How a row takes a reference to a piece's extent. */
enum piece_claim {
    PIECE_ADOPT, /* finished by an upload; no row names it yet */
    PIECE_HOLD,  /* another row names it and keeps it */
    PIECE_MOVE,  /* another row of this transaction names it and gives it up */
};
struct err piece_claim(struct txn *t, const struct piece *piece, enum piece_claim claim);

/* Writes a content from its beginning, piece by piece. */
struct content_writer {
    struct txn *txn;
    struct str prefix;
    struct buf chunk;
    uint64_t chunk_start;
    uint64_t size;
    unsigned chunk_pieces;
    unsigned rows;
    bool extents; /* at least one piece is in an extent */
};
/* prefix must stay valid until content_write_end. */
void content_write_begin(struct content_writer *w, struct txn *t, struct str prefix);
/* Continues at the end of an existing content, before the first piece: this is how a content
 * grows. */
void content_write_from(struct content_writer *w, uint64_t offset);
struct err content_write(struct content_writer *w, const struct piece *piece,
                         enum piece_claim claim);
/* Afterwards w->size and w->rows tell the size of the content. */
struct err content_write_end(struct content_writer *w);

/* Returns the pieces of [offset, offset + length), clipped, including holes. They and their inline
 * bytes are in the arena, so they outlive the transaction. The range must be within the content: a
 * part that no chunk covers reads as a hole. ERR_CORRUPT if a chunk is malformed. */
struct err content_read(struct txn *t, struct str prefix, uint64_t offset, uint64_t length,
                        struct arena *a, struct pieces *out);
struct content_part {
    uint64_t offset;
    uint64_t length;
    size_t pieces_max;
};
/* The same, but at most pieces_max of them; pieces_length tells how far they reach. */
struct err content_read_some(struct txn *t, struct str prefix, struct content_part part,
                             struct arena *a, struct pieces *out);

/* Ranges of one content, read one after the other within a transaction: one that begins where the
 * last ended costs no search. */
struct content_walk {
    struct txn *txn;
    struct str prefix;
    struct cursor *cursor; /* NULL: not opened yet */
    bool in_step;          /* it is at the chunk */
    struct str chunk;      /* absent: none; else the row of [start, end) */
    uint64_t start, end;
    struct reader rest; /* of the chunk, from the piece on that begins at `at` */
    uint64_t at;
    uint64_t expected; /* where the last range ended */
};
void content_walk_begin(struct content_walk *w, struct txn *t, struct str prefix);
/* As content_read, but the pieces' inline bytes live in the transaction's arena. */
struct err content_walk_read(struct content_walk *w, uint64_t offset, uint64_t length,
                             struct pieces *out);
void content_walk_end(struct content_walk *w);

/* Removes a content that is one row without extents, without reading it. */
struct err content_remove_inline(struct txn *t, struct str prefix);
/* Removes rows and drops their extents, at most about `pieces_max` of them; sets *done if
 * nothing is left. */
struct err content_remove(struct txn *t, struct str prefix, unsigned pieces_max, bool *done);

/* Calls `named` for each extent of a chunk (or of a block's list of pieces). False if it is
 * malformed. */
typedef void content_named(void *sink, const struct extent *x);
bool content_extents(struct str value, content_named *named, void *sink);

#endif
