/* SPDX-License-Identifier: Apache-2.0 */
/* Export to an archive, import of an archive, and copies between servers: complete, or continued
 * after an interruption. */
#ifndef TRANSFER_TRANSFER_H
#define TRANSFER_TRANSFER_H

#include "transfer/crew.h"

struct transfer_counts {
    struct crew_counts crew;
    uint64_t resumed;             /* items that an earlier run has done */
    bool cut_off;                 /* the archive ends early */
    char text[REMOTE_TEXT_BYTES]; /* of the last error */
};

struct transfer {
    struct selection selection;
    unsigned threads;
    /* As engine_progress: items or bytes done, and the total. NULL: no progress is reported, and
     * nothing is counted in advance. */
    void (*progress)(void *arg, const char *doing, uint64_t done, uint64_t of);
    /* A line about one item that could not be moved. */
    void (*failed)(void *arg, struct str line);
    void *arg;
    /* Identifies the transfer: its kind, source, target and selection. Only the same transfer
     * continues an interrupted one. */
    uint64_t of;
    struct transfer_counts counts;
};

/* Exports the accounts to `path`, by way of path.part; "-" is the standard output. */
struct err transfer_export(struct transfer *t, struct remote *const *accounts, size_t count,
                           const char *path);

/* Finds the server's account for an account of an archive, creating it if allowed. */
typedef struct err transfer_account(void *arg, struct str name, bool hierarchical,
                                    struct remote **out);
/* `target`: the only server that it goes to; NULL if `of` identifies the target store. */
struct err transfer_import(struct transfer *t, const char *path, struct remote *target,
                           transfer_account *account, void *account_arg);

/* The file `state` has the progress until the transfer is done. */
struct err transfer_copy(struct transfer *t, struct remote *from, struct remote *to,
                         const char *state);

#endif
