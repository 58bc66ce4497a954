/* SPDX-License-Identifier: Apache-2.0 */
/* Why concurrency control refused a request: which check it was and what the check met. Whoever
 * decodes a request may give it a verdict to be filled in (NULL: nobody asks); only refusals write
 * to it, so what succeeds pays nothing. */
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

/* What a request said of a lease, compared with the one it met. Ids themselves are not kept. */
enum verdict_id { VERDICT_ID_MISSING, VERDICT_ID_SAME, VERDICT_ID_OTHER };

struct verdict {
    enum verdict_check check;
    /* The object as it was; of a condition. */
    bool exists;
    int64_t etag; /* its stamp */
    int64_t last_modified;
    /* The lease as it was; of VERDICT_LEASE. */
    int lease_state;    /* enum lease_state */
    int64_t lease_ends; /* ticks; 0: without end, or there is none */
    enum verdict_id lease_id;
};

#endif
