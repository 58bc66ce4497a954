/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which of the two APIs over the same data a request uses, Blob or Data Lake. Clients with
 * an address such as http://127.0.0.1:10000/account send both kinds to one port, so the request
 * itself decides; if it is ambiguous (a plain GET, HEAD or DELETE of a path), the port or the host
 * name does. */
#ifndef REST_DFS_DIALECT_H
#define REST_DFS_DIALECT_H

#include "rest/call.h"

/* dfs_listens: the port is Data Lake's. Call it after the query was parsed. */
bool dfs_is_spoken(const struct rest_call *call, bool dfs_listens);
/* resource=filesystem. */
bool dfs_names_filesystem(const struct rest_call *call);
/* The effective method: Hadoop's driver sends PATCH as PUT with X-HTTP-Method-Override. */
enum http_method dfs_method(const struct rest_call *call);
/* JavaScript's move() requests /FILESYSTEM/PATH even if the account precedes the file system in the
 * path; the source that it names still has the account. Returns that account, or absent. */
struct str dfs_lost_account(const struct rest_call *call);

/* Maps an error of a transaction shared with Blob to the Data Lake API's. */
enum err_code dfs_error_code(enum err_code code);

#endif
