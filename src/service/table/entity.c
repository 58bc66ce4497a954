/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/entity.h"

#include <assert.h>

/* ---- reading ---- */

struct err entity_open(struct str record, struct entity_walk *out)
{
    assert(out != NULL);
    if (record.n < ENTITY_HEAD_BYTES || record.p[0] != ENTITY_FORM)
        return err_new(ERR_CORRUPT);
    *out = (struct entity_walk){record.p + ENTITY_HEAD_BYTES, record.p + record.n, false};
    return OK;
}

size_t entity_long_length(struct entity_walk *w)
{
    size_t value = 0;
    for (unsigned shift = 0; shift < 32 && w->at < w->end; shift += 7) {
        unsigned char byte = (unsigned char)*w->at++;
        value |= (size_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return value;
    }
    w->bad = true;
    return 0;
}

bool entity_next(struct entity_walk *w, struct property *out)
{
    if (!entity_step(w, out))
        return false;
    w->bad = !edm_valid(out->value);
    return !w->bad;
}

int64_t entity_stamp(struct str record)
{
    assert(record.n >= ENTITY_HEAD_BYTES);
    return edm_int64((struct edm_value){EDM_INT64, {record.p + 1, 8}});
}

/* ---- building ---- */

void entity_begin(struct entity_builder *b, struct arena *a)
{
    b->record = buf_in(a);
    b->count = 0;
    char *head = buf_reserve(&b->record, ENTITY_HEAD_BYTES);
    memset(head, 0, ENTITY_HEAD_BYTES);
    head[0] = ENTITY_FORM;
    b->record.n += ENTITY_HEAD_BYTES;
}

/* The first character must not be a digit; non-ASCII characters count as letters. That admits
 * punctuation of other scripts, which is harmless here. */
bool entity_name_valid(struct str name)
{
    if (name.n == 0 || ascii_digit(name.p[0]))
        return false;
    for (size_t i = 0; i < name.n; i++) {
        char c = name.p[i];
        if (!ascii_alpha(c) && !ascii_digit(c) && c != '_' && (unsigned char)c < 0x80)
            return false;
    }
    return true;
}

static struct err check_value(struct edm_value value)
{
    size_t n = value.bytes.n;
    /* Characters are never more than bytes, so short strings are not counted. */
    bool too_large =
        value.type == EDM_BINARY ? n > ENTITY_BINARY_BYTES_MAX
        : value.type == EDM_STRING
            ? n > ENTITY_STRING_UNITS_MAX && str_utf16_units(value.bytes) > ENTITY_STRING_UNITS_MAX
            : false;
    return too_large ? err_new(ERR_PROPERTY_VALUE_TOO_LARGE) : OK;
}

static bool has_property(struct str record, struct str name)
{
    struct entity_walk w;
    struct property p;
    if (err_is(entity_open(record, &w)))
        return false;
    while (entity_next(&w, &p))
        if (str_eq(p.name, name))
            return true;
    return false;
}

static void put_property(struct buf *b, struct str name, struct edm_value value)
{
    buf_put_u8(b, (uint8_t)value.type);
    buf_put_varint(b, name.n);
    buf_put_varint(b, value.bytes.n);
    buf_put(b, name);
    buf_put(b, value.bytes);
}

struct err entity_add(struct entity_builder *b, struct str name, struct edm_value value)
{
    assert(edm_valid(value));
    if (name.n > ENTITY_NAME_UNITS_MAX && str_utf16_units(name) > ENTITY_NAME_UNITS_MAX)
        return err_new(ERR_PROPERTY_NAME_TOO_LONG);
    if (!entity_name_valid(name))
        return err_new(ERR_PROPERTY_NAME_INVALID);
    TRY(check_value(value));
    if (b->count == ENTITY_PROPERTIES_MAX)
        return err_new(ERR_TOO_MANY_PROPERTIES);
    put_property(&b->record, name, value);
    b->count++;
    return OK;
}

/* ---- size ---- */

/* "Understanding the Table service data model" and the SDKs' authors count: 4 bytes for the entity,
 * 2 for each character of the keys; for each property 8, 2 for each character of its name, and its
 * value: 2 for each character of a string and 4 for a length. */
static size_t property_size(const struct property *p)
{
    size_t name = 8 + 2 * str_utf16_units(p->name);
    if (p->value.type == EDM_STRING)
        return name + 4 + 2 * str_utf16_units(p->value.bytes);
    return name + (p->value.type == EDM_BINARY ? 4 : 0) + p->value.bytes.n;
}

struct err entity_check_size(struct str record, struct str pk, struct str rk)
{
    /* No entity counts more than 5 for each byte of its row (a property of one letter with an empty
     * string: 14 against 4) and 2 for each byte of its keys: small ones need no counting. */
    if (5 * record.n + 2 * (pk.n + rk.n) + 4 <= ENTITY_SIZE_MAX)
        return OK;
    struct entity_walk w;
    struct property p;
    size_t size = 4 + 2 * (str_utf16_units(pk) + str_utf16_units(rk));
    TRY(entity_open(record, &w));
    while (entity_next(&w, &p))
        size += property_size(&p);
    if (w.bad)
        return err_new(ERR_CORRUPT);
    return size > ENTITY_SIZE_MAX ? err_new(ERR_ENTITY_TOO_LARGE) : OK;
}

void entity_set_stamp(char *record, int64_t stamp)
{
    for (unsigned i = 0; i < 8; i++)
        record[1 + i] = (char)((uint64_t)stamp >> (8 * i));
}

/* ---- merging ---- */

static bool find_property(struct str record, struct str name, struct edm_value *out)
{
    struct entity_walk w;
    struct property p;
    if (err_is(entity_open(record, &w)))
        return false;
    while (entity_next(&w, &p)) {
        if (str_eq(p.name, name)) {
            *out = p.value;
            return true;
        }
    }
    return false;
}

struct err entity_merge(struct arena *a, struct str old, struct str patch, struct buf *out)
{
    assert(out != NULL);
    struct entity_builder b;
    struct entity_walk w;
    struct property p;
    entity_begin(&b, a);
    (void)buf_reserve(&b.record, old.n + patch.n);
    TRY(entity_open(old, &w));
    for (; entity_next(&w, &p); b.count++) {
        (void)find_property(patch, p.name, &p.value);
        put_property(&b.record, p.name, p.value);
    }
    if (w.bad)
        return err_new(ERR_CORRUPT);
    TRY(entity_open(patch, &w));
    for (; entity_next(&w, &p);) {
        if (has_property(old, p.name))
            continue;
        put_property(&b.record, p.name, p.value);
        b.count++;
    }
    *out = b.record;
    return b.count > ENTITY_PROPERTIES_MAX ? err_new(ERR_TOO_MANY_PROPERTIES) : OK;
}
