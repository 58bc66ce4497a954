/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics: what the parts of the server have counted, put together when it is asked for. Names and
 * units are by Prometheus' conventions; no label has values that clients can make grow. */
#include <assert.h>
#include <stdlib.h>

#include "admin/internal.h"
#include "admin/metric_text.h"
#include "admin/process.h"
#include "core/mem.h"
#include "engine/stats.h"
#include "rest/watch/inspector.h"
#include "rest/watch/loop_memory.h"
#include "rest/watch/script.h"
#include "service/blob/inspect.h"
#include "service/file/inspect.h"
#include "service/file/opens/opens.h"
#include "service/queue/inspect.h"
#include "smb/server.h"

static const struct metric_scale SECONDS = {HISTOGRAM_TIMES_US, 1e-6};
static const struct metric_scale COUNTS = {HISTOGRAM_COUNTS, 1};

/* ---- requests ---- */

/* All loops' statistics, of the services' own ports and of those who came through ours. */
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

/* The same numbers as above, summed up over services and operations. */
static void put_auth_failures(struct metric_text *m, const struct stats_outcome *outcomes,
                              size_t count)
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
            /* The later number first: a request that ends between the two reads is not missed. */
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
    put_auth_failures(m, outcomes, count);
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

/* ---- test control ---- */

/* By rule, as far as it is there still; so the sum never falls. */
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

/* ---- the store ---- */

static void put_histogram(struct metric_text *m, const char *name, const char *help,
                          const struct histogram *h, struct metric_scale scale)
{
    if (h == NULL)
        return;
    metric_family(m, name, METRIC_HISTOGRAM, help);
    metric_histogram(m, NULL, 0, h, scale);
}

static void put_committer(struct metric_text *m, const struct engine_stats *s)
{
    metric_single(m, "lazuli_updates", METRIC_COUNTER, "Update transactions committed.",
                  (double)s->updates);
    metric_single(m, "lazuli_commits", METRIC_COUNTER, "Group commits.", (double)s->commits);
    metric_single(m, "lazuli_commit_queue_updates", METRIC_GAUGE,
                  "Updates that wait for the committer.", (double)s->queued);
    put_histogram(m, "lazuli_commit_batch_updates", "Updates that shared a commit.",
                  s->commit_updates, COUNTS);
    put_histogram(m, "lazuli_commit_duration_seconds", "To make a commit durable.", s->commit_us,
                  SECONDS);
    put_histogram(m, "lazuli_journal_flush_duration_seconds", "Flushes of the journal.",
                  s->flush_us, SECONDS);
    put_histogram(m, "lazuli_committer_turn_duration_seconds",
                  "How long the committer was held by one group of updates.", s->turn_us, SECONDS);
    put_histogram(m, "lazuli_committer_turn_cpu_seconds",
                  "CPU time that one group of updates took of the committer.", s->turn_cpu_us,
                  SECONDS);
}

static void put_cache(struct metric_text *m, const struct engine_stats *s)
{
    metric_single(m, "lazuli_cache_bytes", METRIC_GAUGE, "Bytes of rows in the cache.",
                  (double)s->cache_bytes);
    metric_single(m, "lazuli_cache_max_bytes", METRIC_GAUGE, "Bytes that the cache may hold.",
                  (double)s->cache_bytes_max);
    metric_family(m, "lazuli_cache_requests", METRIC_COUNTER, "Rows asked of the cache.");
    metric_sample(m, &(struct metric_label){"result", STR("hit")}, 1, (double)s->cache_hits);
    metric_sample(m, &(struct metric_label){"result", STR("miss")}, 1, (double)s->cache_misses);
}

static void put_disk(struct metric_text *m, const struct engine_stats *s)
{
    metric_single(m, "lazuli_journal_written_bytes", METRIC_COUNTER,
                  "Bytes written to the journal.", (double)s->journal_bytes);
    metric_single(m, "lazuli_journal_files", METRIC_GAUGE, "Files of the journal.",
                  (double)s->journal_files);
    metric_single(m, "lazuli_journal_bytes", METRIC_GAUGE, "Bytes of the journal's files.",
                  (double)s->journal_file_bytes);
    metric_single(m, "lazuli_compaction_freed_files", METRIC_COUNTER,
                  "Files of the journal that were given back.", (double)s->collected_files);
    metric_single(m, "lazuli_compaction_freed_bytes", METRIC_COUNTER,
                  "Bytes of the journal's files that were given back.", (double)s->collected_bytes);
    metric_single(m, "lazuli_table_bytes", METRIC_GAUGE, "Bytes of the files with sorted rows.",
                  (double)s->table_bytes);
    metric_single(m, "lazuli_table_compaction_pending_bytes", METRIC_GAUGE,
                  "About how many bytes of sorted rows wait to be merged.",
                  (double)s->pending_compaction_bytes);
    metric_single(m, "lazuli_table_compactions_running", METRIC_GAUGE,
                  "Merges of sorted rows under way.", (double)s->compactions_running);
    metric_single(m, "lazuli_disk_free_bytes", METRIC_GAUGE, "Free on the data folder's disk.",
                  (double)s->disk_free);
    metric_single(m, "lazuli_disk_reserve_bytes", METRIC_GAUGE,
                  "Of that, kept free for deletes and the store's own work.",
                  (double)s->disk_reserve);
}

static void put_store(struct metric_text *m, const struct engine_stats *s)
{
    put_committer(m, s);
    metric_single(m, "lazuli_segments", METRIC_GAUGE, "Files with the content of blobs and files.",
                  (double)s->segments);
    metric_single(m, "lazuli_segment_bytes", METRIC_GAUGE, "Bytes allocated for these.",
                  (double)s->segment_bytes);
    metric_single(m, "lazuli_store_writable", METRIC_GAUGE,
                  "1 when all updates are taken, 0 when the disk is nearly full or has failed.",
                  s->room_short || s->lost ? 0 : 1);
    if (s->has_disk) {
        put_cache(m, s);
        put_disk(m, s);
    }
}

/* ---- queues, SMB ---- */

static void put_queues(struct metric_text *m, struct store *store)
{
    struct queue_usage usage;
    if (err_is(queue_usage(store, &usage)))
        return;
    metric_single(m, "lazuli_queues", METRIC_GAUGE, "Queues.", (double)usage.queues);
    metric_single(m, "lazuli_queue_messages", METRIC_GAUGE,
                  "Messages of all queues, visible or not.", (double)usage.messages);
    metric_single(m, "lazuli_queue_oldest_message_age_seconds", METRIC_GAUGE,
                  "Age of the oldest message that was found; 0 without one.",
                  usage.oldest == 0
                      ? 0
                      : (double)(store_now(store) - usage.oldest) / (double)TICKS_PER_SECOND);
}

enum { LEASED_CONTAINERS, LEASED_BLOBS, LEASED_SHARES, LEASED_FILES, LEASED_KINDS };

static void count_leases(const struct admin *a, struct str account, struct arena *arena,
                         uint64_t held[LEASED_KINDS])
{
    enum { FILES_MAX = 1000 };
    struct store *store = a->rest->store;
    struct blob_inspect blobs = {.arena = arena, .account = account};
    struct file_inspect files = {.arena = arena, .account = account};
    if (!err_is(store_read(store, STR("b/"), ENGINE_WAIT, blob_inspect_leases, &blobs)))
        for (size_t i = 0; i < blobs.count; i++)
            held[str_given(blobs.leases[i].blob) ? LEASED_BLOBS : LEASED_CONTAINERS]++;
    if (!err_is(file_inspect(store, &files)))
        for (size_t i = 0; i < files.share_count; i++)
            held[LEASED_SHARES] +=
                lease_locked(lease_state(&files.shares[i].lease, store_now(store)));
    if (a->rest->inspector == NULL)
        return;
    struct inspector_lease *leases = mem_alloc(FILES_MAX * sizeof *leases);
    size_t count = inspector_leases(a->rest->inspector, account, SERVICE_FILE, leases, FILES_MAX);
    for (size_t i = 0; i < count; i++)
        held[LEASED_FILES] += leases[i].object[0] != '\0';
    free(leases);
}

/* A scan of rows, bounded as the inspector's: see service/blob/inspect.h. */
static void put_leases(struct metric_text *m, const struct admin *a, struct arena *arena)
{
    static const char *const KINDS[] = {"container", "blob", "share", "file"};
    uint64_t held[LEASED_KINDS] = {0};
    for (size_t i = 0;; i++) {
        struct str account = accounts_name(a->rest->auth.accounts, arena, i);
        if (!str_given(account))
            break;
        count_leases(a, account, arena, held);
    }
    metric_family(m, "lazuli_leases_held", METRIC_GAUGE,
                  "Leases that are held, of at most 1000 an account and 200000 rows looked at; of "
                  "files, those taken since the start.");
    for (unsigned i = 0; i < LEASED_KINDS; i++)
        metric_sample(m, &(struct metric_label){"kind", str_of(KINDS[i])}, 1, (double)held[i]);
}

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

static void put_process(struct metric_text *m, const struct admin *a)
{
    struct process_usage usage = process_usage();
    metric_family(m, "lazuli_build_info", METRIC_GAUGE, "1, labelled by what was built.");
    struct metric_label labels[] = {{"version", str_of(a->options.version)},
                                    {"compiler", STR(__VERSION__)}};
    metric_sample(m, labels, 2, 1);
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
    struct engine_stats engine;
    struct metric_text m = metric_text_begin(&call->out, form);
    engine_stats(a->rest->store->engine, &engine);
    put_rest(&m, a, call->x->arena);
    put_conflicts(&m, a);
    put_script(&m, a);
    put_connections(&m, a);
    put_store(&m, &engine);
    put_queues(&m, a->rest->store);
    put_leases(&m, a, call->x->arena);
    put_smb(&m, a);
    put_loops(&m, a);
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
