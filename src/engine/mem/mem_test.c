/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mem/mem.h"
#include "engine/wait.h"

#include "core/test.h"

static struct err put_two(struct txn *t, void *arg)
{
    (void)arg;
    TRY(txn_put(t, STR("a"), STR("1")));
    return txn_put(t, STR("b"), STR("2"));
}

static struct err see_two(struct txn *t, void *arg)
{
    (void)arg;
    struct str value;
    TRY(txn_get(t, STR("b"), &value));
    CHECK_STR(value, STR("2"));
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    CHECK(c->valid);
    CHECK_STR(c->key, STR("a"));
    TRY(cursor_next(c));
    CHECK_STR(c->key, STR("b"));
    TRY(cursor_next(c));
    CHECK(!c->valid);
    cursor_close(c);
    return OK;
}

static struct err put_many_bytes(struct txn *t, void *arg)
{
    struct buf value = buf_in(txn_arena(t));
    (void)buf_reserve(&value, 40000);
    value.n = 40000;
    memset(value.p, 'x', value.n);
    return txn_put(t, *(const struct str *)arg, buf_str(&value));
}

static struct err delete_row(struct txn *t, void *arg)
{
    TRY(txn_put(t, STR("a small note"), STR("for the sweeper")));
    return txn_del(t, *(const struct str *)arg);
}

/* Rows and extents share one limit; deletes are admitted even when it is reached. */
void test_mem_limit(void)
{
    struct clock clock;
    struct str a = STR("a"), b = STR("b"), c = STR("c");
    struct extent_writer *writer;
    struct extent extent;
    clock_init_system(&clock);
    struct engine *e = engine_mem_new(&clock);
    engine_mem_limit(e, 100000);
    CHECK_OK(engine_update_wait(e, STR("p"), put_many_bytes, &a));
    CHECK_OK(engine_update_wait(e, STR("p"), put_many_bytes, &b));
    CHECK_ERR(engine_update_wait(e, STR("p"), put_many_bytes, &c), ERR_NO_SPACE);
    CHECK_OK(engine_update_wait(e, STR("p"), put_many_bytes, &a)); /* replaced */
    CHECK_ERR(extent_begin(e, 40000, 0, &writer), ERR_NO_SPACE);
    CHECK_OK(extent_begin(e, 15000, 0, &writer));
    CHECK_ERR(extent_begin(e, 15000, 0, &(struct extent_writer *){NULL}), ERR_NO_SPACE);
    CHECK_OK(extent_append(writer, STR("some")));
    CHECK_OK(extent_finish(writer, &extent));
    CHECK_OK(extent_begin(e, 15000, 0, &writer));
    CHECK_OK(engine_update_wait(e, STR("p"), delete_row, &b));
    extent_abandon(writer);
    CHECK_OK(engine_update_wait(e, STR("p"), put_many_bytes, &c));
    extent_discard(e, &extent);
    engine_close(e);
}

/* The conformance suite in test/engine tests more; this is the shortest example of use. */
void test_mem_shortest_use(void)
{
    struct clock clock;
    clock_init_system(&clock);
    struct engine *e = engine_mem_new(&clock);
    CHECK_OK(engine_update_wait(e, STR("p"), put_two, NULL));
    CHECK_OK(engine_view(e, STR("p"), ENGINE_NOWAIT, see_two, NULL));
    engine_close(e);
}
