/* SPDX-License-Identifier: Apache-2.0 */
#include "service/account/account.h"

#include <pthread.h>
#include <stdio.h>

#include "core/test.h"

#define KEY_A "a2V5IG9mIHRoZSBmaXJzdCBhY2NvdW50"
#define KEY_B "b3RoZXIga2V5"

void test_accounts_put_get_remove(void)
{
    struct accounts *set = accounts_new();
    CHECK(accounts_get(set, STR("account1")) == NULL);
    CHECK_OK(accounts_put(set, STR("account2"), STR(KEY_A), STR(KEY_B)));
    CHECK_OK(accounts_put(set, STR("account1"), STR(KEY_B), STR_NONE));
    CHECK_INT(accounts_count(set), 2);

    struct arena arena;
    arena_init(&arena, 4096);
    CHECK_STR(accounts_name(set, &arena, 0), STR("account1"));
    CHECK_STR(accounts_name(set, &arena, 1), STR("account2"));
    CHECK(!str_given(accounts_name(set, &arena, 2)));
    arena_release(&arena);

    struct account *held = accounts_get(set, STR("account2"));
    CHECK_INT(held->key_count, 2);
    CHECK_STR(held->keys_base64[1], STR(KEY_B));
    /* Who holds an account keeps it as it was, whatever happens to the set. */
    CHECK_OK(accounts_put(set, STR("account2"), STR(KEY_B), STR_NONE));
    CHECK_OK(accounts_remove(set, STR("account2")));
    CHECK_STR(held->keys_base64[0], STR(KEY_A));
    account_put(held);

    CHECK(accounts_get(set, STR("account2")) == NULL);
    CHECK_ERR(accounts_remove(set, STR("account2")), ERR_RESOURCE_NOT_FOUND);
    accounts_free(set);
}

void test_accounts_refuse_bad_names_and_keys(void)
{
    struct accounts *set = accounts_new();
    static const char *const NAMES[] = {
        "", "ab", "abcdefghijklmnopqrstuvwxy", "Account", "acc-1", "acc.1", "acc/1"};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        CHECK_ERR(accounts_put(set, str_of(NAMES[i]), STR(KEY_A), STR_NONE), ERR_INVALID_INPUT);
    static const char *const KEYS[] = {"", "=", "====", "abc", "ab=c", "not base64 !"};
    for (size_t i = 0; i < sizeof KEYS / sizeof KEYS[0]; i++)
        CHECK_ERR(accounts_put(set, STR("account"), str_of(KEYS[i]), STR_NONE), ERR_INVALID_INPUT);
    CHECK_ERR(accounts_put(set, STR("account"), STR(KEY_A), STR("?")), ERR_INVALID_INPUT);
    CHECK_INT(accounts_count(set), 0);
    accounts_free(set);
}

/* Azurite parses keys as JavaScript does, and so do programs written for it. */
void test_accounts_take_keys_in_the_alphabet_of_urls(void)
{
    struct accounts *set = accounts_new();
    CHECK_OK(accounts_put(set, STR("account1"), STR("testing_key"), STR("testing/key=")));
    struct account *held = accounts_get(set, STR("account1"));
    CHECK(memcmp(&held->keys[0], &held->keys[1], sizeof held->keys[0]) == 0);
    account_put(held);
    CHECK_ERR(accounts_put(set, STR("account1"), STR("abcde"), STR_NONE), ERR_INVALID_INPUT);
    CHECK_ERR(accounts_put(set, STR("account1"), STR("abcd="), STR_NONE), ERR_INVALID_INPUT);
    accounts_free(set);
}

void test_accounts_parse(void)
{
    struct accounts_fault fault;
    struct accounts *set = accounts_new();
    CHECK_OK(accounts_parse(set, STR("account1:" KEY_A ";account2:" KEY_A ":" KEY_B ";"), &fault));
    CHECK_INT(accounts_count(set), 2);
    struct account *second = accounts_get(set, STR("account2"));
    CHECK_STR(second->keys_base64[1], STR(KEY_B));
    account_put(second);
    CHECK_OK(accounts_parse(set, STR(""), &fault));
    CHECK_ERR(accounts_parse(set, STR("account3"), &fault), ERR_INVALID_INPUT);
    CHECK_ERR(accounts_parse(set, STR("account3:"), &fault), ERR_INVALID_INPUT);
    CHECK_ERR(accounts_parse(set, STR("account3:" KEY_A ":" KEY_A ":" KEY_A), &fault),
              ERR_INVALID_INPUT);
    CHECK_OK(accounts_parse(set, STR(ACCOUNT_WELL_KNOWN_NAME ":" ACCOUNT_WELL_KNOWN_KEY), &fault));
    CHECK_INT(accounts_count(set), 3);
    CHECK_ERR(accounts_parse(set, STR("account4:" KEY_A ";foo:bar"), &fault), ERR_INVALID_INPUT);
    CHECK_INT(fault.part, 2);
    CHECK_STR(fault.name, STR("foo"));
    CHECK_ERR(accounts_parse(set, STR(KEY_A ":account5"), &fault), ERR_INVALID_INPUT);
    CHECK(fault.part == 1 && !str_given(fault.name));
    accounts_free(set);
}

void test_accounts_are_limited(void)
{
    struct accounts *set = accounts_new();
    char name[ACCOUNT_NAME_MAX];
    for (int i = 0; i < ACCOUNTS_MAX; i++) {
        int n = snprintf(name, sizeof name, "account%d", i);
        CHECK_OK(accounts_put(set, (struct str){name, (size_t)n}, STR(KEY_B), STR_NONE));
    }
    CHECK_ERR(accounts_put(set, STR("onetoomany"), STR(KEY_B), STR_NONE), ERR_INVALID_INPUT);
    CHECK_OK(accounts_put(set, STR("account7"), STR(KEY_A), STR_NONE));
    accounts_free(set);
}

static void *get_many_times(void *arg)
{
    struct accounts *set = arg;
    for (int i = 0; i < 20000; i++) {
        struct account *account = accounts_get(set, STR("account"));
        CHECK(account != NULL);
        CHECK_STR(account->name, STR("account"));
        account_put(account);
    }
    return NULL;
}

/* Under ASan and TSan this shows that a reader never sees a freed or half-made account. */
void test_accounts_change_while_read(void)
{
    struct accounts *set = accounts_new();
    CHECK_OK(accounts_put(set, STR("account"), STR(KEY_A), STR_NONE));
    pthread_t readers[2];
    for (int i = 0; i < 2; i++)
        CHECK(pthread_create(&readers[i], NULL, get_many_times, set) == 0);
    for (int i = 0; i < 2000; i++)
        CHECK_OK(accounts_put(set, STR("account"), STR(KEY_A), STR(KEY_B)));
    for (int i = 0; i < 2; i++)
        CHECK(pthread_join(readers[i], NULL) == 0);
    accounts_free(set);
}
