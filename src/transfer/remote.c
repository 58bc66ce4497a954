/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/remote.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "auth/collate.h"
#include "core/clock.h"
#include "core/hash/md5.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "core/time.h"

enum {
    TEXTS_BYTES_MAX = 1 << 20,
    FIRST_PAUSE_MS = 100,
    PAUSE_MS_MAX = 5000,
    VALUE_BYTES_MAX = 8192,
};

/* The account and key that Azurite and this program have by default. */
#define DEVELOPMENT_KEY \
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define DEVELOPMENT                                                                        \
    "AccountName=devstoreaccount1;AccountKey=" DEVELOPMENT_KEY                             \
    ";BlobEndpoint=http://127.0.0.1:10000/devstoreaccount1;QueueEndpoint=http://127.0.0.1" \
    ":10001/devstoreaccount1;TableEndpoint=http://127.0.0.1:10002/devstoreaccount1;"       \
    "FileEndpoint=http://127.0.0.1:10003/devstoreaccount1"

/* ---- connection strings ---- */

static const struct {
    const char *key, *name;
} SERVICES[REMOTE_SERVICES] = {
    {"BlobEndpoint", "blob"}, {"QueueEndpoint", "queue"}, {"TableEndpoint", "table"},
    {"FileEndpoint", "file"}, {"DfsEndpoint", "dfs"},
};

static struct str part_of(struct str connection, const char *key)
{
    while (connection.n > 0) {
        struct str value = str_trim(str_cut(&connection, ';'));
        struct str name = str_cut(&value, '=');
        if (str_ieq(name, str_of(key)) && str_given(value))
            return value;
        if (!str_given(connection))
            break;
    }
    return STR_NONE;
}

static struct err take_endpoint(struct remote *r, struct str connection, unsigned service)
{
    struct str url = part_of(connection, SERVICES[service].key);
    struct str suffix = part_of(connection, "EndpointSuffix");
    struct str scheme = part_of(connection, "DefaultEndpointsProtocol");
    if (!str_given(url) && !str_given(r->account))
        return OK;
    /* The cloud's names, unless the string names endpoints itself. */
    bool named = str_find_str(connection, STR("Endpoint=")) < connection.n;
    if (!str_given(url) && (str_given(suffix) || (str_given(scheme) && !named)))
        url = arena_printf(&r->texts, "%.*s://%.*s.%s.%.*s",
                           STR_ARG(str_given(scheme) ? scheme : STR("https")), STR_ARG(r->account),
                           SERVICES[service].name,
                           STR_ARG(str_given(suffix) ? suffix : STR("core.windows.net")));
    if (!str_given(url))
        return OK;
    if (!uri_parse(url, &r->endpoint[service]))
        return err_detail(ERR_INVALID_INPUT,
                          "the connection string has an endpoint that is no URL");
    if (str_ends(r->endpoint[service].path, STR("/")))
        r->endpoint[service].path.n--;
    r->has[service] = true;
    return OK;
}

/* "http://host:1/account" or "https://account.blob.…": a SAS comes without the account's name. */
static struct str account_of(const struct uri *uri)
{
    struct str path = str_from(uri->path, 1);
    struct str host = uri->host;
    return uri->path.n > 1 ? str_cut(&path, '/') : str_cut(&host, '.');
}

/* The blob endpoint of this program serves both; in the cloud they are neighbours. */
static void derive_dfs(struct remote *r)
{
    struct uri *dfs = &r->endpoint[REMOTE_DFS];
    if (r->has[REMOTE_DFS] || !r->has[REMOTE_BLOB])
        return;
    *dfs = r->endpoint[REMOTE_BLOB];
    size_t at = str_find_str(dfs->host, STR(".blob."));
    if (at < dfs->host.n)
        dfs->host = arena_printf(&r->texts, "%.*s.dfs.%.*s", (int)at, dfs->host.p,
                                 STR_ARG(str_from(dfs->host, at + 6)));
    r->has[REMOTE_DFS] = true;
}

static struct err take_credentials(struct remote *r, struct str connection)
{
    struct str key = part_of(connection, "AccountKey");
    struct str secret;
    r->sas = part_of(connection, "SharedAccessSignature");
    if (str_starts(r->sas, STR("?")))
        r->sas = str_from(r->sas, 1);
    if (!str_given(key) && !str_given(r->sas))
        return err_detail(ERR_INVALID_INPUT,
                          "the connection string has neither AccountKey nor SharedAccessSignature");
    if (!str_given(key))
        return OK;
    if (!base64_decode(&r->texts, key, &secret))
        return err_detail(ERR_INVALID_INPUT, "the connection string's AccountKey is not base64");
    hmac_key_init(&r->key, secret);
    r->has_key = true;
    return OK;
}

struct err remote_open(struct str connection, struct remote *out)
{
    assert(out != NULL);
    struct reach everywhere;
    *out = (struct remote){.dialer = NULL};
    arena_init(&out->texts, TEXTS_BYTES_MAX);
    if (str_ieq(part_of(connection, "UseDevelopmentStorage"), STR("true")))
        connection = STR(DEVELOPMENT);
    connection = arena_copy(&out->texts, connection);
    out->account = part_of(connection, "AccountName");
    for (unsigned i = 0; i < REMOTE_SERVICES; i++) {
        TRY(take_endpoint(out, connection, i));
        if (out->has[i] && !str_given(out->account))
            out->account = account_of(&out->endpoint[i]);
    }
    derive_dfs(out);
    if (!str_given(out->account))
        return err_detail(ERR_INVALID_INPUT, "the connection string names no account");
    TRY(take_credentials(out, connection));
    /* The operator of this command names the server: no address is out of reach. */
    TRY(reach_parse("0.0.0.0/0,[::]/0", &everywhere));
    return dialer_new(&everywhere, &out->dialer);
}

void remote_close(struct remote *remote)
{
    dialer_free(remote->dialer);
    hmac_key_wipe(&remote->key);
    arena_release(&remote->texts);
}

void session_init(struct session *s, struct remote *remote)
{
    *s = (struct session){.remote = remote};
}

void session_end(struct session *s)
{
    for (unsigned i = 0; i < 2; i++)
        http_kept_close(&s->kept[i]);
}

/* ---- what is asked ---- */

struct remote_call remote_call_of(enum remote_service service, const char *method,
                                  struct str container, struct str object)
{
    return (struct remote_call){
        .service = service, .method = str_of(method), .container = container, .object = object};
}

void remote_query(struct remote_call *c, const char *name, struct str value)
{
    assert(c->query_count < REMOTE_QUERY_MAX);
    if (str_given(value))
        c->query[c->query_count++] = (struct remote_pair){str_of(name), value};
}

void remote_header(struct remote_call *c, const char *name, struct str value)
{
    if (!str_given(value))
        return;
    c->overfull = c->overfull || c->header_count == REMOTE_HEADERS_MAX;
    if (!c->overfull)
        c->headers[c->header_count++] = (struct http_header){str_of(name), value};
}

void remote_header_u64(struct remote_call *c, struct arena *a, const char *name, uint64_t value)
{
    remote_header(c, name, arena_printf(a, "%llu", (unsigned long long)value));
}

static struct err from_memory(void *arg, uint64_t offset, uint64_t bytes_max, struct str *out)
{
    const struct str *body = arg;
    *out = str_head(str_from(*body, (size_t)offset), (size_t)bytes_max);
    return OK;
}

void remote_body(struct remote_call *c, struct arena *a, struct str body)
{
    struct md5 md5;
    unsigned char sum[MD5_BYTES];
    struct str *kept = ARENA_NEW(a, struct str);
    *kept = body;
    c->has_body = true;
    c->body_bytes = body.n;
    c->source = from_memory;
    c->source_arg = kept;
    md5_init(&md5);
    md5_update(&md5, body);
    md5_final(&md5, sum);
    remote_header(c, "Content-MD5", base64_encode(a, (struct str){(const char *)sum, sizeof sum}));
}

struct str remote_answer(const struct remote_call *c, const char *header)
{
    return http_answer_header(&c->answer, str_of(header));
}

/* ---- signing ---- */

static struct str header_of(const struct remote_call *c, const char *name)
{
    for (size_t i = 0; i < c->header_count; i++)
        if (str_ieq(c->headers[i].name, str_of(name)))
            return c->headers[i].value;
    return STR_NONE;
}

static int by_header(const void *left, const void *right)
{
    const struct remote_pair *a = left;
    const struct remote_pair *b = right;
    return collate_header_names(a->name, b->name);
}

static int by_name(const void *left, const void *right)
{
    const struct remote_pair *a = left;
    const struct remote_pair *b = right;
    return str_cmp(a->name, b->name);
}

static struct str lower(struct arena *a, struct str s)
{
    char *to = arena_bytes(a, s.n);
    str_lower(s, to);
    return (struct str){to, s.n};
}

static void put_ms_headers(struct arena *a, const struct remote_call *c, struct buf *text)
{
    struct remote_pair sorted[REMOTE_HEADERS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < c->header_count; i++)
        if (str_istarts(c->headers[i].name, STR("x-ms-")))
            sorted[count++] =
                (struct remote_pair){lower(a, c->headers[i].name), str_trim(c->headers[i].value)};
    if (count > 0)
        qsort(sorted, count, sizeof sorted[0], by_header);
    for (size_t i = 0; i < count; i++)
        buf_printf(text, "%.*s:%.*s\n", STR_ARG(sorted[i].name), STR_ARG(sorted[i].value));
}

static void put_query_lines(const struct remote_call *c, struct buf *text)
{
    struct remote_pair sorted[REMOTE_QUERY_MAX];
    memcpy(sorted, c->query, c->query_count * sizeof sorted[0]);
    if (c->query_count > 0)
        qsort(sorted, c->query_count, sizeof sorted[0], by_name);
    for (size_t i = 0; i < c->query_count; i++)
        buf_printf(text, "\n%.*s:%.*s", STR_ARG(sorted[i].name), STR_ARG(sorted[i].value));
}

static void put_line(struct buf *text, struct str line)
{
    buf_put(text, line);
    buf_putc(text, '\n');
}

static const char *const SIGNED[] = {
    "Content-Encoding",
    "Content-Language",
    "Content-Length",
    "Content-MD5",
    "Content-Type",
    "Date",
    "If-Modified-Since",
    "If-Match",
    "If-None-Match",
    "If-Unmodified-Since",
    "Range",
};

static void put_text_to_sign(const struct remote *r, struct arena *a, const struct remote_call *c,
                             struct str path, struct buf *text)
{
    put_line(text, c->method);
    if (c->service == REMOTE_TABLE) {
        put_line(text, header_of(c, "Content-MD5"));
        put_line(text, header_of(c, "Content-Type"));
        put_line(text, header_of(c, "x-ms-date"));
    } else {
        for (size_t i = 0; i < sizeof SIGNED / sizeof SIGNED[0]; i++) {
            if (i == 2 && c->has_body && c->body_bytes > 0)
                buf_put_u64(text, c->body_bytes);
            put_line(text, i == 2 ? STR("") : header_of(c, SIGNED[i]));
        }
        put_ms_headers(a, c, text);
    }
    buf_printf(text, "/%.*s%.*s", STR_ARG(r->account), STR_ARG(path));
    if (c->service != REMOTE_TABLE)
        put_query_lines(c, text);
    for (size_t i = 0; c->service == REMOTE_TABLE && i < c->query_count; i++)
        if (str_eq(c->query[i].name, STR("comp")))
            buf_printf(text, "?comp=%.*s", STR_ARG(c->query[i].value));
}

static struct str signature(const struct remote *r, struct arena *a, const struct remote_call *c,
                            struct str path)
{
    struct buf text = buf_in(a);
    unsigned char sum[SHA256_BYTES];
    put_text_to_sign(r, a, c, path, &text);
    hmac_sign(&r->key, buf_str(&text), sum);
    return arena_printf(a, "SharedKey %.*s:%.*s", STR_ARG(r->account),
                        STR_ARG(base64_encode(a, (struct str){(const char *)sum, sizeof sum})));
}

/* ---- asking ---- */

static struct uri target_of(const struct remote *r, struct arena *a, const struct remote_call *c)
{
    struct uri uri = r->endpoint[c->service];
    struct buf path = buf_in(a);
    struct buf query = buf_in(a);
    buf_put(&path, uri.path);
    if (str_given(c->container)) {
        buf_putc(&path, '/');
        uri_encode(&path, c->container, c->service == REMOTE_TABLE ? URI_KEEP_PATH : URI_KEEP_NONE);
    }
    if (str_given(c->object)) {
        buf_putc(&path, '/');
        uri_encode(&path, c->object, URI_KEEP_PATH);
    }
    if (path.n == 0 || !str_given(c->container))
        buf_putc(&path, '/');
    for (size_t i = 0; i < c->query_count; i++) {
        if (query.n > 0)
            buf_putc(&query, '&');
        uri_encode(&query, c->query[i].name, URI_KEEP_NONE);
        buf_putc(&query, '=');
        uri_encode(&query, c->query[i].value, URI_KEEP_NONE);
    }
    if (!r->has_key && str_given(r->sas)) {
        if (query.n > 0)
            buf_putc(&query, '&');
        buf_put(&query, r->sas);
    }
    uri.path = buf_str(&path);
    uri.query = query.n > 0 ? buf_str(&query) : STR_NONE;
    return uri;
}

static struct err collect(void *arg, struct str bytes)
{
    buf_put(arg, bytes);
    return OK;
}

static void take_error_code(struct arena *a, struct remote_call *c)
{
    struct str code = remote_answer(c, "x-ms-error-code");
    size_t at = str_find_str(c->body, STR("\"code\":\""));
    c->code = str_given(code) ? code : STR("");
    if (!str_given(code) && at < c->body.n) {
        struct str rest = str_from(c->body, at + 8);
        c->code = arena_copy(a, str_cut(&rest, '"'));
    }
}

static struct err ask_once(struct session *s, struct arena *a, struct remote_call *c)
{
    char date[TIME_RFC1123_BYTES];
    struct timespec now;
    size_t headers = c->header_count;
    struct http_client *client = NULL;
    struct buf body = buf_in(a);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    time_rfc1123((int64_t)now.tv_sec * TICKS_PER_SECOND, date);
    remote_header(c, "x-ms-date", arena_copy(a, (struct str){date, sizeof date}));
    remote_header(c, "x-ms-version", STR(REMOTE_VERSION));
    struct uri uri = target_of(s->remote, a, c);
    if (s->remote->has_key)
        remote_header(c, "Authorization", signature(s->remote, a, c, uri.path));
    struct http_client_request request = {.method = c->method,
                                          .uri = uri,
                                          .headers = c->headers,
                                          .header_count = c->header_count,
                                          .has_body = c->has_body || str_eq(c->method, STR("PUT")),
                                          .body_bytes = c->body_bytes,
                                          .source = c->source,
                                          .source_arg = c->source_arg,
                                          .kept = &s->kept[c->service == REMOTE_DFS]};
    struct err error = http_client_ask(s->remote->dialer, a, &request, &c->answer, &client);
    c->header_count = headers;
    if (!err_is(error))
        error = http_client_body(client, REMOTE_BODY_BYTES_MAX, collect, &body);
    http_client_end(client);
    TRY(error);
    c->body = buf_str(&body);
    s->lazuli = str_istarts(remote_answer(c, "Server"), STR("Lazuli"));
    take_error_code(a, c);
    return OK;
}

/* Errors worth a retry: the server is busy or starting, or the connection broke. */
static bool is_passing(struct err error, const struct remote_call *c)
{
    if (err_is(error))
        return error.code == ERR_IO && error.cause != EPROTO && error.cause != ECANCELED &&
               error.cause != ENOENT;
    return c->answer.status == 500 || c->answer.status == 503 || c->answer.status == 408 ||
           c->answer.status == 429;
}

static void pause_before_try(unsigned tries)
{
    int64_t ms = FIRST_PAUSE_MS << (tries > 6 ? 6 : tries - 1);
    ms = ms > PAUSE_MS_MAX ? PAUSE_MS_MAX : ms;
    struct timespec pause = {ms / 1000, (long)(ms % 1000) * 1000000};
    (void)nanosleep(&pause, NULL);
}

static struct err unreachable(struct session *s, const struct remote_call *c, struct err error)
{
    const struct uri *uri = &s->remote->endpoint[c->service];
    const char *why = error.cause == EPROTO  ? "TLS could not be spoken, or the certificate is not "
                                               "trusted or not the host's (SSL_CERT_FILE names "
                                               "further authorities)"
                      : error.code == ERR_IO ? strerrordesc_np(error.cause)
                                             : err_message(error.code);
    (void)snprintf(s->text, sizeof s->text, "%.*s://%.*s:%u: %s", STR_ARG(uri->scheme),
                   STR_ARG(uri->host), uri->port, why);
    return (struct err){error.code, error.cause, s->text};
}

struct err session_ask(struct session *s, struct arena *a, struct remote_call *c)
{
    unsigned tries_max = c->tries_max == 0 ? REMOTE_TRIES_MAX : c->tries_max;
    if (!s->remote->has[c->service]) {
        (void)snprintf(s->text, sizeof s->text, "there is no %s endpoint",
                       SERVICES[c->service].name);
        return err_detail(ERR_INVALID_INPUT, s->text);
    }
    if (c->overfull || c->header_count > REMOTE_HEADERS_MAX - REMOTE_HEADERS_OWN) {
        (void)snprintf(s->text, sizeof s->text, "it has more metadata than a request can");
        return err_detail(ERR_INVALID_INPUT, s->text);
    }
    for (c->tries = 1;; c->tries++) {
        struct err error = ask_once(s, a, c);
        /* An error of the body's source is not the server's. */
        if (error.detail != NULL || error.code == ERR_CONDITION_NOT_MET ||
            error.code == ERR_BLOB_NOT_FOUND || error.code == ERR_MD5_MISMATCH)
            return error;
        if (!is_passing(error, c) || c->tries == tries_max)
            return err_is(error) ? unreachable(s, c, error) : OK;
        pause_before_try(c->tries);
    }
}

/* The server's own sentence, which its XML or JSON holds. */
static struct str message_of(const struct remote_call *c)
{
    size_t at = str_find_str(c->body, STR("<Message>"));
    struct str rest = str_from(c->body, at + 9);
    return at < c->body.n ? str_head(str_cut(&rest, '<'), 200) : STR("");
}

struct err session_refused(struct session *s, const struct remote_call *c)
{
    struct str message = message_of(c);
    s->refused = c->answer.status;
    struct str first = str_cut(&message, '\n');
    (void)snprintf(s->text, sizeof s->text, "%.*s %s/%.*s/%.*s: %d %.*s %.*s", STR_ARG(c->method),
                   SERVICES[c->service].name, STR_ARG(c->container),
                   STR_ARG(str_head(c->object, 200)), c->answer.status, STR_ARG(c->code),
                   STR_ARG(first));
    return err_detail(ERR_INVALID_INPUT, s->text);
}

struct err session_expect(struct session *s, struct arena *a, struct remote_call *c)
{
    TRY(session_ask(s, a, c));
    return c->answer.status / 100 == 2 ? OK : session_refused(s, c);
}
