/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/content.h"

#include "core/crc/crc64.h"
#include "core/test.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "service/common/content/upload.h"

struct fixture {
    struct clock clock;
    struct store store;
    struct arena arena;
};

static void fixture_init(struct fixture *f)
{
    clock_init_manual(&f->clock, 1000 * TICKS_PER_SECOND);
    f->store = (struct store){.engine = engine_mem_new(&f->clock), .clock = &f->clock};
    arena_init(&f->arena, 256 << 20);
}

static void fixture_release(struct fixture *f)
{
    arena_release(&f->arena);
    engine_close(f->store.engine);
}

static char pattern(uint64_t offset)
{
    return (char)(offset * 7 + offset / 251);
}

static struct str pattern_bytes(struct arena *a, uint64_t offset, size_t n)
{
    char *p = arena_bytes(a, n);
    for (size_t i = 0; i < n; i++)
        p[i] = pattern(offset + i);
    return (struct str){p, n};
}

static void upload_pattern(struct fixture *f, struct upload *u, size_t size, size_t step)
{
    struct upload_options options = {.inline_max = UPLOAD_INLINE_MAX,
                                     .expected = (int64_t)size,
                                     .wants_md5 = true,
                                     .wants_crc64 = true};
    upload_init(u, &f->store, &f->arena, &options);
    for (size_t at = 0; at < size; at += step) {
        size_t n = size - at < step ? size - at : step;
        CHECK_OK(upload_take(u, pattern_bytes(&f->arena, at, n)));
    }
    CHECK_OK(upload_end(u));
    CHECK_INT(u->size, size);
}

/* The MD5 is that of the bytes, whatever length was announced and however they arrive. */
void test_upload_md5(void)
{
    static const struct {
        int64_t expected;
        size_t size;
    } cases[] = {{0, 0},
                 {100, 100},
                 {UPLOAD_INLINE_MAX, UPLOAD_INLINE_MAX},
                 {-1, 100},
                 {-1, UPLOAD_INLINE_MAX + 1},
                 {100, UPLOAD_INLINE_MAX + 500},
                 {100000, 100000}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        fixture_init(&f);
        struct upload u;
        struct upload_options options = {
            .inline_max = UPLOAD_INLINE_MAX, .expected = cases[i].expected, .wants_md5 = true};
        unsigned char want[MD5_BYTES];
        struct str bytes = pattern_bytes(&f.arena, 0, cases[i].size);
        md5_many(&(struct md5_job){bytes, want}, 1);
        upload_init(&u, &f.store, &f.arena, &options);
        for (struct str rest = bytes; rest.n > 0; rest = str_from(rest, str_head(rest, 999).n))
            CHECK_OK(upload_take(&u, str_head(rest, 999)));
        CHECK_OK(upload_end(&u));
        CHECK(memcmp(u.md5, want, MD5_BYTES) == 0);
        upload_discard(&u);
        fixture_release(&f);
    }
}

static const struct str PREFIX = STR_INIT("d1");

static struct err write_pieces(struct txn *t, void *arg)
{
    const struct pieces *pieces = arg;
    struct content_writer w;
    content_write_begin(&w, t, PREFIX);
    for (size_t i = 0; i < pieces->count; i++)
        TRY(content_write(&w, &pieces->items[i], PIECE_ADOPT));
    return content_write_end(&w);
}

struct read_args {
    struct arena *arena;
    uint64_t offset, length;
    struct pieces pieces;
};

static struct err read_pieces(struct txn *t, void *arg)
{
    struct read_args *r = arg;
    return content_read(t, PREFIX, r->offset, r->length, r->arena, &r->pieces);
}

static void check_piece(struct fixture *f, const struct piece *piece, uint64_t offset)
{
    char *bytes = arena_bytes(&f->arena, (size_t)piece->length);
    if (piece->kind == PIECE_EXTENT)
        CHECK_OK(extent_read(f->store.engine, &piece->extent, piece->extent_offset,
                             (uint32_t)piece->length, ENGINE_WAIT, bytes));
    else
        memcpy(bytes, piece->bytes, (size_t)piece->length);
    for (uint64_t i = 0; i < piece->length; i++)
        if (bytes[i] != pattern(offset + i))
            test_fail(__FILE__, __LINE__, "byte %llu differs", (unsigned long long)(offset + i));
}

static void check_range(struct fixture *f, uint64_t offset, uint64_t length)
{
    struct read_args r = {.arena = &f->arena, .offset = offset, .length = length};
    CHECK_OK(engine_view(f->store.engine, STR("p"), ENGINE_WAIT, read_pieces, &r));
    CHECK_INT(pieces_length(&r.pieces), length);
    for (size_t i = 0; i < r.pieces.count; i++) {
        check_piece(f, &r.pieces.items[i], offset);
        offset += r.pieces.items[i].length;
    }
}

static struct err remove_some(struct txn *t, void *arg)
{
    return content_remove(t, PREFIX, 100, arg);
}

static unsigned remove_all(struct fixture *f)
{
    unsigned rounds = 0;
    for (bool done = false; !done; rounds++)
        CHECK_OK(engine_update_wait(f->store.engine, STR("p"), remove_some, &done));
    return rounds;
}

void test_content_small_upload_stays_inline(void)
{
    struct fixture f;
    fixture_init(&f);
    struct upload u;
    upload_pattern(&f, &u, UPLOAD_INLINE_MAX, 1000);
    CHECK_INT(u.pieces.count, 1);
    CHECK_INT(u.pieces.items[0].kind, PIECE_INLINE);
    CHECK(u.crc64 == crc64(0, pattern_bytes(&f.arena, 0, UPLOAD_INLINE_MAX)));
    CHECK_OK(engine_update_wait(f.store.engine, STR("p"), write_pieces, &u.pieces));
    check_range(&f, 0, UPLOAD_INLINE_MAX);
    check_range(&f, 17, 100);
    fixture_release(&f);
}

void test_content_large_upload_goes_to_extents(void)
{
    struct fixture f;
    fixture_init(&f);
    struct upload u;
    size_t size = 2 * EXTENT_BYTES_MAX + 12345;
    upload_pattern(&f, &u, size, 70001);
    CHECK_INT(u.pieces.count, 3);
    CHECK(u.crc64 == crc64(0, pattern_bytes(&f.arena, 0, size)));
    CHECK_OK(engine_update_wait(f.store.engine, STR("p"), write_pieces, &u.pieces));
    check_range(&f, 0, size);
    check_range(&f, EXTENT_BYTES_MAX - 5, 10);
    check_range(&f, size - 1, 1);
    CHECK_INT(remove_all(&f), 1);
    fixture_release(&f);
}

void test_content_upload_of_unknown_length(void)
{
    struct fixture f;
    fixture_init(&f);
    struct upload u;
    struct upload_options options = {.inline_max = 100, .expected = -1};
    upload_init(&u, &f.store, &f.arena, &options);
    for (uint64_t at = 0; at < 1000; at += 50)
        CHECK_OK(upload_take(&u, pattern_bytes(&f.arena, at, 50)));
    CHECK_OK(upload_end(&u));
    CHECK_INT(u.pieces.count, 1);
    CHECK_INT(u.pieces.items[0].kind, PIECE_EXTENT);
    check_piece(&f, &u.pieces.items[0], 0);
    upload_discard(&u);
    fixture_release(&f);
}

void test_content_discard_gives_everything_back(void)
{
    struct fixture f;
    fixture_init(&f);
    struct upload u;
    upload_pattern(&f, &u, EXTENT_BYTES_MAX + 100000, 1 << 20);
    upload_discard(&u);
    struct upload_options options = {.inline_max = 0, .expected = -1};
    upload_init(&u, &f.store, &f.arena, &options);
    CHECK_OK(upload_take(&u, STR("half a body")));
    upload_discard(&u);
    struct engine_usage usage;
    engine_usage(f.store.engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
    fixture_release(&f);
}

/* Enough pieces for several chunks, so that ranges begin in, before and across them. */
void test_content_of_many_chunks(void)
{
    struct fixture f;
    fixture_init(&f);
    struct pieces pieces = {0};
    uint64_t size = 0;
    for (unsigned i = 0; i < 3 * CONTENT_CHUNK_PIECES + 7; i++) {
        struct str bytes = pattern_bytes(&f.arena, size, 10 + i % 5);
        struct piece piece = {.kind = PIECE_INLINE, .length = bytes.n, .bytes = bytes.p};
        pieces_add(&pieces, &f.arena, &piece);
        size += bytes.n;
    }
    CHECK_OK(engine_update_wait(f.store.engine, STR("p"), write_pieces, &pieces));
    check_range(&f, 0, size);
    for (uint64_t at = 0; at + 100 < size; at += 97)
        check_range(&f, at, 100);
    CHECK_INT(remove_all(&f), 4);
    fixture_release(&f);
}

static struct err write_sparse(struct txn *t, void *arg)
{
    (void)arg;
    struct piece piece = {.kind = PIECE_INLINE, .length = 3, .bytes = "abc"};
    struct buf value = buf_in(txn_arena(t));
    piece_encode(&value, &piece);
    struct buf key = buf_in(txn_arena(t));
    buf_put(&key, PREFIX);
    buf_put_be64(&key, 100);
    return txn_put(t, buf_str(&key), buf_str(&value));
}

void test_content_holes_around_chunks(void)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_OK(engine_update_wait(f.store.engine, STR("p"), write_sparse, NULL));
    struct read_args r = {.arena = &f.arena, .offset = 50, .length = 100};
    CHECK_OK(engine_view(f.store.engine, STR("p"), ENGINE_WAIT, read_pieces, &r));
    CHECK_INT(r.pieces.count, 3);
    CHECK(r.pieces.items[0].kind == PIECE_HOLE && r.pieces.items[0].length == 50);
    CHECK(r.pieces.items[1].kind == PIECE_INLINE && r.pieces.items[1].length == 3);
    CHECK(r.pieces.items[2].kind == PIECE_HOLE && r.pieces.items[2].length == 47);
    r = (struct read_args){.arena = &f.arena, .offset = 0, .length = 10};
    CHECK_OK(engine_view(f.store.engine, STR("p"), ENGINE_WAIT, read_pieces, &r));
    CHECK(r.pieces.count == 1 && r.pieces.items[0].kind == PIECE_HOLE);
    fixture_release(&f);
}

static struct err put_broken(struct txn *t, void *arg)
{
    (void)arg;
    struct buf key = buf_in(txn_arena(t));
    buf_put(&key, PREFIX);
    buf_put_be64(&key, 0);
    return txn_put(t, buf_str(&key), STR("\x01\x7Fshort"));
}

void test_content_broken_row_is_corrupt(void)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_OK(engine_update_wait(f.store.engine, STR("p"), put_broken, NULL));
    struct read_args r = {.arena = &f.arena, .offset = 0, .length = 10};
    CHECK_ERR(engine_view(f.store.engine, STR("p"), ENGINE_WAIT, read_pieces, &r), ERR_CORRUPT);
    fixture_release(&f);
}
