/* SPDX-License-Identifier: Apache-2.0 */
/* Structured bodies (XSM/1.0): a content cut into numbered segments, each followed by its CRC64, so
 * that a fault on the way is found near where it happened. All numbers are little-endian:
 *
 *   header    version u8 (1), length of the whole u64, flags u16 (1: with CRC64), segments u16
 *   segment   number u16 (from 1), length u64, content, CRC64 u64
 *   footer    CRC64 u64 of all content
 *
 * The reader takes a body as it arrives; the framing below is also what answers are made with. */
#ifndef REST_BODY_STRUCTURED_H
#define REST_BODY_STRUCTURED_H

#include "core/err.h"
#include "core/str.h"

enum {
    STRUCTURED_HEADER_BYTES = 13,
    STRUCTURED_SEGMENT_HEADER_BYTES = 10,
    STRUCTURED_CRC64_BYTES = 8,
    STRUCTURED_SEGMENTS_MAX = UINT16_MAX,
    STRUCTURED_SEGMENT_BYTES = 4 << 20, /* of answers; larger if there would be too many */
};

/* Returns true if the header x-ms-structured-body asks for this format, the only one. */
bool structured_named(struct str value);
extern const struct str STRUCTURED_NAME;

/* The segments of an answer with that much content. */
struct structured_frame {
    uint64_t content;
    uint64_t segment; /* bytes of each but the last */
    uint64_t count;
};
struct structured_frame structured_frame_of(uint64_t content);
/* Returns the total length for any number of segments. */
uint64_t structured_length(uint64_t content, uint64_t count);

enum structured_state {
    STRUCTURED_HEADER,
    STRUCTURED_SEGMENT,
    STRUCTURED_CONTENT,
    STRUCTURED_SEGMENT_CRC64,
    STRUCTURED_FOOTER,
    STRUCTURED_ENDED,
};

struct structured_reader {
    uint64_t length; /* of the whole, UINT64_MAX if unknown */
    uint64_t left;   /* content still to come */
    enum structured_state state;
    unsigned char field[STRUCTURED_HEADER_BYTES]; /* bytes received of the current field */
    size_t have;
    uint64_t segments; /* how many there are */
    uint64_t number;   /* of the current one */
    uint64_t segment_length, segment_left;
    uint64_t segment_crc64, crc64;
};

/* For a body of `length` bytes (UINT64_MAX: unknown) around `content` bytes. */
void structured_reader_init(struct structured_reader *r, uint64_t length, uint64_t content);
/* Consumes *input up to and including the next content, which may be empty if the input ends
 * before. ERR_INVALID_INPUT for another form or length, ERR_CRC64_MISMATCH. */
struct err structured_next(struct structured_reader *r, struct str *input, struct str *content);
/* The body has ended: ERR_INVALID_INPUT unless it is complete. */
struct err structured_end(const struct structured_reader *r);

#endif
