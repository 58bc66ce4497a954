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

/* The first flush after so many things of a file whose path contains `part`: what had happened when
 * it came back. Just before that moment nothing that it covers is sure to be there. `now` when
 * there is none until `end`. */
size_t disk_before_flush(size_t now, size_t end, const char *part);

enum disk_call {
    DISK_FLUSH = 1,
    DISK_WRITE = 2, /* also cutting off */
    DISK_CREATE = 4,
};

/* Of the calls from now on that are among `calls` and of a file whose path contains `part`, the one
 * with number `first` and `count - 1` after it fail. What a flush should have written is written or
 * not, and no later flush makes up for it. Of a write, half is made before one fails; without an
 * error, each is short by half. */
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
    CUT_NOTHING_LATE, /* of what was not flushed nothing is there */
    CUT_ALL,          /* all is there, as after a kill */
    CUT_SOME_WRITES,  /* any of the writes, in any order */
    CUT_SOME_SECTORS, /* any sectors of any of the writes */
    CUT_TORN,         /* the first writes, the last of them in part */
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
