/* SPDX-License-Identifier: Apache-2.0 */
/* Immutability policies and legal holds as headers of other operations. */
#ifndef REST_BLOB_PROTECT_H
#define REST_BLOB_PROTECT_H

#include "rest/call.h"
#include "service/blob/head.h"

/* x-ms-immutability-policy-* and x-ms-legal-hold of a request that creates a blob: all zero if
 * there are none. They need the permission for it. */
struct err rest_blob_read_protection(struct rest_call *call, struct blob_protection *out);
/* The same for a response, with x-ms-expiry-time; nothing if there is none. */
void rest_blob_put_protection(struct rest_call *call, const struct blob_head *head);
struct str rest_blob_policy_mode_text(const struct blob_protection *p);

#endif
