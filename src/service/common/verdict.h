/* SPDX-License-Identifier: Apache-2.0 */
/* Why concurrency control refused a request: which check failed and what it found. The decoder
 * of a request may attach a verdict (may be NULL); only refusals write to it, so successful
 * requests pay nothing. */
#ifndef SERVICE_COMMON_VERDICT_H
#define SERVICE_COMMON_VERDICT_H

#include <stdbool.h>
#include <stdint.h>

enum verdict_check {
    VERDICT_NONE, /* no check has filled it in */
    VERDICT_IF_MATCH,
    VERDICT_IF_NONE_MATCH,
    VERDICT_IF_MODIFIED_SINCE,
    VERDICT_IF_UNMODIFIED_SINCE,
    VERDICT_IF_TAGS,
    VERDICT_LEASE,
};

/* The request's lease id compared with the current one. The ids themselves are not kept. */
enum verdict_id { VERDICT_ID_MISSING, VERDICT_ID_SAME, VERDICT_ID_OTHER };

struct verdict {
    enum verdict_check check;
    /* The object at that time; for a condition. */
    bool exists;
    int64_t etag; /* its stamp */
    int64_t last_modified;
    /* The lease at that time; for VERDICT_LEASE. */
    int lease_state;    /* enum lease_state */
    int64_t lease_ends; /* ticks; 0: infinite, or there is none */
    enum verdict_id lease_id;
};

#endif
