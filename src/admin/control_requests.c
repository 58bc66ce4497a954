/* SPDX-License-Identifier: Apache-2.0 */
/* The journal of requests: lets a test check what its program did. */
#include <stdlib.h>

#include "admin/control.h"
#include "admin/control_fault.h"
#include "admin/internal.h"
#include "core/mem.h"
#include "core/time.h"
#include "rest/watch/requests.h"

enum { LOOK_MS = 10, WAIT_MS_MAX = 25000, LIMIT_DEFAULT = 100, LIMIT_MAX = 1000 };

struct requests_wait {
    struct admin_call *call;
    struct requests_filter filter;
    size_t limit;
    uint64_t count; /* until this many match */
    int64_t until_ms;
    struct loop_timer timer;
};

static void put_note(struct json_writer *w, const struct request_note *n)
{
    char at[TIME_ISO_BYTES];
    time_iso(n->at, at);
    json_open(w, '{');
    control_put_number(w, "id", n->id);
    json_name(w, STR("time"));
    json_string(w, (struct str){at, sizeof at});
    control_put_service(w, n->service);
    control_put_text(w, "operation", n->operation);
    control_put_text(w, "method", n->method);
    control_put_target(w, n->account, n->container, n->object);
    control_put_number(w, "status", (uint64_t)n->status);
    control_put_text(w, "error", err_azure_code(n->error));
    control_put_text(w, "fault", n->fault);
    control_put_text(w, "requestId", n->request_id);
    control_put_text(w, "clientRequestId", n->client_request_id);
    control_put_number(w, "durationUs", (uint64_t)(n->duration_us > 0 ? n->duration_us : 0));
    control_put_number(w, "bytesIn", n->bytes_in);
    control_put_number(w, "bytesOut", n->bytes_out);
    json_close(w, '}');
}

static void answer(struct admin_call *call, const struct requests_found *found)
{
    struct json_writer w = json_writer_of(&call->out);
    json_open(&w, '{');
    control_put_number(&w, "count", found->count);
    control_put_number(&w, "next", found->next);
    json_name(&w, STR("requests"));
    json_open(&w, '[');
    for (size_t i = 0; i < found->notes_count; i++)
        put_note(&w, &found->notes[i]);
    json_close(&w, ']');
    json_close(&w, '}');
    buf_putc(&call->out, '\n');
    admin_reply(call, 200, STR("application/json"), buf_str(&call->out));
}

/* Answers, or continues to wait. */
static void look(struct requests_wait *q)
{
    struct admin_call *call = q->call;
    struct loop *loop = call->x->loop;
    struct requests_found found = {.limit = q->limit};
    found.notes = mem_alloc((q->limit + 1) * sizeof *found.notes);
    requests_find(script_requests(call->admin->control.script), &q->filter, &found);
    if (found.count >= q->count || loop_now_ms(loop) >= q->until_ms ||
        atomic_load(&call->admin->state) == ADMIN_DRAINING)
        answer(call, &found);
    else
        loop_timer_set(loop, &q->timer, LOOK_MS);
    free(found.notes);
}

static void look_again(struct loop_timer *timer)
{
    look((struct requests_wait *)((char *)timer - offsetof(struct requests_wait, timer)));
}

/* False if the text does not fit; an absent one leaves `out` empty. */
static bool take(struct admin_call *call, const char *name, char *out, size_t size)
{
    struct str value = admin_query(call, str_of(name));
    if (value.n >= size)
        return false;
    if (value.n > 0)
        memcpy(out, value.p, value.n);
    out[value.n] = '\0';
    return true;
}

static bool take_number(struct admin_call *call, const char *name, uint64_t max, uint64_t *out)
{
    struct str value = admin_query(call, str_of(name));
    return !str_given(value) || (str_to_u64(value, out) && *out <= max);
}

static const char *read_texts(struct admin_call *call, struct requests_filter *f)
{
    struct script_match *m = &f->match;
    struct str service = admin_query(call, STR("service"));
    m->has_service = str_given(service) && control_service_of(service, &m->service);
    if (str_given(service) && !m->has_service)
        return "service is to be blob, queue, table or file.";
    if (!take(call, "operation", m->operation, sizeof m->operation) ||
        !control_operation_exists(m->operation))
        return "operation is none of those of docs/operations.md.";
    return take(call, "account", m->account, sizeof m->account) &&
                   take(call, "container", m->container, sizeof m->container) &&
                   take(call, "object", m->object, sizeof m->object) &&
                   take(call, "clientRequestId", m->client_request_id,
                        sizeof m->client_request_id) &&
                   take(call, "error", f->error, sizeof f->error)
               ? NULL
               : "A parameter is too long.";
}

/* Returns the reason for a refusal, or NULL. */
static const char *read_query(struct admin_call *call, struct requests_wait *q)
{
    uint64_t status = 0, limit = LIMIT_DEFAULT, wait_ms = WAIT_MS_MAX;
    struct str wait = admin_query(call, STR("wait"));
    const char *wrong = read_texts(call, &q->filter);
    if (wrong != NULL)
        return wrong;
    if (!take_number(call, "status", 599, &status) ||
        !take_number(call, "limit", LIMIT_MAX, &limit) ||
        !take_number(call, "after", INT64_MAX, &q->filter.after) ||
        !take_number(call, "timeoutMs", WAIT_MS_MAX, &wait_ms))
        return "status, limit (at most 1000), after and timeoutMs (at most 25000) are numbers.";
    if (str_given(wait) && (!str_starts(wait, STR("count:")) ||
                            !str_to_u64(str_from(wait, 6), &q->count) || q->count > REQUESTS_KEPT))
        return "wait is to be count:N, with N of at most 4096.";
    q->filter.status = (int)status;
    q->limit = (size_t)limit;
    q->until_ms = loop_now_ms(call->x->loop) + (int64_t)(q->count > 0 ? wait_ms : 0);
    return NULL;
}

void control_get_requests(struct admin_call *call)
{
    struct requests_wait *q = ARENA_NEW(call->x->arena, struct requests_wait);
    q->call = call;
    q->timer.fire = look_again;
    const char *wrong = read_query(call, q);
    if (wrong != NULL)
        admin_fail(call, 400, "InvalidQueryParameterValue", str_of(wrong));
    else
        look(q);
}

void control_delete_requests(struct admin_call *call)
{
    requests_clear(script_requests(call->admin->control.script));
    admin_reply(call, 200, STR("application/json"), STR("{}\n"));
}
