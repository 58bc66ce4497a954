/* SPDX-License-Identifier: Apache-2.0 */
/* A resource that a request names beside that of its path: the source of a copy or of a rename, the
 * file that a hard link is made to. The row says what it is (op.h); whoever asks needs the same
 * leave for it as if it were asked for alone. */
#ifndef REST_SECOND_H
#define REST_SECOND_H

#include "rest/call.h"

enum { SECOND_URL_MAX = 2048, SECOND_QUERY_MAX = 48 };

/* No second resource: of it only the deletion's id counts, which must be one of the path's own. */
extern const struct str SECOND_UNDELETE_SOURCE;

/* What the row's second resource is named by; absent when it names none. */
struct str second_header(enum op_second second);
/* The operations, by their rows, that one must be permitted on it; NULL past the last. A SAS needs
 * the letters of the rows, or these in their place; NULL: those of the rows. */
enum { SECOND_NEEDS_MAX = 2 };
struct second_needs {
    const char *rows[SECOND_NEEDS_MAX];
    const char *letters;
};
struct second_needs second_needs_of(enum op_second second, enum service_kind service);

struct second {
    /* Where it is; decoded. The same text must be judged and acted on. */
    enum service_kind service;
    struct str account, container, object;
    /* How its URL names it. */
    struct str path, raw_query;
    struct auth_pair query[SECOND_QUERY_MAX];
    size_t query_count;
    /* A token of its own; absent when there is none. */
    struct str authorization;
    /* Whether the request's own credentials may be used where it has none. */
    bool handed_on;
    /* out: with what it was let in. */
    const struct auth_result *who;
    struct auth_result own;
};

/* Whether a parameter of its URL says which snapshot or version it is. */
bool second_names_moment(struct str parameter);
/* Reads the query of its URL; false when it is malformed or too long, or names the snapshot or
 * version of nothing, which is not the base. */
bool second_read_query(struct rest_call *call, struct second *s);
/* By its name in any case; absent when it is not there. */
struct str second_query(const struct second *s, struct str name);

/* Whether the request may use it: by credentials of its own (a SAS in its URL, a token), else by
 * the request's, where they are handed on, else as anybody. What it is needed for, the row tells.
 * The refusals of auth_check. */
struct err second_permit(struct rest_call *call, struct second *s);

/* For what reaches further than the row says. All that lies below the resource of the path: */
struct err second_permit_below(struct rest_call *call);
/* Another snapshot of it, named by its time: a SAS for one snapshot is not for the others. */
struct err second_permit_snapshot(struct rest_call *call, struct str snapshot);

#endif
