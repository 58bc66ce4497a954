/* SPDX-License-Identifier: Apache-2.0 */
/* The load generator. One thread, many keep-alive connections, requests signed in advance; prints
 * one row of a table. See `bench_load --help`. */
#include <errno.h>
#include <getopt.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mem.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "load/client.h"
#include "load/wire.h"

static const char HELP[] =
    "bench_load --url http[s]://HOST:PORT --op 'METHOD PATH' [options]\n"
    "\n"
    "An operation, and what belongs to it (options before the first --op are for all):\n"
    "  --op 'METHOD PATH'     {key} is a number of the range in eight digits, {key64} the same in\n"
    "                         base64, {range:N} its N bytes (\"bytes=4096-8191\"), {seq} a number\n"
    "                         that is used once; given again: another one\n"
    "  --weight N             how often, among the others (1)\n"
    "  --header 'Name: value' may be given often; {key} and the like work here too\n"
    "  --body-bytes N         a body of that size\n"
    "  --body TEXT            a body from a template\n"
    "\n"
    "Who asks:\n"
    "  --account NAME --key BASE64   signs with Shared Key; --table: in the table service's way\n"
    "  --sas 'sv=...&sig=...'        adds a shared access signature to each query instead\n"
    "\n"
    "The run:\n"
    "  --connections N (64)   --seconds N (5)   --warm-up N (1)   --requests N: stop after so many\n"
    "  --rate N: requests a second, at even intervals, not each as soon as one is answered\n"
    "  --keys N: size of the range (1000)       --in-order: one key after the other, not at random\n"
    "  --in-turn: a connection does all operations to a key, one after the other, not one of them\n"
    "  --pid N: the server, for its CPU time    --name TEXT: of the row\n"
    "  --titles: print the table's head too     --base N: where {seq} begins\n"
    "  --seed N: the same keys at random each time, instead of others\n"
    "  --json: one line of JSON in place of the row, with p999 and the longest too\n"
    "  --drop: the kernel drops the bodies of responses, at little cost (not with TLS)\n"
    "  --ciphers NAMES: TLS 1.3 suites to offer (any certificate is believed)\n";

struct settings {
    struct load_plan plan;
    struct op_set ops;
    struct op common; /* options before the first --op */
    struct str url;
    struct str key;
    const char *name;
    uint64_t seconds;
    uint64_t warm_up;
    uint64_t pid;
    const char *ciphers;
    bool titles;
    bool json;
};

_Noreturn static void stop(const char *why, const char *what)
{
    (void)fprintf(stderr, "bench_load: %s%s%s\n", why, what != NULL ? ": " : "",
                  what != NULL ? what : "");
    exit(2);
}

static uint64_t number(const char *text)
{
    uint64_t value;
    if (!str_to_u64(str_of(text), &value))
        stop("not a number", text);
    return value;
}

/* Turns neighbouring numbers into distant seeds; never 0. */
static uint64_t spread(uint64_t seed)
{
    return seed * 0x9E3779B97F4A7C15ULL | 1;
}

/* ---- options ---- */

enum option_id {
    OPT_URL = 1,
    OPT_OP,
    OPT_WEIGHT,
    OPT_HEADER,
    OPT_BODY_BYTES,
    OPT_BODY,
    OPT_ACCOUNT,
    OPT_KEY,
    OPT_TABLE,
    OPT_SAS,
    OPT_CONNECTIONS,
    OPT_SECONDS,
    OPT_WARM_UP,
    OPT_REQUESTS,
    OPT_RATE,
    OPT_KEYS,
    OPT_IN_ORDER,
    OPT_IN_TURN,
    OPT_PID,
    OPT_NAME,
    OPT_TITLES,
    OPT_BASE,
    OPT_SEED,
    OPT_JSON,
    OPT_DROP,
    OPT_CIPHERS,
    OPT_HELP,
};

static const struct option OPTIONS[] = {
    {"url", required_argument, NULL, OPT_URL},
    {"op", required_argument, NULL, OPT_OP},
    {"weight", required_argument, NULL, OPT_WEIGHT},
    {"header", required_argument, NULL, OPT_HEADER},
    {"body-bytes", required_argument, NULL, OPT_BODY_BYTES},
    {"body", required_argument, NULL, OPT_BODY},
    {"account", required_argument, NULL, OPT_ACCOUNT},
    {"key", required_argument, NULL, OPT_KEY},
    {"table", no_argument, NULL, OPT_TABLE},
    {"sas", required_argument, NULL, OPT_SAS},
    {"connections", required_argument, NULL, OPT_CONNECTIONS},
    {"seconds", required_argument, NULL, OPT_SECONDS},
    {"warm-up", required_argument, NULL, OPT_WARM_UP},
    {"requests", required_argument, NULL, OPT_REQUESTS},
    {"rate", required_argument, NULL, OPT_RATE},
    {"keys", required_argument, NULL, OPT_KEYS},
    {"in-order", no_argument, NULL, OPT_IN_ORDER},
    {"in-turn", no_argument, NULL, OPT_IN_TURN},
    {"pid", required_argument, NULL, OPT_PID},
    {"name", required_argument, NULL, OPT_NAME},
    {"titles", no_argument, NULL, OPT_TITLES},
    {"base", required_argument, NULL, OPT_BASE},
    {"seed", required_argument, NULL, OPT_SEED},
    {"json", no_argument, NULL, OPT_JSON},
    {"drop", no_argument, NULL, OPT_DROP},
    {"ciphers", required_argument, NULL, OPT_CIPHERS},
    {"help", no_argument, NULL, OPT_HELP},
    {NULL, 0, NULL, 0},
};

static struct op *present_op(struct settings *s)
{
    return s->ops.count == 0 ? &s->common : &s->ops.ops[s->ops.count - 1];
}

static void add_op(struct settings *s, const char *text)
{
    if (s->ops.count == OPS_MAX)
        stop("too many operations", NULL);
    struct op *op = &s->ops.ops[s->ops.count++];
    *op = s->common;
    op->path = str_of(text);
    op->method = str_cut(&op->path, ' ');
    if (op->path.n == 0 || op->path.p[0] != '/')
        stop("an operation is 'METHOD /PATH'", text);
}

static void set_body_bytes(struct op *op, uint64_t size)
{
    char *bytes = mem_alloc((size_t)size);
    for (size_t i = 0; i < size; i++)
        bytes[i] = (char)('a' + i % 26);
    op->body = (struct str){bytes, (size_t)size};
    op->body_is_template = false;
}

/* Parses the options of an operation. False for any other option. */
static bool take_op_option(struct settings *s, int id, const char *value)
{
    struct op *op = present_op(s);
    if (id == OPT_OP) {
        add_op(s, value);
    } else if (id == OPT_WEIGHT) {
        op->weight = (unsigned)number(value);
    } else if (id == OPT_HEADER) {
        if (op->header_count == OP_HEADERS_MAX)
            stop("too many headers", value);
        op->headers[op->header_count++] = str_of(value);
    } else if (id == OPT_BODY_BYTES) {
        set_body_bytes(op, number(value));
    } else if (id == OPT_BODY) {
        op->body = str_of(value);
        op->body_is_template = true;
    } else {
        return false;
    }
    return true;
}

/* Parses the options of the run that have no value. False for any other option. */
static bool take_plan_flag(struct load_plan *plan, int id)
{
    bool *flag = id == OPT_IN_ORDER  ? &plan->in_order
                 : id == OPT_IN_TURN ? &plan->in_turn
                 : id == OPT_DROP    ? &plan->drop
                                     : NULL;
    if (flag != NULL)
        *flag = true;
    return flag != NULL;
}

static void take_option(struct settings *s, int id, const char *value)
{
    if (take_op_option(s, id, value) || take_plan_flag(&s->plan, id))
        return;
    switch (id) {
    case OPT_URL:
        s->url = str_of(value);
        break;
    case OPT_ACCOUNT:
        s->ops.signer.account = str_of(value);
        break;
    case OPT_KEY:
        s->key = str_of(value);
        break;
    case OPT_TABLE:
        s->ops.signer.table = true;
        break;
    case OPT_SAS:
        s->ops.signer.sas = str_of(value[0] == '?' ? value + 1 : value);
        break;
    case OPT_CONNECTIONS:
        s->plan.connections = (unsigned)number(value);
        break;
    case OPT_SECONDS:
        s->seconds = number(value);
        break;
    case OPT_WARM_UP:
        s->warm_up = number(value);
        break;
    case OPT_REQUESTS:
        s->plan.requests_max = number(value);
        break;
    case OPT_RATE:
        s->plan.rate = number(value);
        break;
    case OPT_KEYS:
        s->ops.key_count = number(value);
        break;
    case OPT_PID:
        s->pid = number(value);
        break;
    case OPT_NAME:
        s->name = value;
        break;
    case OPT_TITLES:
        s->titles = true;
        break;
    case OPT_BASE:
        s->ops.sequence = number(value);
        break;
    case OPT_SEED:
        s->plan.seed = spread(number(value));
        break;
    case OPT_JSON:
        s->json = true;
        break;
    case OPT_CIPHERS:
        s->ciphers = value;
        break;
    default:
        (void)fputs(HELP, id == OPT_HELP ? stdout : stderr);
        exit(id == OPT_HELP ? 0 : 2);
    }
}

static void resolve(struct settings *s)
{
    struct uri uri;
    bool parsed = uri_parse(s->url, &uri);
    bool tls = parsed && str_eq(uri.scheme, STR("https"));
    if (!parsed || (!tls && !str_eq(uri.scheme, STR("http"))))
        stop("--url is not http://HOST:PORT", NULL);
    s->plan.tls = tls ? wire_context(s->ciphers) : NULL;
    if (tls && s->plan.tls == NULL)
        stop("no TLS with these ciphers", s->ciphers);
    char *host = arena_cstr(&s->ops.arena, uri.host);
    char port[8];
    (void)snprintf(port, sizeof port, "%u", uri.port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        stop("no such host", host);
    memcpy(&s->plan.address, found->ai_addr, found->ai_addrlen);
    s->plan.address_length = found->ai_addrlen;
    freeaddrinfo(found);
    s->ops.host = arena_printf(&s->ops.arena, "%s:%s", host, port);
}

static void read_options(int argc, char **argv, struct settings *s)
{
    for (int id; (id = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        take_option(s, id, optarg);
    if (optind < argc)
        stop("what is this", argv[optind]);
    if (s->ops.count == 0 || s->ops.key_count == 0 || s->plan.connections == 0)
        stop("nothing to do; --help says how", NULL);
    for (size_t i = 0; i < s->ops.count; i++)
        if (s->ops.ops[i].weight == 0)
            stop("a weight is 1 or more", NULL);
    if (str_given(s->ops.signer.account)) {
        struct str secret;
        if (!base64_decode(&s->ops.arena, s->key, &secret))
            stop("--key is not base64", NULL);
        hmac_key_init(&s->ops.signer.key, secret);
    }
    resolve(s);
}

/* ---- the server's CPU time ---- */

/* User and system time of all threads, including ended ones; 0 without a pid. */
static double cpu_seconds(uint64_t pid)
{
    char path[64];
    char text[1024];
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    FILE *file = pid == 0 ? NULL : fopen(path, "re");
    if (file == NULL)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, file);
    (void)fclose(file);
    text[n] = '\0';
    /* The name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
     */
    const char *after = strrchr(text, ')');
    struct str rest = str_of(after == NULL ? "" : after + 2);
    uint64_t ticks = 0;
    for (int field = 0; field < 13 && str_given(rest); field++) {
        struct str value = str_cut(&rest, ' ');
        uint64_t one;
        if (field >= 11 && str_to_u64(value, &one))
            ticks += one;
    }
    return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

struct cpu_mark {
    uint64_t pid;
    double seconds;
};

static void mark_cpu(void *arg)
{
    struct cpu_mark *mark = arg;
    mark->seconds = cpu_seconds(mark->pid);
}

/* ---- the row ---- */

static void print_row(const struct settings *s, const struct load_result *r, double cpu)
{
    double seconds = (double)r->took_us / 1e6;
    double per_request = r->requests > 0 ? cpu * 1e6 / (double)r->requests : 0;
    if (s->titles)
        puts("| what | connections | requests | errors | requests/s | p50 ms | p99 ms | in MB/s | "
             "out MB/s | server CPU µs |\n|---|---|---|---|---|---|---|---|---|---|");
    printf("| %s | %u | %llu | %llu | %.0f | %.3f | %.3f | %.1f | %.1f | %.1f |\n", s->name,
           s->plan.connections, (unsigned long long)r->requests, (unsigned long long)r->errors,
           (double)r->requests / seconds, (double)histogram_at(&r->times, 50) / 1e6,
           (double)histogram_at(&r->times, 99) / 1e6, (double)r->received / 1e6 / seconds,
           (double)r->sent / 1e6 / seconds, per_request);
}

static double ms_at(const struct load_result *r, double percent)
{
    return (double)histogram_at(&r->times, percent) / 1e6;
}

static void print_json(const struct settings *s, const struct load_result *r, double cpu)
{
    double seconds = (double)r->took_us / 1e6;
    printf("{\"connections\":%u,\"requests\":%llu,\"errors\":%llu,\"seconds\":%.3f,"
           "\"rate\":%.1f,\"p50Ms\":%.4f,\"p99Ms\":%.4f,\"p999Ms\":%.4f,\"longestMs\":%.4f,"
           "\"bytesIn\":%llu,\"bytesOut\":%llu,\"cpuSeconds\":%.2f}\n",
           s->plan.connections, (unsigned long long)r->requests, (unsigned long long)r->errors,
           seconds, (double)r->requests / seconds, ms_at(r, 50), ms_at(r, 99), ms_at(r, 99.9),
           (double)r->times.longest / 1e6, (unsigned long long)r->received,
           (unsigned long long)r->sent, cpu);
}

int main(int argc, char **argv)
{
    static struct settings s = {
        .plan = {.connections = 64},
        .ops = {.key_count = 1000},
        .common = {.weight = 1},
        .name = "load",
        .seconds = 5,
        .warm_up = 1,
    };
    static struct load_result result;
    arena_init(&s.ops.arena, SIZE_MAX);
    s.plan.seed = spread((uint64_t)clock_mono_us());
    read_options(argc, argv, &s);
    s.plan.ops = &s.ops;
    struct cpu_mark mark = {.pid = s.pid};
    load_run(&s.plan, (int64_t)s.warm_up * 1000, (int64_t)s.seconds * 1000, mark_cpu, &mark,
             &result);
    (s.json ? print_json : print_row)(&s, &result, cpu_seconds(s.pid) - mark.seconds);
    SSL_CTX_free(s.plan.tls);
    arena_release(&s.ops.arena);
    return result.requests > 0 && result.errors == 0 ? 0 : 1;
}
