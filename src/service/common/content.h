/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a blob or file: a map from offset to pieces, each piece a few bytes in the row
 * itself, a part of an extent, or a hole that reads as zeros.
 *
 * The map lies in rows of its own, apart from the object's properties, so that listings never touch
 * it. A content is named by a key prefix that its service chooses; each row is a chunk of the map,
 * keyed by prefix + the offset (big-endian) where it begins, so that a range is found with one
 * seek. What lies between two chunks is a hole. Extents are counted by the rows that name them. */
#ifndef SERVICE_COMMON_CONTENT_H
#define SERVICE_COMMON_CONTENT_H

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
/* False at the end or when the bytes are broken, which reader_ok then tells. Inline bytes are
 * borrowed from the row. */
bool piece_decode(struct reader *r, struct piece *out);
/* A list of pieces in a row of its own (an uncommitted block). */
void pieces_encode(struct buf *b, const struct pieces *list);

/* How a piece's extent comes into a row. */
enum piece_claim {
    PIECE_ADOPT, /* finished by an upload, named by no row yet */
    PIECE_HOLD,  /* named by another row, which keeps it */
    PIECE_MOVE,  /* named by another row of this transaction, which gives it up */
};
struct err piece_claim(struct txn *t, const struct piece *piece, enum piece_claim claim);

/* Writes a content from its beginning, piece after piece. */
struct content_writer {
    struct txn *txn;
    struct str prefix;
    struct buf chunk;
    uint64_t chunk_start;
    uint64_t size;
    unsigned chunk_pieces;
    unsigned rows;
    bool extents; /* some piece lies in an extent */
};
/* prefix must stay until content_write_end. */
void content_write_begin(struct content_writer *w, struct txn *t, struct str prefix);
/* Goes on at an offset where the content ends, before the first piece: how it grows. */
void content_write_from(struct content_writer *w, uint64_t offset);
struct err content_write(struct content_writer *w, const struct piece *piece,
                         enum piece_claim claim);
/* After it, w->size and w->rows say how large the content is. */
struct err content_write_end(struct content_writer *w);

/* The pieces of [offset, offset + length), cut to it, holes included. In the arena, inline bytes
 * too, so they outlive the transaction. The range must lie within the content: what no chunk covers
 * reads as a hole. ERR_CORRUPT when a chunk cannot be read. */
struct err content_read(struct txn *t, struct str prefix, uint64_t offset, uint64_t length,
                        struct arena *a, struct pieces *out);
struct content_part {
    uint64_t offset;
    uint64_t length;
    size_t pieces_max;
};
/* The same, but no more than pieces_max of them; pieces_length tells how far they reach. */
struct err content_read_some(struct txn *t, struct str prefix, struct content_part part,
                             struct arena *a, struct pieces *out);

/* Removes a content that is one row without extents, not even reading it. */
struct err content_remove_inline(struct txn *t, struct str prefix);
/* Removes rows and drops their extents, at most about `pieces_max` of them; *done tells whether
 * nothing is left. */
struct err content_remove(struct txn *t, struct str prefix, unsigned pieces_max, bool *done);

/* Which extents a chunk (or a block's list of pieces) names; false when it cannot be read. */
typedef void content_named(void *sink, const struct extent *x);
bool content_extents(struct str value, content_named *named, void *sink);

#endif
