/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the operations that create a blob from another one. */
#ifndef REST_BLOB_COPY_H
#define REST_BLOB_COPY_H

#include "rest/copy/source.h"
#include "service/blob/copy/copy.h"

/* Metadata, tags, tier, priority and seal of the copy. */
struct err rest_blob_read_copy_wishes(struct rest_call *call, struct blob_copy_wishes *out);
/* x-ms-copy-id and -status, with status 202. */
void rest_blob_put_copy_outcome(struct rest_call *call, const struct guid *id, struct str status);

#endif
