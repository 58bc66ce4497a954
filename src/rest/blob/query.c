/* SPDX-License-Identifier: Apache-2.0 */
/* Query Blob Contents is not supported: refused with its own code, before the body is read. */
#include "rest/blob/ops.h"

struct err rest_query_blob_contents_decode(struct rest_call *call)
{
    (void)call;
    return err_new(ERR_NOT_IMPLEMENTED);
}

struct err rest_query_blob_contents_encode(struct rest_call *call)
{
    (void)call;
    return OK;
}
