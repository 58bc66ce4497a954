/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/content/interval_upload.h"

#include "core/test.h"
#include "engine/mem/mem.h"

static void check_cut(uint64_t offset, uint64_t length)
{
    struct clock clock;
    struct arena arena;
    struct interval_upload u;
    clock_init_manual(&clock, 1);
    arena_init(&arena, 64 << 20);
    struct engine *engine = engine_mem_new(&clock);
    interval_upload_init(&u, engine, &arena, offset, length);
    char block[7919];
    memset(block, 'x', sizeof block);
    for (uint64_t sent = 0; sent < length;) {
        uint64_t part = length - sent < sizeof block ? length - sent : sizeof block;
        CHECK_OK(interval_upload_take(&u, (struct str){block, (size_t)part}));
        sent += part;
    }
    CHECK_OK(interval_upload_end(&u));
    CHECK_ERR(interval_upload_take(&u, STR("y")), ERR_INVALID_INPUT);
    uint64_t at = offset;
    for (size_t i = 0; i < u.pieces.count; i++) {
        uint64_t last = at + u.pieces.items[i].length - 1;
        CHECK_INT(at / INTERVAL_CHUNK_BYTES, last / INTERVAL_CHUNK_BYTES);
        at = last + 1;
    }
    CHECK_INT(at, offset + length);
    interval_upload_discard(&u);
    engine_close(engine);
    arena_release(&arena);
}

void test_interval_upload_cuts_at_chunks(void)
{
    check_cut(0, 512);
    check_cut(4096, 16384);
    check_cut(INTERVAL_CHUNK_BYTES - 512, 1024);
    check_cut(INTERVAL_CHUNK_BYTES - 100000, 4 << 20);
    check_cut(0, 4 << 20);
}

void test_interval_upload_wants_all_it_was_promised(void)
{
    struct clock clock;
    struct arena arena;
    struct interval_upload u;
    clock_init_manual(&clock, 1);
    arena_init(&arena, 1 << 20);
    struct engine *engine = engine_mem_new(&clock);
    interval_upload_init(&u, engine, &arena, 0, 1 << 20);
    CHECK_OK(interval_upload_take(&u, STR("abc")));
    CHECK_ERR(interval_upload_end(&u), ERR_INVALID_INPUT);
    interval_upload_discard(&u);
    engine_close(engine);
    arena_release(&arena);
}
