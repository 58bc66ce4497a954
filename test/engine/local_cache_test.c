/* SPDX-License-Identifier: Apache-2.0 */
/* Caching of reads: long walks must not fill RocksDB's block cache. */
#include <stdio.h>

#include "engine/local/local_internal.h"
#include "subject.h"

enum { ROWS = 4000, VALUE_BYTES = 200 };

static struct err write_rows(struct txn *t, void *arg)
{
    (void)arg;
    char value[VALUE_BYTES];
    for (uint32_t i = 0; i < ROWS; i++) {
        char key[16];
        int n = snprintf(key, sizeof key, "%08u", i);
        fill_bytes(value, sizeof value, i);
        TRY(txn_put(t, (struct str){key, (size_t)n}, (struct str){value, sizeof value}));
    }
    return OK;
}

/* From the middle on. */
static struct err walk_half(struct txn *t, void *arg)
{
    const bool *passing = arg;
    struct cursor *c;
    int seen = 0;
    if (*passing)
        txn_hint(t, HINT_ONCE);
    TRY(cursor_open(t, STR("0"), &c));
    TRY(cursor_seek(c, STR("00002000")));
    for (; c->valid; seen++) {
        CHECK_INT(c->value.n, VALUE_BYTES);
        TRY(cursor_next(c));
    }
    cursor_close(c);
    CHECK_INT(seen, ROWS / 2);
    return OK;
}

static size_t cached_bytes(struct subject *s)
{
    return rocksdb_cache_get_usage(local_of(s->engine)->rows.cache);
}

void test_local_passing_cursors_leave_the_cache_alone(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    update_ok(&s, STR("p"), write_rows, NULL);
    subject_reopen(&s); /* all of it is in tables now */
    size_t before = cached_bytes(&s);
    bool passing = true;
    view_ok(&s, STR("p"), walk_half, &passing);
    CHECK(cached_bytes(&s) < before + ROWS / 2 * VALUE_BYTES / 4);
    passing = false;
    view_ok(&s, STR("p"), walk_half, &passing);
    CHECK(cached_bytes(&s) > before + ROWS / 2 * VALUE_BYTES / 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}
