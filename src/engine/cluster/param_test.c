/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/param.h"

#include "core/test.h"
#include "engine/cluster/cluster.h"

void test_cluster_array_is_postgresqls(void)
{
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct params p = params_in(&arena);
    struct array a = array_begin(&arena, ARRAY_BYTES);
    array_bytes(&a, STR("ab"));
    array_bytes(&a, STR_NONE);
    array_bytes(&a, STR(""));
    param_array(&p, &a);
    struct str got = {p.values[0], (size_t)p.lengths[0]};
    CHECK_STR(got, STR("\0\0\0\1\0\0\0\1\0\0\0\x11\0\0\0\3\0\0\0\1"
                       "\0\0\0\2ab\xFF\xFF\xFF\xFF\0\0\0\0"));
    arena_release(&arena);
}

void test_cluster_numbers_go_there_and_back(void)
{
    static const int64_t numbers[] = {0, 1, -1, INT64_MAX, INT64_MIN, 0x0102030405060708};
    struct arena arena;
    arena_init(&arena, SIZE_MAX);
    struct params p = params_in(&arena);
    for (int i = 0; i < 6; i++)
        param_number(&p, numbers[i]);
    for (int i = 0; i < 6; i++)
        CHECK_INT(number_of((struct str){p.values[i], (size_t)p.lengths[i]}), numbers[i]);
    arena_release(&arena);
}

static struct str sentence_of(const char *rows, const char *extents)
{
    static char text[512];
    struct clock clock;
    struct engine *e;
    clock_init_system(&clock);
    text[0] = '\0';
    struct engine_cluster_options options = {
        .rows = rows, .extents = extents, .clock = &clock, .text = text, .text_size = sizeof text};
    CHECK(err_is(engine_cluster_open(&options, &e)));
    CHECK(strchr(text, '\n') == NULL);
    return str_of(text);
}

void test_cluster_says_in_one_line_what_is_wrong(void)
{
    struct str form = STR("not of the form rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]");
    CHECK_STR(sentence_of("postgresql://nobody@127.0.0.1:1/none", "files:x"), form);
    CHECK_STR(sentence_of("postgresql://nobody@127.0.0.1:1/none", "rados:"), form);
    CHECK_STR(sentence_of("postgresql://nobody@127.0.0.1:1/none", "rados:p,colour=red"), form);
    CHECK(sentence_of("postgresql://nobody@127.0.0.1:1/none", "rados:p,conf=/nowhere").n > 0);
}
