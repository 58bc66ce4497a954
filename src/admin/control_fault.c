/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/control_fault.h"

#include "admin/fields.h"
#include "admin/internal.h"
#include "core/container.h"

#define AT(type, member) offsetof(struct type, member)

/* ---- reading ---- */

bool control_service_of(struct str name, enum service_kind *out)
{
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++)
        if (str_eq(name, admin_service_name((enum service_kind)i))) {
            *out = (enum service_kind)i;
            return true;
        }
    return false;
}

static struct err read_service(struct json_reader *r, struct json_value v, void *into)
{
    struct script_match *m = (struct script_match *)((char *)into - AT(script_match, service));
    if (v.kind == JSON_STRING && str_eq(v.text, STR("*")))
        return OK;
    m->has_service = v.kind == JSON_STRING && control_service_of(v.text, &m->service);
    return m->has_service ? OK : fields_wrong(r, "service", "is to be blob, queue, table or file");
}

/* A name of no operation would never match, and the test would wait forever. */
bool control_operation_exists(const char *pattern)
{
    static const struct op_table *const TABLES[] = {&OPS_BLOB, &OPS_QUEUE, &OPS_TABLE, &OPS_FILE,
                                                    &OPS_DFS};
    for (size_t t = 0; t < sizeof TABLES / sizeof TABLES[0]; t++)
        for (size_t i = 0; i < TABLES[t]->count; i++)
            if (script_glob(pattern, str_of(TABLES[t]->rows[i].name)))
                return true;
    return pattern[0] == '\0';
}

static struct err read_headers(struct json_reader *r, struct json_value v, void *into)
{
    struct script_match *m = (struct script_match *)((char *)into - AT(script_match, headers));
    struct str name;
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "header", "is to be an object of names and values");
    while (json_member(r, &name)) {
        struct script_header *h = &m->headers[m->header_count];
        struct json_value value = json_value(r);
        if (m->header_count == SCRIPT_HEADERS_MAX || value.kind != JSON_STRING || name.n == 0 ||
            name.n >= sizeof h->name || value.text.n >= sizeof h->value)
            return fields_wrong(r, "header", "is to have at most 4 names, each with a short text");
        memcpy(h->name, name.p, name.n);
        memcpy(h->value, value.text.p, value.text.n);
        m->header_count++;
    }
    return OK;
}

struct err control_read_match(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"service", FIELD_OTHER, AT(script_match, service), 0, read_service},
        {"operation", FIELD_TEXT, AT(script_match, operation), 48, NULL},
        {"account", FIELD_TEXT, AT(script_match, account), 32, NULL},
        {"container", FIELD_TEXT, AT(script_match, container), 68, NULL},
        {"object", FIELD_TEXT, AT(script_match, object), 260, NULL},
        {"clientRequestId", FIELD_TEXT, AT(script_match, client_request_id), 68, NULL},
        {"header", FIELD_OTHER, AT(script_match, headers), 0, read_headers}};
    struct script_match *m = into;
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "match", "is to be an object");
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], m));
    return control_operation_exists(m->operation)
               ? OK
               : fields_wrong(r, "operation", "is none of those of docs/operations.md");
}

struct err control_read_point(struct json_reader *r, struct json_value v, void *into)
{
    enum script_point *at = into;
    if (v.kind == JSON_STRING && str_eq(v.text, STR("before")))
        *at = SCRIPT_BEFORE;
    else if (v.kind == JSON_STRING && str_eq(v.text, STR("after-commit")))
        *at = SCRIPT_AFTER_COMMIT;
    else if (v.kind == JSON_STRING && str_eq(v.text, STR("while-sending")))
        *at = SCRIPT_SENDING;
    else
        return fields_wrong(r, "at", "is to be before, after-commit or while-sending");
    return OK;
}

static struct err read_when(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"skip", FIELD_U64, AT(script_fault, skip), INT64_MAX, NULL},
        {"every", FIELD_U64, AT(script_fault, every), INT64_MAX, NULL},
        {"times", FIELD_U64, AT(script_fault, times), INT64_MAX, NULL},
        {"probability", FIELD_REAL, AT(script_fault, probability), 0, NULL},
        {"seed", FIELD_U64, AT(script_fault, seed), INT64_MAX, NULL}};
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "when", "is to be an object");
    return fields_read(r, FIELDS, 5, into);
}

struct deed_body {
    char error[64];
    uint32_t status, retry_after_s, delay_ms, jitter_ms;
    bool reset, close, stall, corrupt;
    bool has_after, has_truncate, has_rate;
    uint64_t after_bytes, truncate, bytes_per_second;
    uint32_t rate_per_second, rate_burst;
};

/* Reads a number of bytes, where 0 differs from an absent value. */
static struct err read_bytes_given(struct json_reader *r, struct json_value v, const char *name,
                                   uint64_t *out)
{
    return v.kind == JSON_INTEGER && str_to_u64(v.text, out)
               ? OK
               : fields_wrong(r, name, "is to be a whole number");
}

static struct err read_after(struct json_reader *r, struct json_value v, void *into)
{
    struct deed_body *body = CONTAINER_OF(into, struct deed_body, after_bytes);
    body->has_after = true;
    return read_bytes_given(r, v, "afterBytes", &body->after_bytes);
}

static struct err read_truncate(struct json_reader *r, struct json_value v, void *into)
{
    struct deed_body *body = CONTAINER_OF(into, struct deed_body, truncate);
    body->has_truncate = true;
    return read_bytes_given(r, v, "truncateAfterBytes", &body->truncate);
}

static struct err read_rate(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"perSecond", FIELD_U32, AT(deed_body, rate_per_second), SCRIPT_RATE_MAX, NULL},
        {"burst", FIELD_U32, AT(deed_body, rate_burst), SCRIPT_RATE_MAX, NULL}};
    struct deed_body *body = into;
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "rate", "is to be an object");
    TRY(fields_read(r, FIELDS, 2, body));
    body->has_rate = true;
    if (body->rate_burst == 0)
        body->rate_burst = body->rate_per_second;
    return body->rate_per_second > 0 ? OK : fields_wrong(r, "perSecond", "is to be 1 or more");
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

/* The default error for a status. */
static enum err_code usual_error(uint32_t status)
{
    return status == 429                    ? ERR_TOO_MANY_REQUESTS
           : status >= 500 && status != 503 ? ERR_INTERNAL_ERROR
                                            : ERR_SERVER_BUSY;
}

/* Reads an error by its code, its status or both; a rate alone answers as a busy server. */
static struct err take_error(struct json_reader *r, const struct deed_body *body,
                             struct script_deed *deed)
{
    if (body->status != 0 && (body->status < 400 || body->status > 599))
        return fields_wrong(r, "status", "is to be from 400 to 599");
    deed->act = SCRIPT_ERROR;
    deed->status = (int)body->status;
    deed->error = usual_error(body->status);
    return body->error[0] != '\0' ? find_error(r, body->error, &deed->error) : OK;
}

/* Returns the number of actions besides a delay. */
static int count_acts(const struct deed_body *b)
{
    bool error = b->error[0] != '\0' || b->status != 0 || b->has_rate;
    return error + b->reset + b->close + b->stall + b->corrupt + b->has_truncate +
           (b->bytes_per_second > 0);
}

static void take_act(const struct deed_body *b, struct script_deed *deed)
{
    deed->act = b->close || b->has_truncate ? SCRIPT_CLOSE
                : b->reset                  ? SCRIPT_RESET
                : b->stall                  ? SCRIPT_STALL
                : b->corrupt                ? SCRIPT_CORRUPT
                : b->bytes_per_second > 0   ? SCRIPT_SLOW
                                            : SCRIPT_NOTHING;
    deed->bytes_per_second = b->bytes_per_second;
    deed->after_bytes = b->has_truncate ? b->truncate : b->after_bytes;
    deed->sending =
        b->has_truncate || b->has_after || deed->act == SCRIPT_CORRUPT || deed->act == SCRIPT_SLOW;
    if (deed->act == SCRIPT_STALL && !deed->sending)
        deed->delay_ms = SCRIPT_STALL_MS;
}

static struct err read_do(struct json_reader *r, struct json_value v, void *into)
{
    static const struct field FIELDS[] = {
        {"error", FIELD_TEXT, AT(deed_body, error), 64, NULL},
        {"status", FIELD_U32, AT(deed_body, status), 599, NULL},
        {"retryAfterSeconds", FIELD_U32, AT(deed_body, retry_after_s), 86400, NULL},
        {"delayMs", FIELD_U32, AT(deed_body, delay_ms), SCRIPT_DELAY_MS_MAX, NULL},
        {"jitterMs", FIELD_U32, AT(deed_body, jitter_ms), SCRIPT_DELAY_MS_MAX, NULL},
        {"reset", FIELD_BOOL, AT(deed_body, reset), 0, NULL},
        {"close", FIELD_BOOL, AT(deed_body, close), 0, NULL},
        {"stall", FIELD_BOOL, AT(deed_body, stall), 0, NULL},
        {"corrupt", FIELD_BOOL, AT(deed_body, corrupt), 0, NULL},
        {"afterBytes", FIELD_OTHER, AT(deed_body, after_bytes), 0, read_after},
        {"truncateAfterBytes", FIELD_OTHER, AT(deed_body, truncate), 0, read_truncate},
        {"bytesPerSecond", FIELD_U64, AT(deed_body, bytes_per_second), INT64_MAX / 1000, NULL},
        {"rate", FIELD_OTHER, 0, 0, read_rate}};
    struct script_fault *fault = into;
    struct deed_body body = {.truncate = 0};
    if (v.kind != JSON_OBJECT)
        return fields_wrong(r, "do", "is to be an object");
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], &body));
    bool waits = body.delay_ms > 0 || body.jitter_ms > 0;
    int acts = count_acts(&body);
    if (acts > 1 || (acts == 0 && !waits))
        return fields_wrong(r, "do",
                            "is to have one of error or status, reset, close, stall, corrupt, "
                            "truncateAfterBytes, bytesPerSecond and rate, and delayMs or not");
    if (body.has_after && !body.reset && !body.close && !body.stall && !body.corrupt)
        return fields_wrong(r, "afterBytes", "goes with reset, close, stall or corrupt");
    fault->deed =
        (struct script_deed){.delay_ms = body.delay_ms, .retry_after_s = body.retry_after_s};
    fault->jitter_ms = body.jitter_ms;
    fault->rate_per_second = body.rate_per_second;
    fault->rate_burst = body.rate_burst;
    if (body.error[0] != '\0' || body.status != 0 || body.has_rate)
        return take_error(r, &body, &fault->deed);
    take_act(&body, &fault->deed);
    return OK;
}

bool control_id_ok(const char *id)
{
    for (; *id != '\0'; id++)
        if (!ascii_alpha(*id) && !ascii_digit(*id) && *id != '-' && *id != '_' && *id != '.')
            return false;
    return true;
}

struct err control_read_fault(struct json_reader *r, struct script_fault *fault)
{
    static const struct field FIELDS[] = {
        {"id", FIELD_TEXT, AT(script_fault, id), SCRIPT_ID_MAX + 1, NULL},
        {"match", FIELD_OTHER, AT(script_fault, match), 0, control_read_match},
        {"when", FIELD_OTHER, 0, 0, read_when},
        {"at", FIELD_OTHER, AT(script_fault, at), 0, control_read_point},
        {"do", FIELD_OTHER, 0, 0, read_do}};
    *fault = (struct script_fault){.probability = 1};
    TRY(fields_read(r, FIELDS, sizeof FIELDS / sizeof FIELDS[0], fault));
    if (!control_id_ok(fault->id))
        return fields_wrong(r, "id", "is to be of letters, digits, '-', '_' and '.'");
    if (fault->deed.act == SCRIPT_NOTHING && fault->deed.delay_ms == 0 && fault->jitter_ms == 0)
        return fields_wrong(r, "do", "is missing");
    if (fault->at == SCRIPT_SENDING && !fault->deed.sending)
        return fields_wrong(r, "at", "while-sending is for what happens to the answer's body");
    if (fault->deed.sending)
        fault->at = SCRIPT_AFTER_COMMIT;
    return OK;
}

/* ---- writing ---- */

void control_put_text(struct json_writer *w, const char *name, const char *text)
{
    if (text[0] == '\0')
        return;
    json_name(w, str_of(name));
    json_string(w, str_of(text));
}

void control_put_number(struct json_writer *w, const char *name, uint64_t value)
{
    json_name(w, str_of(name));
    json_i64(w, (int64_t)value);
}

void control_put_service(struct json_writer *w, enum service_kind service)
{
    json_name(w, STR("service"));
    json_string(w, admin_service_name(service));
}

void control_put_target(struct json_writer *w, const char *account, const char *container,
                        const char *object)
{
    control_put_text(w, "account", account);
    control_put_text(w, "container", container);
    control_put_text(w, "object", object);
}

void control_put_match(struct json_writer *w, const struct script_match *m)
{
    json_name(w, STR("match"));
    json_open(w, '{');
    if (m->has_service)
        control_put_service(w, m->service);
    control_put_text(w, "operation", m->operation);
    control_put_target(w, m->account, m->container, m->object);
    control_put_text(w, "clientRequestId", m->client_request_id);
    if (m->header_count > 0) {
        json_name(w, STR("header"));
        json_open(w, '{');
        for (size_t i = 0; i < m->header_count; i++) {
            json_name(w, str_of(m->headers[i].name));
            json_string(w, str_of(m->headers[i].value));
        }
        json_close(w, '}');
    }
    json_close(w, '}');
}

static void put_when(struct json_writer *w, const struct script_fault *fault)
{
    json_name(w, STR("when"));
    json_open(w, '{');
    if (fault->skip > 0)
        control_put_number(w, "skip", fault->skip);
    if (fault->every > 1)
        control_put_number(w, "every", fault->every);
    if (fault->times > 0)
        control_put_number(w, "times", fault->times);
    if (fault->probability < 1) {
        json_name(w, STR("probability"));
        json_double(w, fault->probability);
    }
    json_close(w, '}');
}

static void put_act(struct json_writer *w, const struct script_deed *deed)
{
    static const char *const NAMES[] = {[SCRIPT_RESET] = "reset",
                                        [SCRIPT_CLOSE] = "close",
                                        [SCRIPT_STALL] = "stall",
                                        [SCRIPT_CORRUPT] = "corrupt"};
    if (deed->act == SCRIPT_ERROR) {
        control_put_text(w, "error", err_azure_code(deed->error));
        control_put_number(
            w, "status",
            (uint64_t)(deed->status != 0 ? deed->status : err_http_status(deed->error)));
    } else if (deed->act == SCRIPT_SLOW) {
        control_put_number(w, "bytesPerSecond", deed->bytes_per_second);
    } else if (deed->act != SCRIPT_NOTHING) {
        json_name(w, str_of(NAMES[deed->act]));
        json_bool(w, true);
    }
    if (deed->sending && deed->act != SCRIPT_SLOW)
        control_put_number(w, "afterBytes", deed->after_bytes);
    if (deed->retry_after_s > 0)
        control_put_number(w, "retryAfterSeconds", deed->retry_after_s);
}

static void put_do(struct json_writer *w, const struct script_fault *fault)
{
    const struct script_deed *deed = &fault->deed;
    json_name(w, STR("do"));
    json_open(w, '{');
    put_act(w, deed);
    if (fault->rate_per_second > 0) {
        json_name(w, STR("rate"));
        json_open(w, '{');
        control_put_number(w, "perSecond", fault->rate_per_second);
        control_put_number(w, "burst", fault->rate_burst);
        json_close(w, '}');
    }
    if (deed->delay_ms > 0 && (deed->act != SCRIPT_STALL || deed->sending))
        control_put_number(w, "delayMs", deed->delay_ms);
    if (fault->jitter_ms > 0)
        control_put_number(w, "jitterMs", fault->jitter_ms);
    json_close(w, '}');
}

void control_put_fault(struct json_writer *w, const struct script_fault *fault)
{
    json_open(w, '{');
    control_put_text(w, "id", fault->id);
    control_put_match(w, &fault->match);
    put_when(w, fault);
    control_put_text(w, "at",
                     fault->deed.sending          ? "while-sending"
                     : fault->at == SCRIPT_BEFORE ? "before"
                                                  : "after-commit");
    put_do(w, fault);
    control_put_number(w, "seen", fault->seen);
    control_put_number(w, "struck", fault->struck);
    json_close(w, '}');
}
