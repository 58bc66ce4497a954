/* SPDX-License-Identifier: Apache-2.0 */
/* The continuation of a recursive delete by somebody who has only what lists grant. It says how far
 * rights have been checked, so it is signed with the account's key, is for one caller and one path,
 * and holds for ten minutes: nobody can make one up to pass over a directory. It needs nothing that
 * a server forgets when it is started again. */
#ifndef REST_DFS_CONTINUATION_H
#define REST_DFS_CONTINUATION_H

#include "rest/call.h"

/* Absent when none was sent. ERR_INVALID_QUERY_PARAMETER_VALUE. */
struct err dfs_read_checked(struct rest_call *call, struct str caller, struct str *out);
void dfs_put_checked(struct rest_call *call, struct str caller, struct str next);

#endif
