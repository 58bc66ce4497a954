/* SPDX-License-Identifier: Apache-2.0 */
/* Checking a SAS, in the order of docs/protocol/facts.md §3.10: signature, times, address,
 * protocol, service and resource type, permission; the last three are
 * auth_permit's. */
#include "auth/sas.h"

#include <assert.h>

#include "auth/jwt.h"
#include "core/time.h"

static struct err not_well_formed(struct arena *arena)
{
    return auth_failed(arena, STR("Signature fields not well formed."));
}

/* ---- signature ---- */

static struct delegation delegation_of(const struct sas *sas)
{
    const struct str *value = sas->value;
    return (struct delegation){value[SAS_SKOID],  value[SAS_SKTID], value[SAS_SKT],
                               value[SAS_SKE],    value[SAS_SKS],   value[SAS_SKV],
                               value[SAS_SKDUTID]};
}

static bool delegated_signature_matches(const struct sas *sas, const struct account *account,
                                        struct str text)
{
    struct delegation delegation = delegation_of(sas);
    for (unsigned i = 0; i < account->key_count; i++) {
        unsigned char secret[SHA256_BYTES];
        struct hmac_key key;
        if (!delegation_derive(&account->keys[i], &delegation, secret))
            return false;
        hmac_key_init(&key, (struct str){(const char *)secret, sizeof secret});
        bool matches = auth_mac_matches(&key, text, sas->value[SAS_SIG]);
        hmac_key_wipe(&key);
        explicit_bzero(secret, sizeof secret);
        if (matches)
            return true;
    }
    return false;
}

static struct err mismatch(struct sas *sas)
{
    struct str text;
    if (!sas_text(sas, 0, &text))
        return not_well_formed(sas->arena);
    return auth_failed(sas->arena, arena_printf(sas->arena,
                                                "Signature did not match. String to sign used was "
                                                "%.*s",
                                                STR_ARG(text)));
}

static struct err check_signature(const struct auth_server *server, struct sas *sas)
{
    struct account *account = accounts_get(server->accounts, sas->input->account);
    bool matches = false;
    struct str text;
    for (size_t i = 0; account != NULL && !matches && sas_text(sas, i, &text); i++)
        matches = sas->kind == AUTH_DELEGATION_SAS
                      ? delegated_signature_matches(sas, account, text)
                      : auth_signature_matches(account, text, sas->value[SAS_SIG]);
    account_put(account);
    if (account == NULL)
        return auth_no_account(sas->arena, sas->input->account);
    return matches ? OK : mismatch(sas);
}

/* Parses the query and verifies the signature. */
static struct err read_signed(const struct auth_server *server, const struct auth_input *input,
                              struct arena *arena, struct sas *sas)
{
    if (!sas_read(sas, input, arena))
        return not_well_formed(arena);
    if (sas->kind != AUTH_ACCOUNT_SAS)
        TRY(sas_name_resource(sas));
    if (!auth_is_signable(sas->resource) || !sas_names_are_signable(sas))
        return not_well_formed(arena);
    return check_signature(server, sas);
}

/* ---- terms ---- */

/* Each of st, se and sp is given in the URL or in the policy, never in both. */
static bool merge(struct str policy, struct str *term)
{
    if (policy.n == 0)
        return true;
    if (term->n > 0)
        return false;
    *term = policy;
    return true;
}

static struct err apply_policy(const struct auth_server *server, const struct sas *sas,
                               struct sas_terms *terms)
{
    struct auth_container place = {sas->input->service, sas->input->account, sas->input->container};
    struct auth_policy policy = {0};
    if (!str_given(place.container))
        place.container = sas->value[SAS_TN];
    if (server->lookup.stored_policy != NULL)
        TRY(server->lookup.stored_policy(server->store, &place, sas->value[SAS_SI], sas->arena,
                                         &policy));
    if (!policy.found)
        return err_new(ERR_AUTHORIZATION_FAILURE);
    if (!merge(policy.start, &terms->start) || !merge(policy.expiry, &terms->expiry) ||
        !merge(policy.permission, &terms->permission))
        return auth_failed(sas->arena,
                           STR("Access policy fields can be associated with signature or "
                               "SAS identifier but not both"));
    return OK;
}

static struct err find_terms(const struct auth_server *server, const struct sas *sas,
                             struct sas_terms *terms)
{
    *terms = (struct sas_terms){sas->value[SAS_ST], sas->value[SAS_SE], sas->value[SAS_SP]};
    if (sas->value[SAS_SI].n > 0 && sas->kind == AUTH_SERVICE_SAS)
        TRY(apply_policy(server, sas, terms));
    if (terms->permission.n == 0)
        return auth_failed(sas->arena, STR("sp is mandatory. Cannot be empty"));
    return OK;
}

/* The key that signed must be within its own validity period, which is at most a week, and be for
 * this service. */
static struct err check_delegation(const struct sas *sas, int64_t now)
{
    static const char SERVICES[] = "bqtf";
    struct sas_terms terms = {.start = sas->value[SAS_SKT], .expiry = sas->value[SAS_SKE]};
    int64_t start, expiry;
    if (!time_parse_iso(terms.start, &start) || !time_parse_iso(terms.expiry, &expiry) ||
        expiry - start > DELEGATION_DAYS_MAX * TICKS_PER_DAY)
        return not_well_formed(sas->arena);
    TRY(sas_check_times(sas, &terms, now));
    struct str service = sas->value[SAS_SKS];
    if (service.n != 1 || service.p[0] != SERVICES[sas->input->service])
        return err_new(ERR_AUTHORIZATION_SERVICE_MISMATCH);
    return OK;
}

/* A SAS for one user is valid only together with that user's own token. */
static struct err check_delegated_user(const struct auth_server *server, const struct sas *sas)
{
    struct str wanted = sas->value[SAS_SDUOID];
    if (wanted.n == 0)
        return OK;
    struct str authorization = auth_header(sas->input, STR("authorization"));
    if (!str_given(authorization))
        return auth_failed(sas->arena, STR("sduoid needs the token of that user."));
    struct jwt *token = ARENA_NEW(sas->arena, struct jwt);
    TRY(bearer_verify(server, sas->input, authorization, sas->arena, token));
    struct str tenant = sas->value[SAS_SKDUTID];
    if (!str_ieq(token->object_id, wanted) || (tenant.n > 0 && !str_ieq(token->tenant_id, tenant)))
        return auth_failed(sas->arena, STR("The token is not that of sduoid."));
    return OK;
}

static struct err check_limits(const struct auth_server *server, const struct sas *sas,
                               const struct sas_terms *terms)
{
    int64_t now = auth_now(server, sas->input);
    TRY(sas_check_times(sas, terms, now));
    if (sas->kind == AUTH_DELEGATION_SAS)
        TRY(check_delegation(sas, now));
    TRY(sas_check_address(sas));
    return sas_check_protocol(sas);
}

/* ---- what it is good for ---- */

/* Keeps the letters that have a meaning for the SAS's scope; others in sp grant nothing. */
static const char *meaningful_letters(const struct sas *sas)
{
    bool whole = sas->scope == SAS_SCOPE_CONTAINER;
    switch (sas->input->service) {
    case SERVICE_BLOB:
        return whole ? "racwdxyltfmeopi" : "racwdxyltmeopi";
    case SERVICE_QUEUE:
        return "raup";
    case SERVICE_TABLE:
        return "raud";
    case SERVICE_FILE:
        return whole ? "rcwdl" : "rcwd";
    case SERVICE_KIND_COUNT:
        break;
    }
    return "";
}

static struct str keep_letters(struct arena *arena, struct str letters, const char *allowed)
{
    struct buf kept = buf_in(arena);
    for (size_t i = 0; i < letters.n; i++)
        if (letters.p[i] != '\0' && strchr(allowed, letters.p[i]) != NULL)
            buf_putc(&kept, letters.p[i]);
    return buf_str(&kept);
}

/* A SAS for an encryption scope does not permit writing with another scope. */
static struct err check_encryption_scope(const struct sas *sas)
{
    struct str header = auth_header(sas->input, STR("x-ms-encryption-scope"));
    struct str scope = sas->value[SAS_SES];
    if (scope.n > 0 && str_given(header) && !str_eq(header, scope))
        return err_new(ERR_REQUEST_FORBIDDEN_BY_CONTAINER_ENCRYPTION_POLICY);
    return OK;
}

static const struct auth_reach *reach_of(const struct sas *sas)
{
    const struct str *value = sas->value;
    struct auth_reach *reach = auth_reach_new(sas->input, sas->arena);
    if (sas->kind == AUTH_ACCOUNT_SAS) {
        reach->services = value[SAS_SS];
        reach->types = value[SAS_SRT];
        return reach;
    }
    reach->scope = sas->scope;
    reach->container = sas->container;
    reach->path = sas->path;
    reach->moment = sas_moment(sas);
    if (sas->kind == AUTH_DELEGATION_SAS) {
        struct str *delegator = ARENA_NEW(sas->arena, struct str);
        *delegator = value[SAS_SKOID];
        reach->identities = delegator;
        reach->identity_count = 1;
    }
    return reach;
}

/* A row key that ends a range belongs to a partition: without an end partition, to the one with the
 * empty name. */
static struct str partition_of(struct str pk, struct str rk)
{
    return !str_given(pk) && str_given(rk) ? STR("") : pk;
}

enum { VERSION_AGENTS = 20200210 }; /* the first that signs saoid, suoid and scid */

/* Overrides and ranges count only where they were signed. */
static void fill_result(const struct sas *sas, struct str sp, struct auth_result *result)
{
    const struct str *value = sas->value;
    result->kind = sas->kind;
    result->sas_version = sas->version;
    result->permissions =
        sas->kind == AUTH_ACCOUNT_SAS ? sp : keep_letters(sas->arena, sp, meaningful_letters(sas));
    if (sas->version >= 20201206)
        result->encryption_scope = value[SAS_SES];
    if (sas->kind == AUTH_ACCOUNT_SAS)
        return;
    result->identity = value[SAS_SKOID];
    if (sas->kind == AUTH_DELEGATION_SAS && sas->version >= VERSION_AGENTS) {
        result->user = value[SAS_SUOID];
        result->agent = str_given(value[SAS_SAOID]) ? value[SAS_SAOID] : value[SAS_SUOID];
    }
    enum service_kind service = sas->input->service;
    if ((service == SERVICE_BLOB || service == SERVICE_FILE) && sas->version >= 20130815) {
        result->cache_control = value[SAS_RSCC];
        result->content_disposition = value[SAS_RSCD];
        result->content_encoding = value[SAS_RSCE];
        result->content_language = value[SAS_RSCL];
        result->content_type = value[SAS_RSCT];
    }
    if (service == SERVICE_TABLE) {
        result->start_pk = partition_of(value[SAS_SPK], value[SAS_SRK]);
        result->start_rk = value[SAS_SRK];
        result->end_pk = partition_of(value[SAS_EPK], value[SAS_ERK]);
        result->end_rk = value[SAS_ERK];
    }
}

struct err sas_check(const struct auth_server *server, const struct auth_input *input,
                     struct arena *arena, struct auth_result *result)
{
    assert(result != NULL);
    struct sas sas;
    struct sas_terms terms;
    TRY(read_signed(server, input, arena, &sas));
    TRY(find_terms(server, &sas, &terms));
    TRY(check_limits(server, &sas, &terms));
    if (sas.kind == AUTH_DELEGATION_SAS)
        TRY(check_delegated_user(server, &sas));
    TRY(check_encryption_scope(&sas));
    fill_result(&sas, terms.permission, result);
    result->reach = reach_of(&sas);
    return OK;
}
