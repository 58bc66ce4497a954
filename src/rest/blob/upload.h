/* SPDX-License-Identifier: Apache-2.0 */
/* A streamed body with the checksums that Put Blob and Put Block check: the sink between the body
 * and service/common/content/upload.h. */
#ifndef REST_BLOB_UPLOAD_H
#define REST_BLOB_UPLOAD_H

#include "rest/call.h"
#include "service/common/content/upload.h"

struct blob_upload {
    struct rest_sink base; /* first: the sink's functions get its address */
    struct rest_call *call;
    struct upload upload;
    uint64_t size_max;
    uint64_t size_min; /* ERR_INVALID_HEADER_VALUE for a shorter body of no stated length */
    bool always_md5;
    bool has_md5, has_crc64; /* sent by the client */
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
};

struct blob_upload_options {
    uint64_t size_max;   /* ERR_REQUEST_BODY_TOO_LARGE past it */
    uint64_t inline_max; /* see upload.h */
    bool always_md5;     /* even if the client sent none */
    bool sent_only;      /* only the checksum that the client sent */
};

/* Reads Content-MD5 and x-ms-content-crc64 and sets the call's sink. ERR_INVALID_MD5,
 * ERR_INVALID_HEADER_VALUE, ERR_BOTH_CRC64_AND_MD5_HEADER_PRESENT; during the body ERR_MD5_MISMATCH
 * and ERR_CRC64_MISMATCH. */
struct err rest_blob_upload_begin(struct rest_call *call, const struct blob_upload_options *options,
                                  struct blob_upload **out);
/* The sink's end function, for operations that extend it. */
struct err rest_blob_upload_end(struct blob_upload *u);
/* Content-MD5 and x-ms-content-crc64 of the answer. */
void rest_blob_upload_put_checksums(struct rest_call *call, const struct blob_upload *u);

/* Returns true if the response has the MD5 of the body. Versions before 2019-02-02 have no CRC64
 * and always return the MD5 (recorded at 2017-04-17 and 2018-03-28); later ones do if the request
 * had one. */
bool rest_blob_answers_md5(const struct rest_call *call, bool sent);
/* The same for checksums computed elsewhere; NULL: not computed. Together with an MD5, the CRC64 is
 * sent only from 2026-10-06 on. */
void rest_blob_put_checksums(struct rest_call *call, const unsigned char *md5,
                             const uint64_t *crc64);

/* The same for a body collected in memory. */
struct err rest_blob_check_body_checksums(struct rest_call *call, struct str body);
void rest_blob_put_body_checksums(struct rest_call *call, struct str body);

/* Return the longest body of the request's version: Put Blob and Put Block. */
uint64_t rest_blob_body_max(const struct rest_call *call);
uint64_t rest_block_body_max(const struct rest_call *call);

#endif
