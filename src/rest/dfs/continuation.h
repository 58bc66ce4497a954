/* SPDX-License-Identifier: Apache-2.0 */
/* The continuation of a recursive delete by a caller whose rights come from access control lists.
 * It states how far rights were checked, so it is signed with the account's key, for one caller and
 * one path, and valid for ten minutes: nobody can forge one to skip a directory. It depends on no
 * state that a restart would lose. */
#ifndef REST_DFS_CONTINUATION_H
#define REST_DFS_CONTINUATION_H

#include "rest/call.h"

/* Absent when none was sent. ERR_INVALID_QUERY_PARAMETER_VALUE. */
struct err dfs_read_checked(struct rest_call *call, struct str caller, struct str *out);
void dfs_put_checked(struct rest_call *call, struct str caller, struct str next);

#endif
