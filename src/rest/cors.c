/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/cors.h"

#include "rest/call.h"
#include "rest/server.h"

/* The next trimmed part of a comma-separated list; false at its end. Empty parts are skipped. */
static bool next_part(struct str *list, struct str *part)
{
    while (str_given(*list)) {
        *part = str_trim(str_cut(list, ','));
        if (part->n > 0)
            return true;
    }
    return false;
}

/* ---- matching ---- */

/* A star matches any subdomain, at any depth, but not the empty string. */
static bool origin_fits(struct str pattern, struct str origin)
{
    size_t star = str_find(pattern, '*', 0);
    if (star == pattern.n)
        return str_eq(pattern, origin);
    struct str before = str_head(pattern, star), after = str_from(pattern, star + 1);
    if (before.n == 0 && after.n == 0)
        return true;
    return origin.n > before.n + after.n && str_starts(origin, before) && str_ends(origin, after);
}

static bool has_origin(struct str list, struct str origin)
{
    struct str part;
    while (next_part(&list, &part))
        if (origin_fits(part, origin))
            return true;
    return false;
}

static bool has_method(struct str list, struct str method)
{
    struct str part;
    while (next_part(&list, &part))
        if (str_ieq(part, method))
            return true;
    return false;
}

static bool header_fits(struct str pattern, struct str name)
{
    if (str_ends(pattern, STR("*")))
        return str_istarts(name, str_head(pattern, pattern.n - 1));
    return str_ieq(pattern, name);
}

static bool has_header(struct str list, struct str name)
{
    struct str part;
    while (next_part(&list, &part))
        if (header_fits(part, name))
            return true;
    return false;
}

const struct cors_rule *cors_match(const struct cors_rules *rules, struct str origin,
                                   struct str method)
{
    for (size_t i = 0; i < rules->count; i++)
        if (has_origin(rules->rules[i].allowed_origins, origin) &&
            has_method(rules->rules[i].allowed_methods, method))
            return &rules->rules[i];
    return NULL;
}

bool cors_allows_headers(const struct cors_rule *rule, struct str requested)
{
    struct str name;
    while (next_part(&requested, &name))
        if (!has_header(rule->allowed_headers, name))
            return false;
    return true;
}

static void put_in_list(struct buf *out, size_t start, struct str name)
{
    if (out->n > start)
        buf_putc(out, ',');
    buf_put(out, name);
}

void cors_put_exposed(struct buf *out, const struct cors_rule *rule, struct str response_headers)
{
    size_t start = out->n;
    struct str list = rule->exposed_headers, part;
    while (next_part(&list, &part))
        if (!str_ends(part, STR("*")))
            put_in_list(out, start, part);
    while (str_given(response_headers) && response_headers.n > 0) {
        struct str line = str_cut(&response_headers, '\n');
        struct str name = str_cut(&line, ':');
        list = rule->exposed_headers;
        while (next_part(&list, &part)) {
            if (str_ends(part, STR("*")) && header_fits(part, name)) {
                put_in_list(out, start, name);
                break;
            }
        }
    }
}

/* ---- requests ---- */

static struct err load_rules(const struct rest_call *call, struct cors_rules *out)
{
    const struct rest_server *server = call->server;
    *out = (struct cors_rules){0};
    if (server->cors_rules == NULL)
        return OK;
    struct auth_container place = {.service = call->service, .account = call->account};
    return server->cors_rules(call->store, &place, call->arena, out);
}

struct err cors_prepare(struct rest_call *call)
{
    if (!str_given(call_header(call, STR("Origin"))))
        return OK;
    call->cors = ARENA_NEW(call->arena, struct cors_rules);
    return load_rules(call, call->cors);
}

void cors_put_headers(const struct rest_call *call, struct buf *headers)
{
    if (call->cors == NULL || call->cors->count == 0 || call->op == &OP_PREFLIGHT)
        return;
    const struct http_request *request = &call->x->request;
    struct str origin = call_header(call, STR("Origin"));
    const struct cors_rule *rule = cors_match(call->cors, origin, request->method_text);
    bool any = rule != NULL && str_eq(str_trim(rule->allowed_origins), STR("*"));
    bool cacheable = request->method == HTTP_GET || request->method == HTTP_HEAD;
    if (rule != NULL) {
        struct buf exposed = buf_in(call->arena);
        cors_put_exposed(&exposed, rule, buf_str(headers));
        http_put_header(headers, STR("Access-Control-Allow-Origin"), any ? STR("*") : origin);
        if (exposed.n > 0)
            http_put_header(headers, STR("Access-Control-Expose-Headers"), buf_str(&exposed));
        if (!any)
            http_put_header(headers, STR("Access-Control-Allow-Credentials"), STR("true"));
    }
    /* A cache must not serve one origin's answer to another. */
    if (!any && cacheable)
        http_put_header(headers, STR("Vary"), STR("Origin"));
}

/* ---- preflight ---- */

static struct err rest_preflight_decode(struct rest_call *call)
{
    struct str origin = call_header(call, STR("Origin"));
    struct str method = call_header(call, STR("Access-Control-Request-Method"));
    struct cors_rules rules;
    if (origin.n == 0)
        return call_error(call, ERR_CORS_HEADER_MISSING, "HeaderName", STR("Origin"));
    if (method.n == 0)
        return call_error(call, ERR_CORS_HEADER_MISSING, "HeaderName",
                          STR("Access-Control-Request-Method"));
    TRY(load_rules(call, &rules));
    struct cors_rule *found = ARENA_NEW(call->arena, struct cors_rule);
    const struct cors_rule *rule = cors_match(&rules, origin, method);
    if (rule == NULL ||
        !cors_allows_headers(rule, call_header(call, STR("Access-Control-Request-Headers"))))
        return err_new(ERR_CORS_PREFLIGHT_FAILURE);
    *found = *rule;
    call->args = found;
    return OK;
}

static struct err rest_preflight_encode(struct rest_call *call)
{
    const struct cors_rule *rule = call->args;
    call_put(call, STR("Access-Control-Allow-Origin"), call_header(call, STR("Origin")));
    call_put(call, STR("Access-Control-Allow-Methods"),
             call_header(call, STR("Access-Control-Request-Method")));
    call_put_if(call, STR("Access-Control-Allow-Headers"),
                call_header(call, STR("Access-Control-Request-Headers")));
    call_put_u64(call, STR("Access-Control-Max-Age"), rule->max_age_seconds);
    call_put(call, STR("Access-Control-Allow-Credentials"), STR("true"));
    call->status = 200;
    return OK;
}

const struct op OP_PREFLIGHT = {
    .name = "Preflight",
    .methods = M_OPTIONS,
    .resource = R_ANY,
    .anonymous = AUTH_ANONYMOUS_ALWAYS,
    .conditions = COND_IGNORED,
    .body = BODY_NONE,
    .mode = MODE_DIRECT,
    .decode = rest_preflight_decode,
    .encode = rest_preflight_encode,
};
