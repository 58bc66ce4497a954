/* SPDX-License-Identifier: Apache-2.0 */
/* Find Blobs by Tags: searches the tag index of one container, or of all containers of an account
 * in the order of their names. Within a container one comparison leads the search. If there is an
 * equality, it leads: its rows are in the order of names, so the search can skip ahead to names
 * that satisfy the other equalities. Otherwise the first comparison leads, with rows in the order
 * of values. Previous versions, if requested, follow the blobs of their container. */
#ifndef SERVICE_BLOB_TAGS_FIND_H
#define SERVICE_BLOB_TAGS_FIND_H

#include "service/blob/access.h"

enum {
    FIND_RESULTS_MAX = 5000,
    FIND_LOOKS_MAX = 10000, /* containers and rows examined for one page; then the page ends */
};

struct blob_found {
    struct str container;
    struct str name;
    struct str tags; /* at least those that the expression names, as pairs.h encodes them */
    int64_t version; /* its id; 0: it has none, or versions were not requested */
    bool is_current; /* with a version */
};

struct blob_find_args {
    struct arena *arena;
    struct str account;
    struct str container; /* absent: all of the account's */
    const struct tag_expression *where;
    bool versions;     /* previous ones too */
    struct str marker; /* absent, or what `next` was; any bytes do no harm */
    size_t max;
    /* The caller's; may be called again from the beginning, see list.h. */
    void *sink;
    void (*begin)(void *sink);
    void (*found)(void *sink, const struct blob_found *blob);
    /* out: absent at the end, else where the next page begins, in the arena; any bytes */
    struct str next;
};

/* Returns true if the index can answer it: it names a tag, and compares only with valid values of
 * tags and container names. */
bool blob_find_can(const struct tag_expression *where);
/* Returns the number of distinct tags that it names. */
size_t blob_find_tags(const struct tag_expression *where);
/* Spans the partitions of the account's containers; runs in any one, as a read.
 * ERR_CONTAINER_NOT_FOUND if the one container of the search does not exist. */
engine_fn blob_find_blobs;

#endif
