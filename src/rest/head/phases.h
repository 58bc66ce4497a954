/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a request before its body, in order. call.h has those for parts of a batch. */
#ifndef REST_HEAD_PHASES_H
#define REST_HEAD_PHASES_H

#include "rest/call.h"

/* parse → match row → authenticate and permit → check, and for a streamed body also decode.
 * dfs_listens: ambiguous requests of this listener belong to the Data Lake API. */
struct err rest_head_phases(struct rest_call *call, bool dfs_listens);
/* Calls the row's decode; the body is complete. */
struct err rest_decode(struct rest_call *call);
COLD struct err rest_body_too_large(struct rest_call *call);

#endif
