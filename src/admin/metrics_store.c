/* SPDX-License-Identifier: Apache-2.0 */
/* /metrics: the engine, the stored objects, and background work. */
#include "admin/internal.h"
#include "admin/metric_text.h"
#include "engine/stats.h"
#include "service/census/census.h"
#include "service/queue/inspect.h"

static const struct metric_scale SECONDS = {HISTOGRAM_TIMES_US, 1e-6};
static const struct metric_scale COUNTS = {HISTOGRAM_COUNTS, 1};

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
    if (s->round_trips > 0)
        metric_single(m, "lazuli_engine_round_trips", METRIC_COUNTER,
                      "Round trips to the database.", (double)s->round_trips);
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

static void put_engine(struct metric_text *m, const struct engine_stats *s)
{
    put_committer(m, s);
    metric_single(m, "lazuli_segments", METRIC_GAUGE, "Files with the content of blobs and files.",
                  (double)s->segments);
    metric_single(m, "lazuli_segment_bytes", METRIC_GAUGE, "Bytes allocated for these.",
                  (double)s->segment_bytes);
    metric_single(m, "lazuli_store_writable", METRIC_GAUGE,
                  "1 when all updates are taken, 0 when the disk is nearly full or has failed.",
                  engine_stats_room(s) && !s->lost ? 1 : 0);
    if (s->has_disk) {
        metric_single(m, "lazuli_segment_dead_ranges", METRIC_GAUGE,
                      "Ranges in them that nothing names any more, not given back yet.",
                      (double)s->segment_dead_ranges);
        put_cache(m, s);
        put_disk(m, s);
    }
}

/* ---- stored objects ---- */

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

static void put_objects(struct metric_text *m, const struct census_counts *counts, bool bytes)
{
    for (unsigned i = 0; i < CENSUS_KINDS; i++) {
        enum census_kind kind = (enum census_kind)i;
        struct metric_label labels[] = {{"service", str_of(census_service(kind))},
                                        {"kind", str_of(census_kind_name(kind))}};
        metric_sample(m, labels, 2, (double)(bytes ? counts->bytes[i] : counts->objects[i]));
    }
}

/* For a large store: the result of the last walk, with its age. */
static void put_census(struct metric_text *m, const struct admin *a)
{
    struct store *store = a->rest->store;
    struct census_counts counts;
    if (a->watched.census == NULL || err_is(census_ask(a->watched.census, store, &counts)) ||
        !counts.known)
        return;
    metric_family(m, "lazuli_objects", METRIC_GAUGE, "What is stored, by kind.");
    put_objects(m, &counts, false);
    metric_family(m, "lazuli_objects_bytes", METRIC_GAUGE, "Bytes of what is stored, by kind.");
    put_objects(m, &counts, true);
    metric_family(m, "lazuli_leases_held", METRIC_GAUGE, "Leases that are held.");
    for (unsigned i = 0; i < CENSUS_LEASED_KINDS; i++) {
        const char *name = census_lease_name((enum census_lease)i);
        metric_sample(m, &(struct metric_label){"kind", str_of(name)}, 1, (double)counts.leases[i]);
    }
    int64_t age = store_now(store) - counts.taken_at;
    metric_single(m, "lazuli_census_age_seconds", METRIC_GAUGE,
                  "How long ago objects and leases were counted.",
                  age > 0 ? (double)age / (double)TICKS_PER_SECOND : 0);
    metric_single(m, "lazuli_census_duration_seconds", METRIC_GAUGE,
                  "How long that took, with its pauses.", (double)counts.walk_ms / 1000);
}

/* ---- background work ---- */

static void put_jobs_family(struct metric_text *m, const struct admin *a, size_t offset)
{
    for (size_t i = 0; i < a->watched.job_count; i++) {
        const struct sweep_job *job = &a->watched.jobs[i];
        const tally *count = (const tally *)(const void *)((const char *)job + offset);
        metric_sample(m, &(struct metric_label){"job", str_of(job->name)}, 1,
                      (double)tally_read(count));
    }
}

static void put_jobs(struct metric_text *m, const struct admin *a)
{
    metric_family(m, "lazuli_sweeper_runs", METRIC_COUNTER, "Steps of background jobs.");
    put_jobs_family(m, a, offsetof(struct sweep_job, steps));
    metric_family(m, "lazuli_sweeper_removed", METRIC_COUNTER,
                  "What background jobs have removed.");
    put_jobs_family(m, a, offsetof(struct sweep_job, removed));
    metric_family(m, "lazuli_sweeper_failures", METRIC_COUNTER,
                  "Steps of background jobs that have failed; the log says why.");
    put_jobs_family(m, a, offsetof(struct sweep_job, failures));
    metric_family(m, "lazuli_sweeper_last_run_timestamp_seconds", METRIC_GAUGE,
                  "When a background job has ended its last step, since 1970.");
    put_jobs_family(m, a, offsetof(struct sweep_job, last_step));
}

void admin_put_store_metrics(struct metric_text *m, const struct admin *a)
{
    struct engine_stats engine;
    engine_stats(a->rest->store->engine, &engine);
    put_engine(m, &engine);
    put_queues(m, a->rest->store);
    put_census(m, a);
    put_jobs(m, a);
}
