/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics: collects the counters of the server's parts for each request. Names and units follow
 * Prometheus' conventions; clients cannot increase the number of label values. */
#include <assert.h>
#include <stdlib.h>

#include "admin/internal.h"
#include "admin/metric_text.h"
#include "admin/process.h"
#include "core/mem.h"
#include "net/pool.h"
#include "net/tls.h"
#include "rest/watch/inspector.h"
#include "rest/watch/loop_memory.h"
#include "rest/watch/script.h"
#include "service/file/opens/opens.h"
#include "smb/server.h"

static const struct metric_scale SECONDS = {HISTOGRAM_TIMES_US, 1e-6};

/* ---- requests ---- */

/* Statistics of all loops, for the services' ports and for requests through the admin port. */
struct all_stats {
    const struct rest_stats *of[ADMIN_LOOPS_MAX * 2];
    size_t count;
};

static struct all_stats gather_stats(const struct admin *a)
{
    struct all_stats all = {.count = 0};
    const struct http_server *const servers[] = {a->watched.http, a->watched.admin_http};
    for (size_t s = 0; s < sizeof servers / sizeof servers[0]; s++) {
        for (size_t i = 0; servers[s] != NULL && i < a->watched.loop_count; i++) {
            const struct rest_loop *loop = http_server_loop_memory(servers[s], i);
            all.of[all.count++] = &loop->stats;
        }
    }
    return all;
}

static void sum_outcomes(const struct all_stats *all, struct stats_outcome *out, size_t *count)
{
    *count = 0;
    for (size_t l = 0; l < all->count; l++) {
        for (size_t i = 0; i < STATS_OUTCOMES_MAX; i++) {
            struct stats_outcome o;
            size_t at = 0;
            if (!stats_read(all->of[l], i, &o))
                continue;
            while (at < *count && (out[at].service != o.service || out[at].op != o.op ||
                                   out[at].status != o.status || out[at].error != o.error ||
                                   out[at].auth != o.auth))
                at++;
            if (at == *count && *count < STATS_OUTCOMES_MAX)
                out[(*count)++] = o;
            else if (at < *count)
                out[at].count += o.count;
        }
    }
}

static struct str op_label(const struct stats_outcome *o)
{
    const char *name = stats_op_name(o->service, o->op);
    return name[0] == '\0' ? STR("none") : str_of(name);
}

static void put_requests(struct metric_text *m, const struct stats_outcome *outcomes, size_t count)
{
    metric_family(m, "lazuli_requests", METRIC_COUNTER,
                  "Requests that have ended, by operation and outcome.");
    for (size_t i = 0; i < count; i++) {
        const struct stats_outcome *o = &outcomes[i];
        char status[8];
        struct buf text = {.p = status, .capacity = sizeof status};
        buf_put_u64(&text, (uint64_t)o->status);
        struct metric_label labels[] = {{"service", admin_service_name(o->service)},
                                        {"operation", op_label(o)},
                                        {"status", buf_str(&text)},
                                        {"error", str_of(err_azure_code(o->error))},
                                        {"auth", str_of(stats_auth_name(o->auth))}};
        metric_sample(m, labels, sizeof labels / sizeof labels[0], (double)o->count);
    }
}

static bool is_auth_failure(const struct stats_outcome *o)
{
    return o->error != ERR_OK && (o->status == 401 || o->status == 403);
}

/* The same numbers as above, summed over services and operations. */
static void put_auth_failures(struct metric_text *m, const struct admin *a,
                              const struct stats_outcome *outcomes, size_t count)
{
    metric_family(m, "lazuli_auth_failures", METRIC_COUNTER,
                  "Requests refused for their credentials, by the kind of credential.");
    for (size_t i = 0; i < count; i++) {
        uint64_t sum = 0;
        bool first = is_auth_failure(&outcomes[i]);
        for (size_t j = 0; j < count && first; j++) {
            const struct stats_outcome *o = &outcomes[j];
            if (!is_auth_failure(o) || o->auth != outcomes[i].auth || o->error != outcomes[i].error)
                continue;
            first = j >= i;
            sum += o->count;
        }
        struct metric_label labels[] = {{"kind", str_of(stats_auth_name(outcomes[i].auth))},
                                        {"reason", str_of(err_azure_code(outcomes[i].error))}};
        if (first)
            metric_sample(m, labels, 2, (double)sum);
    }
    if (a->watched.smb != NULL) {
        struct smb_usage smb;
        smb_server_usage(a->watched.smb, &smb);
        metric_sample(
            m, (struct metric_label[]){{"kind", STR("ntlm")}, {"reason", STR("LogonFailure")}}, 2,
            (double)smb.logons_refused);
    }
}

static bool histogram_is_empty(const struct histogram *h)
{
    for (size_t i = 0; i <= HISTOGRAM_BOUNDS; i++)
        if (tally_read(&h->buckets[i]) != 0)
            return false;
    return true;
}

static void put_durations(struct metric_text *m, const struct all_stats *all, bool server)
{
    for (unsigned s = 0; s < SERVICE_KIND_COUNT; s++) {
        for (unsigned op = 0; op < STATS_OPS; op++) {
            struct histogram sum = {0};
            struct stats_outcome name = {.service = (enum service_kind)s, .op = op};
            for (size_t i = 0; i < all->count; i++) {
                const struct stats_op *times = &all->of[i]->ops[s][op];
                histogram_merge(&sum, server ? &times->server : &times->whole);
            }
            struct metric_label labels[] = {{"service", admin_service_name(name.service)},
                                            {"operation", op_label(&name)}};
            if (!histogram_is_empty(&sum))
                metric_histogram(m, labels, 2, &sum, SECONDS);
        }
    }
}

enum per_service { IN_FLIGHT, BYTES_IN, BYTES_OUT };

static void put_per_service(struct metric_text *m, const struct all_stats *all,
                            enum per_service what)
{
    for (unsigned s = 0; s < SERVICE_KIND_COUNT; s++) {
        uint64_t sum = 0;
        for (size_t i = 0; i < all->count; i++) {
            const struct rest_stats *stats = all->of[i];
            /* Read the later number first, so that a request that ends between the two reads is not
             * missed. */
            uint64_t ended = tally_read(&stats->ended[s]);
            sum += what == IN_FLIGHT  ? tally_read(&stats->begun[s]) - ended
                   : what == BYTES_IN ? tally_read(&stats->bytes_in[s])
                                      : tally_read(&stats->bytes_out[s]);
        }
        struct metric_label label = {"service", admin_service_name((enum service_kind)s)};
        metric_sample(m, &label, 1, (double)sum);
    }
}

static void put_rest(struct metric_text *m, const struct admin *a, struct arena *arena)
{
    struct all_stats all = gather_stats(a);
    struct stats_outcome *outcomes = ARENA_ARRAY(arena, struct stats_outcome, STATS_OUTCOMES_MAX);
    size_t count;
    sum_outcomes(&all, outcomes, &count);
    put_requests(m, outcomes, count);
    put_auth_failures(m, a, outcomes, count);
    metric_family(m, "lazuli_request_duration_seconds", METRIC_HISTOGRAM,
                  "From the first byte of a request to the last byte of its answer.");
    put_durations(m, &all, false);
    metric_family(m, "lazuli_request_server_duration_seconds", METRIC_HISTOGRAM,
                  "From the last byte of a request to the first of its answer.");
    put_durations(m, &all, true);
    uint64_t slow = 0;
    for (size_t i = 0; i < all.count; i++)
        slow += tally_read(&all.of[i]->slow);
    metric_single(m, "lazuli_requests_slow", METRIC_COUNTER,
                  "Requests that took longer than --slow-ms.", (double)slow);
    metric_family(m, "lazuli_requests_in_flight", METRIC_GAUGE, "Requests under way.");
    put_per_service(m, &all, IN_FLIGHT);
    metric_family(m, "lazuli_request_body_bytes", METRIC_COUNTER, "Bytes of request bodies.");
    put_per_service(m, &all, BYTES_IN);
    metric_family(m, "lazuli_response_body_bytes", METRIC_COUNTER, "Bytes of response bodies.");
    put_per_service(m, &all, BYTES_OUT);
}

/* ---- conflicts ---- */

static void put_conflicts(struct metric_text *m, const struct admin *a)
{
    struct inspector *in = a->rest->inspector;
    if (in == NULL)
        return;
    metric_family(m, "lazuli_conflicts", METRIC_COUNTER,
                  "Requests refused by concurrency control, by the rule of "
                  "docs/concurrency/rules.md.");
    for (unsigned s = 0; s < SERVICE_KIND_COUNT; s++) {
        for (unsigned r = 0; r < RULE_COUNT; r++) {
            uint64_t count = inspector_conflicts(in, (enum service_kind)s, (enum inspector_rule)r);
            const char *rule = inspector_rule_name((enum inspector_rule)r);
            struct metric_label labels[] = {{"service", admin_service_name((enum service_kind)s)},
                                            {"rule", r == RULE_NONE ? STR("none") : str_of(rule)}};
            if (count > 0)
                metric_sample(m, labels, 2, (double)count);
        }
    }
}

static void put_conditions(struct metric_text *m, const struct admin *a)
{
    struct inspector *in = a->rest->inspector;
    if (in == NULL)
        return;
    metric_family(m, "lazuli_conditions_failed", METRIC_COUNTER,
                  "Requests refused for a condition or a lease, by what they asked for.");
    for (unsigned s = 0; s < SERVICE_KIND_COUNT; s++) {
        for (unsigned c = CHECK_NONE + 1; c < CHECK_COUNT; c++) {
            enum inspector_check check = (enum inspector_check)c;
            uint64_t count = inspector_failed_checks(in, (enum service_kind)s, check);
            struct metric_label labels[] = {{"service", admin_service_name((enum service_kind)s)},
                                            {"kind", str_of(inspector_check_name(check))}};
            if (count > 0)
                metric_sample(m, labels, 2, (double)count);
        }
    }
}

/* ---- test control ---- */

/* By rule, including deleted ones, so that the sum never decreases. */
static void put_faults(struct metric_text *m, struct script *script)
{
    struct script_fault *faults = mem_alloc(SCRIPT_FAULTS_MAX * sizeof *faults);
    size_t count = script_faults(script, faults);
    uint64_t removed = script_struck(script);
    metric_family(m, "lazuli_faults_injected", METRIC_COUNTER,
                  "Faults that test control injected, by rule.");
    for (size_t i = 0; i < count; i++) {
        metric_sample(m, &(struct metric_label){"rule", str_of(faults[i].id)}, 1,
                      (double)faults[i].struck);
        removed -= faults[i].struck < removed ? faults[i].struck : removed;
    }
    metric_sample(m, &(struct metric_label){"rule", STR("removed")}, 1, (double)removed);
    free(faults);
}

static void put_script(struct metric_text *m, const struct admin *a)
{
    struct script_hold *holds;
    uint64_t waiting = 0;
    if (a->control.script == NULL)
        return;
    put_faults(m, a->control.script);
    holds = mem_alloc(SCRIPT_HOLDS_MAX * sizeof *holds);
    size_t count = script_holds(a->control.script, holds);
    for (size_t i = 0; i < count; i++)
        waiting += holds[i].waiting;
    free(holds);
    metric_single(m, "lazuli_requests_held", METRIC_GAUGE, "Requests that test control holds.",
                  (double)waiting);
}

/* ---- connections ---- */

static void put_connections(struct metric_text *m, const struct admin *a)
{
    static const char *const names[] = {"services", "admin"};
    const struct http_server *const servers[] = {a->watched.http, a->watched.admin_http};
    struct http_usage usage[2] = {{0}};
    for (size_t i = 0; i < 2; i++)
        if (servers[i] != NULL)
            usage[i] = http_server_usage(servers[i]);
    metric_family(m, "lazuli_connections_open", METRIC_GAUGE, "Open HTTP connections.");
    for (size_t i = 0; i < 2; i++)
        metric_sample(m, &(struct metric_label){"listener", str_of(names[i])}, 1,
                      usage[i].connections);
    metric_family(m, "lazuli_connections", METRIC_COUNTER, "HTTP connections accepted.");
    for (size_t i = 0; i < 2; i++)
        metric_sample(m, &(struct metric_label){"listener", str_of(names[i])}, 1,
                      (double)usage[i].accepted);
    metric_family(m, "lazuli_connections_refused", METRIC_COUNTER,
                  "HTTP connections refused for a limit on their number.");
    for (size_t i = 0; i < 2; i++)
        metric_sample(m, &(struct metric_label){"listener", str_of(names[i])}, 1,
                      (double)usage[i].refused);
}

static void put_tls(struct metric_text *m, const struct admin *a)
{
    if (a->watched.tls == NULL)
        return;
    struct tls_usage usage = tls_usage(a->watched.tls);
    metric_single(m, "lazuli_tls_handshakes_begun", METRIC_COUNTER, "TLS handshakes begun.",
                  (double)usage.begun);
    metric_single(m, "lazuli_tls_handshakes", METRIC_COUNTER, "TLS handshakes that have succeeded.",
                  (double)usage.done);
    metric_single(m, "lazuli_tls_certificate_expiry_timestamp_seconds", METRIC_GAUGE,
                  "When the certificate ends, since 1970.", (double)usage.expires_at);
}

/* ---- SMB ---- */

static void put_smb_requests(struct metric_text *m, const struct smb_usage *usage)
{
    metric_family(m, "lazuli_smb_requests", METRIC_COUNTER, "SMB requests answered.");
    for (unsigned i = 0; i < SMB_USAGE_COMMANDS; i++) {
        const char *name = smb_command_name(i);
        if (usage->requests[i] == 0 || name == NULL)
            continue;
        struct metric_label labels[] = {{"command", str_of(name)}, {"result", STR("success")}};
        metric_sample(m, labels, 2, (double)(usage->requests[i] - usage->failures[i]));
        labels[1].value = STR("error");
        metric_sample(m, labels, 2, (double)usage->failures[i]);
    }
}

static void put_smb(struct metric_text *m, const struct admin *a)
{
    struct opens_usage opens = opens_usage(a->rest->store->opens);
    struct smb_usage usage;
    if (a->watched.smb == NULL)
        return;
    smb_server_usage(a->watched.smb, &usage);
    metric_single(m, "lazuli_smb_connections_open", METRIC_GAUGE, "Open SMB connections.",
                  usage.connections);
    metric_single(m, "lazuli_smb_sessions", METRIC_GAUGE, "SMB sessions.", usage.sessions);
    metric_single(m, "lazuli_smb_opens", METRIC_GAUGE,
                  "Files and directories that SMB clients hold "
                  "open.",
                  (double)opens.handles);
    metric_single(m, "lazuli_smb_opens_disconnected", METRIC_GAUGE,
                  "Of these, kept for clients that are away.", (double)opens.disconnected);
    metric_single(m, "lazuli_smb_locks", METRIC_GAUGE, "Byte ranges that SMB clients have locked.",
                  (double)opens.locks);
    metric_single(m, "lazuli_smb_request_bytes", METRIC_COUNTER, "Bytes of SMB requests.",
                  (double)usage.bytes_in);
    metric_single(m, "lazuli_smb_response_bytes", METRIC_COUNTER, "Bytes of SMB answers.",
                  (double)usage.bytes_out);
    metric_single(m, "lazuli_smb_breaks", METRIC_COUNTER,
                  "Breaks of oplocks and leases that SMB clients were told of.",
                  (double)usage.breaks);
    put_smb_requests(m, &usage);
}

/* ---- loops, the process ---- */

static void put_loops(struct metric_text *m, const struct admin *a)
{
    metric_family(m, "lazuli_loop_turn_duration_seconds", METRIC_HISTOGRAM,
                  "How long a turn held its event loop.");
    for (size_t i = 0; i < a->watched.loop_count; i++) {
        char digits[BUF_U64_BYTES_MAX];
        struct buf number = {.p = digits, .capacity = sizeof digits};
        buf_put_u64(&number, i);
        struct loop_health health = loop_health(a->watched.loops[i]);
        metric_histogram(m, &(struct metric_label){"loop", buf_str(&number)}, 1, health.turns_us,
                         SECONDS);
    }
}

/* A few threads do the work that waits for the disk or another server. */
static void put_pool(struct metric_text *m, const struct admin *a)
{
    if (a->watched.pool != NULL)
        metric_single(m, "lazuli_pool_queue_length", METRIC_GAUGE,
                      "Tasks that wait for a thread of the pool.",
                      (double)pool_waiting(a->watched.pool));
}

static void put_process(struct metric_text *m, const struct admin *a)
{
    struct process_usage usage = process_usage();
    metric_family(m, "lazuli_build_info", METRIC_GAUGE, "1, labelled by what was built.");
    struct metric_label labels[] = {{"version", str_of(a->options.version)},
                                    {"commit", str_of(a->options.commit)},
                                    {"compiler", STR(__VERSION__)}};
    metric_sample(m, labels, 3, 1);
    metric_single(m, "process_cpu_seconds", METRIC_COUNTER, "CPU time used.", usage.cpu_seconds);
    metric_single(m, "process_resident_memory_bytes", METRIC_GAUGE, "Memory in use.",
                  (double)usage.resident_bytes);
    metric_single(m, "process_virtual_memory_bytes", METRIC_GAUGE, "Address space in use.",
                  (double)usage.virtual_bytes);
    metric_single(m, "process_open_fds", METRIC_GAUGE, "Open file descriptors.",
                  (double)usage.open_fds);
    metric_single(m, "process_max_fds", METRIC_GAUGE, "File descriptors that may be open.",
                  (double)usage.max_fds);
    metric_single(m, "process_start_time_seconds", METRIC_GAUGE, "Start, since 1970.",
                  usage.start_seconds);
}

/* ---- the routes ---- */

static void put_all(struct admin_call *call, enum metric_form form)
{
    struct admin *a = call->admin;
    struct metric_text m = metric_text_begin(&call->out, form);
    put_rest(&m, a, call->x->arena);
    put_conflicts(&m, a);
    put_conditions(&m, a);
    put_script(&m, a);
    put_connections(&m, a);
    put_tls(&m, a);
    admin_put_store_metrics(&m, a);
    put_smb(&m, a);
    put_loops(&m, a);
    put_pool(&m, a);
    put_process(&m, a);
    metric_text_end(&m);
    call->out_type = metric_text_type(form);
}

static void put_text(struct admin_call *call)
{
    struct str accept = http_header_get(&call->x->request, STR("Accept"));
    bool open =
        str_given(accept) && str_find_str(accept, STR("application/openmetrics-text")) < accept.n;
    put_all(call, open ? METRIC_OPENMETRICS : METRIC_PROMETHEUS);
}

static void put_json(struct admin_call *call)
{
    put_all(call, METRIC_JSON);
}

void admin_get_metrics(struct admin_call *call)
{
    admin_in_pool(call, put_text);
}

void admin_get_metrics_json(struct admin_call *call)
{
    admin_in_pool(call, put_json);
}
