/* SPDX-License-Identifier: Apache-2.0 */
/* Headers that the file operations have in common. */
#ifndef REST_FILE_REQUEST_H
#define REST_FILE_REQUEST_H

#include "rest/call.h"
#include "service/file/access.h"

/* ---- reading ---- */

/* The path, x-ms-allow-trailing-dot, the lease id; sets the call's partition too. `sharesnapshot`
 * is read if the operation allows it, and refused otherwise. */
struct err rest_file_read_request(struct rest_call *call, bool snapshot, struct file_request *out);
struct err rest_file_read_snapshot(struct rest_call *call, struct str parameter, int64_t *out);
/* x-ms-file-attributes, times, permission, mode, owner and group. */
struct err rest_file_read_settings(struct rest_call *call, struct file_settings *out);
/* The same for a new file or directory, which has nothing to preserve; and
 * x-ms-file-property-semantics. */
struct err rest_file_read_new_settings(struct rest_call *call, struct file_settings *out);
/* x-ms-file-last-write-time of a range write: now by default. */
struct err rest_file_read_last_write(struct rest_call *call, struct file_time *out);
/* One time: `now`, `preserve` (and `source`, if source is not NULL) or a date. */
struct err rest_file_read_time(struct rest_call *call, struct str name, bool *source,
                               struct file_time *out);
struct err rest_file_read_attributes(struct rest_call *call, struct str text, uint32_t *out);
/* Parses x-ms-content-type and the like; sets *given if any was sent. */
struct err rest_file_read_http(struct rest_call *call, struct node_http *out, bool *given);
/* A lease operation on a file: no end, nothing to renew. */
struct err rest_file_read_lease_request(struct rest_call *call, struct lease_request *out);
/* x-ms-mode, x-ms-owner and x-ms-group. */
struct err rest_file_read_nfs(struct rest_call *call, struct file_settings *out);
/* x-ms-file-permission or its key. */
struct err rest_file_read_permission(struct rest_call *call, struct file_settings *out);
/* The text of a permission in the given format, or in that of x-ms-file-permission-format. */
struct err rest_file_read_permission_text(struct rest_call *call, struct str text,
                                          struct str format, struct str *sd);
bool rest_file_permission_format_known(struct str format);

/* ---- writing ---- */

/* ETag, Last-Modified, and the properties that SMB or NFS know too. */
void rest_file_put_outcome(struct rest_call *call, const struct file_outcome *outcome);
void rest_file_put_etag(struct rest_call *call, const struct node *n);
void rest_file_put_permission_key(struct rest_call *call, const struct permission_key *key);
void rest_file_put_copy(struct rest_call *call, const struct node_copy *copy);
void rest_file_put_attributes_text(struct buf *b, const struct node *n);
struct str rest_file_copy_status_text(enum copy_status status);
void rest_file_put_iso(struct rest_call *call, struct str name, int64_t ticks);
/* An element with a name or path. One that XML cannot contain is percent-encoded and marked so. */
void rest_file_put_name(struct rest_call *call, struct str element, struct str name);
bool rest_file_name_is_encoded(const struct rest_call *call, struct str name);

#endif
