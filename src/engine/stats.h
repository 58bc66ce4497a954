/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of an engine, for monitoring. Any thread. */
#ifndef ENGINE_STATS_H
#define ENGINE_STATS_H

#include "core/tally.h"
#include "engine/engine.h"

/* Histograms that the engine fills; NULL if it has none. They live as long as the engine. */
struct engine_stats {
    const struct histogram *commit_updates; /* updates in a commit */
    const struct histogram *commit_us;      /* time to make a commit durable, including the flush */
    const struct histogram *flush_us;       /* of the journal alone */
    const struct histogram *turn_us;        /* time that one turn occupied the committer */
    int64_t held_us;                        /* time of the current turn; 0: waiting for updates */
    const struct histogram *turn_cpu_us;    /* CPU time of one turn */
    uint64_t updates, commits;
    uint64_t round_trips;                       /* to other servers; 0: the engine has none */
    int64_t away_ms;                            /* how long one of these has not answered */
    uint64_t queued;                            /* updates that wait for the committer */
    uint64_t segments;                          /* files, or chunks of memory */
    uint64_t segment_bytes;                     /* really allocated */
    bool has_disk;                              /* the fields below are set */
    uint64_t journal_bytes;                     /* written since the start */
    uint64_t journal_files, journal_file_bytes; /* current */
    uint64_t segment_dead_ranges;               /* dropped, and not given back yet */
    uint64_t cache_bytes, cache_bytes_max;
    uint64_t cache_hits, cache_misses;
    uint64_t collected_files, collected_bytes; /* of the journal, freed since the start */
    uint64_t table_bytes;                      /* of RocksDB's files */
    uint64_t pending_compaction_bytes;
    uint64_t compactions_running;
    uint64_t disk_free, disk_reserve;
    bool room_short; /* the disk is nearly full: only deletes and small updates are admitted */
    bool lost;       /* a flush failed for good: no update is admitted until the next start */
};
void engine_stats(struct engine *e, struct engine_stats *out);

/* True if there is space for content: more is free than the part reserved for deletes. The engine
 * sets room_short when it writes; this also compares the free bytes, because other programs may
 * have filled the disk. */
static inline bool engine_stats_room(const struct engine_stats *s)
{
    return !s->room_short && (!s->has_disk || s->disk_free >= s->disk_reserve);
}

#endif
