/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tree.h"

#include <stdio.h>

#include "core/test.h"

enum { KEYS = 500, STEPS = 20000 };

static struct str number_key(char text[16], int number)
{
    return (struct str){text, (size_t)snprintf(text, 16, "k%04d", number)};
}

/* The tree is compared with a plain array. */
static void check_like(const struct tree *t, const int values[KEYS])
{
    int after = -1;
    for (int i = KEYS - 1; i >= 0; i--) {
        char text[16];
        struct str key = number_key(text, i);
        struct row *found = tree_find(t, key);
        CHECK((found != NULL) == (values[i] >= 0));
        if (found != NULL)
            CHECK_INT(*(const unsigned char *)row_value(found).p, values[i]);
        char next_text[16];
        struct row *next = tree_after(t, key);
        CHECK((next != NULL) == (after >= 0));
        if (next != NULL)
            CHECK_STR(row_key(next), number_key(next_text, after));
        if (values[i] >= 0)
            after = i;
        struct row *at = tree_at_or_after(t, key);
        CHECK((at != NULL) == (after >= 0));
        if (at != NULL)
            CHECK_STR(row_key(at), number_key(next_text, after));
    }
}

void test_tree_states_live_on(void)
{
    static int values[KEYS];
    static int old_values[KEYS];
    for (int i = 0; i < KEYS; i++)
        values[i] = -1;
    memcpy(old_values, values, sizeof values);
    struct tree t = {.random = 1};
    struct tree old = tree_get(&t);
    uint32_t random = 12345;
    for (int step = 0; step < STEPS; step++) {
        random = random * 1664525 + 1013904223;
        int number = (int)(random >> 8) % KEYS;
        char text[16];
        struct str key = number_key(text, number);
        if ((random >> 28) % 3 == 0) {
            tree_remove(&t, key);
            values[number] = -1;
        } else {
            unsigned char value = (unsigned char)(random >> 20);
            tree_insert(&t, row_new(key, (struct str){(char *)&value, 1}));
            values[number] = value;
        }
        if (step % 997 == 0) {
            check_like(&old, old_values);
            tree_put(&old);
            old = tree_get(&t);
            memcpy(old_values, values, sizeof values);
        }
    }
    check_like(&t, values);
    check_like(&old, old_values);
    tree_put(&t);
    check_like(&old, old_values);
    tree_put(&old);
}

void test_tree_filled_at_once_takes_more(void)
{
    static int values[KEYS];
    struct row *rows[KEYS];
    size_t count = 0;
    for (int i = 0; i < KEYS; i++) {
        char text[16];
        char value = (char)(i % 100);
        values[i] = i % 3 == 0 ? value : -1;
        if (values[i] >= 0)
            rows[count++] = row_new(number_key(text, i), (struct str){&value, 1});
    }
    struct tree t = {.random = 1};
    tree_fill(&t, rows, count);
    check_like(&t, values);
    for (int i = 0; i < KEYS; i += 2) {
        char text[16];
        char value = (char)(i % 90);
        values[i] = i % 4 == 0 ? value : -1;
        if (values[i] >= 0)
            tree_insert(&t, row_new(number_key(text, i), (struct str){&value, 1}));
        else
            tree_remove(&t, number_key(text, i));
    }
    check_like(&t, values);
    tree_put(&t);
    tree_fill(&t, rows, 0);
    CHECK(t.root == NULL);
}

void test_tree_before(void)
{
    struct tree t = {.random = 7};
    CHECK(tree_before(&t, STR("z")) == NULL);
    tree_insert(&t, row_new(STR("b"), STR("")));
    tree_insert(&t, row_new(STR("d"), STR("")));
    CHECK(tree_before(&t, STR("b")) == NULL);
    CHECK_STR(row_key(tree_before(&t, STR("c"))), STR("b"));
    CHECK_STR(row_key(tree_before(&t, STR("d"))), STR("b"));
    CHECK_STR(row_key(tree_before(&t, STR("e"))), STR("d"));
    tree_put(&t);
}

static bool count_some(void *arg, struct row *row)
{
    int *left = arg;
    (void)row;
    return --*left > 0;
}

/* Visits the rows after a key, whether the key is there or not, until it is told to stop. */
void test_tree_each_after(void)
{
    struct tree t = {.random = 1};
    char text[16];
    for (int i = 0; i < KEYS; i += 2)
        tree_insert(&t, row_new(number_key(text, i), STR("x")));
    for (int after = 0; after < KEYS; after++) {
        int left = KEYS;
        tree_each_after(&t, number_key(text, after), count_some, &left);
        CHECK_INT(KEYS - left, (KEYS - 1) / 2 - after / 2);
    }
    int left = 5;
    tree_each_after(&t, STR_NONE, count_some, &left);
    CHECK_INT(left, 0);
    tree_put(&t);
}
