/* SPDX-License-Identifier: Apache-2.0 */
/* The eight types that a property may have, their encoding in rows, and their texts in OData. */
#ifndef SERVICE_TABLE_EDM_H
#define SERVICE_TABLE_EDM_H

#include "core/buf.h"
#include "core/err.h"

/* The numbers are stored. */
enum edm_type {
    EDM_STRING = 1,   /* UTF-8 */
    EDM_BINARY = 2,   /* as it is */
    EDM_BOOLEAN = 3,  /* one byte, 0 or 1 */
    EDM_DATETIME = 4, /* ticks since 1970, 8 bytes little-endian; before 1970 negative */
    EDM_DOUBLE = 5,   /* its IEEE bits, 8 bytes little-endian */
    EDM_GUID = 6,     /* 16 bytes in the order of the text */
    EDM_INT32 = 7,    /* 4 bytes little-endian */
    EDM_INT64 = 8,    /* 8 bytes little-endian */
};

/* 1601-01-01 and the last tick of 9999. */
#define EDM_DATETIME_MIN (-116444736000000000LL)
#define EDM_DATETIME_MAX 2534023007999999999LL

struct edm_value {
    enum edm_type type;
    struct str bytes;
};

/* "Edm.String" and the like. */
struct str edm_type_name(enum edm_type type);
bool edm_type_named(struct str name, enum edm_type *out);
/* Returns the size of the type's values; 0 if it varies. */
size_t edm_type_size(enum edm_type type);
/* Returns true if the type is one of the eight and the bytes are valid for it: rows are checked. */
bool edm_valid(struct edm_value v);

/* The values of valid bytes. */
bool edm_boolean(struct edm_value v);
int32_t edm_int32(struct edm_value v);
int64_t edm_int64(struct edm_value v); /* also DateTime */
double edm_double(struct edm_value v);

/* The bytes of a value, in the arena. */
struct edm_value edm_from_boolean(struct arena *a, bool value);
struct edm_value edm_from_int32(struct arena *a, int32_t value);
struct edm_value edm_from_int64(struct arena *a, enum edm_type type, int64_t value);
struct edm_value edm_from_double(struct arena *a, double value);

/* Parses the text of a value of that type: decimal numbers, true/false, base64, ISO 8601 (without a
 * zone it is UTC), the forms of a GUID, NaN and ±Infinity. ERR_INVALID_INPUT if it is malformed,
 * and ERR_OUT_OF_RANGE_INPUT for a date outside of 1601 to 9999. A string is used as it is. */
struct err edm_parse(struct arena *a, enum edm_type type, struct str text, struct edm_value *out);
/* A finite number in the syntax of JSON and OData. False if it is malformed or too large. */
bool edm_parse_double(struct str text, double *out);
bool edm_parse_datetime(struct str text, int64_t *ticks);

/* "2008-07-10T00:00:00.25Z": no zeros at the end of the fraction, as the service writes it. */
void edm_put_datetime(struct buf *out, int64_t ticks);

/* Compares two values: less, equal, greater as -1, 0, 1; EDM_UNORDERED if one is NaN. False if
 * their types are of different kinds (all three types of number are of one). Strings are ordered by
 * their UTF-16 units. */
enum { EDM_UNORDERED = 2 };
bool edm_compare(struct edm_value a, struct edm_value b, int *out);

#endif
