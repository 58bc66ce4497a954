/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/name.h"

#include "core/test.h"
#include "service/common/metadata.h"

void test_name_of_containers(void)
{
    static const char *const GOOD[] = {"abc", "a-b", "0a9", "$root", "$web", "$logs"};
    static const char *const BAD[] = {"Abc", "-ab", "ab-", "a--b", "a_b", "a.b", "$toor", "a b"};
    for (size_t i = 0; i < sizeof GOOD / sizeof GOOD[0]; i++)
        CHECK_OK(name_check_container(str_of(GOOD[i])));
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++)
        CHECK_ERR(name_check_container(str_of(BAD[i])), ERR_INVALID_RESOURCE_NAME);
    char longest[NAME_BYTES_MAX + 1];
    memset(longest, 'a', sizeof longest);
    CHECK_OK(name_check((struct str){longest, NAME_BYTES_MAX}));
    CHECK_ERR(name_check((struct str){longest, NAME_BYTES_MAX + 1}), ERR_RESOURCE_NAME_LENGTH);
    CHECK_ERR(name_check(STR("ab")), ERR_RESOURCE_NAME_LENGTH);
    CHECK_ERR(name_check(STR("$root")), ERR_INVALID_RESOURCE_NAME);
}

void test_name_of_blobs(void)
{
    static char longest[BLOB_NAME_UNITS_MAX + 1], slashes[BLOB_NAME_SEGMENTS_MAX];
    memset(longest, 'x', sizeof longest);
    memset(slashes, '/', sizeof slashes);
    CHECK_OK(name_check_blob(STR("a/b c\xC3\xA4\xF0\x9F\x98\x80")));
    CHECK_OK(name_check_blob((struct str){longest, BLOB_NAME_UNITS_MAX}));
    CHECK_ERR(name_check_blob((struct str){longest, BLOB_NAME_UNITS_MAX + 1}), ERR_INVALID_URI);
    CHECK_ERR(name_check_blob(STR("")), ERR_INVALID_URI);
    CHECK_OK(name_check_blob((struct str){slashes, BLOB_NAME_SEGMENTS_MAX - 1}));
    CHECK_ERR(name_check_blob((struct str){slashes, BLOB_NAME_SEGMENTS_MAX}), ERR_INVALID_URI);
    CHECK_ERR(name_check_blob(STR("a\x01")), ERR_INVALID_RESOURCE_NAME);
    CHECK_ERR(name_check_blob((struct str){"a\0b", 3}), ERR_INVALID_RESOURCE_NAME);
    CHECK_ERR(name_check_blob(STR("a\xC2\x81")), ERR_INVALID_RESOURCE_NAME);
    CHECK_ERR(name_check_blob(STR("a\xFF")), ERR_INVALID_RESOURCE_NAME);
}

void test_name_keys_sort_as_utf16(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    /* U+D7FF, U+10000, U+1F600, U+10FFFF, U+E000, U+FFFD: the order of their UTF-16 units. */
    static const char *const ORDERED[] = {"\xED\x9F\xBF",     "\xF0\x90\x80\x80",
                                          "\xF0\x9F\x98\x80", "\xF4\x8F\xBF\xBF",
                                          "\xEE\x80\x80",     "\xEF\xBF\xBD"};
    for (size_t i = 0; i + 1 < sizeof ORDERED / sizeof ORDERED[0]; i++)
        CHECK(str_cmp(name_to_key(&a, str_of(ORDERED[i])),
                      name_to_key(&a, str_of(ORDERED[i + 1]))) < 0);
    arena_release(&a);
}

void test_name_keys_give_back_the_name(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    static const char *const NAMES[] = {"plain", "a\xF0\x9F\x98\x80z\xF4\x8F\xBF\xBF",
                                        "\xF0\x90\x80\x80", "\xED\x9F\xBF\xEE\x80\x80"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        CHECK_STR(name_from_key(&a, name_to_key(&a, str_of(NAMES[i]))), str_of(NAMES[i]));
    CHECK(name_to_key(&a, STR("plain")).n == 5);
    arena_release(&a);
}

static struct err metadata_of(struct pair *items, size_t count)
{
    struct pairs pairs = {items, count};
    return metadata_check(&pairs);
}

void test_metadata_names(void)
{
    struct pair good[] = {{STR("a_1"), STR("v")}, {STR("_B"), STR("")}};
    struct pair twice[] = {{STR("name"), STR("v")}, {STR("NAME"), STR("w")}};
    struct pair empty[] = {{STR(""), STR("v")}};
    CHECK_OK(metadata_of(good, 2));
    CHECK_OK(metadata_of(good, 0));
    CHECK_ERR(metadata_of(twice, 2), ERR_INVALID_METADATA);
    CHECK_ERR(metadata_of(empty, 1), ERR_EMPTY_METADATA_KEY);
    static const char *const BAD[] = {"1a", "a-b", "a b", "\xC3\xA4", "a.b"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        struct pair bad[] = {{str_of(BAD[i]), STR("v")}};
        CHECK_ERR(metadata_of(bad, 1), ERR_INVALID_METADATA);
    }
    struct pair value[] = {{STR("a"), STR("\xC3\xA4")}};
    CHECK_ERR(metadata_of(value, 1), ERR_INVALID_METADATA);
}

void test_metadata_size(void)
{
    static char text[METADATA_BYTES_MAX];
    memset(text, 'v', sizeof text);
    struct pair fits[] = {{STR("a"), {text, METADATA_BYTES_MAX - 1}}};
    struct pair over[] = {{STR("ab"), {text, METADATA_BYTES_MAX - 1}}};
    CHECK_OK(metadata_of(fits, 1));
    CHECK_ERR(metadata_of(over, 1), ERR_METADATA_TOO_LARGE);
}

void test_pairs_hold_what_was_put(void)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct pair items[] = {{STR("k"), STR("v")}, {STR("K"), STR("")}};
    struct pairs pairs = {items, 2};
    struct str row = pairs_encode(&a, &pairs);
    CHECK_STR(pairs_find(row, STR("k")), STR("v"));
    CHECK_STR(pairs_find(row, STR("K")), STR(""));
    CHECK(!str_given(pairs_find(row, STR("x"))) && !str_given(pairs_find(STR_NONE, STR("x"))));
    CHECK_INT(pairs_count(row), 2);
    CHECK_INT(pairs_count(STR_NONE), 0);
    arena_release(&a);
}
