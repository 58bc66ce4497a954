/* SPDX-License-Identifier: Apache-2.0 */
#include "account_sources.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "core/log.h"
#include "reachable.h"

enum { LINE_BYTES_MAX = 8192 };

/* Logs which account is invalid and why, never a key. */
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
    char line[LINE_BYTES_MAX];
    int status = 0;
    for (unsigned number = 1; status == 0 && fgets(line, sizeof line, file) != NULL; number++) {
        /* The rest of the line would otherwise be read as further accounts. */
        if (strchr(line, '\n') == NULL && !feof(file))
            status = complain(path, "a line is longer than 8 KiB, or has a zero byte");
        else
            status = read_line(path, number, str_of(line), accounts);
    }
    explicit_bzero(line, sizeof line);
    (void)fclose(file);
    return status;
}

static int read_variable(struct accounts *accounts, bool *given)
{
    const char *variable = getenv("AZURITE_ACCOUNTS");
    struct accounts_fault fault;
    *given = variable != NULL && variable[0] != '\0';
    struct err error = *given ? accounts_parse(accounts, str_of(variable), &fault) : OK;
    return err_is(error) ? complain_account("AZURITE_ACCOUNTS", &fault, error) : 0;
}

/* True when the command line or the environment gave accounts; *status as above. */
static bool read_given(const struct config *config, struct accounts *accounts, int *status)
{
    bool given;
    *status = read_variable(accounts, &given);
    if (*status == 0 && config->accounts_file != NULL)
        *status = read_file(config->accounts_file, accounts);
    return given || config->accounts_file != NULL;
}

/* Returns true if any account has the well-known key. */
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

/* "on", or names with commas between. */
static int mark_hierarchical(const struct config *config, struct accounts *accounts)
{
    struct str list = config->hns == NULL ? STR_NONE : str_of(config->hns);
    struct arena arena;
    int status = 0;
    arena_init(&arena, ACCOUNT_NAME_MAX * ACCOUNTS_MAX);
    if (str_eq(list, STR("on"))) {
        for (size_t i = 0; i < accounts_count(accounts); i++)
            (void)err_is(accounts_make_hierarchical(accounts, accounts_name(accounts, &arena, i)));
        list = STR_NONE;
    }
    while (status == 0 && str_given(list)) {
        struct str name = str_trim(str_cut(&list, ','));
        if (name.n > 0 && err_is(accounts_make_hierarchical(accounts, name)))
            status = complain("--hns", "there is no account of that name");
    }
    arena_release(&arena);
    return status;
}

/* An account may be added later, so that is no error. */
static void warn_of_versioning(const struct config *config, struct accounts *accounts)
{
    struct str list =
        config->blob_versioning == NULL ? STR("off") : str_of(config->blob_versioning);
    if (str_eq(list, STR("on")) || str_eq(list, STR("off")))
        return;
    while (str_given(list)) {
        struct str name = str_trim(str_cut(&list, ','));
        struct account *account = accounts_get(accounts, name);
        if (account == NULL)
            log_line(LOG_WARN, "--blob-versioning: '%.*s' is neither on, off nor an account here",
                     STR_ARG(name));
        account_put(account);
    }
}

/* ---- again ---- */

/* The accounts of the file only; NULL, with a line in the log, if it is malformed. */
static struct accounts *read_apart(const struct config *config)
{
    struct accounts *accounts = accounts_new();
    if (config->accounts_file == NULL || read_file(config->accounts_file, accounts) == 0)
        return accounts;
    log_line(LOG_WARN, "%s: the accounts stay as they were", config->accounts_file);
    accounts_free(accounts);
    return NULL;
}

static bool same_keys(const struct account *a, const struct account *b)
{
    bool same = a->key_count == b->key_count;
    for (unsigned i = 0; same && i < a->key_count; i++)
        same = str_eq(a->keys_base64[i], b->keys_base64[i]);
    return same;
}

/* Does not touch an account that is unchanged: replacing it would force its clients to authenticate
 * again. */
static struct err serve_one(struct accounts *served, struct accounts *from, struct str name)
{
    struct account *fresh = accounts_get(from, name);
    struct account *old = accounts_get(served, name);
    bool same = old != NULL && same_keys(fresh, old);
    struct str second = fresh->key_count > 1 ? fresh->keys_base64[1] : STR_NONE;
    struct err error = same ? OK : accounts_put(served, fresh->name, fresh->keys_base64[0], second);
    account_put(old);
    account_put(fresh);
    return error;
}

static bool has(struct accounts *accounts, struct str name)
{
    struct account *account = accounts_get(accounts, name);
    account_put(account);
    return account != NULL;
}

/* Removes accounts that the file had when it was last read and no longer has. Returns true if there
 * were any. */
static bool retire(struct registry *registry, struct accounts *fresh, struct arena *arena)
{
    bool any = false;
    for (size_t i = accounts_count(registry->from_file); i > 0; i--) {
        struct str name = accounts_name(registry->from_file, arena, i - 1);
        if (has(fresh, name))
            continue;
        struct err error = accounts_remove(registry->accounts, name);
        any = any || !err_is(error);
    }
    return any;
}

static void serve_all(struct registry *registry, struct accounts *fresh, struct arena *arena)
{
    for (size_t i = 0; i < accounts_count(fresh); i++) {
        struct str name = accounts_name(fresh, arena, i);
        struct err error = serve_one(registry->accounts, fresh, name);
        if (err_is(error))
            log_line(LOG_WARN, "account %.*s cannot be added: %s", STR_ARG(name),
                     err_message(error.code));
    }
}

void account_sources_reload(const struct config *old, const struct config *fresh,
                            struct registry *registry)
{
    struct arena arena;
    bool deleted, given;
    if (old->accounts_file == NULL && fresh->accounts_file == NULL)
        return;
    struct accounts *accounts = read_apart(fresh);
    if (accounts == NULL)
        return;
    if (registry->refuse_well_known_key && serves_well_known_key(accounts)) {
        log_line(LOG_WARN,
                 "%s: the well-known key is served on loopback only; the accounts stay as "
                 "they were",
                 fresh->accounts_file);
        accounts_free(accounts);
        return;
    }
    arena_init(&arena, 2 * ACCOUNT_NAME_MAX * ACCOUNTS_MAX);
    /* Accounts of the store that an account of the file had replaced may become visible again. */
    if (retire(registry, accounts, &arena) && (err_is(registry_load(registry, &deleted)) ||
                                               read_variable(registry->accounts, &given) != 0))
        log_line(LOG_WARN, "the accounts of the store and of the environment cannot be read");
    serve_all(registry, accounts, &arena);
    (void)mark_hierarchical(fresh, registry->accounts);
    arena_release(&arena);
    accounts_free(registry->from_file);
    registry->from_file = accounts;
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
    if (status == 0)
        status = mark_hierarchical(config, registry->accounts);
    if (status == 0)
        warn_of_versioning(config, registry->accounts);
    if (status != 0)
        return status;
    registry->from_file = read_apart(config);
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
