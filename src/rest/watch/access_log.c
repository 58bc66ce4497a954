/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/access_log.h"

#include "core/log.h"
#include "core/text/json.h"
#include "core/time.h"
#include "rest/server.h"

enum {
    ACCESS_LOG_TARGET_MAX = 2048,
    ACCESS_LOG_IDENTITY_MAX = 64,
    ACCESS_LOG_REASON_MAX = 300,
};

static const char *const SERVICES[] = {"blob", "queue", "table", "file"};

/* An unescaped text, and the position in the original of each byte. */
struct plain {
    size_t n;
    char text[ACCESS_LOG_TARGET_MAX];
    uint16_t from[ACCESS_LOG_TARGET_MAX];
};

/* Undoes each escape once; false if there was none. */
static bool undo_escapes(struct plain *p)
{
    size_t n = 0, was = p->n;
    for (size_t i = 0; i < was; i++, n++) {
        int high = i + 2 < was && p->text[i] == '%' ? ascii_hex(p->text[i + 1]) : -1;
        int low = high < 0 ? -1 : ascii_hex(p->text[i + 2]);
        if (low < 0)
            p->text[n] = p->text[i];
        else
            p->text[n] = (char)(high << 4 | low);
        p->from[n] = p->from[i];
        i += low < 0 ? 0 : 2;
    }
    p->n = n;
    return n < was;
}

/* Returns the offset of "sig=" in the text, also if its letters are escaped, even repeatedly; or of
 * a text that is escaped too often; the text's length if there is neither. */
static size_t find_signature(struct str text)
{
    enum { ROUNDS_MAX = 8 };
    struct plain p = {.n = text.n};
    if (text.n > 0)
        memcpy(p.text, text.p, text.n);
    for (size_t i = 0; i < text.n; i++)
        p.from[i] = (uint16_t)i;
    for (int round = 0;; round++) {
        for (size_t i = 0; i < p.n; i++)
            if (str_istarts((struct str){p.text + i, p.n - i}, STR("sig=")))
                return p.from[i];
        if (round == ROUNDS_MAX)
            return str_find(text, '%', 0);
        if (!undo_escapes(&p))
            return text.n;
    }
}

/* A URL with a signature can also be where it does not belong: in the path, if its '?' was escaped,
 * or in another parameter. The text is cut off there. */
static void put_without_signature(struct buf *out, struct str text)
{
    size_t at = find_signature(text);
    line_log_put_visible(out, str_head(text, at));
    if (at < text.n)
        buf_put(out, STR("sig=-"));
}

void access_log_put_target(struct buf *out, struct str path, struct str query)
{
    put_without_signature(out, str_head(path, ACCESS_LOG_TARGET_MAX));
    if (!str_given(query))
        return;
    buf_putc(out, '?');
    query = str_head(query, ACCESS_LOG_TARGET_MAX);
    while (str_given(query)) {
        struct str part = str_cut(&query, '&');
        /* An escaped name (%73ig) is a signature too: values of names that are not plain are not
         * shown. */
        struct str name = str_head(part, str_find(part, '=', 0));
        bool secret = str_ieq(name, STR("sig")) || str_find(name, '%', 0) < name.n;
        if (secret) {
            line_log_put_visible(out, name);
            buf_put(out, STR("=-"));
        } else {
            put_without_signature(out, part);
        }
        if (str_given(query))
            buf_putc(out, '&');
    }
}

static void put_identity(struct buf *out, const struct rest_call *call)
{
    static const char *const KINDS[] = {
        [AUTH_SHARED_KEY] = "key",          [AUTH_ACCOUNT_SAS] = "account-sas",
        [AUTH_SERVICE_SAS] = "service-sas", [AUTH_DELEGATION_SAS] = "user-sas",
        [AUTH_BEARER] = "bearer",           [AUTH_ANONYMOUS] = "anonymous",
    };
    buf_put(out, STR(" by="));
    buf_put(out, call->admitted ? str_of(KINDS[call->who.kind]) : STR("-"));
    if (call->admitted && call->who.identity.n > 0) {
        buf_putc(out, ':');
        line_log_put_visible(out, str_head(call->who.identity, ACCESS_LOG_IDENTITY_MAX));
    }
}

/* ---- traces ---- */

static bool is_hex(struct str text, size_t n)
{
    bool zero = true;
    for (size_t i = 0; i < n; i++) {
        if (ascii_hex(text.p[i]) < 0 || (text.p[i] >= 'A' && text.p[i] <= 'F'))
            return false;
        zero = zero && text.p[i] == '0';
    }
    return !zero;
}

/* W3C's traceparent: "00-", 32 digits, "-", 16 digits, "-", 2 digits; no id is all zero. An unknown
 * later version may be longer. */
bool access_log_trace(struct str header, struct str *trace, struct str *span)
{
    enum { TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53, LENGTH = 55 };
    bool known = str_starts(header, STR("00-"));
    if (header.n < LENGTH || (known && header.n != LENGTH) || header.p[2] != '-' ||
        header.p[SPAN_AT - 1] != '-' || header.p[FLAGS_AT - 1] != '-' ||
        (header.n > LENGTH && header.p[LENGTH] != '-') || str_istarts(header, STR("ff")) ||
        ascii_hex(header.p[0]) < 0 || ascii_hex(header.p[1]) < 0 ||
        ascii_hex(header.p[FLAGS_AT]) < 0 || ascii_hex(header.p[FLAGS_AT + 1]) < 0)
        return false;
    *trace = (struct str){header.p + TRACE_AT, 32};
    *span = (struct str){header.p + SPAN_AT, 16};
    return is_hex(*trace, 32) && is_hex(*span, 16);
}

static void put_trace(struct buf *out, const struct rest_call *call)
{
    struct str trace, span;
    if (!access_log_trace(call_header(call, STR("traceparent")), &trace, &span))
        return;
    buf_printf(out, " trace=%.*s-%.*s", STR_ARG(trace), STR_ARG(span));
}

static void put_line(struct buf *out, const struct rest_call *call, struct err error)
{
    const struct http_exchange *x = call->x;
    const char *code = err_azure_code(error.code);
    time_put_iso(out, call->now);
    buf_putc(out, ' ');
    buf_put(out, str_of(SERVICES[call->service]));
    buf_putc(out, ' ');
    line_log_put_visible(out, str_head(x->request.method_text, 16));
    buf_putc(out, ' ');
    access_log_put_target(out, x->request.path, x->request.query);
    buf_putc(out, ' ');
    buf_put_i64(out, call->status);
    buf_putc(out, ' ');
    buf_put(out, code[0] == '\0' ? STR("-") : str_of(code));
    buf_put(out, STR(" in="));
    buf_put_u64(out, x->body_bytes);
    buf_put(out, STR(" out="));
    buf_put_u64(out, x->sent_bytes);
    buf_put(out, STR(" us="));
    buf_put_i64(out, clock_mono_us() - x->started_us);
    buf_putc(out, ' ');
    buf_put(out, str_of(call->request_id));
    line_log_put_client(out, x->peer);
    put_identity(out, call);
    put_trace(out, call);
    buf_putc(out, '\n');
}

/* ---- as JSON ---- */

struct json_line {
    struct json_writer w;
    struct arena *arena;
};

/* Writes nothing for an empty value. Omits bytes that are not plain text. */
static void put_member(struct json_line *l, const char *name, struct str value)
{
    value = str_head(value, ACCESS_LOG_TARGET_MAX * 2);
    if (!str_given(value) || value.n == 0)
        return;
    char *seen = arena_cstr(l->arena, value);
    for (size_t i = 0; i < value.n; i++)
        if (seen[i] < 0x20 || seen[i] > 0x7E)
            seen[i] = '?';
    json_name(&l->w, str_of(name));
    json_string(&l->w, (struct str){seen, value.n});
}

static void put_count(struct json_line *l, const char *name, int64_t value)
{
    json_name(&l->w, str_of(name));
    json_i64(&l->w, value);
}

static void put_json_who(struct json_line *w, const struct rest_call *call)
{
    struct buf text = buf_in(call->arena);
    struct str trace, span;
    put_identity(&text, call);
    put_member(w, "auth", str_from(buf_str(&text), sizeof " by=" - 1));
    buf_clear(&text);
    line_log_put_client(&text, call->x->peer);
    put_member(w, "client", str_from(buf_str(&text), sizeof " client=" - 1));
    put_member(w, "account", call->account);
    put_member(w, "user_agent", call_header(call, STR("User-Agent")));
    put_member(w, "request_id", str_of(call->request_id));
    put_member(w, "client_request_id", call_header(call, STR("x-ms-client-request-id")));
    if (access_log_trace(call_header(call, STR("traceparent")), &trace, &span)) {
        put_member(w, "trace_id", trace);
        put_member(w, "span_id", span);
    }
}

static void put_json(struct buf *out, const struct rest_call *call, struct err error, int64_t us)
{
    const struct http_exchange *x = call->x;
    struct json_line w = {json_writer_of(out), call->arena};
    struct buf text = buf_in(call->arena);
    json_open(&w.w, '{');
    time_put_iso(&text, call->now);
    put_member(&w, "time", buf_str(&text));
    put_member(&w, "level", call->status >= 500 ? STR("error") : STR("info"));
    put_member(&w, "service", str_of(SERVICES[call->service]));
    put_member(&w, "operation", call->op == NULL ? STR_NONE : str_of(call->op->name));
    put_member(&w, "method", str_head(x->request.method_text, 16));
    buf_clear(&text);
    access_log_put_target(&text, x->request.path, x->request.query);
    put_member(&w, "target", buf_str(&text));
    put_count(&w, "status", call->status);
    put_member(&w, "error", str_of(err_azure_code(error.code)));
    put_count(&w, "duration_us", us);
    if (call->received_us != 0 && call->answered_us > call->received_us)
        put_count(&w, "server_us", call->answered_us - call->received_us);
    put_count(&w, "in", (int64_t)x->body_bytes);
    put_count(&w, "out", (int64_t)x->sent_bytes);
    put_json_who(&w, call);
    json_close(&w.w, '}');
    buf_putc(out, '\n');
}

/* ---- why ---- */

static bool may_be_shown(struct str name, struct str value)
{
    static const struct str CLAIMS[] = {STR_INIT("string to sign"), STR_INIT("String to sign")};
    for (size_t i = 0; i < sizeof CLAIMS / sizeof CLAIMS[0]; i++)
        if (str_find_str(value, CLAIMS[i]) < value.n)
            return false;
    /* HeaderValue, QueryParameterValue and the like contain client input. */
    return !str_ends(name, STR("Value"));
}

void access_log_put_reason(struct buf *out, const char *detail)
{
    struct str rest = str_of(detail);
    while (str_given(rest)) {
        struct str value = str_cut(&rest, '\n');
        struct str name = str_cut(&value, '\t');
        buf_put(out, out->n > 0 ? STR("; ") : STR(""));
        buf_put(out, name);
        buf_put(out, STR(": "));
        if (str_eq(name, STR("AuthenticationErrorDetail")) && !may_be_shown(name, value))
            buf_put(out, STR("the signature is not right"));
        else
            buf_put(out, may_be_shown(name, value) ? str_head(value, ACCESS_LOG_REASON_MAX)
                                                   : STR("(not shown)"));
    }
}

void access_log_refusal(const struct rest_call *call, struct err error)
{
    struct buf reason = buf_in(call->arena);
    if (error.detail != NULL)
        access_log_put_reason(&reason, error.detail);
    struct str why = reason.n > 0 ? buf_str(&reason) : str_of(err_message(error.code));
    log_line(LOG_DEBUG, "%s %s refused: %d %s, cause %d: %.*s", call->request_id,
             call->op != NULL ? call->op->name : "(no operation)", call->status,
             err_azure_code(error.code), error.cause, STR_ARG(why));
}

void access_log_add(struct line_log *log, const struct rest_call *call, struct err error)
{
    struct buf *out = line_log_begin(log);
    if (call->server->options.json_log)
        put_json(out, call, error, clock_mono_us() - call->x->started_us);
    else
        put_line(out, call, error);
    line_log_end(log);
}

void access_log_slow(const struct rest_call *call, int64_t us)
{
    struct buf target = buf_in(call->arena);
    access_log_put_target(&target, call->x->request.path, call->x->request.query);
    log_line(LOG_WARN, "slow: %s took %lld ms, request %s, %.*s",
             call->op == NULL ? "a request" : call->op->name, (long long)(us / 1000),
             call->request_id, STR_ARG(buf_str(&target)));
}
