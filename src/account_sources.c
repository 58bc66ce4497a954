/* SPDX-License-Identifier: Apache-2.0 */
#include "account_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "core/log.h"
#include "reachable.h"

static int read_file(const char *path, struct accounts *accounts)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return complain(path, strerrordesc_np(errno));
    char line[1024];
    int status = 0;
    while (status == 0 && fgets(line, sizeof line, file) != NULL) {
        struct str text = str_of(line);
        while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
            text.n--;
        if (text.n > 0 && text.p[0] != '#' && err_is(accounts_parse(accounts, text)))
            status = complain(path, "a line is not NAME:KEY1[:KEY2]");
    }
    explicit_bzero(line, sizeof line);
    (void)fclose(file);
    return status;
}

/* True when the command line or the environment gave accounts; *status as above. */
static bool read_given(const struct config *config, struct accounts *accounts, int *status)
{
    const char *variable = getenv("AZURITE_ACCOUNTS");
    bool given = variable != NULL && variable[0] != '\0';
    *status = 0;
    if (given && err_is(accounts_parse(accounts, str_of(variable))))
        *status = complain("AZURITE_ACCOUNTS", "not NAME:KEY1[:KEY2];…");
    else if (config->accounts_file != NULL)
        *status = read_file(config->accounts_file, accounts);
    return given || config->accounts_file != NULL;
}

/* Whether any account has the key that everybody knows. */
static bool serves_well_known_key(struct accounts *accounts)
{
    bool found = false;
    struct arena arena;
    arena_init(&arena, ACCOUNT_NAME_MAX * ACCOUNTS_MAX);
    for (size_t i = 0; i < accounts_count(accounts) && !found; i++) {
        struct account *account = accounts_get(accounts, accounts_name(accounts, &arena, i));
        for (unsigned k = 0; account != NULL && k < account->key_count; k++)
            found |= str_eq(account->keys_base64[k], STR(ACCOUNT_WELL_KNOWN_KEY));
        account_put(account);
    }
    arena_release(&arena);
    return found;
}

static int add_well_known(struct accounts *accounts)
{
    struct str name = STR(ACCOUNT_WELL_KNOWN_NAME);
    struct account *stored = accounts_get(accounts, name);
    account_put(stored);
    if (stored != NULL)
        return 0;
    struct err error = accounts_put(accounts, name, STR(ACCOUNT_WELL_KNOWN_KEY), STR_NONE);
    return err_is(error) ? complain(ACCOUNT_WELL_KNOWN_NAME, "cannot be added") : 0;
}

int account_sources_load(const struct config *config, struct registry *registry)
{
    bool deleted = false;
    int status;
    if (err_is(registry_load(registry, &deleted)))
        return complain(config->data, "the accounts in the store cannot be read");
    bool given = read_given(config, registry->accounts, &status);
    if (status == 0 && !given && !deleted)
        status = add_well_known(registry->accounts);
    if (status != 0)
        return status;
    const char *host = reachable_host(config);
    registry->refuse_well_known_key = host != NULL && !config->insecure_well_known_key;
    if (registry->refuse_well_known_key && serves_well_known_key(registry->accounts))
        return complain(host, "the well-known key is served on loopback only (give other accounts, "
                              "or --insecure-well-known-key)");
    if (accounts_count(registry->accounts) == 0)
        log_line(LOG_WARN, "there is no account: add one with `lazuli account add NAME`");
    return 0;
}
