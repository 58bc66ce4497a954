/* SPDX-License-Identifier: Apache-2.0 */
/* Entities one by one and in groups, rules T1 to T3. */
#include "service/table/table_fixture.h"

#include "engine/fault.h"

static struct people f;

static struct entity_change with_stamp(const char *rk, const char *pairs, int64_t stamp)
{
    struct entity_change change = people_change(&f, "p", rk, pairs);
    change.match = (struct entity_match){MATCH_STAMP, stamp};
    return change;
}

static struct entity_change with_any(const char *rk, const char *pairs)
{
    struct entity_change change = people_change(&f, "p", rk, pairs);
    change.match.kind = MATCH_ANY;
    return change;
}

void test_insert_entity(void)
{
    people_init(&f);
    int64_t stamp = people_insert(&f, "p", "r", "name=Ada age=36");
    int64_t got;
    CHECK_STR(people_get(&f, "p", "r", &got), STR("name=Ada age=36"));
    CHECK_INT(got, stamp);
    struct entity_change again = people_change(&f, "p", "r", "name=Eve");
    CHECK_ERR(people_apply(&f, table_insert_entity, &again), ERR_ENTITY_ALREADY_EXISTS);
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("name=Ada age=36"));
    CHECK(!str_given(people_get(&f, "p", "R", NULL)));
    CHECK(!str_given(people_get(&f, "P", "r", NULL)));
    people_insert(&f, "", "", "empty=keys");
    CHECK_STR(people_get(&f, "", "", NULL), STR("empty=keys"));
    again = people_change(&f, "p", "r", "name=Eve");
    again.ref.table = STR("missing");
    CHECK_ERR(people_apply(&f, table_insert_entity, &again), ERR_TABLE_NOT_FOUND);
    people_release(&f);
}

void test_query_entity(void)
{
    people_init(&f);
    struct entity_get get = {.arena = &f.arena, .ref = f.people, .rk = STR("r")};
    struct str partition = table_entities_partition(&f.arena, &f.people, STR("p"));
    CHECK_ERR(engine_view(f.engine, partition, ENGINE_WAIT, table_get_entity, &get),
              ERR_RESOURCE_NOT_FOUND);
    people_insert(&f, "p", "r", "a=1");
    CHECK_OK(engine_view(f.engine, partition, ENGINE_WAIT, table_get_entity, &get));
    CHECK_STR(people_pairs(&f, get.record), STR("a=1"));
    get.ref.table = STR("missing");
    CHECK_ERR(engine_view(f.engine, partition, ENGINE_WAIT, table_get_entity, &get),
              ERR_TABLE_NOT_FOUND);
    people_release(&f);
}

void test_update_entity(void)
{
    people_init(&f);
    int64_t first = people_insert(&f, "p", "r", "a=1 b=2");
    struct entity_change change = with_stamp("r", "b=3", first);
    CHECK_OK(people_apply(&f, table_update_entity, &change));
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("b=3"));
    change = with_any("none", "b=3");
    CHECK_ERR(people_apply(&f, table_update_entity, &change), ERR_RESOURCE_NOT_FOUND);
    people_release(&f);
}

/* T2, for the three that demand If-Match: stale → 412 and nothing changes, current → done and a new
 * ETag, * → unconditional. */
static void rule_T2(engine_fn *fn, const char *pairs, const char *after)
{
    people_init(&f);
    int64_t first = people_insert(&f, "p", "r", "a=1 b=2");
    struct entity_change change = with_stamp("r", pairs, first - 1);
    CHECK_ERR(people_apply(&f, fn, &change), ERR_UPDATE_CONDITION_NOT_SATISFIED);
    change.match.kind = MATCH_NEVER;
    CHECK_ERR(people_apply(&f, fn, &change), ERR_UPDATE_CONDITION_NOT_SATISFIED);
    int64_t stamp;
    CHECK_STR(people_get(&f, "p", "r", &stamp), STR("a=1 b=2"));
    CHECK_INT(stamp, first);
    change = with_stamp("r", pairs, first);
    CHECK_OK(people_apply(&f, fn, &change));
    if (after != NULL) {
        CHECK_STR(people_get(&f, "p", "r", &stamp), str_of(after));
        CHECK(stamp == change.stamp && stamp > first);
        change = with_stamp("r", pairs, first);
        CHECK_ERR(people_apply(&f, fn, &change), ERR_UPDATE_CONDITION_NOT_SATISFIED);
    } else {
        CHECK(!str_given(people_get(&f, "p", "r", NULL)));
        change = with_stamp("r", pairs, first);
        CHECK_ERR(people_apply(&f, fn, &change), ERR_RESOURCE_NOT_FOUND);
        people_insert(&f, "p", "r", "a=1");
    }
    change = with_any("r", pairs);
    CHECK_OK(people_apply(&f, fn, &change));
    people_release(&f);
}

void test_rule_T2_update_entity(void)
{
    rule_T2(table_update_entity, "b=3", "b=3");
}

void test_rule_T2_merge_entity(void)
{
    rule_T2(table_merge_entity, "b=3 c=4", "a=1 b=3 c=4");
}

void test_rule_T2_delete_entity(void)
{
    rule_T2(table_delete_entity, NULL, NULL);
}

void test_merge_entity(void)
{
    people_init(&f);
    people_insert(&f, "p", "r", "a=1 b=2");
    struct entity_change change = with_any("r", "z=26 a=x");
    CHECK_OK(people_apply(&f, table_merge_entity, &change));
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("a=x b=2 z=26"));
    change = with_any("none", "b=3");
    CHECK_ERR(people_apply(&f, table_merge_entity, &change), ERR_RESOURCE_NOT_FOUND);
    people_release(&f);
}

/* Two halves that are valid alone but too large together: nothing changes. */
void test_merge_entity_too_large(void)
{
    people_init(&f);
    enum { HALF = 30000 };
    struct buf text = buf_in(&f.arena);
    char *bytes = arena_bytes(&f.arena, HALF);
    memset(bytes, 'x', HALF);
    for (int i = 0; i < 10; i++)
        buf_printf(&text, "%sp%d=%.*s", i == 0 ? "" : " ", i, HALF, bytes);
    buf_putc(&text, '\0');
    int64_t first = people_insert(&f, "p", "r", text.p);
    buf_clear(&text);
    for (int i = 0; i < 10; i++)
        buf_printf(&text, "%sq%d=%.*s", i == 0 ? "" : " ", i, HALF, bytes);
    buf_putc(&text, '\0');
    struct entity_change change = with_any("r", text.p);
    CHECK_ERR(people_apply(&f, table_merge_entity, &change), ERR_ENTITY_TOO_LARGE);
    int64_t stamp;
    (void)people_get(&f, "p", "r", &stamp);
    CHECK_INT(stamp, first);
    people_release(&f);
}

void test_delete_entity(void)
{
    people_init(&f);
    people_insert(&f, "p", "r", "a=1");
    people_insert(&f, "p", "r2", "a=2");
    struct entity_change change = with_any("r", NULL);
    CHECK_OK(people_apply(&f, table_delete_entity, &change));
    CHECK(!str_given(people_get(&f, "p", "r", NULL)));
    CHECK_STR(people_get(&f, "p", "r2", NULL), STR("a=2"));
    CHECK_ERR(people_apply(&f, table_delete_entity, &change), ERR_RESOURCE_NOT_FOUND);
    people_release(&f);
}

void test_insert_or_replace_entity(void)
{
    people_init(&f);
    struct entity_change change = people_change(&f, "p", "r", "a=1 b=2");
    CHECK_OK(people_apply(&f, table_insert_or_replace_entity, &change));
    int64_t first = change.stamp;
    change = people_change(&f, "p", "r", "b=3");
    CHECK_OK(people_apply(&f, table_insert_or_replace_entity, &change));
    CHECK(change.stamp > first);
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("b=3"));
    people_release(&f);
}

void test_insert_or_merge_entity(void)
{
    people_init(&f);
    struct entity_change change = people_change(&f, "p", "r", "a=1 b=2");
    CHECK_OK(people_apply(&f, table_insert_or_merge_entity, &change));
    change = people_change(&f, "p", "r", "b=3 c=4");
    CHECK_OK(people_apply(&f, table_insert_or_merge_entity, &change));
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("a=1 b=3 c=4"));
    people_release(&f);
}

/* T3: the upserts are never checked, whatever a match says. */
void test_rule_T3_upserts_are_never_checked(void)
{
    people_init(&f);
    people_insert(&f, "p", "r", "a=1");
    struct entity_change change = with_stamp("r", "a=2", 1);
    CHECK_OK(people_apply(&f, table_insert_or_replace_entity, &change));
    change = with_stamp("r", "a=3", 1);
    CHECK_OK(people_apply(&f, table_insert_or_merge_entity, &change));
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("a=3"));
    people_release(&f);
}

/* The clock stands still here, but stamps still grow. */
void test_entity_etags_differ_in_one_tick(void)
{
    people_init(&f);
    int64_t last = people_insert(&f, "p", "r", "a=1");
    for (int i = 0; i < 100; i++) {
        struct entity_change change = with_stamp("r", "a=1", last);
        CHECK_OK(people_apply(&f, table_update_entity, &change));
        CHECK(change.stamp > last);
        last = change.stamp;
    }
    people_release(&f);
}

/* ---- ETags ---- */

void test_entity_etag_text(void)
{
    char etag[ENTITY_ETAG_BYTES];
    entity_etag(17040672001234567LL, etag);
    CHECK_STR(((struct str){etag, sizeof etag}),
              STR("W/\"datetime'2024-01-01T00%3A00%3A00.1234567Z'\""));
    struct entity_match match;
    CHECK_OK(entity_match_parse((struct str){etag, sizeof etag}, &match));
    CHECK(match.kind == MATCH_STAMP && match.stamp == 17040672001234567LL);
}

void test_entity_match_parse(void)
{
    struct entity_match match;
    CHECK_OK(entity_match_parse(STR("*"), &match));
    CHECK_INT(match.kind, MATCH_ANY);
    CHECK_OK(entity_match_parse(STR("w/\"datetime'2024-01-01T00:00:00.1234567Z'\""), &match));
    CHECK(match.kind == MATCH_STAMP && match.stamp == 17040672001234567LL);
    static const char *const never[] = {"W/\"wrong\"", "W/\"\"", "w/\"0x5B168C7B6E589D2\"",
                                        "W/\"datetime'2024-01-01T00%3A00%3A00.123Z'\"",
                                        "W/\"datetime'\""};
    for (size_t i = 0; i < sizeof never / sizeof never[0]; i++) {
        CHECK_OK(entity_match_parse(str_of(never[i]), &match));
        CHECK_INT(match.kind, MATCH_NEVER);
    }
    static const char *const bad[] = {
        "",
        "\"wrong\"",
        "wrong",
        "\"",
        "W/",
        "W/\"",
        "W/\"a",
        "W/x\"",
        "\"datetime'2015-01-01T23%3A14%3A33.4980000Z'\"",
        "W/\"a\", W/\"b\"",
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_ERR(entity_match_parse(str_of(bad[i]), &match), ERR_INVALID_INPUT);
}

/* ---- groups ---- */

static struct entity_change group_changes[4];

static struct err run_group(size_t count, size_t *failed)
{
    struct entity_change *changes[4];
    struct entity_group group = {.ref = f.people, .changes = changes, .count = count};
    for (size_t i = 0; i < count; i++)
        changes[i] = &group_changes[i];
    struct err e = people_update(&f, table_entities_partition(&f.arena, &f.people, STR("p")),
                                 table_entity_group_transaction, &group);
    *failed = group.failed;
    return e;
}

void test_entity_group_transaction(void)
{
    people_init(&f);
    size_t failed;
    int64_t stamp = people_insert(&f, "p", "old", "a=1");
    people_insert(&f, "p", "gone", "a=1");
    group_changes[0] = people_change(&f, "p", "new", "a=1");
    group_changes[0].kind = CHANGE_INSERT;
    group_changes[1] = with_stamp("old", "b=2", stamp);
    group_changes[1].kind = CHANGE_MERGE;
    group_changes[2] = with_any("gone", NULL);
    group_changes[2].kind = CHANGE_DELETE;
    group_changes[3] = people_change(&f, "p", "up", "c=3");
    group_changes[3].kind = CHANGE_INSERT_OR_REPLACE;
    CHECK_OK(run_group(4, &failed));
    CHECK_STR(people_get(&f, "p", "new", NULL), STR("a=1"));
    CHECK_STR(people_get(&f, "p", "old", NULL), STR("a=1 b=2"));
    CHECK_STR(people_get(&f, "p", "up", NULL), STR("c=3"));
    CHECK(!str_given(people_get(&f, "p", "gone", NULL)));
    people_release(&f);
}

void test_entity_group_transaction_is_all_or_nothing(void)
{
    people_init(&f);
    size_t failed;
    int64_t stamp = people_insert(&f, "p", "old", "a=1");
    group_changes[0] = people_change(&f, "p", "new", "a=1");
    group_changes[0].kind = CHANGE_INSERT;
    group_changes[1] = with_any("old", NULL);
    group_changes[1].kind = CHANGE_DELETE;
    group_changes[2] = with_stamp("old2", "b=2", stamp - 5);
    group_changes[2].kind = CHANGE_UPDATE;
    CHECK_ERR(run_group(3, &failed), ERR_RESOURCE_NOT_FOUND);
    CHECK_INT(failed, 2);
    CHECK(!str_given(people_get(&f, "p", "new", NULL)));
    int64_t now;
    CHECK_STR(people_get(&f, "p", "old", &now), STR("a=1"));
    CHECK_INT(now, stamp);
    f.people.table = STR("missing");
    CHECK_ERR(run_group(3, &failed), ERR_TABLE_NOT_FOUND);
    CHECK_INT(failed, 0);
    people_release(&f);
}

/* ---- failures of the engine ---- */

static void set_group(int64_t stamp)
{
    group_changes[0] = people_change(&f, "p", "new", "a=1");
    group_changes[0].kind = CHANGE_INSERT;
    group_changes[1] = with_stamp("old", "b=2", stamp);
    group_changes[1].kind = CHANGE_MERGE;
    group_changes[2] = with_any("gone", NULL);
    group_changes[2].kind = CHANGE_DELETE;
}

/* If any call of the engine fails, the error is returned and nothing has changed; the last attempt
 * succeeds. */
void test_entity_group_transaction_when_the_engine_fails(void)
{
    people_init(&f);
    int64_t stamp = people_insert(&f, "p", "old", "a=1");
    people_insert(&f, "p", "gone", "a=1");
    struct engine *fault = engine_fault_new(f.engine);
    f.engine = fault;
    size_t failed;
    struct err e = err_new(ERR_IO);
    for (uint64_t n = 1; err_is(e); n++) {
        CHECK(n < 100);
        set_group(stamp);
        engine_fault_arm(fault, n, err_new(ERR_IO));
        e = run_group(3, &failed);
        CHECK(err_is(e) == engine_fault_fired(fault));
        engine_fault_arm(fault, 0, OK);
        if (!err_is(e))
            break;
        CHECK_INT(e.code, ERR_IO);
        int64_t now;
        CHECK(!str_given(people_get(&f, "p", "new", NULL)));
        CHECK_STR(people_get(&f, "p", "old", &now), STR("a=1"));
        CHECK_INT(now, stamp);
        CHECK_STR(people_get(&f, "p", "gone", NULL), STR("a=1"));
    }
    CHECK_STR(people_get(&f, "p", "new", NULL), STR("a=1"));
    CHECK_STR(people_get(&f, "p", "old", NULL), STR("a=1 b=2"));
    CHECK(!str_given(people_get(&f, "p", "gone", NULL)));
    people_release(&f);
}
