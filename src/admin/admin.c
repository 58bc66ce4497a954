/* SPDX-License-Identifier: Apache-2.0 */
/* Routes. The first of these that matches handles a request:
 *   /blob/…, /queue/…, /table/…, /file/… on the admin listener: the storage service itself
 *   a row of ROUTES, there and below /_lazuli/ on every service's port
 *   a file of the console page, on the admin listener */
#include "admin/admin.h"

#include <assert.h>
#include <stdlib.h>

#include "admin/inspect.h"
#include "admin/internal.h"
#include "core/container.h"
#include "core/mem.h"
#include "core/text/uri.h"

// clang-format off
static const struct admin_route ROUTES[] = {
    /* method   own   path                needs                body  function */
    {HTTP_GET, false, "/livez",           NEED_NOTHING,          0,  admin_get_livez},
    {HTTP_GET, false, "/readyz",          NEED_NOTHING,          0,  admin_get_readyz},
    {HTTP_GET, false, "/metrics",         NEED_HOST | NEED_METRICS, 0, admin_get_metrics},
    {HTTP_GET, false, "/metrics.json",    NEED_HOST | NEED_METRICS, 0, admin_get_metrics_json},
    {HTTP_GET,    false, "/control/v1/accounts",   NEED_CONTROL, 0, control_get_accounts},
    {HTTP_POST,   false, "/control/v1/accounts",   NEED_CONTROL, 4096, control_post_account},
    {HTTP_DELETE, false, "/control/v1/accounts/*", NEED_CONTROL, 0, control_delete_account},
    {HTTP_POST,   false, "/control/v1/reset",      NEED_CONTROL, 4096, control_post_reset},
    {HTTP_POST,   false, "/control/v1/seed",       NEED_CONTROL, ADMIN_BODY_BYTES_MAX, control_post_seed},
    {HTTP_GET,    false, "/control/v1/clock",      NEED_CONTROL, 0, control_get_clock},
    {HTTP_POST,   false, "/control/v1/clock",      NEED_CONTROL, 4096, control_post_clock},
    {HTTP_GET,    false, "/control/v1/snapshots",  NEED_CONTROL, 0, control_get_snapshots},
    {HTTP_PUT,    false, "/control/v1/snapshots/*", NEED_CONTROL, 4096, control_put_snapshot},
    {HTTP_POST,   false, "/control/v1/snapshots/*/restore", NEED_CONTROL, 4096, control_post_snapshot},
    {HTTP_DELETE, false, "/control/v1/snapshots/*", NEED_CONTROL, 0, control_delete_snapshot},
    {HTTP_GET,    false, "/control/v1/faults",     NEED_CONTROL, 0, control_get_faults},
    {HTTP_POST,   false, "/control/v1/faults",     NEED_CONTROL, 65536, control_post_fault},
    {HTTP_PUT,    false, "/control/v1/faults",     NEED_CONTROL, 1 << 20, control_put_faults},
    {HTTP_DELETE, false, "/control/v1/faults/*",   NEED_CONTROL, 0, control_delete_fault},
    {HTTP_GET,    false, "/control/v1/holds",      NEED_CONTROL, 0, control_get_holds},
    {HTTP_POST,   false, "/control/v1/holds",      NEED_CONTROL, 65536, control_post_hold},
    {HTTP_GET,    false, "/control/v1/holds/*",    NEED_CONTROL, 0, control_get_hold},
    {HTTP_POST,   false, "/control/v1/holds/*/release", NEED_CONTROL, 4096, control_post_release},
    {HTTP_DELETE, false, "/control/v1/holds/*",    NEED_CONTROL, 0, control_delete_hold},
    {HTTP_GET,    false, "/control/v1/requests",   NEED_CONTROL, 0, control_get_requests},
    {HTTP_DELETE, false, "/control/v1/requests",   NEED_CONTROL, 0, control_delete_requests},
    {HTTP_GET,  true, "/api/v1/server",   NEED_HOST,             0,  admin_get_server},
    {HTTP_GET,  true, "/api/v1/account",  NEED_HOST | NEED_KEY,  0,  admin_get_account},
    {HTTP_GET,  true, "/api/v1/inspect/events", NEED_HOST | NEED_KEY | NEED_INSPECTOR, 0, admin_get_events},
    {HTTP_GET,  true, "/api/v1/inspect/contention", NEED_HOST | NEED_KEY | NEED_INSPECTOR, 0, admin_get_contention},
    {HTTP_GET,  true, "/api/v1/inspect/leases", NEED_HOST | NEED_KEY, 0, admin_get_leases},
    {HTTP_GET,  true, "/api/v1/inspect/opens", NEED_HOST | NEED_KEY, 0, admin_get_opens},
    {HTTP_GET,  true, "/api/v1/inspect/messages", NEED_HOST | NEED_KEY, 0, admin_get_messages},
};
// clang-format on

static const struct str MOUNTS[SERVICE_KIND_COUNT] = {
    [SERVICE_BLOB] = STR_INIT("/blob"),
    [SERVICE_QUEUE] = STR_INIT("/queue"),
    [SERVICE_TABLE] = STR_INIT("/table"),
    [SERVICE_FILE] = STR_INIT("/file"),
};

/* Headers of all answers of the admin listener itself. The page loads nothing from elsewhere, runs
 * no inline code, and cannot be framed. */
#define HEADERS_ALWAYS                              \
    "X-Content-Type-Options: nosniff\r\n"           \
    "Referrer-Policy: no-referrer\r\n"              \
    "Cross-Origin-Resource-Policy: same-origin\r\n" \
    "X-Frame-Options: DENY\r\n"
#define HEADERS_PAGE                                                                     \
    HEADERS_ALWAYS                                                                       \
    "Cross-Origin-Opener-Policy: same-origin\r\n"                                        \
    "Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; " \
    "img-src 'self' blob: data:; media-src blob:; connect-src 'self'; font-src 'self'; " \
    "manifest-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'none'; " \
    "frame-ancestors 'none'\r\n"
/* Headers of answers from the storage services here: they may have any content, which must never
 * run with the console's origin, not even if a user opens it in a tab. */
#define HEADERS_STORAGE \
    HEADERS_ALWAYS      \
    "Content-Security-Policy: sandbox; default-src 'none'; frame-ancestors 'none'\r\n"

/* ---- answers ---- */

static void reply(struct admin_call *call, const struct http_response *response)
{
    call->replied = true;
    http_reply(call->x, response);
}

void admin_reply(struct admin_call *call, int status, struct str type, struct str body)
{
    struct buf headers = buf_in(call->x->arena);
    http_put_header(&headers, STR("Content-Type"), type);
    buf_put(&headers, STR("Cache-Control: no-store\r\n"));
    reply(call,
          &(struct http_response){
              .status = status, .headers = buf_str(&headers), .body = body, .content_length = -1});
}

static void put_error(struct buf *out, const char *code, struct str message)
{
    struct json_writer w = json_writer_of(out);
    json_open(&w, '{');
    json_name(&w, STR("error"));
    json_open(&w, '{');
    json_name(&w, STR("code"));
    json_string(&w, str_of(code));
    json_name(&w, STR("message"));
    json_string(&w, message);
    json_close(&w, '}');
    json_close(&w, '}');
    buf_putc(out, '\n');
}

void admin_fail(struct admin_call *call, int status, const char *code, struct str message)
{
    struct buf out = buf_in(call->x->arena);
    put_error(&out, code, message);
    admin_reply(call, status, STR("application/json"), buf_str(&out));
}

/* Returns only the part of the detail meant for readers: "Element\ttext", with newlines. */
static struct str error_text(struct arena *arena, struct err error)
{
    struct str detail = str_of(error.detail);
    if (!str_given(detail))
        return str_of(err_message(error.code));
    struct str value = str_cut(&detail, '\n');
    (void)str_cut(&value, '\t');
    if (!str_given(value))
        return str_of(err_message(error.code));
    char *copy = arena_cstr(arena, value);
    for (char *c = copy; *c != '\0'; c++)
        if (*c == ERR_DETAIL_NEWLINE)
            *c = '\n';
    return str_of(copy);
}

void admin_fail_err(struct admin_call *call, struct err error)
{
    admin_fail(call, err_http_status(error.code), err_azure_code(error.code),
               error_text(call->x->arena, error));
}

void admin_pool_failed(struct admin_call *call, struct err error)
{
    buf_clear(&call->out);
    put_error(&call->out, err_azure_code(error.code), error_text(call->x->arena, error));
    call->status = err_http_status(error.code);
}

struct str admin_query(struct admin_call *call, struct str name)
{
    struct uri_query walk = uri_query_of(call->x->request.query);
    struct uri_param param;
    if (!str_given(call->x->request.query))
        return STR_NONE;
    while (walk.parts < ADMIN_QUERY_MAX && uri_query_next(&walk, call->x->arena, &param))
        if (str_eq(param.name, name))
            return str_is_utf8(param.value) ? param.value : STR_NONE;
    return STR_NONE;
}

static void answer_from_pool(struct run *r, struct err outcome)
{
    struct admin_call *call = CONTAINER_OF(r, struct admin_call, run);
    (void)outcome.code; /* the pool made the answer, also of a failure */
    admin_reply(call, call->status, call->out_type, buf_str(&call->out));
}

static struct err make_in_pool(struct run *r)
{
    struct admin_call *call = CONTAINER_OF(r, struct admin_call, run);
    call->in_pool(call);
    return OK;
}

void admin_in_pool(struct admin_call *call, void (*make)(struct admin_call *call))
{
    const struct rest_server *rest = call->admin->rest;
    call->in_pool = make;
    call->status = 200;
    call->out_type = STR("application/json");
    run_init(&call->run, call->x->loop, rest->store, rest->pool);
    run_in_pool(&call->run, rest->pool, make_in_pool, answer_from_pool);
}

struct str admin_service_name(enum service_kind service)
{
    return str_from(MOUNTS[service], 1);
}

/* ---- the storage services, on this origin ---- */

/* "/blob/account/…" is the blob service's "/account/…". The signature covers the latter, as on the
 * service's port, so it is valid in both places. */
static bool take_mount(struct http_exchange *x, struct admin *a, enum service_kind *service)
{
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++) {
        struct str rest = str_from(x->request.path, MOUNTS[i].n);
        if (!str_starts(x->request.path, MOUNTS[i]) || rest.n == 0 || rest.p[0] != '/' ||
            a->rest->ports[i] == 0)
            continue;
        x->request.path = rest;
        *service = (enum service_kind)i;
        return true;
    }
    return false;
}

static void hand_over(struct http_exchange *x, struct admin *a, enum service_kind service)
{
    x->reply_headers = STR(HEADERS_STORAGE);
    x->listener_context = &a->mounts[service];
    x->handler = &REST_HANDLER;
    x->handler->on_head(x);
}

/* ---- routes ---- */

static bool fits(const struct admin_route *route, const struct admin_call *call)
{
    struct str pattern = str_of(route->path), path = call->path;
    if (route->own_only && !call->entry->own)
        return false;
    while (str_given(pattern) && str_given(path)) {
        struct str wanted = str_cut(&pattern, '/'), part = str_cut(&path, '/');
        bool any = str_eq(wanted, STR("*")) && part.n > 0;
        if (!any && !str_eq(wanted, part))
            return false;
    }
    return !str_given(pattern) && !str_given(path);
}

struct str admin_path_name(const struct admin_call *call)
{
    struct str rest = str_from(call->path, strcspn(call->route->path, "*"));
    return str_cut(&rest, '/');
}

static bool is_method(const struct admin_route *route, enum http_method method)
{
    return route->method == method || (route->method == HTTP_GET && method == HTTP_HEAD);
}

/* Finds the row; if there is none, *known is true if another method would match. */
static const struct admin_route *find_route(const struct admin_call *call, bool *known)
{
    *known = false;
    for (size_t i = 0; i < sizeof ROUTES / sizeof ROUTES[0]; i++) {
        if (!fits(&ROUTES[i], call))
            continue;
        *known = true;
        if (is_method(&ROUTES[i], call->x->request.method))
            return &ROUTES[i];
    }
    return NULL;
}

static void answer_unrouted(struct admin_call *call, bool known)
{
    if (known) {
        admin_fail(call, 405, "MethodNotAllowed", STR("This path takes another method."));
        return;
    }
    enum http_method method = call->x->request.method;
    bool reads = method == HTTP_GET || method == HTTP_HEAD;
    if (reads && call->entry->own &&
        admin_host_ok(&call->admin->options, call->x->request.host, call->x->secure) &&
        admin_page(call))
        return;
    admin_fail(call, 404, "NotFound", STR("There is nothing at this path; see docs/admin-api.md."));
}

static void begin(struct admin_call *call)
{
    bool known;
    if (!admin_guard_browser(call))
        return;
    call->route = find_route(call, &known);
    if (call->route == NULL) {
        answer_unrouted(call, known);
        return;
    }
    if (!admin_guard_route(call))
        return;
    if (call->x->request.content_length > (int64_t)call->route->body_max)
        admin_fail(call, 413, "RequestBodyTooLarge", STR("The body is too large for this path."));
}

static void on_head(struct http_exchange *x)
{
    struct admin_entry *entry = x->listener_context;
    struct admin_call *call = ARENA_NEW(x->arena, struct admin_call);
    enum service_kind service;
    const struct str side = STR(REST_SIDE_PATH);
    call->x = x;
    call->admin = entry->admin;
    call->entry = entry;
    call->body = buf_in(x->arena);
    call->out = buf_in(x->arena);
    call->path = x->request.path;
    if (str_starts(call->path, side))
        call->path = str_from(call->path, side.n - 1);
    x->user = call;
    if (entry->own)
        x->reply_headers = STR(HEADERS_PAGE);
    if (entry->own && take_mount(x, entry->admin, &service)) {
        if (admin_guard_browser(call))
            hand_over(x, entry->admin, service);
        return;
    }
    begin(call);
}

static void on_body(struct http_exchange *x, struct str bytes)
{
    struct admin_call *call = x->user;
    if (call->body.n + bytes.n > call->route->body_max)
        admin_fail(call, 413, "RequestBodyTooLarge", STR("The body is too large for this path."));
    else
        buf_put(&call->body, bytes);
}

static void on_end(struct http_exchange *x)
{
    struct admin_call *call = x->user;
    call->route->run(call);
}

static void on_done(struct http_exchange *x)
{
    (void)x;
}

/* The services' state per loop: their requests also arrive here. */
static void *loop_memory_new(void)
{
    return REST_HANDLER.loop_memory_new();
}

static void loop_memory_free(void *memory)
{
    REST_HANDLER.loop_memory_free(memory);
}

const struct http_handler ADMIN_HANDLER = {
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_done = on_done,
    .loop_memory_new = loop_memory_new,
    .loop_memory_free = loop_memory_free,
};

/* ---- lifetime ---- */

struct admin *admin_new(const struct admin_options *options, struct rest_server *rest)
{
    struct admin *a = MEM_NEW(struct admin);
    a->options = *options;
    a->control = options->control;
    a->rest = rest;
    (void)pthread_mutex_init(&a->waiters_lock, NULL);
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++)
        a->mounts[i] = (struct rest_listener){
            .server = rest, .service = (enum service_kind)i, .mount = MOUNTS[i]};
    a->own = (struct admin_entry){a, true, options->on_loopback};
    a->side = (struct admin_entry){a, false, options->services_on_loopback};
    return a;
}

void admin_set_state(struct admin *a, enum admin_state state)
{
    if (a != NULL)
        atomic_store(&a->state, state);
}

void admin_watch(struct admin *a, const struct admin_watched *watched)
{
    assert(watched->loop_count <= ADMIN_LOOPS_MAX);
    a->watched = *watched;
}

void admin_free(struct admin *a)
{
    if (a != NULL)
        (void)pthread_mutex_destroy(&a->waiters_lock);
    free(a);
}

void *admin_own_context(struct admin *a)
{
    return &a->own;
}

void *admin_side_context(struct admin *a)
{
    return &a->side;
}
