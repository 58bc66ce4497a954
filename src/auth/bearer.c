/* SPDX-License-Identifier: Apache-2.0 */
/* `Authorization: Bearer token`: docs/protocol/facts.md §3.12. */
#include <assert.h>

#include "auth/auth_internal.h"
#include "auth/jwt.h"
#include "auth/oauth.h"

enum { IDENTITIES_MAX = 3 + JWT_GROUPS_MAX };

bool bearer_is(struct str authorization)
{
    return str_istarts(authorization, STR("Bearer ")) || str_ieq(authorization, STR("Bearer"));
}

struct err bearer_verify(const struct auth_server *server, const struct auth_input *input,
                         struct str authorization, struct arena *arena, struct jwt *out)
{
    if (!input->secure)
        return auth_failed(arena, STR("Authentication scheme Bearer is not allowed with HTTP."));
    if (input->version < 20171109)
        return auth_failed(arena,
                           STR("Authentication scheme Bearer is not supported in this version."));
    struct str token = str_trim(str_from(authorization, STR("Bearer").n));
    if (server->oauth == NULL || !jwt_parse(arena, token, out))
        return auth_failed(arena, STR("Authentication scheme Bearer is not supported."));
    struct oauth_audience place = {input->service, input->account, auth_now(server, input)};
    const char *refusal = oauth_refuses(server->oauth, out, &place);
    return refusal == NULL ? OK : auth_failed(arena, str_of(refusal));
}

static bool has_only(const char *letters, const char *allowed)
{
    return letters[0] != '\0' && letters[strspn(letters, allowed)] == '\0';
}

static bool is_acl(const struct auth_demand *demand)
{
    return str_ends(str_of(demand->operation), STR("ACL"));
}

bool bearer_alone(const struct auth_demand *demand)
{
    return strcmp(demand->operation, "GetUserDelegationKey") == 0;
}

/* The row's letters name its action. */
static enum role_need need_of(enum service_kind service, const struct auth_demand *demand)
{
    const char *letters = demand->service_sas != NULL   ? demand->service_sas
                          : demand->account_sas != NULL ? demand->account_sas
                                                        : "";
    if (bearer_alone(demand))
        return NEED_DELEGATION;
    if (service == SERVICE_BLOB && has_only(letters, "op"))
        return NEED_OWNERSHIP;
    /* Operations on the stored access policies that SAS refer to. Among the cloud's roles only the
     * data owner's includes getAcl and setAcl; the policies of a share are ordinary properties. */
    if (service != SERVICE_FILE && is_acl(demand))
        return NEED_OWNERSHIP;
    return has_only(letters, "rlf") || !demand->write ? NEED_READ : NEED_WRITE;
}

/* A token may be for one service only, and a second resource may belong to another. */
static struct err check_audience(const struct auth_server *server, const struct auth_reach *reach,
                                 const struct auth_resource *what, struct arena *arena)
{
    struct oauth_audience place = {.service = what->service, .account = what->account};
    if (reach->token == NULL || what->service == reach->service ||
        oauth_takes_audience(server->oauth, reach->token, &place))
        return OK;
    return auth_failed(arena, STR("Invalid token audience."));
}

static bool has_lists(const struct auth_server *server, const struct auth_resource *what,
                      const struct auth_demand *demand)
{
    return demand->lists && what->service == SERVICE_BLOB &&
           accounts_is_hierarchical(server->accounts, what->account);
}

/* A user who delegates needs the rights too: for saoid the application vouches for the user, and
 * suoid adds a check of that user's rights; neither replaces the check of the delegating user. */
static bool lists_may_grant(const struct auth_server *server, const struct auth_result *who,
                            const struct auth_resource *what, const struct auth_demand *demand)
{
    return !str_given(who->agent) && str_given(who->identity) && has_lists(server, what, demand);
}

struct err bearer_permit(const struct auth_server *server, const struct auth_result *who,
                         const struct auth_resource *what, const struct auth_demand *demand,
                         struct arena *arena)
{
    assert(who != NULL && what != NULL);
    const struct roles *roles = server->oauth == NULL ? NULL : oauth_roles(server->oauth);
    const struct auth_reach *reach = who->reach;
    enum role_need need = need_of(what->service, demand);
    bool sas_reaches = demand->account_sas != NULL || demand->service_sas != NULL;
    if (!sas_reaches && need != NEED_DELEGATION && !is_acl(demand))
        return err_new(ERR_AUTHORIZATION_FAILURE);
    TRY(check_audience(server, reach, what, arena));
    if (roles == NULL)
        return OK;
    struct role_request request = {reach->identities, reach->identity_count, what->account,
                                   what->container, need};
    return roles_permit(roles, &request) || lists_may_grant(server, who, what, demand)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

bool auth_consults_lists(const struct auth_server *server, const struct auth_result *who,
                         const struct auth_resource *what, const struct auth_demand *demand)
{
    const struct roles *roles = server->oauth == NULL ? NULL : oauth_roles(server->oauth);
    if ((who->kind != AUTH_BEARER && who->kind != AUTH_DELEGATION_SAS) ||
        !has_lists(server, what, demand))
        return false;
    if (str_given(who->user))
        return true;
    struct role_request request = {who->reach->identities, who->reach->identity_count,
                                   what->account, what->container, need_of(what->service, demand)};
    return roles != NULL && !roles_permit(roles, &request);
}

static const struct auth_reach *reach_of(const struct auth_input *input, const struct jwt *token,
                                         struct arena *arena)
{
    struct auth_reach *reach = auth_reach_new(input, arena);
    struct str *identities = ARENA_ARRAY(arena, struct str, IDENTITIES_MAX);
    size_t count = 0;
    identities[count++] = token->object_id;
    identities[count++] = token->subject;
    identities[count++] = token->app_id;
    for (size_t i = 0; i < token->group_count; i++)
        identities[count++] = token->groups[i];
    reach->token = token;
    reach->identities = identities;
    reach->identity_count = count;
    return reach;
}

struct err bearer_check(const struct auth_server *server, const struct auth_input *input,
                        struct str authorization, struct arena *arena, struct auth_result *result)
{
    assert(result != NULL);
    struct jwt *token = ARENA_NEW(arena, struct jwt);
    TRY(bearer_verify(server, input, authorization, arena, token));
    struct account *account = accounts_get(server->accounts, input->account);
    bool known = account != NULL;
    account_put(account);
    if (!known)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    result->kind = AUTH_BEARER;
    result->reach = reach_of(input, token, arena);
    result->identity = str_given(token->object_id) ? token->object_id : token->subject;
    result->tenant = token->tenant_id;
    result->groups = token->groups;
    result->group_count = token->group_count;
    return OK;
}
