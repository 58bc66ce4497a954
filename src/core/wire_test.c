/* SPDX-License-Identifier: Apache-2.0 */
#include "core/wire.h"

#include "core/buf.h"
#include "core/test.h"

void test_wire_varints_come_back(void)
{
    static const uint64_t values[] = {
        0,          1,         127, 128, 16383, 16384, UINT32_MAX, 1ULL << 56, (1ULL << 63) - 1,
        1ULL << 63, UINT64_MAX};
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        struct buf b = buf_in(&arena);
        buf_put_varint(&b, values[i]);
        buf_put_u8(&b, 7);
        struct reader r = reader_of(buf_str(&b));
        CHECK(read_varint(&r) == values[i]);
        CHECK_INT(read_u8(&r), 7);
        CHECK(reader_done(&r));
        /* Cut off anywhere before its end it is none. */
        for (size_t n = 0; n + 1 < b.n; n++) {
            struct reader cut = reader_of(str_head(buf_str(&b), n));
            CHECK(read_varint(&cut) == 0 && !reader_ok(&cut) && cut.n == 0);
        }
    }
    arena_release(&arena);
}

/* With more bytes after it than its maximum length, which uses another code path. */
void test_wire_varints_among_others(void)
{
    char bytes[64];
    for (unsigned bits = 0; bits < 64; bits++) {
        for (uint64_t less = 0; less < 3; less++) {
            uint64_t value = (1ULL << bits) - less;
            struct buf b = {.p = bytes, .capacity = sizeof bytes};
            buf_put_varint(&b, value);
            buf_put_varint(&b, ~value);
            buf_put_le64(&b, UINT64_MAX);
            buf_put_le64(&b, 0);
            struct reader r = reader_of(buf_str(&b));
            CHECK(read_varint(&r) == value);
            CHECK(read_varint(&r) == ~value);
            CHECK(read_le64(&r) == UINT64_MAX && read_le64(&r) == 0 && reader_done(&r));
        }
    }
}

/* Each order, in a buffer that has room for no more than these. */
void test_wire_numbers_of_fixed_size(void)
{
    static const char bytes[] = "\x02\x01\x04\x03\x02\x01\x08\x07\x06\x05\x04\x03\x02\x01"
                                "\x01\x02\x01\x02\x03\x04\x01\x02\x03\x04\x05\x06\x07\x08\x7F";
    char room[sizeof bytes - 1];
    struct buf b = {.p = room, .capacity = sizeof room};
    buf_put_le16(&b, 0x0102);
    buf_put_le32(&b, 0x01020304);
    buf_put_le64(&b, 0x0102030405060708);
    buf_put_be16(&b, 0x0102);
    buf_put_be32(&b, 0x01020304);
    buf_put_be64(&b, 0x0102030405060708);
    buf_put_varint(&b, 127);
    CHECK(b.p == room && str_eq(buf_str(&b), STR(bytes)));
    struct reader r = reader_of(buf_str(&b));
    CHECK(read_le16(&r) == 0x0102 && read_le32(&r) == 0x01020304);
    CHECK(read_le64(&r) == 0x0102030405060708 && read_be16(&r) == 0x0102);
    CHECK(read_be32(&r) == 0x01020304 && read_be64(&r) == 0x0102030405060708);
    CHECK(read_u8(&r) == 0x7F && reader_done(&r));
    struct reader cut = reader_of(STR("\x01\x02\x03\x04\x05\x06\x07"));
    CHECK(read_be64(&cut) == 0 && !reader_ok(&cut) && read_u8(&cut) == 0);
}

void test_wire_varints_have_an_end(void)
{
    struct reader too_large = reader_of(STR("\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"));
    CHECK(read_varint(&too_large) == 0 && !reader_ok(&too_large));
    struct reader endless = reader_of(STR("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01"));
    CHECK(read_varint(&endless) == 0 && !reader_ok(&endless));
}

void test_arena_begins_in_the_room_it_is_given(void)
{
    char room[100];
    struct arena arena;
    arena_init_in(&arena, 1000, room, sizeof room);
    char *first = arena_bytes(&arena, 60);
    char *second = arena_bytes(&arena, 60); /* does not fit any more */
    CHECK(first == room && (second < room || second >= room + sizeof room));
    memset(second, 1, 60);
    CHECK(arena_alloc(&arena, 10) != NULL && !arena.over_limit);
    arena_reset(&arena);
    CHECK(arena_alloc(&arena, 2000) != NULL && arena.over_limit);
    arena_release(&arena);
}
