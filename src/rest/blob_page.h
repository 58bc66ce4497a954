/* SPDX-License-Identifier: Apache-2.0 */
/* What Set Blob Properties has of page blobs. */
#ifndef REST_BLOB_PAGE_H
#define REST_BLOB_PAGE_H

#include "core/uri.h"
#include "rest/call.h"
#include "service/blob/page.h"

/* x-ms-blob-content-length and the sequence number's headers; after args->http was read. */
struct err blob_read_page_change(struct rest_call *call, struct blob_set_args *args);

#endif
