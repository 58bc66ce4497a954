/* SPDX-License-Identifier: Apache-2.0 */
/* Tables, and the sweeping of deleted ones. */
#include <stdio.h>

#include "service/table/sweep.h"
#include "service/table/table_fixture.h"

static struct people f;

static struct str tables(void)
{
    return tables_partition(&f.arena, STR("acct"));
}

static struct err delete_table(const char *name)
{
    struct table_delete delete = {.name = str_of(name)};
    return people_update(&f, tables(), table_delete_table, &delete);
}

static struct err block_is_there(struct txn *t, void *arg)
{
    bool *there = arg;
    struct str row;
    TRY(txn_get(t, table_blocked_key(txn_arena(t), STR("people")), &row));
    *there = str_given(row);
    return OK;
}

void test_create_table(void)
{
    people_init(&f);
    CHECK_OK(people_make_table(&f, "Other"));
    CHECK_ERR(people_make_table(&f, "People"), ERR_TABLE_ALREADY_EXISTS);
    CHECK_ERR(people_make_table(&f, "pEOPLE"), ERR_TABLE_ALREADY_EXISTS);
    people_release(&f);
}

/* The name is blocked for the configured time, in any letter case. */
void test_table_being_deleted(void)
{
    people_init(&f);
    struct table_delete delete = {STR("People"), 30 * TICKS_PER_SECOND};
    CHECK_OK(people_update(&f, tables(), table_delete_table, &delete));
    CHECK_ERR(people_make_table(&f, "pEOPLE"), ERR_TABLE_BEING_DELETED);
    CHECK_ERR(people_update(&f, tables(), table_delete_table, &delete), ERR_RESOURCE_NOT_FOUND);
    CHECK_OK(people_make_table(&f, "Other"));
    clock_advance(&f.clock, 30 * TICKS_PER_SECOND);
    CHECK_OK(people_make_table(&f, "People"));
    CHECK_OK(people_update(&f, tables(), table_delete_table, &delete));
    clock_advance(&f.clock, 30 * TICKS_PER_SECOND);
    /* The next deletion takes the row of the block that is over away. */
    delete.name = STR("Other");
    CHECK_OK(people_update(&f, tables(), table_delete_table, &delete));
    bool there = true;
    CHECK_OK(people_update(&f, tables(), block_is_there, &there));
    CHECK(!there);
    people_release(&f);
}

void test_table_name_check(void)
{
    char name[65];
    memset(name, 'a', sizeof name);
    CHECK_OK(table_name_check((struct str){name, 63}));
    CHECK_ERR(table_name_check((struct str){name, 64}), ERR_RESOURCE_NAME_LENGTH);
    CHECK_ERR(table_name_check(STR("ab")), ERR_RESOURCE_NAME_LENGTH);
    CHECK_OK(table_name_check(STR("A1b")));
    CHECK_ERR(table_name_check(STR("1ab")), ERR_INVALID_RESOURCE_NAME);
    CHECK_ERR(table_name_check(STR("a-b")), ERR_INVALID_RESOURCE_NAME);
    CHECK_ERR(table_name_check(STR("Tables")), ERR_INVALID_INPUT);
}

void test_key_check(void)
{
    char *key = arena_bytes(&f.arena, 4000);
    CHECK_OK(key_check(STR("")));
    CHECK_OK(key_check(STR("it's 100% {ok} \xC2\xA0 \xF0\x90\x90\x80")));
    static const char *const bad[] = {"a/b", "a\\b", "a#b", "a?b", "a\tb", "\x7F", "\xC2\x9F"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        CHECK_ERR(key_check(str_of(bad[i])), ERR_OUT_OF_RANGE_INPUT);
    CHECK_ERR(key_check(STR("a\0b")), ERR_OUT_OF_RANGE_INPUT);
    CHECK_ERR(key_check(STR("\xFF")), ERR_INVALID_INPUT);
    memset(key, 'k', 4000);
    CHECK_OK(key_check((struct str){key, 1024}));
    CHECK_ERR(key_check((struct str){key, 1025}), ERR_PROPERTY_VALUE_TOO_LARGE);
    for (int i = 0; i < 1024; i++)
        memcpy(key + 3 * i, "\xE2\x82\xAC", 3);
    CHECK_OK(key_check((struct str){key, 3072}));
    arena_release(&f.arena);
}

void test_delete_table(void)
{
    people_init(&f);
    people_insert(&f, "p", "r", "a=1");
    CHECK_OK(delete_table("people"));
    CHECK_ERR(delete_table("people"), ERR_RESOURCE_NOT_FOUND);
    struct entity_change change = people_change(&f, "p", "r", "a=1");
    CHECK_ERR(people_apply(&f, table_insert_entity, &change), ERR_TABLE_NOT_FOUND);
    /* Its name is free at once, and the new one is empty. */
    CHECK_OK(people_make_table(&f, "PEOPLE"));
    CHECK(!str_given(people_get(&f, "p", "r", NULL)));
    people_insert(&f, "p", "r", "a=2");
    CHECK_STR(people_get(&f, "p", "r", NULL), STR("a=2"));
    people_release(&f);
}

static struct table_list list(const char *filter_text, const char *from, unsigned top)
{
    struct table_list l = {.arena = &f.arena, .from = str_of(from), .top = top};
    if (filter_text != NULL) {
        struct filter *filter;
        CHECK_OK(filter_compile(&f.arena, str_of(filter_text), &filter));
        l.filter = filter;
    }
    CHECK_OK(engine_view(f.engine, tables(), ENGINE_WAIT, table_query_tables, &l));
    return l;
}

static void lists(const struct table_list *l, const char *want)
{
    struct buf out = buf_in(&f.arena);
    for (size_t i = 0; i < l->count; i++)
        buf_printf(&out, "%s%.*s", i == 0 ? "" : " ", STR_ARG(l->names[i]));
    CHECK_STR(buf_str(&out), str_of(want));
}

void test_query_tables(void)
{
    people_init(&f);
    CHECK_OK(people_make_table(&f, "Zoo"));
    CHECK_OK(people_make_table(&f, "Apple"));
    CHECK_OK(people_make_table(&f, "banana"));
    CHECK_OK(delete_table("People"));
    CHECK_OK(people_make_table(&f, "People"));
    struct table_list l = list(NULL, "", 1000);
    lists(&l, "Apple banana People Zoo");
    CHECK(!str_given(l.next));
    l = list(NULL, "", 3);
    lists(&l, "Apple banana People");
    CHECK_STR(l.next, STR("zoo"));
    l = list(NULL, "zoo", 3);
    lists(&l, "Zoo");
    l = list("TableName eq 'banana'", "", 10);
    lists(&l, "banana");
    l = list("TableName ge 'P' and TableName lt 'Q'", "", 10);
    lists(&l, "People");
    l = list("TableName ne 'Zoo'", "", 10);
    lists(&l, "Apple banana People");
    people_release(&f);
}

void test_get_table(void)
{
    people_init(&f);
    struct table_get get = {.arena = &f.arena, .name = STR("pEOPLE")};
    CHECK_OK(engine_view(f.engine, tables(), ENGINE_WAIT, table_get_table, &get));
    CHECK_STR(get.table.name, STR("People"));
    get.name = STR("nobody");
    CHECK_ERR(engine_view(f.engine, tables(), ENGINE_WAIT, table_get_table, &get),
              ERR_RESOURCE_NOT_FOUND);
    people_release(&f);
}

void test_set_table_acl(void)
{
    people_init(&f);
    struct table_set_acl set = {STR("people"), STR("policies")};
    CHECK_OK(people_update(&f, tables(), table_set_table_acl, &set));
    struct table_get get = {.arena = &f.arena, .name = STR("People")};
    CHECK_OK(engine_view(f.engine, tables(), ENGINE_WAIT, table_get_table_acl, &get));
    CHECK_STR(get.table.acl, STR("policies"));
    CHECK_STR(get.table.name, STR("People"));
    set.name = STR("nobody");
    CHECK_ERR(people_update(&f, tables(), table_set_table_acl, &set), ERR_TABLE_NOT_FOUND);
    get.name = STR("nobody");
    CHECK_ERR(engine_view(f.engine, tables(), ENGINE_WAIT, table_get_table_acl, &get),
              ERR_TABLE_NOT_FOUND);
    people_release(&f);
}

/* ---- sweeping ---- */

static struct err count_rows(struct txn *t, void *arg)
{
    struct cursor *s;
    TRY(cursor_open_across(t, STR(""), STR(""), STR(""), &s));
    for (*(int *)arg = 0; s->valid; ++*(int *)arg)
        TRY(cursor_next(s));
    cursor_close(s);
    return OK;
}

static int rows(void)
{
    int count;
    CHECK_OK(engine_view(f.engine, STR(""), ENGINE_WAIT, count_rows, &count));
    return count;
}

static uint64_t sweep_all(void)
{
    struct table_sweep sweep = {0};
    uint64_t removed = 0;
    for (int steps = 0;; steps++) {
        struct sweep_report report = {0};
        CHECK(steps < 1000);
        CHECK_OK(table_sweep(&f.store, &sweep, &report));
        removed += report.removed;
        if (!report.more)
            break;
    }
    return removed;
}

void test_sweep_of_deleted_tables(void)
{
    people_init(&f);
    CHECK_OK(people_make_table(&f, "Other"));
    CHECK_INT(sweep_all(), 0);
    int before = rows();
    for (int i = 0; i < 1500; i++) {
        char pk[16];
        char rk[16];
        /* Many small partitions and one of 600 rows. */
        (void)snprintf(pk, sizeof pk, "p%03d", i < 900 ? i / 4 : 999);
        (void)snprintf(rk, sizeof rk, "r%d", i);
        people_insert(&f, pk, rk, "a=1");
    }
    CHECK_OK(delete_table("people"));
    CHECK_OK(people_make_table(&f, "people"));
    for (int i = 0; i < 10; i++) {
        char pk[16];
        (void)snprintf(pk, sizeof pk, "p%03d", i);
        people_insert(&f, pk, "r0", "a=2");
    }
    CHECK_INT(sweep_all(), 1500);
    CHECK_INT(rows(), before + 10);
    CHECK_STR(people_get(&f, "p003", "r0", NULL), STR("a=2"));
    CHECK_INT(sweep_all(), 0);
    people_release(&f);
}
