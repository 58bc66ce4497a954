/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether an identity may perform an operation on a resource: compares letters, scopes,
 * roles and public access with the row's demand. */
#include <assert.h>

#include "auth/auth_internal.h"

static bool has(struct str letters, char letter)
{
    return str_find(letters, letter, 0) < letters.n;
}

bool permit_letters(const char *demanded, struct str letters)
{
    if (demanded == NULL)
        return false;
    while (*demanded != '\0') {
        bool all = has(letters, *demanded++);
        while (*demanded == '+') {
            all = has(letters, demanded[1]) && all;
            demanded += 2;
        }
        if (all)
            return true;
    }
    return false;
}

bool auth_permits(const struct auth_result *who, const char *letters)
{
    switch (who->kind) {
    case AUTH_SHARED_KEY:
    case AUTH_BEARER:
        return true;
    case AUTH_ACCOUNT_SAS:
    case AUTH_SERVICE_SAS:
    case AUTH_DELEGATION_SAS:
        return permit_letters(letters, who->permissions);
    case AUTH_ANONYMOUS:
        break;
    }
    return false;
}

/* ---- SAS ---- */

static struct err permit_account_sas(const struct auth_result *who,
                                     const struct auth_resource *what,
                                     const struct auth_demand *demand)
{
    static const char SERVICES[] = "bqtf";
    const struct auth_reach *reach = who->reach;
    if (!has(reach->services, SERVICES[what->service]))
        return err_new(ERR_AUTHORIZATION_SERVICE_MISMATCH);
    if (demand->account_sas == NULL)
        return err_new(ERR_AUTHORIZATION_FAILURE);
    if (demand->account_sas_type != '*' && !has(reach->types, demand->account_sas_type))
        return err_new(ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    return permit_letters(demand->account_sas, who->permissions)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

static struct str query_of(const struct auth_resource *what, struct str name)
{
    for (size_t i = 0; i < what->query_count; i++)
        if (str_ieq(what->query[i].name, name))
            return what->query[i].value;
    return STR_NONE;
}

static bool is_at(const struct auth_reach *reach, const struct auth_resource *what, struct str name)
{
    struct str moment = query_of(what, name);
    return str_eq(reach->path, what->object) && moment.n > 0 && str_eq(reach->moment, moment);
}

/* "a" contains "a" and "a/b", not "ab". No segment is resolved: ".." is a name like any other. */
static bool is_within(struct str directory, struct str path)
{
    return directory.n == 0 ||
           (str_starts(path, directory) && (path.n == directory.n || path.p[directory.n] == '/'));
}

/* Names are compared byte by byte, like the signature: another spelling of the same file was not
 * signed. */
static bool scope_holds(const struct auth_reach *reach, const struct auth_resource *what)
{
    switch (reach->scope) {
    case SAS_SCOPE_OBJECT:
        return str_given(what->object) && str_eq(reach->path, what->object);
    case SAS_SCOPE_SNAPSHOT:
        return is_at(reach, what, STR("snapshot"));
    case SAS_SCOPE_VERSION:
        return is_at(reach, what, STR("versionid"));
    case SAS_SCOPE_DIRECTORY:
        return is_within(reach->path, str_given(what->object) ? what->object : what->listed);
    case SAS_SCOPE_CONTAINER:
        return true;
    case SAS_SCOPE_NONE:
        break;
    }
    return false;
}

/* A batch of entities names no table itself; each of its parts does, and is checked separately. */
static bool sas_reaches(const struct auth_reach *reach, const struct auth_resource *what)
{
    bool table = what->service == SERVICE_TABLE;
    bool container = table
                         ? !str_given(what->container) || str_ieq(reach->container, what->container)
                         : str_eq(reach->container, what->container);
    return reach->service == what->service && container && scope_holds(reach, what);
}

bool auth_reaches_below(const struct auth_result *who)
{
    bool sas = who->kind == AUTH_SERVICE_SAS || who->kind == AUTH_DELEGATION_SAS;
    return !sas || who->reach->scope == SAS_SCOPE_DIRECTORY ||
           who->reach->scope == SAS_SCOPE_CONTAINER;
}

static struct err permit_service_sas(const struct auth_result *who,
                                     const struct auth_resource *what,
                                     const struct auth_demand *demand)
{
    const struct auth_reach *reach = who->reach;
    if (!sas_reaches(reach, what) || demand->service_sas == NULL)
        return err_new(ERR_AUTHORIZATION_FAILURE);
    if (demand->tree && !auth_reaches_below(who))
        return err_new(ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    return permit_letters(demand->service_sas, who->permissions)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

/* ---- nobody ---- */

static bool is_public(enum auth_anonymous demanded, enum auth_public level)
{
    switch (demanded) {
    case AUTH_ANONYMOUS_NEVER:
        return false;
    case AUTH_ANONYMOUS_BLOB:
        return level != AUTH_PUBLIC_NONE;
    case AUTH_ANONYMOUS_CONTAINER:
        return level == AUTH_PUBLIC_CONTAINER;
    case AUTH_ANONYMOUS_ALWAYS:
        return true;
    }
    return false;
}

/* The public containers of a deleted account are not accessible either. */
static bool is_served(const struct auth_server *server, struct str name)
{
    struct account *account = accounts_get(server->accounts, name);
    account_put(account);
    return account != NULL;
}

static struct err permit_anonymous(const struct auth_server *server,
                                   const struct auth_resource *what,
                                   const struct auth_demand *demand, struct arena *arena)
{
    enum auth_public level = AUTH_PUBLIC_NONE;
    bool asks =
        demand->anonymous == AUTH_ANONYMOUS_BLOB || demand->anonymous == AUTH_ANONYMOUS_CONTAINER;
    if (asks && server->lookup.public_access != NULL && is_served(server, what->account)) {
        struct auth_container place = {what->service, what->account, what->container};
        TRY(server->lookup.public_access(server->store, &place, arena, &level));
    }
    return is_public(demand->anonymous, level) ? OK : err_new(ERR_NO_AUTHENTICATION_INFORMATION);
}

/* ---- all of them ---- */

struct err auth_permit(const struct auth_server *server, const struct auth_result *who,
                       const struct auth_resource *what, const struct auth_demand *demand,
                       struct arena *arena)
{
    if (who->kind == AUTH_ANONYMOUS)
        return permit_anonymous(server, what, demand, arena);
    assert(who->reach != NULL);
    if (!str_eq(who->reach->account, what->account))
        return err_new(ERR_AUTHORIZATION_FAILURE);
    switch (who->kind) {
    case AUTH_SHARED_KEY:
        return OK;
    case AUTH_ACCOUNT_SAS:
        return permit_account_sas(who, what, demand);
    case AUTH_SERVICE_SAS:
        return permit_service_sas(who, what, demand);
    case AUTH_DELEGATION_SAS:
        TRY(permit_service_sas(who, what, demand));
        /* Delegation grants at most the current rights of the delegating user. */
        return bearer_permit(server, who, what, demand, arena);
    case AUTH_BEARER:
        return bearer_permit(server, who, what, demand, arena);
    case AUTH_ANONYMOUS:
        break;
    }
    return err_new(ERR_AUTHORIZATION_FAILURE);
}
