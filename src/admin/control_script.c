/* SPDX-License-Identifier: Apache-2.0 */
/* Faults and holds as JSON: what rest/watch/script.h has, read and written. */
#include "admin/control.h"

#include <stdlib.h>

#include "admin/fields.h"
#include "admin/internal.h"
#include "core/mem.h"
#include "rest/watch/script.h"

#define AT(type, member) offsetof(struct type, member)

/* ---- reading ---- */

static struct err read_service(struct json_reader *r, struct json_value v, void *into)
{
    struct script_match *m = (struct script_match *)((char *)into - AT(script_match, service));
    if (v.kind == JSON_STRING && str_eq(v.text, STR("*")))
        return OK;
    for (unsigned i = 0; v.kind == JSON_STRING && i < SERVICE_KIND_COUNT; i++) {
        if (!str_eq(v.text, admin_service_name((enum service_kind)i)))
            continue;
        m->service = (enum service_kind)i;
        m->has_service = true;
        return OK;
    }
    return fields_wrong(r, "service", "is to be blob, queue, table or file");
}

/* A name that no operation has would never fit, and the test would wait for it. */
static bool operation_exists(const char *pattern)
{
    static const struct op_table *const TABLES[] = {&OPS_BLOB, &OPS_QUEUE, &OPS_TABLE, &OPS_FILE};
    for (size_t t = 0; t < sizeof TABLES / sizeof TABLES[0]; t++)
        for (size_t i = 0; i < TABLES[t]->count; i++)
            if (script_glob(pattern, str_of(TABLES[t]->rows[i].name)))
                return true;
    return pattern[0] == '\0';
}

static struct err read_match(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"service", FIELD_OTHER, AT(script_match, service), 0, read_service},
        {"operation", FIELD_TEXT, AT(script_match, operation), 48, NULL},
        {"account", FIELD_TEXT, AT(script_match, account), 32, NULL},
        {"container", FIELD_TEXT, AT(script_match, container), 68, NULL},
        {"object", FIELD_TEXT, AT(script_match, object), 260, NULL},
        {"clientRequestId", FIELD_TEXT, AT(script_match, client_request_id), 68, NULL}};
    struct script_match *m = into;
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "match", "is to be an object");
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], m));
    return operation_exists(m->operation)
               ? OK
               : fields_wrong(r, "operation", "is none of those of docs/operations.md");
}

static struct err read_point(struct json_reader *r, struct json_value v, void *into)
{
    enum script_point *at = into;
    if (v.kind == JSON_STRING && str_eq(v.text, STR("before")))
        *at = SCRIPT_BEFORE;
    else if (v.kind == JSON_STRING && str_eq(v.text, STR("after-commit")))
        *at = SCRIPT_AFTER_COMMIT;
    else
        return fields_wrong(r, "at", "is to be before or after-commit");
    return OK;
}

static struct err read_when(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"skip", FIELD_U64, AT(script_fault, skip), INT64_MAX, NULL},
        {"times", FIELD_U64, AT(script_fault, times), INT64_MAX, NULL},
        {"probability", FIELD_REAL, AT(script_fault, probability), 0, NULL},
        {"seed", FIELD_U64, AT(script_fault, seed), INT64_MAX, NULL}};
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "when", "is to be an object");
    return fields_read(r, FIELDS, 4, into);
}

struct deed_body {
    char error[64];
    uint32_t retry_after_s, delay_ms;
    bool reset;
    uint64_t truncate;
    bool truncates;
};

static struct err read_truncate(struct json_reader *r, struct json_value v, void *into)
{
    struct deed_body *body = (struct deed_body *)((char *)into - AT(deed_body, truncate));
    body->truncates = true;
    return v.kind == JSON_INTEGER && str_to_u64(v.text, &body->truncate)
               ? OK
               : fields_wrong(r, "truncateAfterBytes", "is to be a whole number");
}

static struct err find_error(struct json_reader *r, const char *name, enum err_code *out)
{
    for (int i = 1; i < ERR_CODE_COUNT; i++) {
        if (!str_eq(str_of(name), str_of(err_azure_code((enum err_code)i))) ||
            err_http_status((enum err_code)i) < 400)
            continue;
        *out = (enum err_code)i;
        return OK;
    }
    return fields_wrong(r, "error", "is no error code that the server knows");
}

static struct err read_do(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"error", FIELD_TEXT, AT(deed_body, error), 64, NULL},
        {"retryAfterSeconds", FIELD_U32, AT(deed_body, retry_after_s), 86400, NULL},
        {"delayMs", FIELD_U32, AT(deed_body, delay_ms), SCRIPT_DELAY_MS_MAX, NULL},
        {"reset", FIELD_BOOL, AT(deed_body, reset), 0, NULL},
        {"truncateAfterBytes", FIELD_OTHER, AT(deed_body, truncate), 0, read_truncate}};
    struct script_fault *fault = into;
    struct deed_body body = {.truncate = 0};
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "do", "is to be an object");
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], &body));
    int acts = (body.error[0] != '\0') + body.reset + body.truncates;
    if (acts > 1 || (acts == 0 && body.delay_ms == 0))
        return fields_wrong(
            r, "do", "is to have one of error, reset, truncateAfterBytes, and delayMs or not");
    fault->delay_ms = body.delay_ms;
    fault->retry_after_s = body.retry_after_s;
    fault->after_bytes = body.truncate;
    fault->act = body.error[0] != '\0' ? SCRIPT_ERROR
                 : body.reset          ? SCRIPT_RESET
                 : body.truncates      ? SCRIPT_TRUNCATE
                                       : SCRIPT_NOTHING;
    return body.error[0] != '\0' ? find_error(r, body.error, &fault->error) : OK;
}

static bool id_ok(const char *id)
{
    for (; *id != '\0'; id++)
        if (!ascii_alpha(*id) && !ascii_digit(*id) && *id != '-' && *id != '_' && *id != '.')
            return false;
    return true;
}

static struct err read_fault(struct json_reader *r, struct script_fault *fault)
{
    static const struct field FIELDS[] = {
        {"id", FIELD_TEXT, AT(script_fault, id), SCRIPT_ID_MAX + 1, NULL},
        {"match", FIELD_OTHER, AT(script_fault, match), 0, read_match},
        {"when", FIELD_OTHER, 0, 0, read_when},
        {"at", FIELD_OTHER, AT(script_fault, at), 0, read_point},
        {"do", FIELD_OTHER, 0, 0, read_do}};
    *fault = (struct script_fault){.probability = 1};
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], fault));
    if (!id_ok(fault->id))
        return fields_wrong(r, "id", "is to be of letters, digits, '-', '_' and '.'");
    if (fault->act == SCRIPT_NOTHING && fault->delay_ms == 0)
        return fields_wrong(r, "do", "is missing");
    if (fault->act == SCRIPT_TRUNCATE)
        fault->at = SCRIPT_AFTER_COMMIT;
    return OK;
}

static struct err read_order(struct json_reader *r, struct json_value v, void *into)
{
    struct script_hold *hold = (struct script_hold *)((char *)into - AT(script_hold, order));
    if (v.kind != JSON_ARRAY)
        return fields_wrong(r, "order", "is to be a list of client request ids");
    while (json_element(r)) {
        struct json_value id = json_value(r);
        if (id.kind != JSON_STRING || id.text.n >= sizeof hold->order[0] ||
            hold->order_count == SCRIPT_PARTIES_MAX)
            return fields_wrong(r, "order", "is to have at most 16 texts of at most 67 bytes");
        memcpy(hold->order[hold->order_count], id.text.p, id.text.n);
        hold->order[hold->order_count++][id.text.n] = '\0';
    }
    return OK;
}

static struct err read_hold(struct admin_call *call, struct script_hold *hold)
{
    static const struct field FIELDS[] = {
        {"id", FIELD_TEXT, AT(script_hold, id), SCRIPT_ID_MAX + 1, NULL},
        {"match", FIELD_OTHER, AT(script_hold, match), 0, read_match},
        {"at", FIELD_OTHER, AT(script_hold, at), 0, read_point},
        {"times", FIELD_U32, AT(script_hold, times), SCRIPT_PARTIES_MAX, NULL},
        {"parties", FIELD_U32, AT(script_hold, parties), SCRIPT_PARTIES_MAX, NULL},
        {"timeoutMs", FIELD_U32, AT(script_hold, timeout_ms), SCRIPT_HOLD_MS_MAX, NULL},
        {"order", FIELD_OTHER, AT(script_hold, order), 0, read_order}};
    *hold = (struct script_hold){.timeout_ms = SCRIPT_HOLD_MS};
    TRY(fields_parse(call->x->arena, buf_str(&call->body), FIELDS, sizeof FIELDS / sizeof FIELDS[0],
                     hold));
    if (!id_ok(hold->id))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tid: is to be of letters, digits, '-', '_' and '.'.");
    if (hold->times == 0)
        hold->times = hold->parties > 0 ? hold->parties : 1;
    return hold->parties > hold->times
               ? err_detail(ERR_INVALID_INPUT, "Reason\tparties: are more than times.")
               : OK;
}

/* ---- writing ---- */

static void put_text(struct json_writer *w, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    json_name(w, str_of(name));
    json_string(w, str_of(text));
}

static void put_number(struct json_writer *w, const char *name, uint64_t value)
{
    json_name(w, str_of(name));
    json_i64(w, (int64_t)value);
}

static void put_match(struct json_writer *w, const struct script_match *m)
{
    json_name(w, STR("match"));
    json_open(w, '{');
    if (m->has_service) {
        json_name(w, STR("service"));
        json_string(w, admin_service_name(m->service));
    }
    put_text(w, "operation", m->operation);
    put_text(w, "account", m->account);
    put_text(w, "container", m->container);
    put_text(w, "object", m->object);
    put_text(w, "clientRequestId", m->client_request_id);
    json_close(w, '}');
}

static void put_point(struct json_writer *w, enum script_point at)
{
    put_text(w, "at", at == SCRIPT_BEFORE ? "before" : "after-commit");
}

static void put_fault(struct json_writer *w, const struct script_fault *fault)
{
    json_open(w, '{');
    put_text(w, "id", fault->id);
    put_match(w, &fault->match);
    put_point(w, fault->at);
    json_name(w, STR("do"));
    json_open(w, '{');
    if (fault->act == SCRIPT_ERROR)
        put_text(w, "error", err_azure_code(fault->error));
    if (fault->act == SCRIPT_TRUNCATE)
        put_number(w, "truncateAfterBytes", fault->after_bytes);
    if (fault->act == SCRIPT_RESET) {
        json_name(w, STR("reset"));
        json_bool(w, true);
    }
    if (fault->delay_ms > 0)
        put_number(w, "delayMs", fault->delay_ms);
    json_close(w, '}');
    put_number(w, "seen", fault->seen);
    put_number(w, "struck", fault->struck);
    json_close(w, '}');
}

static void put_hold(struct json_writer *w, const struct script_hold *hold)
{
    json_open(w, '{');
    put_text(w, "id", hold->id);
    put_match(w, &hold->match);
    put_point(w, hold->at);
    put_number(w, "times", hold->times);
    if (hold->parties > 0)
        put_number(w, "parties", hold->parties);
    put_number(w, "arrived", hold->arrived);
    put_number(w, "waiting", hold->waiting);
    json_close(w, '}');
}

static void answer(struct admin_call *call, int status)
{
    buf_putc(&call->out, '\n');
    admin_reply(call, status, STR("application/json"), buf_str(&call->out));
}

/* ---- faults ---- */

void control_get_faults(struct admin_call *call)
{
    struct script_fault *faults = mem_alloc(SCRIPT_FAULTS_MAX * sizeof *faults);
    size_t count = script_faults(call->admin->control.script, faults);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '[');
    for (size_t i = 0; i < count; i++)
        put_fault(&w, &faults[i]);
    json_close(&w, ']');
    free(faults);
    answer(call, 200);
}

static struct err parse_fault(struct admin_call *call, struct script_fault *fault)
{
    struct json_reader r = json_reader_of(call->x->arena, buf_str(&call->body));
    if (json_value(&r).kind != JSON_OBJECT)
        return fields_wrong(&r, "the body", "is to be a JSON object");
    TRY(read_fault(&r, fault));
    return json_done(&r) ? OK : fields_wrong(&r, "the body", "is not well-formed JSON");
}

void control_post_fault(struct admin_call *call)
{
    struct script_fault fault;
    struct err error = parse_fault(call, &fault);
    if (!err_is(error))
        error = script_add_fault(call->admin->control.script, &fault);
    if (err_is(error)) {
        admin_fail_err(call, error);
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    put_fault(&w, &fault);
    answer(call, 201);
}

static struct err parse_faults(struct admin_call *call, struct script_fault *faults, size_t *count)
{
    struct json_reader r = json_reader_of(call->x->arena, buf_str(&call->body));
    *count = 0;
    if (json_value(&r).kind != JSON_ARRAY)
        return fields_wrong(&r, "the body", "is to be a JSON list of faults");
    while (json_element(&r)) {
        if (*count == SCRIPT_FAULTS_MAX)
            return fields_wrong(&r, "the list", "is to have at most 64 faults");
        if (json_value(&r).kind != JSON_OBJECT)
            return fields_wrong(&r, "a fault", "is to be an object");
        TRY(read_fault(&r, &faults[*count]));
        for (size_t i = 0; i < *count; i++)
            if (faults[i].id[0] != '\0' && str_eq(str_of(faults[i].id), str_of(faults[*count].id)))
                return fields_wrong(&r, "id", "is there twice");
        (*count)++;
    }
    return json_done(&r) ? OK : fields_wrong(&r, "the body", "is not well-formed JSON");
}

/* All of them are read before the first is put in force. */
void control_put_faults(struct admin_call *call)
{
    struct script *script = call->admin->control.script;
    struct script_fault *faults = mem_alloc(SCRIPT_FAULTS_MAX * sizeof *faults);
    size_t count;
    struct err error = parse_faults(call, faults, &count);
    if (!err_is(error)) {
        script_clear_faults(script);
        for (size_t i = 0; i < count && !err_is(error); i++)
            error = script_add_fault(script, &faults[i]);
    }
    free(faults);
    if (err_is(error))
        admin_fail_err(call, error);
    else
        control_get_faults(call);
}

static struct str path_name(const struct admin_call *call)
{
    struct str rest = str_from(call->path, strlen(call->route->path));
    return str_cut(&rest, '/');
}

static void answer_found(struct admin_call *call, bool found)
{
    if (!found) {
        admin_fail(call, 404, "NotFound", STR("There is none of that id."));
        return;
    }
    buf_put(&call->out, STR("{}"));
    answer(call, 200);
}

void control_delete_fault(struct admin_call *call)
{
    answer_found(call, script_remove_fault(call->admin->control.script, path_name(call)));
}

/* ---- holds ---- */

enum { LOOK_MS = 10, WAIT_MS_MAX = 25000 };

struct hold_wait {
    struct admin_call *call;
    struct str id;
    uint64_t arrived; /* until so many have come */
    int64_t until_ms;
    struct loop_timer timer;
};

/* Answers with the hold, when it is as was asked for or the time is over. */
static void look(struct hold_wait *h)
{
    struct admin_call *call = h->call;
    struct loop *loop = call->x->loop;
    struct script_hold *holds = mem_alloc(SCRIPT_HOLDS_MAX * sizeof *holds);
    size_t count = script_holds(call->admin->control.script, holds);
    const struct script_hold *found = NULL;
    for (size_t i = 0; i < count && found == NULL; i++)
        if (str_eq(h->id, str_of(holds[i].id)))
            found = &holds[i];
    bool over = found == NULL || found->arrived >= h->arrived || loop_now_ms(loop) >= h->until_ms ||
                atomic_load(&call->admin->state) == ADMIN_DRAINING;
    if (!over) {
        loop_timer_set(loop, &h->timer, LOOK_MS);
    } else if (found == NULL) {
        answer_found(call, false);
    } else {
        struct json_writer w = json_writer_of(&call->out);
        put_hold(&w, found);
        answer(call, 200);
    }
    free(holds);
}

static void look_again(struct loop_timer *timer)
{
    look((struct hold_wait *)((char *)timer - offsetof(struct hold_wait, timer)));
}

static void get_one(struct admin_call *call, struct str id)
{
    struct hold_wait *h = ARENA_NEW(call->x->arena, struct hold_wait);
    struct str arrived = admin_query(call, STR("arrived"));
    struct str timeout = admin_query(call, STR("timeoutMs"));
    uint64_t wait_ms = WAIT_MS_MAX;
    h->call = call;
    h->id = id;
    h->timer.fire = look_again;
    if ((str_given(arrived) && !str_to_u64(arrived, &h->arrived)) ||
        (str_given(timeout) && (!str_to_u64(timeout, &wait_ms) || wait_ms > WAIT_MS_MAX))) {
        admin_fail(call, 400, "InvalidQueryParameterValue",
                   STR("arrived is to be a number, timeoutMs one of at most 25000."));
        return;
    }
    h->until_ms = loop_now_ms(call->x->loop) + (int64_t)wait_ms;
    look(h);
}

void control_get_holds(struct admin_call *call)
{
    struct str list = STR("/control/v1/holds");
    if (call->path.n > list.n + 1) {
        get_one(call, path_name(call));
        return;
    }
    struct script_hold *holds = mem_alloc(SCRIPT_HOLDS_MAX * sizeof *holds);
    size_t count = script_holds(call->admin->control.script, holds);
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '[');
    for (size_t i = 0; i < count; i++)
        put_hold(&w, &holds[i]);
    json_close(&w, ']');
    free(holds);
    answer(call, 200);
}

void control_post_hold(struct admin_call *call)
{
    struct script_hold *hold = ARENA_NEW(call->x->arena, struct script_hold);
    struct err error = read_hold(call, hold);
    if (!err_is(error))
        error = script_add_hold(call->admin->control.script, hold);
    if (err_is(error)) {
        admin_fail_err(call, error);
        return;
    }
    struct json_writer w = json_writer_of(&call->out);
    put_hold(&w, hold);
    answer(call, 201);
}

struct release_body {
    uint32_t count;
};

/* "…/holds/ID/release" */
void control_post_release(struct admin_call *call)
{
    static const struct field FIELDS[] = {
        {"count", FIELD_U32, AT(release_body, count), SCRIPT_PARTIES_MAX, NULL}};
    struct release_body body = {0};
    struct str rest = str_from(call->path, strlen(call->route->path));
    struct str id = str_cut(&rest, '/');
    struct err error = fields_parse(call->x->arena, buf_str(&call->body), FIELDS, 1, &body);
    if (!str_eq(rest, STR("release")))
        admin_fail(call, 404, "NotFound", STR("A hold knows only …/release."));
    else if (err_is(error))
        admin_fail_err(call, error);
    else
        answer_found(call, script_release(call->admin->control.script, id, body.count));
}

void control_delete_hold(struct admin_call *call)
{
    answer_found(call, script_remove_hold(call->admin->control.script, path_name(call)));
}
