/* SPDX-License-Identifier: Apache-2.0 */
/* JSON for the table service: a strict pull reader and a writer.
 *
 * The reader returns one value after the other and builds no tree. Like wire.h's, it remembers an
 * error instead of returning it from each call: after an error every call returns JSON_NONE or
 * false, and json_done returns at the end whether there was one.
 *
 *     struct json_reader r = json_reader_of(arena, body);
 *     struct json_value object = json_value(&r);
 *     struct str name;
 *     while (object.kind == JSON_OBJECT && json_member(&r, &name)) {
 *         struct json_value v = json_value(&r);
 *         …                                    json_skip(&r, v) to ignore a value
 *     }
 *     if (!json_done(&r)) return err_new(ERR_INVALID_INPUT);
 */
#ifndef CORE_TEXT_JSON_H
#define CORE_TEXT_JSON_H

#include "core/buf.h"

enum { JSON_DEPTH_MAX = 32 };

enum json_kind {
    JSON_NONE, /* an error, now or before */
    JSON_NULL,
    JSON_BOOL,
    JSON_INTEGER, /* digits with an optional '-', of any length */
    JSON_REAL,    /* with a fraction or an exponent */
    JSON_STRING,
    JSON_OBJECT, /* opened: its members come from json_member */
    JSON_ARRAY,  /* opened: its elements come from json_element */
};

struct json_value {
    enum json_kind kind;
    bool boolean;
    /* A string's characters (well-formed UTF-8, possibly with NUL), or a number as written: no
     * digit is lost. Borrowed from the input, or in the arena where escapes were undone. */
    struct str text;
};

struct json_reader {
    const char *at;
    const char *end;
    struct arena *arena;
    uint32_t depth;
    uint64_t in_object; /* one bit per open object or array */
    bool first;         /* nothing of the innermost one has been read */
    bool bad;
};

/* Skips a byte order mark before the text. */
struct json_reader json_reader_of(struct arena *a, struct str text);
/* The next value; of an object or array only its opening. */
struct json_value json_value(struct json_reader *r);
/* Moves to the next member of the innermost open object; the caller then reads its value. Returns
 * false at the end of the object, which closes it, and after an error. The caller must detect
 * duplicates. */
bool json_member(struct json_reader *r, struct str *name);
/* The same for an array. */
bool json_element(struct json_reader *r);
/* Skips the content of the value that was just read. */
void json_skip(struct json_reader *r, struct json_value v);
/* Returns true if the text was exactly one well-formed value and all of it was read. */
bool json_done(struct json_reader *r);

/* A writer that places the commas. The text goes to the caller's buffer. */
struct json_writer {
    struct buf *out;
    bool comma;
};

struct json_writer json_writer_of(struct buf *out);
/* '{' or '[', and '}' or ']'. */
void json_open(struct json_writer *w, char bracket);
void json_close(struct json_writer *w, char bracket);
void json_name(struct json_writer *w, struct str name);
/* Well-formed UTF-8; quotes, backslashes and control characters are escaped. */
void json_string(struct json_writer *w, struct str text);
/* Written as it is: a number or another ready piece of JSON. */
void json_raw(struct json_writer *w, struct str text);
void json_bool(struct json_writer *w, bool value);
void json_i64(struct json_writer *w, int64_t value);
/* The shortest text that reads back as the same number, with ".0" if it would look like an integer.
 * The value must be finite: JSON has no other numbers. */
void json_double(struct json_writer *w, double value);

#endif
