/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional requests: the optimistic half of the concurrency model. One evaluation for all
 * operations of all services. docs/protocol/facts.md §1.2. */
#ifndef SERVICE_COMMON_CONDITION_H
#define SERVICE_COMMON_CONDITION_H

#include "core/err.h"
#include "core/str.h"
#include "service/common/tag_expression.h"
#include "service/common/verdict.h"

/* The conditions of a request; all zero means none. */
struct conditions {
    struct str if_match;      /* as sent: a list; absent when not sent */
    struct str if_none_match; /* the same */
    bool has_modified_since;
    bool has_unmodified_since;
    int64_t modified_since; /* ticks, whole seconds */
    int64_t unmodified_since;
    const struct tag_expression *if_tags; /* NULL when not sent */
    int version;                          /* of the service, yyyymmdd; 0: the newest */
    struct verdict *verdict;              /* filled in by a refusal; may be NULL */
};

enum condition_use {
    CONDITION_READ,   /* 304 if the client's copy is current; any combination is allowed */
    CONDITION_WRITE,  /* always 412; only the combinations that the service allows */
    CONDITION_CREATE, /* a write that creates the object: If-None-Match: * refuses with 409 */
};

/* The current object. */
struct condition_target {
    bool exists;
    int64_t etag;          /* its stamp */
    int64_t last_modified; /* ticks */
    struct str tags;       /* as pairs.h encodes them */
};

/* ERR_CONDITION_NOT_MET (412), ERR_NOT_MODIFIED (304), ERR_BLOB_ALREADY_EXISTS (409),
 * ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED and ERR_UNSATISFIABLE_CONDITION (400). An absent
 * object is no error unless a condition requires it to exist: the caller reports 404 afterwards. */
struct err conditions_check(const struct conditions *c, enum condition_use use,
                            const struct condition_target *target);

#endif
