/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "subject.h"

struct walk {
    char text[512];
    size_t limit;
    size_t count;
};

static bool walk_visit(struct str partition, struct str value, void *arg)
{
    struct walk *w = arg;
    size_t n = strlen(w->text);
    (void)snprintf(w->text + n, sizeof w->text - n, "%.*s=%.*s ", STR_ARG(partition),
                   STR_ARG(value));
    return ++w->count < w->limit;
}

static void walks(struct subject *s, struct str prefix, struct str after, size_t limit,
                  const char *want)
{
    struct walk w = {.limit = limit};
    CHECK_OK(engine_partitions(s->engine, prefix, after, STR("here"), walk_visit, &w));
    CHECK_STR(str_of(w.text), str_of(want));
}

ENGINE_CASE(partitions_are_found_in_order)
{
    walks(s, STR(""), STR_NONE, 99, "");
    const char *names[] = {"b/one", "b/two", "b", "a", "b/three", "c/four", "b/two!"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        put_row(s, str_of(names[i]), STR("a row before"), STR("x"));
        put_row(s, str_of(names[i]), STR("here"), str_of(names[i]));
        put_row(s, str_of(names[i]), STR("row after"), STR("x"));
    }
    put_row(s, STR("b/has no such row"), STR("there"), STR("x"));
    const char *all_b = "b/one=b/one b/three=b/three b/two=b/two b/two!=b/two! ";
    walks(s, STR("b/"), STR_NONE, 99, all_b);
    walks(s, STR("b/"), STR("a"), 99, all_b);
    walks(s, STR("b/"), STR("b/one"), 99, "b/three=b/three b/two=b/two b/two!=b/two! ");
    walks(s, STR("b/"), STR("b/p"), 2, "b/three=b/three b/two=b/two ");
    walks(s, STR("b/"), STR("c"), 99, "");
    walks(s, STR("d"), STR_NONE, 99, "");
    walks(s, STR(""), STR("b/two!"), 99, "c/four=c/four ");
    subject_reopen(s);
    if (s->kind->persistent)
        walks(s, STR("b/"), STR_NONE, 99, all_b);
}

ENGINE_CASE(partitions_with_zero_bytes)
{
    put_row(s, STR("a"), STR("here"), STR("1"));
    put_row(s, STR("a\0"), STR("here"), STR("2"));
    put_row(s, STR("a\0b"), STR("here"), STR("3"));
    put_row(s, STR("a\x01"), STR("here"), STR("4"));
    struct walk w = {.limit = 99};
    CHECK_OK(engine_partitions(s->engine, STR("a\0"), STR_NONE, STR("here"), walk_visit, &w));
    CHECK_INT(w.count, 2);
    w = (struct walk){.limit = 99};
    CHECK_OK(engine_partitions(s->engine, STR("a"), STR("a\0"), STR("here"), walk_visit, &w));
    CHECK_INT(w.count, 2);
}
