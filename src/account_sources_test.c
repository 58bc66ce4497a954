/* SPDX-License-Identifier: Apache-2.0 */
/* --accounts reloaded while the server runs. */
#include "account_sources.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/test.h"
#include "engine/mem/mem.h"

#define KEY_A "a2V5IGE="
#define KEY_B "a2V5IGI="

static struct clock clock_now_here;
static struct store store;
static struct registry registry;
static struct config config;
static char path[256];

static void write_accounts(const char *text)
{
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void begin(const char *text)
{
    clock_init_system(&clock_now_here);
    store = (struct store){.engine = engine_mem_new(&clock_now_here), .clock = &clock_now_here};
    registry = (struct registry){.store = &store, .accounts = accounts_new()};
    (void)snprintf(path, sizeof path, "%s/accounts", test_folder());
    (void)unsetenv("AZURITE_ACCOUNTS");
    write_accounts(text);
    config = (struct config){.data = "-",
                             .accounts_file = path,
                             .host = {"::1", "::1", "::1", "::1"},
                             .smb_host = "::1",
                             .dfs_host = "::1",
                             .admin_host = "::1"};
}

static void end(void)
{
    accounts_free(registry.from_file);
    accounts_free(registry.accounts);
    engine_close(store.engine);
}

static bool serves(const char *name, const char *key)
{
    struct account *account = accounts_get(registry.accounts, str_of(name));
    bool served = account != NULL && str_eq(account->keys_base64[0], str_of(key));
    account_put(account);
    return served;
}

static void reload(const char *text)
{
    write_accounts(text);
    account_sources_reload(&config, &config, &registry);
}

void test_accounts_file_read_again(void)
{
    begin("one:" KEY_A "\ntwo:" KEY_A "\nthree:" KEY_A "\n");
    struct registry_new two = {.name = STR("two"), .key1 = STR(KEY_B)};
    CHECK_OK(registry_add(&registry, &two));
    CHECK_INT(account_sources_load(&config, &registry), 0);
    CHECK(serves("one", KEY_A) && serves("two", KEY_A) && serves("three", KEY_A));
    uint64_t changes = accounts_changes(registry.accounts);
    reload("one:" KEY_A "\ntwo:" KEY_A "\nthree:" KEY_A "\n");
    CHECK(accounts_changes(registry.accounts) == changes); /* nobody has to log in again */
    reload("one:" KEY_B "\nfour:" KEY_A "\n");
    CHECK(serves("one", KEY_B) && serves("four", KEY_A));
    CHECK(serves("two", KEY_B)); /* the store's, which the file had hidden */
    CHECK(!serves("three", KEY_A));
    end();
}

void test_accounts_file_that_is_wrong_changes_nothing(void)
{
    begin("one:" KEY_A "\n");
    CHECK_INT(account_sources_load(&config, &registry), 0);
    reload("two:" KEY_A "\none:!\n");
    CHECK(serves("one", KEY_A) && !serves("two", KEY_A));
    /* Where others can connect, the public key is no more taken than at the start. */
    registry.refuse_well_known_key = true;
    reload("two:" ACCOUNT_WELL_KNOWN_KEY "\n");
    CHECK(serves("one", KEY_A) && !serves("two", ACCOUNT_WELL_KNOWN_KEY));
    reload("");
    CHECK(!serves("one", KEY_A));
    end();
}
