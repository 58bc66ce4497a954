/* SPDX-License-Identifier: Apache-2.0 */
/* Listing. Passes each item to the caller's functions, decoded in place, so that a listing of
 * thousands goes straight into the response. A read that had to wait runs again, and calls the
 * functions again from the beginning: `begin` announces it. */
#ifndef SERVICE_BLOB_LIST_H
#define SERVICE_BLOB_LIST_H

#include "service/blob/access.h"

enum {
    LIST_RESULTS_MAX = 5000,
    LIST_SCAN_MAX = 100000, /* rows examined for one page, found or not; then the page ends */
};

struct blob_list_item {
    struct str name;
    struct blob_at at;
    struct blob_head head; /* committed == false: only uncommitted blocks are there */
    bool versions_only;    /* the base is missing, only versions exist: this is the last one */
};

/* Which items the listing includes. */
enum blob_list_only { LIST_ALL, LIST_DELETED, LIST_FILES, LIST_DIRECTORIES };

struct blob_list_args {
    struct arena *arena;
    struct str prefix;     /* absent or empty: all */
    struct str delimiter;  /* absent or empty: flat */
    struct str start_from; /* absent, or the least name wanted */
    struct str end_before; /* absent, or the least name not wanted any more */
    struct str marker;     /* absent, or what `next` was */
    size_t max;
    size_t look_max; /* rows examined for this page; 0: LIST_SCAN_MAX (of a hierarchical one) */
    bool wants_snapshots;
    bool wants_versions;      /* previous ones */
    bool wants_deleted;       /* what is soft-deleted, of those that are wanted */
    bool wants_versions_only; /* names of which there are only versions */
    bool wants_uncommitted;
    enum blob_list_only only;
    /* Of a hierarchical container, for the Data Lake API: */
    bool entries_only;               /* the entries of the prefix's directory, not below; the
                                      * delimiter, a slash, is for a flat one */
    bool directory_exists;           /* ERR_BLOB_NOT_FOUND unless the prefix's directory exists */
    const struct acl_caller *caller; /* NULL: lists are not consulted */
    /* NULL, or called for each directory that the caller may not list, which is skipped; else that
     * is ERR_AUTHORIZATION_PERMISSION_MISMATCH. */
    void (*closed)(void *sink, struct str directory);
    /* The caller's. */
    void *sink;
    void (*begin)(void *sink);
    void (*item)(void *sink, const struct blob_list_item *item);
    void (*prefix_found)(void *sink, struct str prefix);
    /* out */
    bool hierarchical; /* the container is: known when begin is called */
    struct str
        next; /* absent at the end, else where the next page begins, in the arena; any bytes */
};
/* Runs in the container's partition. */
engine_fn blob_list_blobs;

struct container_list_args {
    struct arena *arena;
    struct str account;
    struct str prefix;
    struct str marker;       /* absent, or a name to begin with */
    uint64_t marker_deleted; /* begin with the deleted one of that incarnation; 0: with the first */
    size_t max;
    bool wants_system;
    bool wants_deleted; /* soft-deleted ones, before the existing one of the same name */
    void *sink;
    void (*begin)(void *sink);
    void (*item)(void *sink, struct str name, const struct container *container);
    /* out */
    struct str next;
    uint64_t next_deleted; /* of that name; 0: the existing one, or the first deleted one */
};
/* Spans the partitions of the account's containers; runs in any one, as a read. */
engine_fn blob_list_containers;

#endif
