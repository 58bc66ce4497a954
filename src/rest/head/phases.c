/* SPDX-License-Identifier: Apache-2.0 */
/* The checks before a request's body: query, version and target, the row, authentication and
 * permission, conditions, and the announced body. */
#include "rest/head/phases.h"

#include "core/log.h"
#include "rest/body/structured_body.h"
#include "rest/cors.h"
#include "rest/dfs/dialect.h"
#include "rest/dfs/request.h"
#include "rest/head/match.h"
#include "rest/head/query.h"
#include "rest/head/second.h"
#include "rest/head/target.h"
#include "rest/head/version.h"
#include "rest/server.h"

/* ---- parse ---- */

/* x-ms-version, else api-version, else the version of the SAS, else the newest. */
static struct err parse_version(struct rest_call *call)
{
    struct str header = call_header(call, STR("x-ms-version"));
    struct str query = call_query(call, STR("api-version"));
    struct str signed_version = call_query(call, STR("sv"));
    struct str text = str_given(header) ? header : str_given(query) ? query : signed_version;
    call->version = VERSION_NEWEST;
    call->version_text = STR(VERSION_NEWEST_TEXT);
    if (!str_given(text))
        return OK;
    if (version_parse(text, call->server->options.any_version, &call->version)) {
        call->version_text = text;
        return OK;
    }
    /* A SAS may be signed with a version older than all served ones; if it is malformed,
     * authentication reports it. */
    if (!str_given(header) && !str_given(query))
        return OK;
    if (call->dfs && str_given(header))
        return err_new(ERR_UNSUPPORTED_REST_VERSION);
    return str_given(header) ? call_bad_header(call, STR("x-ms-version"))
                             : call_bad_query(call, STR("api-version"));
}

/* Data Lake's clients send "/filesystem/" to the Blob API when they mean the root directory; a name
 * in the root container has no slash. */
static void name_root_directory(const struct rest_call *call, struct target *target)
{
    struct str path = call->x->request.path;
    if (call->service != SERVICE_BLOB || target->resource != R_OBJECT || target->object.n == 0 ||
        !str_eq(target->container, STR("$root")) || path.p[path.n - 1] != '/' ||
        !accounts_is_hierarchical(call->server->auth.accounts, target->account))
        return;
    target->container = target->object;
    target->object = STR("/");
}

static struct err parse_target(struct rest_call *call, enum op_resource *resource)
{
    const struct http_request *request = &call->x->request;
    struct str restype = call_query(call, STR("restype"));
    struct target_request wanted = {
        .service = call->service,
        .host = request->host,
        .path = request->path,
        .product_style = call->server->options.product_style && !str_given(call->mount),
        .names_container = str_given(restype) || (call->dfs && dfs_names_filesystem(call)),
        .lost_account = dfs_lost_account(call),
        .rename_source = call_header(call, second_header(SECOND_RENAMED_FILE)),
        .dfs = call->dfs,
    };
    struct target target;
    TRY(target_parse(call->arena, &wanted, &target));
    name_root_directory(call, &target);
    *resource = target.resource;
    call->account = target.account;
    call->secondary = target.secondary;
    call->path_style = target.path_style;
    call->container = target.container;
    call->object = target.object;
    /* Before authorization: "a//b" is another blob than "a/b", but the same path. */
    if (call->dfs && target.resource == R_OBJECT)
        call->object = dfs_clean_path(call->arena, target.object);
    call->key_pk = target.key_pk;
    call->key_rk = target.key_rk;
    return OK;
}

/* ---- permit ---- */

/* version: 0 if the request names none. */
static struct err authenticate(struct rest_call *call, int version)
{
    const struct http_request *request = &call->x->request;
    struct auth_pair *headers =
        ARENA_ARRAY(call->arena, struct auth_pair, request->header_count + 1);
    for (size_t i = 0; i < request->header_count; i++)
        headers[i] = (struct auth_pair){request->headers[i].name, request->headers[i].value};
    struct auth_input input = {
        .service = call->service,
        .method = request->method_text,
        .path = request->path,
        .raw_query = request->query,
        .query = call->query,
        .query_count = call->query_count,
        .query_plus = call->query_plus,
        .headers = headers,
        .header_count = request->header_count,
        .content_length = request->content_length,
        .account = call->account,
        .container = call->container,
        .object = call->object,
        .listed = call->op->lists_directory
                      ? dfs_clean_path(call->arena, call_query(call, STR("directory")))
                      : STR_NONE,
        .peer = call->x->peer,
        .secure = call->x->secure,
        .version = version,
        .now = call->now,
    };
    struct auth_demand demand = op_demand(call->op);
    struct err error =
        auth_check(&call->server->auth, &input, &demand, call->arena, &call->who, &call->challenge);
    call->admitted = !err_is(error);
    if (call->admitted && call->who.plus_is_plus)
        query_use(call, call->query_plus, call->query_count);
    struct auth_resource what = {.service = call->service,
                                 .account = call->account,
                                 .container = call->container,
                                 .object = call->object,
                                 .listed = input.listed};
    call->by_lists =
        call->admitted && auth_consults_lists(&call->server->auth, &call->who, &what, &demand);
    return error;
}

static struct err check_conditions(struct rest_call *call)
{
    static const struct {
        struct str name;
        unsigned bit;
    } conditions[] = {
        {STR_INIT("If-Match"), COND_M},          {STR_INIT("If-None-Match"), COND_N},
        {STR_INIT("If-Modified-Since"), COND_S}, {STR_INIT("If-Unmodified-Since"), COND_U},
        {STR_INIT("x-ms-if-tags"), COND_T},
    };
    /* Computed at compile time: most requests have none of them, and one test shows it. */
    uint64_t marks = http_name_mark(STR("If-Match")) | http_name_mark(STR("If-None-Match")) |
                     http_name_mark(STR("If-Modified-Since")) |
                     http_name_mark(STR("If-Unmodified-Since")) |
                     http_name_mark(STR("x-ms-if-tags"));
    uint64_t names = call->x->request.names;
    if ((call->op->conditions & COND_IGNORED) != 0 || (names != 0 && (names & marks) == 0))
        return OK;
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        if ((call->op->conditions & conditions[i].bit) == 0 &&
            str_given(call_header(call, conditions[i].name)))
            return call_error(call, ERR_CONDITION_HEADERS_NOT_SUPPORTED, "HeaderName",
                              conditions[i].name);
    }
    return OK;
}

/* Returns true if the header requires encryption with the client's key, which this server does not
 * do. */
static bool promises_protection(struct str header)
{
    return header.n >= sizeof "x-ms-encryption-key" - 1 &&
           (str_istarts(header, STR("x-ms-encryption-key")) ||
            str_istarts(header, STR("x-ms-source-encryption-key")) ||
            str_ieq(header, STR("x-ms-encryption-algorithm")));
}

/* Ignoring the header would store data unprotected, so the request is refused unless --loose is
 * set. */
static struct err check_protection(struct rest_call *call)
{
    const struct http_request *request = &call->x->request;
    if (call->server->options.loose || call->service != SERVICE_BLOB)
        return OK;
    for (size_t i = 0; i < request->header_count; i++) {
        if (request->headers[i].value.n > 0 && promises_protection(request->headers[i].name))
            return call_error(call, ERR_NOT_IMPLEMENTED, "HeaderName", request->headers[i].name);
    }
    return OK;
}

/* Seconds, without an upper limit: the client gets the time it asks for. A website's query is not
 * ours. */
static struct err read_timeout(struct rest_call *call)
{
    uint64_t seconds = 0;
    if (call->op->resource == R_WEBSITE)
        return OK;
    TRY(call_query_u64(call, STR("timeout"), 1, INT32_MAX, &seconds));
    if (seconds > 0)
        call->run.deadline = call->now + (int64_t)seconds * TICKS_PER_SECOND;
    return OK;
}

/* Of the account, or of a whole share: file permissions do not apply. The JavaScript SDK omits the
 * intent there. */
static bool is_of_share(const struct op *op)
{
    bool descriptor = op->comp != NULL && str_eq(str_of(op->comp), STR("filepermission"));
    bool share = op->restype != NULL && str_eq(str_of(op->restype), STR("share"));
    return op->resource == R_SERVICE || (op->resource == R_CONTAINER && share && !descriptor);
}

/* A token's holder bypasses the permissions of files, as a backup does, and has to request it. */
struct err rest_check_intent(struct rest_call *call, enum service_kind service,
                             const struct auth_result *who, const struct op *op)
{
    const struct str name = STR("x-ms-file-request-intent");
    struct str intent = call_header(call, name);
    if (service != SERVICE_FILE || who->kind != AUTH_BEARER)
        return OK;
    if (!str_given(intent) && is_of_share(op))
        return OK;
    if (!str_given(intent))
        return call_missing_header(call, name);
    return str_ieq(intent, STR("backup")) ? OK : call_bad_header(call, name);
}

struct err rest_body_too_large(struct rest_call *call)
{
    unsigned long long limit = call->op->body_max;
    return err_detail(ERR_REQUEST_BODY_TOO_LARGE,
                      arena_printf(call->arena, "MaxLimit\t%llu", limit).p);
}

/* A Shared Key signature covers only the length of the body. A request signed without one must not
 * be valid for a chunked body, so a body needs a length, as in the cloud. Tables sign no length,
 * and accept chunks. */
static bool lacks_length(const struct rest_call *call)
{
    const struct http_request *request = &call->x->request;
    bool chunks = request->chunked && call->service == SERVICE_TABLE;
    return request->content_length < 0 && !chunks;
}

static struct err check_body(struct rest_call *call)
{
    if (call->op->body == BODY_NONE)
        return OK;
    if (lacks_length(call))
        return call_error(call, ERR_MISSING_CONTENT_LENGTH_HEADER, "HeaderName",
                          STR("Content-Length"));
    if (call->body_length > 0 && (uint64_t)call->body_length > call->op->body_max)
        return rest_body_too_large(call);
    return OK;
}

/* Checked here, so that no operation can forget that lists limit a user's rights. */
struct err rest_decode(struct rest_call *call)
{
    TRY(call->op->decode(call));
    return call->by_lists && !call->lists_read ? err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH)
                                               : OK;
}

struct err rest_head_phases(struct rest_call *call, bool dfs_listens)
{
    enum op_resource resource = R_SERVICE;
    TRY(query_parse(call));
    call->dfs = dfs_is_spoken(call, dfs_listens);
    TRY(parse_version(call));
    TRY(parse_target(call, &resource));
    http_belongs_to(call->x, call->account, call->container);
    TRY(cors_prepare(call));
    TRY(match_op(call, resource));
    TRY(authenticate(call, str_given(call_header(call, STR("x-ms-version"))) ? call->version : 0));
    TRY(rest_check_intent(call, call->service, &call->who, call->op));
    /* The secondary endpoint serves reads only; here it never lags. */
    if (call->secondary && (call->op->mode == MODE_WRITE || call->op->mode == MODE_START))
        return err_new(ERR_INSUFFICIENT_ACCOUNT_PERMISSIONS);
    if (call->op->version_min > call->version)
        return call_bad_header(call, STR("x-ms-version"));
    TRY(read_timeout(call));
    TRY(check_conditions(call));
    TRY(check_protection(call));
    TRY(structured_body_announced(call));
    TRY(check_body(call));
    if (call->op->body != BODY_STREAM)
        return OK;
    struct err decoded = rest_decode(call);
    structured_body_unwrap(call);
    return decoded;
}

struct err rest_match_part(struct rest_call *part)
{
    enum op_resource resource = R_SERVICE;
    TRY(query_parse(part));
    TRY(parse_target(part, &resource));
    return match_op(part, resource);
}

struct err rest_check_part(struct rest_call *part)
{
    return check_conditions(part);
}

/* The part's version is the batch's. */
struct err rest_permit_part(struct rest_call *part)
{
    TRY(authenticate(part, part->version));
    return check_protection(part);
}
