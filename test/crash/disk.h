/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that can lose power. It records the file calls of the program and its libraries while they
 * change the real files. From the record it makes a state that a power cut after any of them may
 * leave: all flushed data, and any part of the rest. */
#ifndef TEST_CRASH_DISK_H
#define TEST_CRASH_DISK_H

#include "core/str.h"

/* Records the calls on the files of this folder from now on and discards the earlier record. No
 * file in it may be open. */
void disk_watch(const char *folder);
/* Stops recording. */
void disk_unwatch(void);
bool disk_watching(void);
/* Delays one in `one_in` calls. */
void disk_dawdle(uint32_t one_in, uint32_t ns_max);

/* The number of events so far. */
size_t disk_now(void);
/* Records an event that is not a file call; returns its number. */
size_t disk_note(void);

/* Returns the number of events when a flush returned: the first one after `now` of a file whose
 * path contains `part`. Just before that moment nothing that the flush covers is certain to be on
 * the disk. Returns `now` if there is none before `end`. */
size_t disk_before_flush(size_t now, size_t end, const char *part);

enum disk_call {
    DISK_FLUSH = 1,
    DISK_WRITE = 2, /* also truncation */
    DISK_CREATE = 4,
};

/* Makes calls fail: among the later calls of the kinds `calls` on files whose path contains `part`,
 * the one with number `first` and the `count` - 1 after it. The data of a failed flush is on the
 * disk or not, and no later flush writes it. A failing write writes half of its bytes; if `error`
 * is 0, each write is short by half instead. */
struct disk_fault {
    const char *part;
    unsigned calls;
    unsigned first;
    unsigned count;
    int error;
};
void disk_fail(const struct disk_fault *fault);
bool disk_has_failed(void);

enum cut_kind {
    CUT_NOTHING_LATE, /* no unflushed data is left */
    CUT_ALL,          /* all data is left, as after a kill */
    CUT_SOME_WRITES,  /* any of the unflushed writes, in any order */
    CUT_SOME_SECTORS, /* any sectors of any of the unflushed writes */
    CUT_TORN,         /* the first unflushed writes, the last one only in part */
    CUT_KINDS,
};

/* Makes in `folder`, which must not exist, a state that a power cut after `now` events may
 * leave. */
void disk_cut(size_t now, enum cut_kind kind, uint32_t seed, const char *folder);

/* The program was killed after `now` events, and the power stays on: restores the folder, which
 * must have been removed, to that state and continues recording. Unflushed data is still unflushed;
 * data that a flush failed to write may be partly lost from memory. */
void disk_restart(size_t now, uint32_t seed);

#endif
