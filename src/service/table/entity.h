/* SPDX-License-Identifier: Apache-2.0 */
/* The row of an entity: a byte for the format, the stamp of the update that wrote it (which
 * is its Timestamp and its ETag), then its properties in the order in which they were sent, each
 *     type (1 byte), length of the name, length of the value (varints), name, value.
 * The keys are not in it: they are in the row's partition and key. A filter steps from
 * property to property and decodes only those it compares. */
#ifndef SERVICE_TABLE_ENTITY_H
#define SERVICE_TABLE_ENTITY_H

#include "core/buf.h"
#include "core/err.h"
#include "service/table/edm.h"

enum {
    ENTITY_FORM = 1,
    ENTITY_HEAD_BYTES = 9,
    /* 255 with PartitionKey, RowKey and Timestamp. */
    ENTITY_PROPERTIES_MAX = 252,
    ENTITY_SIZE_MAX = 1 << 20, /* as the service counts: two bytes for a character */
    ENTITY_NAME_UNITS_MAX = 255,
    ENTITY_STRING_UNITS_MAX = 32 << 10,
    ENTITY_BINARY_BYTES_MAX = 64 << 10,
};

struct property {
    struct str name;
    struct edm_value value;
};

/* Walks a row's properties. */
struct entity_walk {
    const char *at;
    const char *end;
    bool bad;
};

/* ERR_CORRUPT if it does not begin like an entity. */
struct err entity_open(struct str record, struct entity_walk *out);
/* False at the end, or if the row is malformed: then `bad` is set. */
bool entity_next(struct entity_walk *w, struct property *out);
/* The same without checking the value; check it with edm_valid before use. For filters, which skip
 * most properties. */
static inline bool entity_step(struct entity_walk *w, struct property *out);
int64_t entity_stamp(struct str record);

/* Builds a row. */
struct entity_builder {
    struct buf record; /* the head with stamp 0, then the added properties */
    unsigned count;
};

void entity_begin(struct entity_builder *b, struct arena *a);
/* Checks the name, the value's size and the number of properties: ERR_PROPERTY_NAME_INVALID,
 * ERR_PROPERTY_NAME_TOO_LONG, ERR_PROPERTY_VALUE_TOO_LARGE, ERR_TOO_MANY_PROPERTIES. The caller
 * must check for duplicate names: it has just read them. */
struct err entity_add(struct entity_builder *b, struct str name, struct edm_value value);
/* The name of a property that a client may set: letters, digits and underscores of any script, not
 * a digit first. */
bool entity_name_valid(struct str name);

/* ERR_ENTITY_TOO_LARGE if entity and keys together exceed 1 MiB. */
struct err entity_check_size(struct str record, struct str pk, struct str rk);

/* Writes the stamp into the head of a row that the caller owns. */
void entity_set_stamp(char *record, int64_t stamp);

/* Writes the row of `old` merged with the properties of `patch`: those of the same name are
 * replaced in place, the others are appended. ERR_TOO_MANY_PROPERTIES, ERR_CORRUPT. */
struct err entity_merge(struct arena *a, struct str old, struct str patch, struct buf *out);

/* ---- inside ---- */

size_t entity_long_length(struct entity_walk *w);

/* Nearly all lengths are below 128. */
static inline size_t entity_length(struct entity_walk *w)
{
    if (w->at < w->end && (unsigned char)*w->at < 0x80)
        return (unsigned char)*w->at++;
    return entity_long_length(w);
}

static inline bool entity_step(struct entity_walk *w, struct property *out)
{
    if (w->at >= w->end)
        return false;
    unsigned type = (unsigned char)*w->at++;
    size_t name_n = entity_length(w);
    size_t value_n = entity_length(w);
    if (w->bad || name_n + value_n > (size_t)(w->end - w->at)) {
        w->bad = true;
        return false;
    }
    out->name = (struct str){w->at, name_n};
    out->value = (struct edm_value){(enum edm_type)type, {w->at + name_n, value_n}};
    w->at += name_n + value_n;
    return true;
}

#endif
