/* SPDX-License-Identifier: Apache-2.0 */
#include "account_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "core/log.h"
#include "reachable.h"

/* Says which account is wrong and why, and never what a key is. */
static int complain_account(const char *where, const struct accounts_fault *fault, struct err error)
{
    char place[512];
    struct str name = str_given(fault->name) ? fault->name : STR("no good name");
    const char *reason = error.detail != NULL ? strchr(error.detail, '\t') : NULL;
    (void)snprintf(place, sizeof place, "%s: account %u (%.*s)", where, fault->part, STR_ARG(name));
    (void)complain(place, reason != NULL ? reason + 1 : err_message(error.code));
    return complain(where, "the form is NAME:KEY1[:KEY2], several of them with ';' between");
}

static int read_line(const char *path, unsigned number, struct str text, struct accounts *accounts)
{
    char where[400];
    struct accounts_fault fault;
    while (text.n > 0 && (text.p[text.n - 1] == '\n' || text.p[text.n - 1] == '\r'))
        text.n--;
    if (text.n == 0 || text.p[0] == '#')
        return 0;
    struct err error = accounts_parse(accounts, text, &fault);
    (void)snprintf(where, sizeof where, "%.300s: line %u", path, number);
    return err_is(error) ? complain_account(where, &fault, error) : 0;
}

static int read_file(const char *path, struct accounts *accounts)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return complain(path, strerrordesc_np(errno));
    char line[1024];
    int status = 0;
    for (unsigned number = 1; status == 0 && fgets(line, sizeof line, file) != NULL; number++)
        status = read_line(path, number, str_of(line), accounts);
    explicit_bzero(line, sizeof line);
    (void)fclose(file);
    return status;
}

/* True when the command line or the environment gave accounts; *status as above. */
static bool read_given(const struct config *config, struct accounts *accounts, int *status)
{
    const char *variable = getenv("AZURITE_ACCOUNTS");
    bool given = variable != NULL && variable[0] != '\0';
    struct accounts_fault fault;
    struct err error = given ? accounts_parse(accounts, str_of(variable), &fault) : OK;
    *status = 0;
    if (err_is(error))
        *status = complain_account("AZURITE_ACCOUNTS", &fault, error);
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
        return complain(host,
                        "the well-known key is served on loopback only (give other accounts, "
                        "or --insecure-well-known-key, which is LAZULI_INSECURE_WELL_KNOWN_KEY=1)");
    if (accounts_count(registry->accounts) == 0)
        log_line(LOG_WARN, "there is no account: add one with `lazuli account add NAME`");
    return 0;
}
