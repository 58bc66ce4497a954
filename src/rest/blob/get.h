/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by Get Blob and other operations that send a blob's content. */
#ifndef REST_BLOB_GET_H
#define REST_BLOB_GET_H

#include "rest/call.h"
#include "service/blob/blob.h"
#include "service/blob/copy/copy_state.h"

struct get_blob {
    struct blob_get_args args; /* first: run's argument */
    bool wants_md5, wants_crc64;
    struct blob_copy_state copy; /* decoded from the head, for encode */
};

/* x-ms-range or Range. ERR_INVALID_HEADER_VALUE. */
struct err rest_blob_get_read_range(struct rest_call *call, struct blob_get_args *args);
/* Content-Type and the like; a SAS may override them. */
void rest_blob_get_put_http(struct rest_call *call, const struct blob_http *http);
/* 206 and Content-Range for a part, and the checksums of the whole or of the part. */
void rest_blob_get_put_range(struct rest_call *call, const struct get_blob *get);

#endif
