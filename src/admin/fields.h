/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a JSON object into a struct by a table of its members. A member that is not in the table,
 * has another type or does not fit is an error that names it. */
#ifndef ADMIN_FIELDS_H
#define ADMIN_FIELDS_H

#include "core/err.h"
#include "core/text/json.h"

enum field_kind {
    FIELD_TEXT, /* char[size], copied with a NUL */
    FIELD_U32,  /* uint32_t up to max */
    FIELD_U64,  /* uint64_t up to max */
    FIELD_I64,  /* int64_t */
    FIELD_REAL, /* double, 0 to 1 */
    FIELD_BOOL,
    FIELD_OTHER, /* read() does it */
};

struct field {
    const char *name;
    enum field_kind kind;
    size_t offset;
    uint64_t max; /* of numbers; for texts the size of the array */
    /* For FIELD_OTHER; the value was read, but not its content. */
    struct err (*read)(struct json_reader *r, struct json_value v, void *into);
};

/* Reads the members of an object that was just opened. ERR_INVALID_INPUT with a sentence in the
 * reader's arena. */
struct err fields_read(struct json_reader *r, const struct field *fields, size_t count, void *into);
/* Parses a whole text. An empty one is an empty object. */
struct err fields_parse(struct arena *arena, struct str text, const struct field *fields,
                        size_t count, void *into);
struct err fields_wrong(struct json_reader *r, const char *name, const char *why);

#endif
