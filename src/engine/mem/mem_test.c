/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/mem/mem.h"

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

/* The conformance suite in test/engine says more; this is the shortest use. */
void test_mem_shortest_use(void)
{
    struct clock clock;
    clock_init_system(&clock);
    struct engine *e = engine_mem_new(&clock);
    CHECK_OK(engine_update_wait(e, STR("p"), put_two, NULL));
    CHECK_OK(engine_view(e, STR("p"), ENGINE_NOWAIT, see_two, NULL));
    engine_close(e);
}
