/* SPDX-License-Identifier: Apache-2.0 */
/* Faults and holds (rest/watch/script.h) as JSON. */
#include "admin/control.h"

#include <stdlib.h>

#include "admin/control_fault.h"
#include "admin/fields.h"
#include "admin/internal.h"
#include "core/container.h"
#include "core/mem.h"
#include "rest/watch/script.h"

#define AT(type, member) offsetof(struct type, member)

/* ---- reading ---- */

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
        {"match", FIELD_OTHER, AT(script_hold, match), 0, control_read_match},
        {"at", FIELD_OTHER, AT(script_hold, at), 0, control_read_point},
        {"times", FIELD_U32, AT(script_hold, times), SCRIPT_PARTIES_MAX, NULL},
        {"parties", FIELD_U32, AT(script_hold, parties), SCRIPT_PARTIES_MAX, NULL},
        {"timeoutMs", FIELD_U32, AT(script_hold, timeout_ms), SCRIPT_HOLD_MS_MAX, NULL},
        {"order", FIELD_OTHER, AT(script_hold, order), 0, read_order}};
    *hold = (struct script_hold){.timeout_ms = SCRIPT_HOLD_MS};
    TRY(fields_parse(call->x->arena, buf_str(&call->body), FIELDS, sizeof FIELDS / sizeof FIELDS[0],
                     hold));
    if (!control_id_ok(hold->id))
        return err_detail(ERR_INVALID_INPUT,
                          "Reason\tid: is to be of letters, digits, '-', '_' and '.'.");
    if (hold->at == SCRIPT_SENDING)
        return err_detail(ERR_INVALID_INPUT, "Reason\tat: is to be before or after-commit.");
    if (hold->times == 0)
        hold->times = hold->parties > 0 ? hold->parties : 1;
    return hold->parties > hold->times
               ? err_detail(ERR_INVALID_INPUT, "Reason\tparties: are more than times.")
               : OK;
}

/* ---- writing ---- */

static void put_hold(struct json_writer *w, const struct script_hold *hold)
{
    json_open(w, '{');
    control_put_text(w, "id", hold->id);
    control_put_match(w, &hold->match);
    control_put_text(w, "at", hold->at == SCRIPT_BEFORE ? "before" : "after-commit");
    control_put_number(w, "times", hold->times);
    if (hold->parties > 0)
        control_put_number(w, "parties", hold->parties);
    control_put_number(w, "arrived", hold->arrived);
    control_put_number(w, "waiting", hold->waiting);
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
        control_put_fault(&w, &faults[i]);
    json_close(&w, ']');
    free(faults);
    answer(call, 200);
}

static struct err parse_fault(struct admin_call *call, struct script_fault *fault)
{
    struct json_reader r = json_reader_of(call->x->arena, buf_str(&call->body));
    if (json_value(&r).kind != JSON_OBJECT)
        return fields_wrong(&r, "the body", "is to be a JSON object");
    TRY(control_read_fault(&r, fault));
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
    control_put_fault(&w, &fault);
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
        TRY(control_read_fault(&r, &faults[*count]));
        for (size_t i = 0; i < *count; i++)
            if (faults[i].id[0] != '\0' && str_eq(str_of(faults[i].id), str_of(faults[*count].id)))
                return fields_wrong(&r, "id", "is there twice");
        (*count)++;
    }
    return json_done(&r) ? OK : fields_wrong(&r, "the body", "is not well-formed JSON");
}

/* Parses all of them before the first takes effect. */
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
    answer_found(call, script_remove_fault(call->admin->control.script, admin_path_name(call)));
}

/* ---- holds ---- */

enum { LOOK_MS = 10, WAIT_MS_MAX = 25000 };

struct hold_wait {
    struct admin_call *call;
    struct str id;
    uint64_t arrived; /* until this many have arrived */
    int64_t until_ms;
    struct loop_timer timer;
};

/* Answers with the hold, if it has the requested state or the time is over. */
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
    look(CONTAINER_OF(timer, struct hold_wait, timer));
}

void control_get_hold(struct admin_call *call)
{
    struct hold_wait *h = ARENA_NEW(call->x->arena, struct hold_wait);
    struct str arrived = admin_query(call, STR("arrived"));
    struct str timeout = admin_query(call, STR("timeoutMs"));
    uint64_t wait_ms = WAIT_MS_MAX;
    h->call = call;
    h->id = admin_path_name(call);
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

void control_post_release(struct admin_call *call)
{
    static const struct field FIELDS[] = {
        {"count", FIELD_U32, AT(release_body, count), SCRIPT_PARTIES_MAX, NULL}};
    struct release_body body = {0};
    struct err error = fields_parse(call->x->arena, buf_str(&call->body), FIELDS, 1, &body);
    if (err_is(error))
        admin_fail_err(call, error);
    else
        answer_found(
            call, script_release(call->admin->control.script, admin_path_name(call), body.count));
}

void control_delete_hold(struct admin_call *call)
{
    answer_found(call, script_remove_hold(call->admin->control.script, admin_path_name(call)));
}
