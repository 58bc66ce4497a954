/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by Append Block and Append Block From URL. */
#ifndef REST_BLOB_APPEND_H
#define REST_BLOB_APPEND_H

#include "rest/call.h"
#include "service/blob/append.h"

/* Returns the largest block of the request's version. */
uint64_t rest_blob_append_max(const struct rest_call *call);
/* x-ms-blob-condition-appendpos and -maxsize. */
struct err rest_blob_read_append_position(struct rest_call *call, struct blob_append_args *args);
/* Writes the answer except for the checksums. */
void rest_blob_put_append_outcome(struct rest_call *call, const struct blob_append_args *args);

#endif
