/* SPDX-License-Identifier: Apache-2.0 */
/* A disk that can lose its power. The file calls of the program, and of the libraries in it, are
 * recorded while they go to the real files; from the record it makes what a power cut after any of
 * them may leave behind: what was flushed is there, and of the rest, any part. */
#ifndef TEST_CRASH_DISK_H
#define TEST_CRASH_DISK_H

#include "core/str.h"

/* Records what happens to the files of this folder from now on; what it held is forgotten. Nothing
 * in it may be open. */
void disk_watch(const char *folder);
/* Stops recording. */
void disk_unwatch(void);
bool disk_watching(void);
/* Takes some time, once in `one_in` calls. */
void disk_dawdle(uint32_t one_in, uint32_t ns_max);

/* How many things have happened. */
size_t disk_now(void);
/* Notes that something has happened that is no file call; returns its number. */
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

/* Makes in `folder`, which must not exist, what is left when the power goes after `now` things. */
void disk_cut(size_t now, enum cut_kind kind, uint32_t seed, const char *folder);

/* The program was killed after `now` things, and the power stays on: makes the folder, which must
 * have been removed, as it was then, and records on. What was not flushed still is not; of what a
 * flush has failed to write, memory may have forgotten any part. */
void disk_restart(size_t now, uint32_t seed);

#endif
