/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by Set Blob Properties, Put Page From URL and the other page operations. */
#ifndef REST_BLOB_PAGE_H
#define REST_BLOB_PAGE_H

#include "core/text/uri.h"
#include "rest/call.h"
#include "service/blob/page/page.h"

/* x-ms-blob-content-length and the sequence number's headers; after args->http was read. */
struct err rest_blob_read_page_change(struct rest_call *call, struct blob_set_args *args);

enum { BLOB_PAGE_WRITE_MAX = 4 << 20 };
/* x-ms-range, else Range: both ends, on pages. ERR_INVALID_PAGE_RANGE. */
struct err rest_blob_read_page_range(struct rest_call *call, struct blob_page_args *args);
/* x-ms-if-sequence-number-*. */
struct err rest_blob_read_sequence_conditions(struct rest_call *call,
                                              struct blob_sequence_conditions *c);

#endif
