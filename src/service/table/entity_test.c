/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/entity.h"

#include <stdio.h>

#include "core/test.h"

static struct arena arena;

static struct edm_value text(const char *s)
{
    return (struct edm_value){EDM_STRING, str_of(s)};
}

/* "a=1 b=x": all strings. */
static struct str record_of(const char *pairs)
{
    struct entity_builder b;
    struct str rest = str_of(pairs);
    entity_begin(&b, &arena);
    while (str_given(rest) && rest.n > 0) {
        struct str value = str_cut(&rest, ' ');
        struct str name = str_cut(&value, '=');
        CHECK_OK(entity_add(&b, name, (struct edm_value){EDM_STRING, value}));
    }
    return buf_str(&b.record);
}

static struct str pairs_of(struct str record)
{
    struct entity_walk w;
    struct property p;
    struct buf out = buf_in(&arena);
    CHECK_OK(entity_open(record, &w));
    while (entity_next(&w, &p))
        buf_printf(&out, "%s%.*s=%.*s", out.n == 0 ? "" : " ", STR_ARG(p.name),
                   STR_ARG(p.value.bytes));
    CHECK(!w.bad);
    return buf_str(&out);
}

void test_entity_keeps_the_order_of_its_properties(void)
{
    arena_init(&arena, 1 << 24);
    CHECK_STR(pairs_of(record_of("z=1 a=2 m=")), STR("z=1 a=2 m="));
    CHECK_STR(pairs_of(record_of("")), STR(""));
    arena_release(&arena);
}

void test_entity_limits(void)
{
    arena_init(&arena, 1 << 24);
    struct entity_builder b;
    char long_name[300];
    memset(long_name, 'n', sizeof long_name);
    entity_begin(&b, &arena);
    CHECK_OK(entity_add(&b, (struct str){long_name, 255}, text("x")));
    CHECK_ERR(entity_add(&b, (struct str){long_name, 256}, text("x")), ERR_PROPERTY_NAME_TOO_LONG);
    CHECK_ERR(entity_add(&b, STR("a-b"), text("x")), ERR_PROPERTY_NAME_INVALID);
    CHECK_ERR(entity_add(&b, STR("1a"), text("x")), ERR_PROPERTY_NAME_INVALID);
    CHECK_ERR(entity_add(&b, STR(""), text("x")), ERR_PROPERTY_NAME_INVALID);
    CHECK_OK(entity_add(&b, STR("_ok\xC3\xA4"), text("x")));
    for (int i = 2; i < ENTITY_PROPERTIES_MAX; i++)
        CHECK_OK(entity_add(&b, arena_printf(&arena, "p%d", i), text("x")));
    CHECK_ERR(entity_add(&b, STR("more"), text("x")), ERR_TOO_MANY_PROPERTIES);
    arena_release(&arena);
}

void test_entity_value_sizes(void)
{
    arena_init(&arena, 1 << 24);
    struct entity_builder b;
    enum { MORE = 200000 };
    char *bytes = arena_bytes(&arena, MORE);
    memset(bytes, 'x', MORE);
    entity_begin(&b, &arena);
    struct edm_value value = {EDM_STRING, {bytes, 32768}};
    CHECK_OK(entity_add(&b, STR("a"), value));
    value.bytes.n++;
    CHECK_ERR(entity_add(&b, STR("b"), value), ERR_PROPERTY_VALUE_TOO_LARGE);
    value = (struct edm_value){EDM_BINARY, {bytes, 65536}};
    CHECK_OK(entity_add(&b, STR("c"), value));
    value.bytes.n++;
    CHECK_ERR(entity_add(&b, STR("d"), value), ERR_PROPERTY_VALUE_TOO_LARGE);
    /* 32768 characters of three bytes each. */
    for (size_t i = 0; i < 32768; i++)
        memcpy(bytes + 3 * i, "\xE2\x82\xAC", 3);
    value = (struct edm_value){EDM_STRING, {bytes, 98304}};
    CHECK_OK(entity_add(&b, STR("e"), value));
    arena_release(&arena);
}

void test_entity_size_is_counted_as_the_service_does(void)
{
    arena_init(&arena, 1 << 26);
    struct entity_builder b;
    char *bytes = arena_bytes(&arena, 65536);
    memset(bytes, 'x', 65536);
    entity_begin(&b, &arena);
    struct edm_value value = {EDM_BINARY, {bytes, 65536}};
    /* 4 + 2 × 2 for the keys; each property of name "pNN" 8 + 6 + 4 + 65536. */
    for (int i = 10; i < 25; i++)
        CHECK_OK(entity_add(&b, arena_printf(&arena, "p%d", i), value));
    size_t room = ENTITY_SIZE_MAX - 8 - 15 * (8 + 6 + 4 + 65536);
    value.bytes.n = room - (8 + 2 + 4);
    CHECK_OK(entity_add(&b, STR("z"), value));
    CHECK_OK(entity_check_size(buf_str(&b.record), STR("p"), STR("r")));
    CHECK_ERR(entity_check_size(buf_str(&b.record), STR("p"), STR("rr")), ERR_ENTITY_TOO_LARGE);
    arena_release(&arena);
}

void test_entity_merge(void)
{
    arena_init(&arena, 1 << 24);
    struct buf out;
    CHECK_OK(entity_merge(&arena, record_of("a=1 b=2 c=3"), record_of("d=9 b=x"), &out));
    CHECK_STR(pairs_of(buf_str(&out)), STR("a=1 b=x c=3 d=9"));
    CHECK_OK(entity_merge(&arena, record_of(""), record_of("d=9"), &out));
    CHECK_STR(pairs_of(buf_str(&out)), STR("d=9"));
    CHECK_OK(entity_merge(&arena, record_of("a=1"), record_of(""), &out));
    CHECK_STR(pairs_of(buf_str(&out)), STR("a=1"));
    struct entity_builder b;
    entity_begin(&b, &arena);
    for (int i = 0; i < ENTITY_PROPERTIES_MAX; i++)
        CHECK_OK(entity_add(&b, arena_printf(&arena, "p%d", i), text("x")));
    CHECK_ERR(entity_merge(&arena, buf_str(&b.record), record_of("more=1"), &out),
              ERR_TOO_MANY_PROPERTIES);
    CHECK_OK(entity_merge(&arena, buf_str(&b.record), record_of("p0=1"), &out));
    arena_release(&arena);
}

/* Reading stays in bounds for any bytes from the disk. */
void test_entity_broken_rows_are_told(void)
{
    arena_init(&arena, 1 << 24);
    struct str good = record_of("name=value other=thing");
    struct entity_walk w;
    struct property p;
    for (size_t n = 0; n < good.n; n++) {
        if (n < ENTITY_HEAD_BYTES) {
            CHECK_ERR(entity_open(str_head(good, n), &w), ERR_CORRUPT);
            continue;
        }
        CHECK_OK(entity_open(str_head(good, n), &w));
        while (entity_next(&w, &p)) {
        }
    }
    for (size_t i = 0; i < good.n; i++) {
        for (unsigned byte = 0; byte < 256; byte += 5) {
            char *copy = arena_bytes(&arena, good.n);
            memcpy(copy, good.p, good.n);
            copy[i] = (char)byte;
            if (err_is(entity_open((struct str){copy, good.n}, &w)))
                continue;
            while (entity_next(&w, &p))
                CHECK(edm_valid(p.value));
        }
    }
    arena_release(&arena);
}
