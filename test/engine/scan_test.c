/* SPDX-License-Identifier: Apache-2.0 */
/* Scans: rows of many partitions in one walk. */
#include <stdio.h>
#include <string.h>

#include "engine/wait.h"
#include "subject.h"

static void stands(const struct cursor *s, const char *want)
{
    CHECK(s->valid == (want != NULL));
    if (want == NULL)
        return;
    char text[256];
    (void)snprintf(text, sizeof text, "%.*s:%.*s=%.*s", STR_ARG(s->partition), STR_ARG(s->key),
                   STR_ARG(s->value));
    CHECK_STR(str_of(text), str_of(want));
}

static struct err scan_moves(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *s;
    TRY(cursor_open_across(t, STR("t/a"), STR(""), STR(""), &s));
    stands(s, "t/a:=x");
    TRY(cursor_next(s));
    stands(s, "t/a:1=x");
    TRY(cursor_next(s));
    stands(s, "t/a/b:0=x");
    TRY(cursor_next(s));
    stands(s, "t/ab:1=x");
    TRY(cursor_next(s));
    stands(s, NULL);
    TRY(cursor_seek_across(s, STR("a"), STR("zz")));
    stands(s, "t/a:=x");
    TRY(cursor_seek_across(s, STR("t/a"), STR("1")));
    stands(s, "t/a:1=x");
    TRY(cursor_seek_across(s, STR("t/a"), STR("2")));
    stands(s, "t/a/b:0=x");
    TRY(cursor_seek_across(s, STR("t/a/a"), STR("")));
    stands(s, "t/a/b:0=x");
    TRY(cursor_seek_across(s, STR("t/b"), STR("")));
    stands(s, NULL);
    TRY(cursor_seek_across(s, STR("t/ab"), STR("")));
    stands(s, "t/ab:1=x");
    cursor_close(s);
    TRY(cursor_open_across(t, STR("t/a"), STR("t/a/b"), STR("0"), &s));
    stands(s, "t/a/b:0=x");
    cursor_close(s);
    TRY(cursor_open_across(t, STR("u"), STR(""), STR(""), &s));
    stands(s, NULL);
    cursor_close(s);
    return OK;
}

ENGINE_CASE(scan_moves_over_partitions)
{
    const char *rows[][2] = {{"t", "9"},    {"t/a", ""},  {"t/a", "1"}, {"t/a/b", "0"},
                             {"t/ab", "1"}, {"t/b", "1"}, {"tt", "1"},  {"a", "1"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        put_row(s, str_of(rows[i][0]), str_of(rows[i][1]), STR("x"));
    put_row(s, STR("t/ab"), STR("gone"), STR("x"));
    del_row(s, STR("t/ab"), STR("gone"));
    view_ok(s, STR("elsewhere"), scan_moves, NULL);
    subject_reopen(s);
    if (s->kind->persistent)
        view_ok(s, STR("elsewhere"), scan_moves, NULL);
}

static struct err scan_zeros(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *s;
    TRY(cursor_open_across(t, STR("z"), STR(""), STR(""), &s));
    CHECK_STR(s->partition, STR("z\0\0"));
    CHECK_STR(s->key, STR("\0k"));
    TRY(cursor_next(s));
    CHECK_STR(s->partition, STR("z\0\1"));
    TRY(cursor_next(s));
    CHECK(!s->valid);
    TRY(cursor_seek_across(s, STR("z\0\0"), STR("\1")));
    CHECK_STR(s->partition, STR("z\0\1"));
    cursor_close(s);
    return OK;
}

ENGINE_CASE(scan_gives_partitions_with_zeros_whole)
{
    put_row(s, STR("z\0\0"), STR("\0k"), STR("1"));
    put_row(s, STR("z\0\1"), STR("k"), STR("2"));
    view_ok(s, STR("z"), scan_zeros, NULL);
}

enum { MANY = 300 };

static struct err scan_many(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *s;
    int count = 0;
    TRY(cursor_open_across(t, STR("m/"), STR(""), STR(""), &s));
    for (; s->valid; count++) {
        char want[32];
        (void)snprintf(want, sizeof want, "m/%03d", count / 3);
        CHECK_STR(s->partition, str_of(want));
        (void)snprintf(want, sizeof want, "k%d", count % 3);
        CHECK_STR(s->key, str_of(want));
        TRY(cursor_next(s));
    }
    CHECK_INT(count, MANY);
    cursor_close(s);
    return OK;
}

ENGINE_CASE(scan_reads_on_from_partition_to_partition)
{
    for (int i = MANY - 1; i >= 0; i--) {
        char partition[32];
        char key[32];
        (void)snprintf(partition, sizeof partition, "m/%03d", i / 3);
        (void)snprintf(key, sizeof key, "k%d", i % 3);
        put_row(s, str_of(partition), str_of(key), STR("v"));
    }
    view_ok(s, STR("m/000"), scan_many, NULL);
    subject_reopen(s);
    if (s->kind->persistent)
        view_ok(s, STR("m/000"), scan_many, NULL);
}

static struct err walk_by_long_prefix(struct txn *t, void *arg)
{
    struct str prefix = *(struct str *)arg;
    struct cursor *scan;
    struct cursor *cursor;
    TRY(cursor_open_across(t, prefix, STR(""), STR(""), &scan));
    CHECK(!scan->valid);
    cursor_close(scan);
    TRY(cursor_open(t, prefix, &cursor));
    CHECK(!cursor->valid);
    cursor_close(cursor);
    return OK;
}

static struct err get_by_long_key(struct txn *t, void *arg)
{
    struct str key = *(struct str *)arg;
    struct str value = STR("not set");
    struct engine_read reads[] = {
        {.key = STR("a")}, {.key = key}, {.key = key}, {.key = STR("a")}, {.key = key}};
    TRY(txn_get(t, key, &value));
    CHECK(!str_given(value));
    TRY(txn_get_many(t, reads, 5));
    CHECK_STR(reads[0].value, STR("x"));
    CHECK(!str_given(reads[1].value) && !str_given(reads[2].value) && !str_given(reads[4].value));
    CHECK_STR(reads[3].value, STR("x"));
    return OK;
}

ENGINE_CASE(a_prefix_longer_than_any_name_finds_nothing)
{
    enum { PREFIX_BYTES = ENGINE_KEY_MAX + 1000 };
    char *bytes = arena_bytes(&s->arena, PREFIX_BYTES);
    memset(bytes, 'a', PREFIX_BYTES);
    struct str prefix = {bytes, PREFIX_BYTES};
    put_row(s, STR("a"), STR("a"), STR("x"));
    view_ok(s, STR("a"), walk_by_long_prefix, &prefix);
    view_ok(s, STR("a"), get_by_long_key, &prefix);
    update_ok(s, STR("a"), get_by_long_key, &prefix);
}

/* Enough rows that an engine may switch its method, see walk_next. */
enum { MANY_ROWS = 40000 };

static struct str number_of_many(char text[16], int number)
{
    return (struct str){text, (size_t)snprintf(text, 16, "%08d", number)};
}

static struct err put_many(struct txn *t, void *arg)
{
    (void)arg;
    for (int i = 0; i < MANY_ROWS; i++) {
        char text[16];
        TRY(txn_put(t, number_of_many(text, i), STR("x")));
    }
    return OK;
}

static struct err walk_many(struct txn *t, void *arg)
{
    char text[16];
    struct cursor *c;
    struct cursor *s;
    (void)arg;
    TRY(cursor_open(t, STR(""), &c));
    TRY(cursor_open_across(t, STR("many"), STR(""), STR(""), &s));
    for (int i = 0; i < MANY_ROWS; i++) {
        struct str want = number_of_many(text, i);
        CHECK(c->valid && str_eq(c->key, want) && str_eq(c->value, STR("x")));
        CHECK(s->valid && str_eq(s->key, want) && str_eq(s->value, STR("x")));
        TRY(cursor_next(c));
        TRY(cursor_next(s));
    }
    CHECK(!c->valid && !s->valid);
    cursor_close(c);
    cursor_close(s);
    return OK;
}

ENGINE_CASE(scan_and_cursor_over_many_rows)
{
    CHECK_OK(engine_update_wait(s->engine, STR("many"), put_many, NULL));
    CHECK_OK(engine_view(s->engine, STR("many"), ENGINE_WAIT, walk_many, NULL));
    if (!s->kind->persistent)
        return;
    subject_reopen(s); /* from tables now */
    CHECK_OK(engine_view(s->engine, STR("many"), ENGINE_WAIT, walk_many, NULL));
}
