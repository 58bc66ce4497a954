/* SPDX-License-Identifier: Apache-2.0 */
/* Every table of the program, and how the reader handles rows that no writer makes. */
#include "service/common/record.h"

#include "core/test.h"
#include "service/common/records.h"

#define TABLE(name) &name,
static const struct record_type *const TABLES[] = {RECORDS(TABLE)};
enum { TABLE_COUNT = sizeof TABLES / sizeof TABLES[0] };

static size_t bytes_of(const struct record_member *m)
{
    static const size_t SIZES[] = {
        [RECORD_BOOL] = sizeof(bool),         [RECORD_NOT] = sizeof(bool),
        [RECORD_U32] = sizeof(uint32_t),      [RECORD_U64] = sizeof(uint64_t),
        [RECORD_PLUS_ONE] = sizeof(uint64_t), [RECORD_OPTIONAL] = sizeof(uint64_t),
        [RECORD_BYTES] = sizeof(struct str)};
    switch (m->kind) {
    case RECORD_BITS:
    case RECORD_RAW:
        return m->size;
    case RECORD_INNER:
        return m->inner->size;
    case RECORD_CODED:
        return 0; /* unknown */
    case RECORD_BOOL:
    case RECORD_NOT:
    case RECORD_U32:
    case RECORD_U64:
    case RECORD_PLUS_ONE:
    case RECORD_OPTIONAL:
    case RECORD_BYTES:
        break;
    }
    return SIZES[m->kind];
}

static bool overlap(const struct record_member *a, const struct record_member *b)
{
    return a->at < b->at + bytes_of(b) && b->at < a->at + bytes_of(a);
}

/* No number and no offset is used twice. */
void test_record_tables_are_sound(void)
{
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t i = 0; i < TABLES[t]->count; i++) {
            const struct record_member *m = &TABLES[t]->members[i];
            if (m->number == 0 || m->at + bytes_of(m) > TABLES[t]->size)
                test_fail(__FILE__, __LINE__, "%s %s", TABLES[t]->name, m->name);
            for (size_t k = 0; k < i; k++)
                if (m->number == TABLES[t]->members[k].number || overlap(m, &TABLES[t]->members[k]))
                    test_fail(__FILE__, __LINE__, "%s %s: as %s", TABLES[t]->name, m->name,
                              TABLES[t]->members[k].name);
        }
}

/* A value for the member that is not its default; false where only its codec knows one. */
static bool set_member(const struct record_member *m, char *object)
{
    const uint64_t number = 0x1234567890ABCDEFULL;
    const struct str bytes = STR("bytes");
    const uint32_t word = m->max;
    switch (m->kind) {
    case RECORD_BOOL:
        object[m->at] = 1;
        break;
    case RECORD_NOT:
        object[m->at] = 0;
        break;
    case RECORD_U32:
        memcpy(object + m->at, &word, sizeof word);
        break;
    case RECORD_OPTIONAL:
        object[m->given] = 1; /* the number is 0 */
        break;
    case RECORD_U64:
    case RECORD_PLUS_ONE:
        memcpy(object + m->at, &number, sizeof number);
        break;
    case RECORD_BITS:
        object[m->at + m->size - 1] = 1;
        break;
    case RECORD_BYTES:
        memcpy(object + m->at, &bytes, sizeof bytes);
        break;
    case RECORD_RAW:
        object[m->at] = 1;
        break;
    case RECORD_INNER:
        return set_member(&m->inner->members[0], object + m->at);
    case RECORD_CODED:
        return false;
    }
    return true;
}

/* What an absent field means to the reader. */
static char *new_object(struct arena *a, const struct record_type *type)
{
    char *object = arena_alloc(a, type->size);
    for (size_t i = 0; i < type->count; i++)
        if (type->members[i].kind == RECORD_NOT)
            object[type->members[i].at] = 1;
    return object;
}

/* Each member is written alone, and read back into that member and no other. */
void test_record_members_come_back(void)
{
    struct arena a;
    arena_init(&a, 1 << 24);
    for (size_t t = 0; t < TABLE_COUNT; t++)
        for (size_t i = 0; i < TABLES[t]->count; i++) {
            const struct record_member *m = &TABLES[t]->members[i];
            char *object = new_object(&a, TABLES[t]), *back = new_object(&a, TABLES[t]);
            struct buf b = buf_in(&a), again = buf_in(&a);
            if (!set_member(m, object))
                continue;
            record_write(&b, TABLES[t], object);
            struct reader r = reader_of(buf_str(&b));
            struct record_field field = {0};
            bool written = false;
            while (record_next(&r, &field))
                written = written || field.number == m->number;
            if (!written || !record_read(buf_str(&b), TABLES[t], back))
                test_fail(__FILE__, __LINE__, "%s %s", TABLES[t]->name, m->name);
            record_write(&again, TABLES[t], back);
            CHECK_STR(buf_str(&again), buf_str(&b));
        }
    arena_release(&a);
}

struct thing {
    bool no;
    unsigned kind;
    uint64_t number;
    struct str text;
    unsigned char raw[4];
};
static const struct record_member MEMBERS[] = {
    RECORD_MEMBER(struct thing, 1, no),      RECORD_ENUM(struct thing, 2, kind, 3),
    RECORD_MEMBER(struct thing, 3, number),  RECORD_MEMBER(struct thing, 4, text),
    RECORD_MEMBER_RAW(struct thing, 5, raw),
};
static const struct record_type THING = RECORD_TYPE(struct thing, MEMBERS);

static bool reads(const char *bytes, size_t n)
{
    struct thing thing = {0};
    return record_read((struct str){bytes, n}, &THING, &thing);
}
#define READS(literal) reads(literal, sizeof(literal) - 1)

void test_record_refuses_what_no_writer_makes(void)
{
    CHECK(READS(""));
    CHECK(READS("\x04\x03"));
    CHECK(!READS("\x04\x04"));                 /* past the enum's last value */
    CHECK(!READS("\x04\x82\x80\x80\x80\x10")); /* past 32 bits, the low ones valid */
    CHECK(!READS("\x05\x01z"));                /* bytes for a number */
    CHECK(!READS("\x08\x01"));                 /* a number for bytes */
    CHECK(!READS("\x09\x02z"));                /* bytes that end early */
    CHECK(!READS("\x0b\x03zzz"));              /* raw bytes of another length */
    CHECK(!READS("\x06"));                     /* no value */
    CHECK(!READS("\x00\x01"));                 /* field 0 */
    CHECK(READS("\xA0\x01\x07\xA3\x01\x01z")); /* numbers of a newer version */
}

/* Rows need not be in the table's order; the last of two values is used. */
void test_record_reads_any_order(void)
{
    struct thing thing = {0};
    CHECK(record_read(STR("\x09\x01"
                          "a"
                          "\x06\x07\x02\x01\x09\x01"
                          "b"
                          "\x06\x08"),
                      &THING, &thing));
    CHECK(thing.no && thing.number == 8);
    CHECK_STR(thing.text, STR("b"));
}

/* An inner record whose length needs more than one byte. */
void test_record_long_inner(void)
{
    struct outer {
        uint64_t before;
        struct thing inner;
        uint64_t after;
    };
    static const struct record_member OUTER_MEMBERS[] = {
        RECORD_MEMBER(struct outer, 1, before), RECORD_MEMBER_INNER(struct outer, 2, inner, &THING),
        RECORD_MEMBER(struct outer, 3, after)};
    static const struct record_type OUTER = RECORD_TYPE(struct outer, OUTER_MEMBERS);
    struct arena a;
    arena_init(&a, 1 << 20);
    char *text = arena_alloc(&a, 300);
    struct outer outer = {1, {.number = 7, .text = {text, 300}}, 2}, back = {0};
    struct buf b = buf_in(&a);
    record_write(&b, &OUTER, &outer);
    CHECK(record_read(buf_str(&b), &OUTER, &back));
    CHECK(back.before == 1 && back.after == 2 && back.inner.number == 7);
    record_own(&a, &OUTER, &back);
    memset(b.p, 0xFF, b.n);
    CHECK_STR(back.inner.text, outer.inner.text);
    arena_release(&a);
}
