/* SPDX-License-Identifier: Apache-2.0 */
/* The headers and parameters that the Data Lake operations share. */
#ifndef REST_DFS_REQUEST_H
#define REST_DFS_REQUEST_H

#include "rest/call.h"
#include "service/blob/path/path.h"

/* The path (empty for the root directory), conditions and lease id; sets the call's partition. */
struct err dfs_read_request(struct rest_call *call, struct blob_request *out);
/* A path without empty names and slashes at its ends, in the arena. A backslash is a slash, as in
 * the path of a request (target.h). */
struct str dfs_clean_path(struct arena *a, struct str path);
/* A header that counts as absent when it is empty. */
struct str dfs_header(const struct rest_call *call, struct str name);
/* x-ms-properties: "name=base64,…", as pairs.h encodes them. ERR_INVALID_PROPERTY_NAME. */
struct err dfs_read_properties(struct rest_call *call, struct str *out);
void dfs_put_properties(struct rest_call *call, const struct blob_head *head);
/* x-ms-content-type and the like; with an MD5 to store. Absent if not sent. */
struct err dfs_read_http(struct rest_call *call, struct blob_http *out);
/* x-ms-acl; *given: it was sent. `removes` as in acl_parse. */
struct err dfs_read_acl(struct rest_call *call, bool removes, struct path_acl *out, bool *given);
/* x-ms-owner or x-ms-group; absent if not sent. */
struct err dfs_read_id(struct rest_call *call, struct str name, struct str *out);
/* x-ms-permissions or x-ms-umask. */
struct err dfs_read_mode(struct rest_call *call, struct str name, unsigned *out, bool *given);
/* `continuation`, which is base64 of what a listing or a transaction left; absent when not sent. */
struct err dfs_read_continuation(struct rest_call *call, struct str *out);
void dfs_put_continuation(struct rest_call *call, struct str next);

/* x-ms-resource-type, -owner, -group and -permissions; of a hierarchical account's paths. */
void dfs_put_status(struct rest_call *call, const struct blob_head *head, bool hierarchical);
void dfs_put_acl(struct rest_call *call, const struct blob_head *head);

#endif
