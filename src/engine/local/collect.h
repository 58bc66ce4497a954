/* SPDX-License-Identifier: Apache-2.0 */
/* The collector: gives back journal files that hold little but what nobody needs any more. On the
 * reaper's thread, a bounded piece at a time.
 *
 * Writers do not keep count of what they make useless. Instead, a few of a file's large values are
 * chosen once; whether rows still name those tells how full of garbage it is. The live values of a
 * file that is worth it are written anew by ordinary updates, and the file goes.
 *
 * Which is worth it: one that is nearly all garbage, at once. One with less than half of it live
 * only while all files together are more than twice of what is live in them, the one with the least
 * first: waiting costs no more room than that, and while it waits more of it becomes garbage. Where
 * values are replaced at random a fifth of a file is live when its turn comes, and a fourth of what
 * is written is written once more; taking each file when half of it is live would double it. */
#ifndef ENGINE_LOCAL_COLLECT_H
#define ENGINE_LOCAL_COLLECT_H

#include "engine/local/journal.h"

struct local_engine;

enum { SAMPLE_VALUES = 24 };

struct sample_value {
    char *key; /* on the heap */
    size_t key_n;
    struct value_place place;
};

/* What is known of a file that is not written to any more. */
struct file_sample {
    uint64_t file;
    uint64_t file_bytes;
    uint64_t value_bytes;
    uint64_t live_bytes; /* as the last look had it */
    struct sample_value values[SAMPLE_VALUES];
    size_t count;
};

/* A file whose values have all been written anew, by this commit at the latest. */
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
    uint64_t fresh_bytes;           /* of files too young to be judged, taken for live */
    uint64_t next_file;             /* where the next look begins */
    _Atomic uint64_t seen_bytes;    /* of the journal, when the last look was */
    uint64_t seen_commit;           /* when the last look at a quiet time was */
    _Atomic uint64_t doomed_commit; /* of the first doomed file; UINT64_MAX for none */
};

void collect_init(struct collector *c);
void collect_release(struct collector *c);
/* A start, before the threads are: the first look is due at once. Runs that are short and busy
 * would else leave their garbage one after the other. */
void collect_soon(struct local_engine *e);
/* Whether enough was written for a look, or a doomed file can go. From any thread. */
bool collect_due(struct local_engine *e);
/* Whether anything was, so that a look is worth while once nothing else is to be done. */
bool collect_due_when_idle(struct local_engine *e);
void collect_some(struct local_engine *e, bool idle);

#endif
