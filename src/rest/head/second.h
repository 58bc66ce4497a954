/* SPDX-License-Identifier: Apache-2.0 */
/* A resource that a request names besides that of its path: the source of a copy or of a rename,
 * the target of a hard link. The row has its kind (op.h); the caller needs the same permission for
 * it as for requesting it directly. */
#ifndef REST_HEAD_SECOND_H
#define REST_HEAD_SECOND_H

#include "rest/call.h"

enum { SECOND_URL_MAX = 2048, SECOND_QUERY_MAX = 48 };

/* Not a second resource: only the deletion's id is used, which must be one of the path's. */
extern const struct str SECOND_UNDELETE_SOURCE;

/* Returns the text that names the row's second resource; absent if it has none. */
struct str second_header(enum op_second second);
/* The operations, by their rows, that must be permitted on it; NULL past the last. A SAS needs the
 * letters of the rows, or these instead; NULL: those of the rows. */
enum { SECOND_NEEDS_MAX = 2 };
struct second_needs {
    const char *rows[SECOND_NEEDS_MAX];
    const char *letters;
};
struct second_needs second_needs_of(enum op_second second, enum service_kind service);

struct second {
    /* Its place, decoded. Check and act on the same text. */
    enum service_kind service;
    struct str account, container, object;
    /* Its form in the URL. */
    struct str path, raw_query;
    struct auth_pair query[SECOND_QUERY_MAX];
    size_t query_count;
    /* The source's token; absent if there is none. */
    struct str authorization;
    /* True if the request's credentials apply when it has none. */
    bool handed_on;
    /* out: the credentials that were accepted. */
    const struct auth_result *who;
    struct auth_result own;
};

/* Returns true if a parameter of its URL selects a snapshot or version. */
bool second_names_moment(struct str parameter);
/* Reads the query of its URL; false if it is malformed or too long, or has an empty snapshot or
 * version, which does not mean the base. */
bool second_read_query(struct rest_call *call, struct second *s);
/* By its name in any case; absent if there is none. */
struct str second_query(const struct second *s, struct str name);

/* Checks that the request may use it: with its own credentials (a SAS in its URL, a token), else
 * with the request's if they apply, else anonymously. The row defines the operations that need it.
 * Errors as of auth_check. */
struct err second_permit(struct rest_call *call, struct second *s);

/* For an operation that affects more than the row says: everything below the resource of the path.
 */
struct err second_permit_below(struct rest_call *call);
/* Another snapshot of the blob, named by its time: a SAS for one snapshot does not permit the
 * others. */
struct err second_permit_snapshot(struct rest_call *call, struct str snapshot);

#endif
