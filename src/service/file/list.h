/* SPDX-License-Identifier: Apache-2.0 */
/* Listing. Passes each entry to the caller's functions, decoded in place, so that a page goes
 * straight into the response. A read that had to wait runs again, and calls the functions again
 * from the beginning: `begin` announces it. */
#ifndef SERVICE_FILE_LIST_H
#define SERVICE_FILE_LIST_H

#include "service/file/access.h"

enum { FILE_LIST_MAX = 5000 };

struct directory_list_args {
    struct file_request request; /* first */
    struct str prefix;           /* absent or empty: all */
    struct str marker;           /* absent, or the last `next` */
    size_t max;
    void *sink;
    /* begin gets the directory itself. */
    void (*begin)(void *sink, const struct file_found *directory, struct str path);
    void (*item)(void *sink, const struct file_found *found);
    /* out: absent at the end, else where the next page begins, in the arena; any bytes */
    struct str next;
};
/* In the order of the folded names. Omits entries that are pending delete. */
engine_fn file_list_directory;

struct share_list_args {
    struct arena *arena;
    struct str account;
    struct str prefix;
    struct str marker; /* absent, or the last `next` */
    size_t max;
    bool wants_snapshots, wants_deleted;
    void *sink;
    void (*begin)(void *sink);
    /* A share, one of its snapshots (else NULL), or a deleted one (share->deleted is set). */
    void (*item)(void *sink, struct str name, const struct share *share,
                 const struct share_snapshot *snapshot);
    /* out: absent at the end, else where the next page begins, in the arena */
    struct str next;
};
/* Spans the partitions of the account's shares; runs in any one, as a read. A page may end between
 * a share's snapshots. */
engine_fn file_list_shares;

#endif
