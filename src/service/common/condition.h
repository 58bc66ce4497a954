/* SPDX-License-Identifier: Apache-2.0 */
/* Conditional requests: the optimistic half of the concurrency model. One evaluation for all
 * operations of all services. Facts §1.2. */
#ifndef SERVICE_COMMON_CONDITION_H
#define SERVICE_COMMON_CONDITION_H

#include "core/err.h"
#include "core/str.h"
#include "service/common/tag_expression.h"
#include "service/common/verdict.h"

/* What a request asks for; all zero asks for nothing. */
struct conditions {
    struct str if_match;      /* as sent: a list; absent when not sent */
    struct str if_none_match; /* the same */
    bool has_modified_since;
    bool has_unmodified_since;
    int64_t modified_since; /* ticks, whole seconds */
    int64_t unmodified_since;
    const struct tag_expression *if_tags; /* NULL when not sent */
    int version;                          /* of the service, yyyymmdd; 0 is taken as the newest */
    struct verdict *verdict;              /* filled in by a refusal; NULL: nobody asks */
};

enum condition_use {
    CONDITION_READ,   /* 304 where the client has it already, and any combination */
    CONDITION_WRITE,  /* 412 always, and only the combinations that the service takes */
    CONDITION_CREATE, /* a write that makes the object: If-None-Match: * refuses with 409 */
};

/* The object as it is. */
struct condition_target {
    bool exists;
    int64_t etag;          /* its stamp */
    int64_t last_modified; /* ticks */
    struct str tags;       /* as pairs.h encodes them */
};

/* ERR_CONDITION_NOT_MET (412), ERR_NOT_MODIFIED (304), ERR_BLOB_ALREADY_EXISTS (409),
 * ERR_MULTIPLE_CONDITION_HEADERS_NOT_SUPPORTED and ERR_UNSATISFIABLE_CONDITION (400).
 * That an object is absent is no error here unless a condition wants it to exist: the caller says
 * 404 after this. */
struct err conditions_check(const struct conditions *c, enum condition_use use,
                            const struct condition_target *target);

#endif
