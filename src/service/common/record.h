/* SPDX-License-Identifier: Apache-2.0 */
/* How rows store their fields: a list of (number, value) in any order; a value is a number or
 * bytes. A field that is zero or absent is not written, and a reader skips unknown numbers. So a
 * row gets new fields without a new format.
 *
 * A table describes each struct that is stored: the members' names, numbers, kinds and places. One
 * writer and one reader serve all tables. To store a new member, add a line to its table. Never
 * change or reuse a number: stores contain it. */
#ifndef SERVICE_COMMON_RECORD_H
#define SERVICE_COMMON_RECORD_H

#include <stddef.h>

#include "core/buf.h"
#include "core/wire.h"

/* ---- tables ---- */

enum record_kind {
    /* Stored as a number. */
    RECORD_BOOL,
    RECORD_NOT,      /* a bool that is stored inverted: its default is true */
    RECORD_U32,      /* unsigned, or an enum without negative values */
    RECORD_U64,      /* uint64_t or int64_t */
    RECORD_PLUS_ONE, /* the same, but 0 is stored too: the number stored is one larger */
    RECORD_OPTIONAL, /* the same, and absent unless the bool at `given` is set */
    RECORD_BITS,     /* `size` consecutive bools: bit i is the i-th */
    /* Stored as bytes. */
    RECORD_BYTES, /* struct str; absent is not the same as empty */
    RECORD_RAW,   /* an array of `size` bytes; not written if all are zero */
    RECORD_INNER, /* a struct with a separate table; not written if it has no field */
    RECORD_CODED, /* any other member, written and read by two functions */
};

struct record_type;

/* Both get the member's address; put writes nothing for a member that is not to be stored. */
struct record_codec {
    void (*put)(struct buf *b, const void *member);
    bool (*take)(struct str bytes, void *member); /* false: malformed */
};

struct record_member {
    const char *name;
    enum record_kind kind;
    uint16_t number;
    uint16_t at;    /* offset in the struct */
    uint16_t size;  /* RAW: bytes; BITS: count of bools */
    uint16_t given; /* OPTIONAL: offset of its bool */
    uint32_t max;   /* U32: largest valid value */
    const struct record_type *inner;
    const struct record_codec *codec;
};

/* Members are written in the table's order. Reading is fastest in the same order. */
struct record_type {
    const char *name;
    const struct record_member *members;
    size_t count;
    size_t size; /* of the struct */
};

#define RECORD_TYPE(type, table)                                                      \
    {                                                                                 \
        .name = #type, .members = (table), .count = sizeof(table) / sizeof(table)[0], \
        .size = sizeof(type)                                                          \
    }

#define RECORD_AT(type, n, member) .name = #member, .number = (n), .at = offsetof(type, member)

/* The kind follows from the member's C type. */
#define RECORD_MEMBER(type, n, member)                                         \
    {                                                                          \
        RECORD_AT(type, n, member), .max = UINT32_MAX,                         \
                                    .kind = _Generic(((type *)0)->member, bool \
                                                     : RECORD_BOOL, uint32_t   \
                                                     : RECORD_U32, uint64_t    \
                                                     : RECORD_U64, int64_t     \
                                                     : RECORD_U64, struct str  \
                                                     : RECORD_BYTES)           \
    }
/* An enum: larger values than `last` are malformed. */
#define RECORD_ENUM(type, n, member, last)                                         \
    {                                                                              \
        RECORD_AT(type, n, member), .max = (last),                                 \
                                    .kind = _Generic(((type *)0)->member, uint32_t \
                                                     : RECORD_U32)                 \
    }
#define RECORD_MEMBER_NOT(type, n, member)                                                   \
    {                                                                                        \
        RECORD_AT(type, n, member), .kind = _Generic(((type *)0)->member, bool : RECORD_NOT) \
    }
#define RECORD_MEMBER_PLUS_ONE(type, n, member)                                    \
    {                                                                              \
        RECORD_AT(type, n, member), .kind = _Generic(((type *)0)->member, uint64_t \
                                                     : RECORD_PLUS_ONE, int64_t    \
                                                     : RECORD_PLUS_ONE)            \
    }
#define RECORD_MEMBER_OPTIONAL(type, n, member, flag)                              \
    {                                                                              \
        RECORD_AT(type, n, member), .given = offsetof(type, flag),                 \
                                    .kind = _Generic(((type *)0)->member, uint64_t \
                                                     : RECORD_OPTIONAL)            \
    }
#define RECORD_MEMBER_BITS(type, n, first, bools)                            \
    {                                                                        \
        RECORD_AT(type, n, first), .size = (bools),                          \
                                   .kind = _Generic(((type *)0)->first, bool \
                                                    : RECORD_BITS)           \
    }
#define RECORD_MEMBER_RAW(type, n, member)                                                  \
    {                                                                                       \
        RECORD_AT(type, n, member), .size = sizeof(((type *)0)->member), .kind = RECORD_RAW \
    }
#define RECORD_MEMBER_INNER(type, n, member, table)                        \
    {                                                                      \
        RECORD_AT(type, n, member), .inner = (table), .kind = RECORD_INNER \
    }
#define RECORD_MEMBER_CODED(type, n, member, functions)                        \
    {                                                                          \
        RECORD_AT(type, n, member), .codec = (functions), .kind = RECORD_CODED \
    }

/* For a codec of several members: it gets the address of the whole struct. */
#define RECORD_WHOLE_CODED(n, label, functions)                                    \
    {                                                                              \
        .name = (label), .number = (n), .codec = (functions), .kind = RECORD_CODED \
    }

/* Appends the members of `object`, a struct of the type. */
void record_write(struct buf *b, const struct record_type *type, const void *object);
/* Sets the members that the row contains; the others keep their values, so the caller sets
 * defaults first. Slices are borrowed from the row. False: malformed. */
bool record_read(struct str row, const struct record_type *type, void *object);
/* Copies what the slices of `object` refer to into the arena. */
void record_own(struct arena *a, const struct record_type *type, void *object);

/* ---- single fields ---- */

/* Writes nothing if the value is 0. */
void record_put(struct buf *b, unsigned field, uint64_t value);
/* Writes nothing if the slice is absent; an empty slice is written and read back as empty. */
void record_put_bytes(struct buf *b, unsigned field, struct str bytes);

struct record_field {
    unsigned number;
    uint64_t value;   /* 0 for bytes */
    struct str bytes; /* absent for a number; borrowed from the row */
};

/* Returns the next field; false at the end or if the record is malformed; reader_ok tells which. */
bool record_next(struct reader *r, struct record_field *out);

#endif
