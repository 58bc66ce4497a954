/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by Put Block and Put Block From URL. */
#ifndef REST_BLOB_BLOCK_H
#define REST_BLOB_BLOCK_H

#include "rest/call.h"

/* The parameter blockid, decoded. ERR_MISSING_REQUIRED_QUERY_PARAMETER,
 * ERR_INVALID_QUERY_PARAMETER_VALUE. */
struct err rest_blob_read_block_id(struct rest_call *call, struct str *out);

#endif
