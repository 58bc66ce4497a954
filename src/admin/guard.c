/* SPDX-License-Identifier: Apache-2.0 */
/* Access checks of the admin listener.
 *
 * A browser on this machine can reach the listener even if no other machine can, and it runs pages
 * of any site. Two checks keep those pages out. A site that resolves its name to 127.0.0.1 (DNS
 * rebinding) is detected by its Host header: only names of this machine, and those that the
 * operator gave, are served. A page of another site is detected by Sec-Fetch-Site, or by Origin if
 * the browser does not send that. There are no cookies, so no request has rights that its sender
 * did not put into it. */
#include "admin/internal.h"

#include "auth/auth.h"
#include "core/text/uri.h"

/* ---- Host ---- */

/* Removes the port, and the brackets of an IPv6 address. */
static struct str host_name(struct str host)
{
    size_t bracket = str_find(host, ']', 0);
    if (host.n > 0 && host.p[0] == '[')
        return bracket < host.n ? str_from(str_head(host, bracket), 1) : STR("");
    return str_head(host, str_find(host, ':', 0));
}

static bool is_loopback_address(struct str name)
{
    struct str rest = name;
    uint64_t part;
    if (str_eq(name, STR("::1")))
        return true;
    if (!str_eq(str_cut(&rest, '.'), STR("127")))
        return false;
    for (int i = 0; i < 3; i++) {
        if (!str_given(rest) || !str_to_u64(str_cut(&rest, '.'), &part) || part > 255)
            return false;
    }
    return !str_given(rest);
}

static bool is_listed(const char *list, struct str name)
{
    struct str rest = str_of(list);
    while (str_given(rest))
        if (str_ieq(str_trim(str_cut(&rest, ',')), name))
            return true;
    return false;
}

/* The address that the listener is bound to is also a name of this machine, but only TLS makes it
 * safe to sign in there. */
bool admin_host_ok(const struct admin_options *options, struct str host, bool secure)
{
    struct str name = host_name(host);
    if (name.n == 0)
        return false;
    if (str_ieq(name, STR("localhost")) || is_loopback_address(name))
        return true;
    if (options->hosts != NULL && is_listed(options->hosts, name))
        return true;
    return secure && options->bound_host != NULL && str_ieq(name, str_of(options->bound_host));
}

/* ---- Origin ---- */

static bool is_own_origin(const struct http_exchange *x, struct str origin)
{
    struct str scheme = x->secure ? STR("https://") : STR("http://");
    return str_starts(origin, scheme) && str_ieq(str_from(origin, scheme.n), x->request.host);
}

/* True if the request is from a page of this origin, from the address bar, or not from a
 * browser. */
static bool is_same_site(const struct http_exchange *x)
{
    struct str site = http_header_get(&x->request, STR("Sec-Fetch-Site"));
    struct str origin = http_header_get(&x->request, STR("Origin"));
    if (str_given(origin) && !is_own_origin(x, origin))
        return false;
    if (!str_given(site))
        return true;
    if (str_eq(site, STR("same-origin")) || str_eq(site, STR("none")))
        return true;
    /* A link on another page may lead to the console page, and nowhere else. */
    struct str mode = http_header_get(&x->request, STR("Sec-Fetch-Mode"));
    return x->request.method == HTTP_GET && str_eq(mode, STR("navigate")) &&
           str_eq(x->request.path, STR("/"));
}

static bool refuse_host(struct admin_call *call)
{
    admin_fail(call, 421, "MisdirectedRequest",
               STR("The Host header names no address of this machine; --admin-hosts adds names."));
    return false;
}

bool admin_guard_browser(struct admin_call *call)
{
    if (!is_same_site(call->x)) {
        admin_fail(call, 403, "CrossSiteRequest", STR("A page of another site sent this request."));
        return false;
    }
    /* On a service's port the Host is checked only for routes that need it: health checks use any
     * name. */
    if (call->entry->own &&
        !admin_host_ok(&call->admin->options, call->x->request.host, call->x->secure))
        return refuse_host(call);
    return true;
}

/* ---- credentials ---- */

/* "Authorization: Bearer token". */
static bool has_token(const struct admin_call *call, const char *token)
{
    struct str value = http_header_get(&call->x->request, STR("Authorization"));
    const struct str scheme = STR("Bearer ");
    return token != NULL && str_given(value) && str_istarts(value, scheme) &&
           str_eq_secret(str_trim(str_from(value, scheme.n)), str_of(token));
}

static bool guard_metrics(struct admin_call *call)
{
    const char *token = call->admin->options.metrics_token;
    if (token != NULL ? has_token(call, token) : call->entry->loopback)
        return true;
    admin_fail(call, token != NULL ? 401 : 403, "MetricsTokenRequired",
               STR("Beyond loopback metrics need --metrics-token, sent as Authorization: Bearer."));
    return false;
}

/* The account of "SharedKey account:signature". */
static struct str named_account(struct str authorization)
{
    (void)str_cut(&authorization, ' ');
    return str_given(authorization) ? str_cut(&authorization, ':') : STR_NONE;
}

static size_t read_query(struct admin_call *call, struct auth_pair *out)
{
    struct uri_query walk = uri_query_of(call->x->request.query);
    struct uri_param param;
    size_t count = 0;
    while (str_given(call->x->request.query) && count < ADMIN_QUERY_MAX &&
           uri_query_next(&walk, call->x->arena, &param))
        out[count++] = (struct auth_pair){param.name, param.value};
    return count;
}

/* Checks a signature as for a request to the blob service, over the path as sent. */
static struct err check_key(struct admin_call *call)
{
    static const struct auth_demand demand = {.operation = "admin",
                                              .anonymous = AUTH_ANONYMOUS_NEVER};
    struct http_exchange *x = call->x;
    struct str authorization = http_header_get(&x->request, STR("Authorization"));
    if (!str_given(authorization) || !str_istarts(authorization, STR("SharedKey ")))
        return err_new(ERR_NO_AUTHENTICATION_INFORMATION);
    struct auth_pair *headers = ARENA_ARRAY(x->arena, struct auth_pair, x->request.header_count);
    for (size_t i = 0; i < x->request.header_count; i++)
        headers[i] = (struct auth_pair){x->request.headers[i].name, x->request.headers[i].value};
    struct auth_pair *query = ARENA_ARRAY(x->arena, struct auth_pair, ADMIN_QUERY_MAX);
    struct auth_input input = {
        .service = SERVICE_BLOB,
        .method = x->request.method_text,
        .path = x->request.path,
        .raw_query = x->request.query,
        .query = query,
        .query_count = read_query(call, query),
        .headers = headers,
        .header_count = x->request.header_count,
        .content_length = x->request.content_length,
        .account = named_account(authorization),
        .peer = x->peer,
        .secure = x->secure,
        .version = 20251105,
    };
    struct auth_result who;
    struct str challenge;
    TRY(auth_check(&call->admin->rest->auth, &input, &demand, x->arena, &who, &challenge));
    call->account = input.account;
    return OK;
}

static bool guard_key(struct admin_call *call)
{
    struct err error = check_key(call);
    if (err_is(error))
        admin_fail_err(call, error);
    return !err_is(error);
}

/* No form and no simple cross-site request can have the header. Beyond loopback a token is needed;
 * with a token, any host name is accepted. */
static bool guard_control(struct admin_call *call)
{
    const struct admin_control *control = &call->admin->control;
    struct str mark = http_header_get(&call->x->request, STR("x-lazuli-control"));
    if (control->script == NULL) {
        admin_fail(call, 404, "TestControlOff", STR("Test control is off: see --test-control."));
        return false;
    }
    if (!str_eq(mark, STR("1"))) {
        admin_fail(call, 403, "ControlHeaderRequired", STR("Send the header x-lazuli-control: 1."));
        return false;
    }
    if (control->token != NULL ? has_token(call, control->token) : call->entry->loopback)
        return control->token != NULL ||
               admin_host_ok(&call->admin->options, call->x->request.host, call->x->secure) ||
               refuse_host(call);
    admin_fail(call, control->token != NULL ? 401 : 403, "ControlTokenRequired",
               STR("Beyond loopback test control needs --test-control-token, sent as "
                   "Authorization: Bearer."));
    return false;
}

bool admin_guard_route(struct admin_call *call)
{
    unsigned needs = call->route->needs;
    bool token = has_token(call, call->admin->options.metrics_token);
    if ((needs & NEED_HOST) != 0 && !token && !call->entry->own &&
        !admin_host_ok(&call->admin->options, call->x->request.host, call->x->secure))
        return refuse_host(call);
    if ((needs & NEED_METRICS) != 0 && !guard_metrics(call))
        return false;
    if ((needs & NEED_CONTROL) != 0)
        return guard_control(call);
    if ((needs & NEED_INSPECTOR) != 0 && call->admin->rest->inspector == NULL) {
        admin_fail(call, 404, "InspectorOff", STR("The server was started with --no-inspector."));
        return false;
    }
    return (needs & NEED_KEY) == 0 || guard_key(call);
}
