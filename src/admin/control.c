/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/control.h"

#include "admin/fields.h"
#include "admin/internal.h"
#include "core/clock_control.h"
#include "core/container.h"
#include "core/time.h"
#include "rest/watch/inspector.h"
#include "rest/watch/requests.h"
#include "rest/watch/script.h"
#include "service/account/registry.h"
#include "service/common/saved.h"
#include "service/file/opens/opens.h"

/* ---- answers ---- */

static void pool_done(struct admin_call *call, struct err error)
{
    if (err_is(error))
        admin_pool_failed(call, error);
    else if (call->out.n == 0)
        buf_put(&call->out, STR("{}\n"));
}

static struct saved_scope whole_scope(const struct admin_call *call)
{
    return (struct saved_scope){.store = call->admin->rest->store,
                                .saved = call->admin->control.saved,
                                .refs = call->admin->control.refs,
                                .account = STR_NONE};
}

/* ---- accounts ---- */

struct account_body {
    char name[ACCOUNT_NAME_MAX + 1];
};

static void put_connection_string(struct admin_call *call, struct json_writer *w,
                                  const struct account *account)
{
    static const char *const TITLES[] = {"Blob", "Queue", "Table", "File"};
    struct str host = str_head(call->x->request.host, str_find(call->x->request.host, ':', 0));
    struct buf text = buf_in(call->x->arena);
    buf_printf(&text, "DefaultEndpointsProtocol=http;AccountName=%.*s;AccountKey=%.*s;",
               STR_ARG(account->name), STR_ARG(account->keys_base64[0]));
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++)
        if (call->admin->rest->ports[i] != 0)
            buf_printf(&text, "%sEndpoint=http://%.*s:%u/%.*s;", TITLES[i], STR_ARG(host),
                       call->admin->rest->ports[i], STR_ARG(account->name));
    json_name(w, STR("connectionString"));
    json_string(w, buf_str(&text));
}

static void put_account(struct admin_call *call, struct str name)
{
    struct account *account = accounts_get(call->admin->rest->auth.accounts, name);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("name"));
    json_string(&w, name);
    json_name(&w, STR("keys"));
    json_open(&w, '[');
    for (unsigned i = 0; account != NULL && i < account->key_count; i++)
        json_string(&w, account->keys_base64[i]);
    json_close(&w, ']');
    if (account != NULL)
        put_connection_string(call, &w, account);
    json_close(&w, '}');
    buf_putc(&call->out, '\n');
    account_put(account);
}

static void make_account(struct admin_call *call)
{
    static const struct field FIELDS[] = {
        {"name", FIELD_TEXT, offsetof(struct account_body, name), sizeof(char[25]), NULL}};
    struct account_body body = {{0}};
    struct err error = fields_parse(call->x->arena, buf_str(&call->body), FIELDS, 1, &body);
    struct str name = str_of(body.name);
    if (!err_is(error) && name.n == 0)
        name = arena_printf(call->x->arena, "t%015llx", (unsigned long long)(random_u64() >> 4));
    if (!err_is(error))
        error = registry_add(call->admin->control.registry, &(struct registry_new){.name = name});
    if (!err_is(error)) {
        put_account(call, name);
        call->status = 201;
    }
    pool_done(call, error);
}

void control_post_account(struct admin_call *call)
{
    admin_in_pool(call, make_account);
}

void control_get_accounts(struct admin_call *call)
{
    struct accounts *accounts = call->admin->rest->auth.accounts;
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '[');
    for (size_t i = 0;; i++) {
        struct str name = accounts_name(accounts, call->x->arena, i);
        if (!str_given(name))
            break;
        json_string(&w, name);
    }
    json_close(&w, ']');
    buf_putc(&call->out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&call->out));
}

static void drop_account(struct admin_call *call)
{
    struct saved_scope scope = whole_scope(call);
    scope.account = admin_path_name(call);
    struct err error = registry_delete(call->admin->control.registry, scope.account);
    if (!err_is(error))
        error = saved_reset(&scope);
    if (!err_is(error) && call->admin->rest->inspector != NULL)
        inspector_forget(call->admin->rest->inspector, scope.account);
    pool_done(call, error);
}

void control_delete_account(struct admin_call *call)
{
    admin_in_pool(call, drop_account);
}

/* ---- reset ---- */

struct reset_body {
    char account[ACCOUNT_NAME_MAX + 1];
    char service[8];
    bool keep;
};

static bool service_named(struct str name, enum service_kind *out)
{
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++) {
        if (!str_eq(name, admin_service_name((enum service_kind)i)))
            continue;
        *out = (enum service_kind)i;
        return true;
    }
    return false;
}

/* A given name selects one account, even if it is empty; otherwise an empty name would delete
 * all. */
enum { NOT_GIVEN = '\n' };

static struct err read_reset(struct admin_call *call, struct reset_body *body,
                             struct saved_scope *scope)
{
    static const struct field FIELDS[] = {
        {"account", FIELD_TEXT, offsetof(struct reset_body, account), 25, NULL},
        {"service", FIELD_TEXT, offsetof(struct reset_body, service), 8, NULL},
        {"keep", FIELD_BOOL, offsetof(struct reset_body, keep), 0, NULL}};
    body->account[0] = body->service[0] = NOT_GIVEN;
    TRY(fields_parse(call->x->arena, buf_str(&call->body), FIELDS, 3, body));
    scope->has_service = body->service[0] != NOT_GIVEN;
    if (scope->has_service && !service_named(str_of(body->service), &scope->service))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tservice: is to be blob, queue, table or file.");
    if (body->account[0] == NOT_GIVEN)
        return OK;
    scope->account = str_of(body->account);
    struct account *account = accounts_get(call->admin->rest->auth.accounts, scope->account);
    account_put(account);
    return account != NULL
               ? OK
               : err_detail(ERR_RESOURCE_NOT_FOUND, "Reason\taccount: there is none of that name.");
}

/* SMB handles would refer to files that are about to be replaced. */
static void close_handles(const struct saved_scope *scope)
{
    bool files = !scope->has_service || scope->service == SERVICE_FILE;
    if (files && scope->store->opens != NULL)
        opens_force_close_all(scope->store->opens);
}

static void do_reset(struct admin_call *call)
{
    struct reset_body body = {.keep = false};
    struct saved_scope scope = whole_scope(call);
    struct err error = read_reset(call, &body, &scope);
    if (!err_is(error)) {
        close_handles(&scope);
        error = saved_reset(&scope);
    }
    if (!err_is(error) && !body.keep) {
        script_clear(call->admin->control.script);
        requests_clear(script_requests(call->admin->control.script));
        clock_control_set(call->admin->control.clock, 0, false);
        if (call->admin->rest->inspector != NULL)
            inspector_forget(call->admin->rest->inspector, scope.account);
    }
    pool_done(call, error);
}

void control_post_reset(struct admin_call *call)
{
    admin_in_pool(call, do_reset);
}

/* ---- seed ---- */

static void do_seed(struct admin_call *call)
{
    const struct admin_control *control = &call->admin->control;
    struct err error = control->seed == NULL
                           ? err_new(ERR_NOT_IMPLEMENTED)
                           : control->seed(control->seed_arg, buf_str(&call->body), call->x->arena);
    pool_done(call, error);
}

void control_post_seed(struct admin_call *call)
{
    admin_in_pool(call, do_seed);
}

/* ---- clock ---- */

static void put_clock(struct admin_call *call)
{
    struct clock_state state = clock_control_state(call->admin->control.clock);
    char text[TIME_ISO_BYTES];
    time_iso(store_now(call->admin->rest->store), text);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    json_name(&w, STR("now"));
    json_string(&w, (struct str){text, sizeof text});
    json_name(&w, STR("shiftMs"));
    json_i64(&w, state.shift_ms);
    json_name(&w, STR("frozen"));
    json_bool(&w, state.frozen);
    json_close(&w, '}');
    buf_putc(&call->out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&call->out));
}

void control_get_clock(struct admin_call *call)
{
    put_clock(call);
}

struct clock_body {
    int64_t advance_ms;
    char set_to[40];
    bool freeze, freeze_given;
};

static struct err read_freeze(struct json_reader *r, struct json_value v, void *into)
{
    struct clock_body *body = CONTAINER_OF(into, struct clock_body, freeze);
    if (v.kind != JSON_BOOL)
        return fields_wrong(r, "freeze", "is to be true or false");
    body->freeze = v.boolean;
    body->freeze_given = true;
    return OK;
}

/* The largest shift: no test needs more. Stamps are derived from the time, never decrease, and must
 * fit into rows forever (path_tree_new_id). */
#define CLOCK_FIRST    STR("1970-01-02T00:00:00Z")
#define CLOCK_LAST     STR("2150-01-01T00:00:00Z")
#define ADVANCE_MS_MAX (200LL * 366 * 86400 * 1000)

static struct err check_time(int64_t to)
{
    int64_t first = 0, last = 0;
    bool good = time_parse_iso(CLOCK_FIRST, &first) && time_parse_iso(CLOCK_LAST, &last);
    return good && to >= first && to <= last
               ? OK
               : err_detail(ERR_INVALID_INPUT,
                            "Reason\tthe time: is to be of the years 1970 to 2149.");
}

static struct err move_clock(struct admin_call *call)
{
    static const struct field FIELDS[] = {
        {"advanceMs", FIELD_I64, offsetof(struct clock_body, advance_ms), 0, NULL},
        {"setTo", FIELD_TEXT, offsetof(struct clock_body, set_to), 40, NULL},
        {"freeze", FIELD_OTHER, offsetof(struct clock_body, freeze), 0, read_freeze}};
    struct clock_control *clock = call->admin->control.clock;
    struct clock_body body = {.advance_ms = 0};
    int64_t to;
    TRY(fields_parse(call->x->arena, buf_str(&call->body), FIELDS, 3, &body));
    struct clock_state state = clock_control_state(clock);
    bool frozen = body.freeze_given ? body.freeze : state.frozen;
    if (body.advance_ms > ADVANCE_MS_MAX || body.advance_ms < -ADVANCE_MS_MAX)
        return err_detail(ERR_INVALID_INPUT, "Reason\tadvanceMs: is too much.");
    if (body.set_to[0] == '\0') {
        int64_t advance = body.advance_ms * TICKS_PER_MS;
        TRY(check_time(store_now(call->admin->rest->store) + advance));
        clock_control_advance(clock, advance, frozen);
        return OK;
    }
    if (!time_parse_iso(str_of(body.set_to), &to))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tsetTo: is to be a time such as 2026-01-01T00:00:00Z.");
    to += body.advance_ms * TICKS_PER_MS;
    TRY(check_time(to));
    clock_control_set_to(clock, to, frozen);
    return OK;
}

void control_post_clock(struct admin_call *call)
{
    struct err error = move_clock(call);
    if (err_is(error))
        admin_fail_err(call, error);
    else
        put_clock(call);
}

/* ---- named states ---- */

static void list_snapshots(struct admin_call *call)
{
    struct str names;
    struct err error = saved_names(call->admin->rest->store, call->x->arena, &names);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '[');
    while (!err_is(error) && names.n > 0)
        json_string(&w, str_cut(&names, ','));
    json_close(&w, ']');
    buf_putc(&call->out, '\n');
    pool_done(call, error);
}

void control_get_snapshots(struct admin_call *call)
{
    admin_in_pool(call, list_snapshots);
}

static struct err check_name(struct str name)
{
    return saved_name_ok(name)
               ? OK
               : err_detail(
                     ERR_INVALID_INPUT,
                     "Reason\tthe name: is to be of 1 to 40 lower-case letters, digits and '-'.");
}

static void keep_state(struct admin_call *call)
{
    struct reset_body body = {.keep = false};
    struct saved_scope scope = whole_scope(call);
    struct str name = admin_path_name(call);
    struct err error = check_name(name);
    if (!err_is(error))
        error = read_reset(call, &body, &scope);
    if (!err_is(error))
        error = saved_keep(&scope, name);
    call->status = 201;
    pool_done(call, error);
}

void control_put_snapshot(struct admin_call *call)
{
    admin_in_pool(call, keep_state);
}

static void restore_state(struct admin_call *call)
{
    struct saved_scope scope = whole_scope(call);
    struct str name = admin_path_name(call);
    struct err error = check_name(name);
    if (!err_is(error)) {
        close_handles(&scope);
        error = saved_restore(&scope, name);
    }
    pool_done(call, error);
}

void control_post_snapshot(struct admin_call *call)
{
    admin_in_pool(call, restore_state);
}

static void forget_state(struct admin_call *call)
{
    struct saved_scope scope = whole_scope(call);
    struct str name = admin_path_name(call);
    struct err error = check_name(name);
    if (!err_is(error))
        error = saved_forget(&scope, name);
    pool_done(call, error);
}

void control_delete_snapshot(struct admin_call *call)
{
    admin_in_pool(call, forget_state);
}
