/* SPDX-License-Identifier: Apache-2.0 */
/* The collector frees journal files that hold little live data. It runs on the reclaimer's
 * thread, a bounded step at a time.
 *
 * Writers do not count the garbage they produce. Instead the collector samples a few large
 * values of each file once; how many of them rows still refer to tells how much of the file is
 * live. Ordinary updates rewrite the live values of a file that is worth collecting, and then
 * the file is deleted.
 *
 * A file that is nearly all garbage is collected at once. A file that is less than half live is
 * collected only while all files together are more than twice the size of their live data, the
 * one with the least live data first. Waiting costs no more space than that, and meanwhile more
 * of the file becomes garbage. If values are replaced at random, a fifth of a file is live when
 * its turn comes, and a fourth of all bytes is written a second time. Collecting each file when
 * half of it is live would double that. */
#ifndef ENGINE_LOCAL_COLLECT_H
#define ENGINE_LOCAL_COLLECT_H

#include "engine/local/journal.h"

struct local_engine;

enum { SAMPLE_VALUES = 24 };

struct sample_value {
    char *key; /* on the heap */
    size_t key_n;
    struct value_ref ref;
};

/* Statistics of a complete file. */
struct file_sample {
    uint64_t file;
    uint64_t file_bytes;
    uint64_t value_bytes;
    uint64_t live_bytes; /* as of the last pass */
    struct sample_value values[SAMPLE_VALUES];
    size_t count;
};

/* A file whose live values were all rewritten by this commit at the latest. */
struct doomed_file {
    uint64_t file;
    uint64_t commit;
};

struct collector {
    struct file_sample **samples; /* by file */
    size_t sample_count;
    size_t sample_capacity;
    struct doomed_file *doomed;
    size_t doomed_count;
    uint64_t fresh_bytes;           /* bytes of files too new to sample; counted as live */
    uint64_t next_file;             /* where the next pass starts */
    _Atomic uint64_t seen_bytes;    /* size of the journal at the last pass */
    uint64_t seen_commit;           /* the commit of the last idle pass */
    _Atomic uint64_t doomed_commit; /* of the first doomed file; UINT64_MAX: none */
};

void collect_init(struct collector *c);
void collect_release(struct collector *c);
/* At start-up, before the threads exist: makes the first pass due at once. Otherwise short, busy
 * runs would pile up garbage from run to run. */
void collect_soon(struct local_engine *e);
/* True if enough was written for a pass or a doomed file can be deleted. Any thread. */
bool collect_due(struct local_engine *e);
/* True if anything was written, so that a pass is worthwhile when the engine is idle. */
bool collect_due_when_idle(struct local_engine *e);
void collect_some(struct local_engine *e, bool idle);

#endif
