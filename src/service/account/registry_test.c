/* SPDX-License-Identifier: Apache-2.0 */
#include "service/account/registry.h"

#include "core/test.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"

#define KEY_A "a2V5IG9mIHRoZSBmaXJzdCBhY2NvdW50"
#define KEY_B "b3RoZXIga2V5"

struct fixture {
    struct clock clock;
    struct store store;
    struct registry registry;
};

static void begin(struct fixture *f)
{
    clock_init_manual(&f->clock, TICKS_PER_DAY);
    f->store = (struct store){.engine = engine_mem_new(&f->clock), .clock = &f->clock};
    f->registry = (struct registry){.store = &f->store, .accounts = accounts_new()};
}

static void end(struct fixture *f)
{
    accounts_free(f->registry.accounts);
    engine_close(f->store.engine);
}

/* What a server sees after a restart. */
static bool restart(struct fixture *f)
{
    bool deleted;
    accounts_free(f->registry.accounts);
    f->registry.accounts = accounts_new();
    CHECK_OK(registry_load(&f->registry, &deleted));
    return deleted;
}

static void check_key(struct fixture *f, const char *name, unsigned i, const char *key)
{
    struct account *account = accounts_get(f->registry.accounts, str_of(name));
    CHECK(account != NULL);
    CHECK_STR(account->keys_base64[i], str_of(key));
    account_put(account);
}

static struct err add_account(struct registry *registry, struct str name, struct str key1,
                              struct str key2)
{
    struct registry_new account = {.name = name, .key1 = key1, .key2 = key2};
    return registry_add(registry, &account);
}

void test_registry_add_is_there_after_restart(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(add_account(&f.registry, STR("first"), STR(KEY_A), STR(KEY_B)));
    CHECK_OK(add_account(&f.registry, STR("second"), STR(KEY_B), STR_NONE));
    CHECK_ERR(add_account(&f.registry, STR("first"), STR(KEY_A), STR_NONE),
              ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_ERR(add_account(&f.registry, STR("Bad"), STR(KEY_A), STR_NONE), ERR_INVALID_INPUT);
    CHECK_ERR(add_account(&f.registry, STR("bad"), STR("?"), STR_NONE), ERR_INVALID_INPUT);
    CHECK(!restart(&f));
    CHECK_INT(accounts_count(f.registry.accounts), 2);
    check_key(&f, "first", 0, KEY_A);
    check_key(&f, "first", 1, KEY_B);
    check_key(&f, "second", 0, KEY_B);
    end(&f);
}

static struct err put_recorded(struct txn *t, void *arg)
{
    (void)arg;
    return txn_put(t, STR("first"),
                   STR("\x03\x08"
                       "a2V5MQ==\x05\x08"
                       "a2V5Mg==\x08\x01"));
}

/* A row as written by the version before the field tables. */
void test_registry_reads_a_recorded_row(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(engine_update_wait(f.store.engine, STR("accounts"), put_recorded, NULL));
    CHECK(!restart(&f));
    check_key(&f, "first", 0, "a2V5MQ==");
    check_key(&f, "first", 1, "a2V5Mg==");
    struct account *account = accounts_get(f.registry.accounts, STR("first"));
    CHECK(account->hierarchical);
    account_put(account);
    end(&f);
}

void test_registry_makes_keys(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(add_account(&f.registry, STR("first"), STR_NONE, STR_NONE));
    struct account *account = accounts_get(f.registry.accounts, STR("first"));
    CHECK_INT(account->key_count, 2);
    CHECK_INT(account->keys_base64[0].n, 88);
    CHECK(!str_eq(account->keys_base64[0], account->keys_base64[1]));
    account_put(account);
    end(&f);
}

void test_registry_rotate_key_changes_one(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(add_account(&f.registry, STR("first"), STR(KEY_A), STR_NONE));
    CHECK_ERR(registry_rotate_key(&f.registry, STR("first"), 3), ERR_INVALID_INPUT);
    CHECK_ERR(registry_rotate_key(&f.registry, STR("nobody"), 1), ERR_RESOURCE_NOT_FOUND);
    CHECK_OK(registry_rotate_key(&f.registry, STR("first"), 2));
    check_key(&f, "first", 0, KEY_A);
    CHECK(!restart(&f));
    check_key(&f, "first", 0, KEY_A);
    struct account *before = accounts_get(f.registry.accounts, STR("first"));
    CHECK_INT(before->key_count, 2);
    CHECK_OK(registry_rotate_key(&f.registry, STR("first"), 1));
    struct account *after = accounts_get(f.registry.accounts, STR("first"));
    CHECK(!str_eq(before->keys_base64[0], after->keys_base64[0]));
    CHECK_STR(before->keys_base64[1], after->keys_base64[1]);
    account_put(before);
    account_put(after);
    end(&f);
}

void test_registry_delete(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(add_account(&f.registry, STR("first"), STR(KEY_A), STR_NONE));
    CHECK_OK(registry_delete(&f.registry, STR("first")));
    CHECK_ERR(registry_delete(&f.registry, STR("first")), ERR_RESOURCE_NOT_FOUND);
    CHECK(!restart(&f));
    CHECK_INT(accounts_count(f.registry.accounts), 0);
    CHECK_OK(add_account(&f.registry, STR("first"), STR(KEY_B), STR_NONE));
    end(&f);
}

/* The well-known account has no row until an operator changes it. */
void test_registry_well_known_account(void)
{
    struct fixture f;
    begin(&f);
    struct str name = STR(ACCOUNT_WELL_KNOWN_NAME);
    CHECK_OK(accounts_put(f.registry.accounts, name, STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(registry_delete(&f.registry, name));
    CHECK(accounts_get(f.registry.accounts, name) == NULL);
    CHECK(restart(&f));
    CHECK_INT(accounts_count(f.registry.accounts), 0);
    CHECK_OK(add_account(&f.registry, name, STR(KEY_A), STR_NONE));
    CHECK(!restart(&f));
    check_key(&f, ACCOUNT_WELL_KNOWN_NAME, 0, KEY_A);
    end(&f);

    begin(&f);
    CHECK_OK(accounts_put(f.registry.accounts, name, STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(registry_rotate_key(&f.registry, name, 1));
    CHECK(!restart(&f));
    struct account *account = accounts_get(f.registry.accounts, name);
    CHECK(!str_eq(account->keys_base64[0], STR(ACCOUNT_WELL_KNOWN_KEY)));
    account_put(account);
    f.registry.refuse_well_known_key = true;
    CHECK_ERR(add_account(&f.registry, STR("other"), STR(KEY_A), STR(ACCOUNT_WELL_KNOWN_KEY)),
              ERR_INVALID_INPUT);
    end(&f);
}

/* Accounts from the command line are changed on the command line. */
void test_registry_leaves_others_accounts_alone(void)
{
    struct fixture f;
    begin(&f);
    CHECK_OK(accounts_put(f.registry.accounts, STR("given"), STR(KEY_A), STR_NONE));
    CHECK_ERR(registry_rotate_key(&f.registry, STR("given"), 1), ERR_INVALID_INPUT);
    CHECK_ERR(registry_delete(&f.registry, STR("given")), ERR_INVALID_INPUT);
    CHECK_ERR(add_account(&f.registry, STR("given"), STR(KEY_A), STR_NONE),
              ERR_RESOURCE_ALREADY_EXISTS);
    check_key(&f, "given", 0, KEY_A);
    end(&f);
}

/* Two servers of one store: a change by one takes effect in the other at its next refresh, and no
 * sooner. */
void test_registry_follows_another_server(void)
{
    struct fixture f;
    struct registry_follower follower;
    struct sweep_report report = {0};
    begin(&f);
    struct registry other = {.store = &f.store, .accounts = accounts_new()};
    CHECK_OK(accounts_put(f.registry.accounts, STR("mine"), STR(KEY_B), STR_NONE));
    CHECK_OK(
        registry_add(&other, &(struct registry_new){STR("early"), STR(KEY_A), STR_NONE, false}));
    CHECK_OK(registry_follower_init(&follower, &f.registry));
    CHECK(!restart(&f));
    follower.registry = &f.registry;
    CHECK_OK(accounts_put(f.registry.accounts, STR("mine"), STR(KEY_B), STR_NONE));
    uint64_t changes = accounts_changes(f.registry.accounts);
    CHECK_OK(registry_follow(&f.store, &follower, &report));
    CHECK_INT(accounts_changes(f.registry.accounts), changes);
    CHECK_OK(
        registry_add(&other, &(struct registry_new){STR("late"), STR(KEY_A), STR(KEY_B), true}));
    CHECK_OK(registry_follow(&f.store, &follower, &report));
    check_key(&f, "late", 0, KEY_A);
    check_key(&f, "late", 1, KEY_B);
    CHECK(accounts_is_hierarchical(f.registry.accounts, STR("late")));
    CHECK_OK(registry_rotate_key(&other, STR("late"), 1));
    CHECK_OK(registry_delete(&other, STR("early")));
    CHECK_OK(registry_follow(&f.store, &follower, &report));
    struct account *theirs = accounts_get(other.accounts, STR("late"));
    struct account *ours = accounts_get(f.registry.accounts, STR("late"));
    CHECK_STR(ours->keys_base64[0], theirs->keys_base64[0]);
    account_put(theirs);
    account_put(ours);
    CHECK(accounts_get(f.registry.accounts, STR("early")) == NULL);
    check_key(&f, "mine", 0, KEY_B); /* given by the command line: nobody changed it */
    /* What this server changes itself is not put again. */
    CHECK_OK(
        registry_add(&f.registry, &(struct registry_new){STR("own"), STR(KEY_A), STR_NONE, false}));
    changes = accounts_changes(f.registry.accounts);
    CHECK_OK(registry_follow(&f.store, &follower, &report));
    CHECK_INT(accounts_changes(f.registry.accounts), changes);
    registry_follower_release(&follower);
    accounts_free(other.accounts);
    end(&f);
}

void test_registry_follows_the_end_of_the_well_known_account(void)
{
    struct fixture f;
    struct registry_follower follower;
    struct sweep_report report = {0};
    begin(&f);
    struct registry other = {.store = &f.store, .accounts = accounts_new()};
    for (int i = 0; i < 2; i++)
        CHECK_OK(accounts_put(i == 0 ? f.registry.accounts : other.accounts,
                              STR(ACCOUNT_WELL_KNOWN_NAME), STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE));
    CHECK_OK(registry_follower_init(&follower, &f.registry));
    CHECK_OK(registry_delete(&other, STR(ACCOUNT_WELL_KNOWN_NAME)));
    CHECK_OK(registry_follow(&f.store, &follower, &report));
    CHECK(accounts_get(f.registry.accounts, STR(ACCOUNT_WELL_KNOWN_NAME)) == NULL);
    registry_follower_release(&follower);
    accounts_free(other.accounts);
    end(&f);
}
