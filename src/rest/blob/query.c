/* SPDX-License-Identifier: Apache-2.0 */
/* Query Blob Contents, which is not served: refused with a code that says so, before its body is
 * looked at. */
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
