/* SPDX-License-Identifier: Apache-2.0 */
/* How an engine is doing, for whoever watches the server. Any thread. */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "core/tally.h"
#include "engine/engine.h"

/* Histograms that the engine fills; NULL where it has none. They live as long as it. */
struct engine_stats {
    const struct histogram *commit_updates; /* updates in a commit */
    const struct histogram *commit_us;      /* to make a commit durable, with the flush */
    const struct histogram *flush_us;       /* of the journal alone */
    const struct histogram *turn_us;        /* how long the committer was held by one turn */
    int64_t held_us;                        /* by the one under way; 0: it waits for updates */
    uint64_t updates, commits;
    uint64_t queued;                            /* updates that wait for the committer */
    uint64_t segments;                          /* files, or chunks of memory */
    uint64_t segment_bytes;                     /* really allocated */
    bool has_disk;                              /* the rest is only of an engine that has one */
    uint64_t journal_bytes;                     /* written since the start */
    uint64_t journal_files, journal_file_bytes; /* there now */
    uint64_t cache_bytes, cache_bytes_max;
    uint64_t cache_hits, cache_misses;
    uint64_t collected_files, collected_bytes; /* of the journal, given back since the start */
    uint64_t table_bytes;                      /* of RocksDB's files */
    uint64_t pending_compaction_bytes;
    uint64_t compactions_running;
    uint64_t disk_free, disk_reserve;
    bool room_short; /* only updates that delete, or bring little, are taken */
    bool lost;       /* a flush failed for good: nothing is taken until the next start */
};
void engine_stats(struct engine *e, struct engine_stats *out);

#endif
