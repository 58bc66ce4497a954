/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/record.h"

#include <assert.h>
#include <limits.h>

/* A field's head is its number, shifted, with the low bit telling bytes from numbers. */

void record_put(struct buf *b, unsigned field, uint64_t value)
{
    assert(field > 0);
    if (value == 0)
        return;
    buf_put_varint(b, (uint64_t)field << 1);
    buf_put_varint(b, value);
}

void record_put_bytes(struct buf *b, unsigned field, struct str bytes)
{
    assert(field > 0);
    if (!str_given(bytes))
        return;
    buf_put_varint(b, ((uint64_t)field << 1) | 1);
    buf_put_bytes(b, bytes);
}

static inline bool next_field(struct reader *r, struct record_field *out)
{
    if (r->n == 0 || r->bad)
        return false;
    uint64_t head = read_varint(r);
    if (head >> 1 == 0 || head >> 1 > UINT_MAX)
        r->bad = true;
    *out = (struct record_field){.number = (unsigned)(head >> 1)};
    if ((head & 1) != 0)
        out->bytes = read_bytes(r);
    else
        out->value = read_varint(r);
    return !r->bad;
}

bool record_next(struct reader *r, struct record_field *out)
{
    return next_field(r, out);
}

/* ---- writing a struct ---- */

static uint64_t load_u64(const void *p)
{
    uint64_t value;
    memcpy(&value, p, sizeof value);
    return value;
}

static bool load_bool(const void *p)
{
    bool value;
    memcpy(&value, p, sizeof value);
    return value;
}

static uint64_t load_bits(const char *bools, unsigned count)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < count; i++)
        bits |= (uint64_t)load_bool(bools + i) << i;
    return bits;
}

static bool all_zero(const char *bytes, size_t n)
{
    while (n > 0 && bytes[n - 1] == 0)
        n--;
    return n == 0;
}

/* Writes the length of all that follows `start` before it. Nearly always one byte is enough. */
static void put_length_before(struct buf *b, size_t start)
{
    char varint[10];
    struct buf length = {.p = varint, .capacity = sizeof varint};
    size_t n = b->n - start;
    buf_put_varint(&length, n);
    (void)buf_reserve(b, length.n);
    memmove(b->p + start + length.n, b->p + start, n);
    memcpy(b->p + start, varint, length.n);
    b->n += length.n;
}

/* Members that are written in place, as their length is only known afterwards. */
static void put_composed(struct buf *b, const struct record_member *m, const void *member)
{
    size_t before = b->n;
    buf_put_varint(b, ((uint64_t)m->number << 1) | 1);
    size_t start = b->n;
    if (m->kind == RECORD_INNER)
        record_write(b, m->inner, member);
    else
        m->codec->put(b, member);
    if (b->n == start)
        b->n = before;
    else
        put_length_before(b, start);
}

/* Most members are zero: no call for those. */
static inline void put_number(struct buf *b, const struct record_member *m, uint64_t value)
{
    if (value != 0)
        record_put(b, m->number, value);
}

void record_write(struct buf *b, const struct record_type *type, const void *object)
{
    assert(type->count > 0);
    for (const struct record_member *m = type->members, *end = m + type->count; m < end; m++) {
        const char *member = (const char *)object + m->at;
        uint32_t word;
        struct str bytes;
        switch (m->kind) {
        case RECORD_BOOL:
            put_number(b, m, load_bool(member));
            break;
        case RECORD_NOT:
            put_number(b, m, !load_bool(member));
            break;
        case RECORD_U32:
            memcpy(&word, member, sizeof word);
            assert(word <= m->max);
            put_number(b, m, word);
            break;
        case RECORD_U64:
            put_number(b, m, load_u64(member));
            break;
        case RECORD_PLUS_ONE:
            put_number(b, m, load_u64(member) + 1);
            break;
        case RECORD_OPTIONAL:
            if (load_bool((const char *)object + m->given))
                put_number(b, m, load_u64(member) + 1);
            break;
        case RECORD_BITS:
            put_number(b, m, load_bits(member, m->size));
            break;
        case RECORD_BYTES:
            memcpy(&bytes, member, sizeof bytes);
            if (bytes.p != NULL)
                record_put_bytes(b, m->number, bytes);
            break;
        case RECORD_RAW:
            if (!all_zero(member, m->size))
                record_put_bytes(b, m->number, (struct str){member, m->size});
            break;
        case RECORD_INNER:
        case RECORD_CODED:
            put_composed(b, m, member);
            break;
        }
    }
}

/* ---- reading a struct ---- */

static void store_bool(void *p, bool value)
{
    memcpy(p, &value, sizeof value);
}

static void store_u64(void *p, uint64_t value)
{
    memcpy(p, &value, sizeof value);
}

static bool take_number(const struct record_member *m, uint64_t value, char *object)
{
    char *member = object + m->at;
    uint32_t word = (uint32_t)value;
    switch (m->kind) {
    case RECORD_U64:
        store_u64(member, value);
        return true;
    case RECORD_BOOL:
        store_bool(member, value != 0);
        return true;
    case RECORD_U32:
        memcpy(member, &word, sizeof word);
        return value <= m->max;
    case RECORD_NOT:
        store_bool(member, value == 0);
        return true;
    case RECORD_OPTIONAL:
        store_bool(object + m->given, true);
        store_u64(member, value - 1);
        return value != 0;
    case RECORD_PLUS_ONE:
        store_u64(member, value - 1);
        return value != 0;
    case RECORD_BITS:
        for (unsigned i = 0; i < m->size; i++)
            store_bool(member + i, (value >> i & 1) != 0);
        return value >> m->size == 0;
    case RECORD_BYTES:
    case RECORD_RAW:
    case RECORD_INNER:
    case RECORD_CODED:
        break;
    }
    return false;
}

static bool take_bytes(const struct record_member *m, struct str bytes, char *member)
{
    switch (m->kind) {
    case RECORD_BYTES:
        memcpy(member, &bytes, sizeof bytes);
        return true;
    case RECORD_RAW:
        if (bytes.n != m->size)
            return false;
        memcpy(member, bytes.p, bytes.n);
        return true;
    case RECORD_INNER:
        return record_read(bytes, m->inner, member);
    case RECORD_CODED:
        return m->codec->take(bytes, member);
    case RECORD_BOOL:
    case RECORD_NOT:
    case RECORD_U32:
    case RECORD_U64:
    case RECORD_PLUS_ONE:
    case RECORD_OPTIONAL:
    case RECORD_BITS:
        break;
    }
    return false;
}

/* Finds a number that is not at the expected place. */
static const struct record_member *find(const struct record_type *type, unsigned number)
{
    for (size_t i = 0; i < type->count; i++)
        if (type->members[i].number == number)
            return &type->members[i];
    return NULL;
}

/* Rows have the table's order, so the search for a number begins where the last one ended. The two
 * usual kinds of members are stored here, because every request reads rows. */
bool record_read(struct str row, const struct record_type *type, void *object)
{
    struct reader r = reader_of(row);
    struct record_field field;
    const struct record_member *m = type->members, *end = m + type->count;
    while (next_field(&r, &field)) {
        while (m < end && m->number != field.number)
            m++;
        if (m == end && (m = find(type, field.number)) == NULL) {
            m = type->members; /* written by a newer version */
            continue;
        }
        char *member = (char *)object + m->at;
        bool is_bytes = str_given(field.bytes);
        if (m->kind == RECORD_U64 && !is_bytes)
            store_u64(member, field.value);
        else if (m->kind == RECORD_BYTES && is_bytes)
            memcpy(member, &field.bytes, sizeof field.bytes);
        else if (!(is_bytes ? take_bytes(m, field.bytes, member)
                            : take_number(m, field.value, object)))
            return false;
        m++;
    }
    return reader_ok(&r);
}

void record_own(struct arena *a, const struct record_type *type, void *object)
{
    assert(type != NULL);
    for (const struct record_member *m = type->members, *end = m + type->count; m < end; m++) {
        if (m->kind != RECORD_BYTES && m->kind != RECORD_INNER)
            continue;
        char *member = (char *)object + m->at;
        struct str bytes;
        if (m->kind == RECORD_INNER) {
            record_own(a, m->inner, member);
            continue;
        }
        memcpy(&bytes, member, sizeof bytes);
        if (bytes.p == NULL)
            continue; /* most are absent: no call for those */
        bytes = arena_copy(a, bytes);
        memcpy(member, &bytes, sizeof bytes);
    }
}
