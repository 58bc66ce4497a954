/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/rowkey.h"

#include "core/test.h"

static struct str physical(struct arena *a, struct str partition, struct str key)
{
    struct buf b = buf_in(a);
    rowkey_put_partition(&b, partition);
    buf_put(&b, key);
    return buf_str(&b);
}

void test_rowkey_order_and_split(void)
{
    const struct str sorted[] = {STR(""),    STR("\0"),   STR("\0\0"),  STR("\0a"),   STR("a"),
                                 STR("a\0"), STR("a\0b"), STR("a\x01"), STR("a\xFF"), STR("b\0\0")};
    enum { COUNT = sizeof sorted / sizeof sorted[0] };
    struct arena a;
    arena_init(&a, 1 << 20);
    for (size_t i = 0; i < COUNT; i++) {
        struct str k = physical(&a, sorted[i], STR("\xFF\xFF"));
        struct buf partition = buf_in(&a);
        struct str key;
        CHECK(rowkey_split(k, &partition, &key));
        CHECK_STR(buf_str(&partition), sorted[i]);
        CHECK_STR(key, STR("\xFF\xFF"));
        struct buf past = buf_in(&a);
        rowkey_put_past(&past, sorted[i]);
        CHECK(str_cmp(k, buf_str(&past)) < 0);
        for (size_t j = i + 1; j < COUNT; j++) {
            CHECK(str_cmp(k, physical(&a, sorted[j], STR(""))) < 0);
            CHECK(str_cmp(buf_str(&past), physical(&a, sorted[j], STR(""))) <= 0);
        }
        struct rowkey fast;
        rowkey_init(&fast, &a, sorted[i]);
        CHECK_STR(rowkey_of(&fast, STR("\xFF\xFF")), k);
        CHECK_STR(rowkey_past(&fast, STR("\xFF")), buf_str(&past));
        CHECK_STR(rowkey_of(&fast, STR("\xFF\xFF")), k);
    }
    arena_release(&a);
}

void test_rowkey_rejects_broken(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    const struct str broken[] = {STR(""),     STR("r"),         STR("rabc"),
                                 STR("ra\0"), STR("ra\0\x03z"), STR("x\0\x01")};
    for (size_t i = 0; i < sizeof broken / sizeof broken[0]; i++) {
        struct buf partition = buf_in(&a);
        struct str key;
        CHECK(!rowkey_split(broken[i], &partition, &key));
    }
    arena_release(&a);
}
