/* SPDX-License-Identifier: Apache-2.0 */
/* Deferred work: an operation that would touch many rows leaves a note in its transaction, and the
 * sweeper does the work in bounded steps. */
#ifndef SERVICE_FILE_SWEEP_H
#define SERVICE_FILE_SWEEP_H

#include "service/common/sweeper.h"

enum sweep_kind_file {
    FILE_SWEEP_SHARE = 1,   /* all rows of a permanently deleted share */
    FILE_SWEEP_CONTENT = 2, /* a content that no file names; id: the content */
    FILE_SWEEP_VOIDS = 3,   /* rows that a cut has left; id: the file */
    FILE_SWEEP_FOLD = 4,    /* a chunk of a file to be folded; id: the file, more: the chunk */
    FILE_SWEEP_HISTORY = 5, /* past rows that no snapshot sees any more */
    FILE_SWEEP_COPY = 6,    /* a running copy; id: the destination file */
    /* Like FILE_SWEEP_FOLD, but after the file was unchanged for a while. The last kind, so that
       waiting notes do not delay others. */
    FILE_SWEEP_FOLD_QUIET = 7,
};

struct sweep_note {
    enum sweep_kind_file kind;
    uint64_t incarnation;
    uint64_t id;
    uint64_t more;
};

/* Adds the note, in the share's partition. Adding the same note again changes nothing. */
struct err file_sweep_note(struct txn *t, const struct sweep_note *note);
/* Adds a note with data; reads its data (absent: no such note); and removes it. */
struct err file_sweep_note_with(struct txn *t, const struct sweep_note *note, struct str value);
struct err file_sweep_note_read(struct txn *t, const struct sweep_note *note, struct str *value);
struct err file_sweep_note_drop(struct txn *t, const struct sweep_note *note);

/* The position of a job that examines a few shares per step, in rounds. */
struct file_round {
    char after[256]; /* the partition that the last step ended with; empty at the beginning */
    size_t after_n;
};

/* One bounded step over all shares: a job for the sweeper. context is the job's struct file_round
 * (NULL: every step begins at the first share), so that shares whose notes have to wait do not
 * delay the others. */
struct err file_sweep(struct store *store, void *context, struct sweep_report *report);
/* One bounded step of the search for deleted shares whose retention has ended. context is a struct
 * file_expiry of the job. */
struct file_expiry {
    struct file_round round;
    int64_t next_round; /* ticks: not before */
};
struct err file_expire(struct store *store, void *context, struct sweep_report *report);

/* For `lazuli check`: the extents that a row of a share's partition names; false if the row cannot
 * be decoded. */
bool file_row_extents(struct str key, struct str value,
                      void (*named)(void *sink, const struct extent *x), void *sink);

#endif
