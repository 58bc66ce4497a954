/* SPDX-License-Identifier: Apache-2.0 */
#include "auth/auth.h"

#include <assert.h>

#include "auth/auth_internal.h"
#include "auth/oauth.h"
#include "auth/sas.h"

struct str auth_header(const struct auth_input *input, struct str name)
{
    for (size_t i = 0; i < input->header_count; i++)
        if (input->headers[i].value.n > 0 && str_ieq(input->headers[i].name, name))
            return input->headers[i].value;
    return STR_NONE;
}

/* Counts the headers of that name; *value gets the last one's value. */
static size_t count_header(const struct auth_input *input, struct str name, struct str *value)
{
    size_t count = 0;
    *value = STR_NONE;
    for (size_t i = 0; i < input->header_count; i++) {
        if (input->headers[i].value.n == 0 || !str_ieq(input->headers[i].name, name))
            continue;
        *value = input->headers[i].value;
        count++;
    }
    return count;
}

int64_t auth_now(const struct auth_server *server, const struct auth_input *input)
{
    return input->now != 0 ? input->now : clock_now(server->clock);
}

struct str auth_query(const struct auth_input *input, struct str name)
{
    for (size_t i = 0; i < input->query_count; i++)
        if (str_ieq(input->query[i].name, name))
            return input->query[i].value;
    return STR_NONE;
}

struct err auth_failed(struct arena *arena, struct str text)
{
    struct buf detail = buf_in(arena);
    buf_put(&detail, STR("AuthenticationErrorDetail\t"));
    for (size_t i = 0; i < text.n; i++)
        buf_putc(&detail, text.p[i] == '\n' ? ERR_DETAIL_NEWLINE : text.p[i]);
    buf_putc(&detail, '\0');
    return err_detail(ERR_AUTHENTICATION_FAILED, detail.p);
}

struct err auth_no_account(struct arena *arena, struct str account)
{
    return auth_failed(arena, arena_printf(arena, "There is no account '%.*s' on this server.",
                                           STR_ARG(str_head(account, ACCOUNT_NAME_MAX))));
}

/* The service sends clients without credentials a challenge that names where to get a token, from
 * the version on that introduced it for each service. */
static bool wants_challenge(const struct auth_input *input)
{
    switch (input->service) {
    case SERVICE_BLOB:
    case SERVICE_QUEUE:
        return input->version >= 20191212;
    case SERVICE_TABLE:
        return input->version >= 20201206;
    case SERVICE_FILE:
        return input->version >= 20221102;
    case SERVICE_KIND_COUNT:
        break;
    }
    return false;
}

static void challenge_for(const struct auth_server *server, const struct auth_input *input,
                          struct str *challenge)
{
    if (wants_challenge(input))
        *challenge = oauth_challenge(server->oauth);
}

struct auth_reach *auth_reach_new(const struct auth_input *input, struct arena *arena)
{
    struct auth_reach *reach = ARENA_NEW(arena, struct auth_reach);
    reach->account = input->account;
    reach->service = input->service;
    return reach;
}

/* A private container looks like a missing one. Old clients expect a 404 for it. */
static struct err no_credentials(const struct auth_server *server, const struct auth_input *input,
                                 const struct auth_demand *demand, struct str *challenge)
{
    challenge_for(server, input, challenge);
    if (!str_given(*challenge) && input->service == SERVICE_BLOB && !demand->write)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    return err_new(ERR_NO_AUTHENTICATION_INFORMATION);
}

/* A SAS for one user (sduoid) comes with that user's token; any other SAS comes alone. */
static bool is_sas(const struct auth_input *input, struct str authorization)
{
    return sas_present(input) &&
           (!str_given(authorization) ||
            (bearer_is(authorization) && str_given(auth_query(input, STR("sduoid")))));
}

/* A 401 makes SDKs fetch a new token for the audience of the challenge. If no token would help,
 * they should give up, so the answer has another status. */
static struct err bearer_authenticate(const struct auth_server *server,
                                      const struct auth_input *input, struct str authorization,
                                      struct arena *arena, struct auth_result *result,
                                      struct str *challenge)
{
    struct err error = bearer_check(server, input, authorization, arena, result);
    if (error.code != ERR_AUTHENTICATION_FAILED)
        return error;
    challenge_for(server, input, challenge);
    if (str_given(*challenge) && input->secure && server->oauth != NULL)
        error.code = ERR_TOKEN_REFUSED;
    return error;
}

/* Finds the identity, independent of the requested operation. */
static struct err authenticate(const struct auth_server *server, const struct auth_input *input,
                               struct arena *arena, struct auth_result *result,
                               struct str *challenge)
{
    struct str authorization;
    if (count_header(input, STR("authorization"), &authorization) > 1)
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    if (is_sas(input, authorization))
        return sas_check(server, input, arena, result);
    if (!str_given(authorization)) {
        result->kind = AUTH_ANONYMOUS;
        return OK;
    }
    if (str_istarts(authorization, STR("SharedKey ")) ||
        str_istarts(authorization, STR("SharedKeyLite ")))
        return shared_key_check(server, input, authorization, arena, result);
    if (!bearer_is(authorization))
        return err_new(ERR_INVALID_AUTHENTICATION_INFO);
    return bearer_authenticate(server, input, authorization, arena, result, challenge);
}

static struct err permit(const struct auth_server *server, const struct auth_input *input,
                         const struct auth_demand *demand, struct arena *arena,
                         struct auth_result *result, struct str *challenge)
{
    struct auth_resource what = {.service = input->service,
                                 .account = input->account,
                                 .container = input->container,
                                 .object = input->object,
                                 .query = input->query,
                                 .query_count = input->query_count,
                                 .listed = input->listed};
    struct err error = auth_permit(server, result, &what, demand, arena);
    if (error.code == ERR_NO_AUTHENTICATION_INFORMATION)
        return no_credentials(server, input, demand, challenge);
    TRY(error);
    const char *letters =
        result->kind == AUTH_ACCOUNT_SAS ? demand->account_sas : demand->service_sas;
    result->create_only = str_given(result->permissions) && strchr(letters, 'c') != NULL &&
                          permit_letters("c", result->permissions) &&
                          !permit_letters("w", result->permissions);
    return OK;
}

struct err auth_check(const struct auth_server *server, const struct auth_input *input,
                      const struct auth_demand *demand, struct arena *arena,
                      struct auth_result *result, struct str *challenge)
{
    assert(input != NULL && demand != NULL);
    assert(result != NULL);
    *result = (struct auth_result){.kind = AUTH_ANONYMOUS};
    *challenge = STR_NONE;
    if (sas_present(input) && bearer_alone(demand) &&
        is_sas(input, auth_header(input, STR("authorization"))))
        return auth_failed(arena, STR("Only authentication scheme Bearer is supported"));
    /* A preflight needs no credentials; any that it has are ignored. */
    if (demand->anonymous != AUTH_ANONYMOUS_ALWAYS)
        TRY(authenticate(server, input, arena, result, challenge));
    return permit(server, input, demand, arena, result, challenge);
}
