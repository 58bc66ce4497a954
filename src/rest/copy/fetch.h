/* SPDX-License-Identifier: Apache-2.0 */
/* Sources on other servers: their properties and their bytes. In a pool only. */
#ifndef REST_COPY_FETCH_H
#define REST_COPY_FETCH_H

#include "http/client.h"
#include "rest/copy/source.h"

struct fetch {
    struct dialer *dialer;
    struct arena *arena;
    struct uri uri;
    struct str authorization;    /* absent: none besides the URL's */
                                 /* x-ms-version */
    struct http_header extra[8]; /* conditions, for the source */
    size_t extra_count;
    /* The error, if the source answered with one. */
    int status;
    struct str code;
};

/* For a request's source on another server; x-ms-source-if-* are its conditions. */
struct err fetch_init(struct rest_call *call, const struct source_url *source, struct fetch *out);

/* Reads the source's type, size, properties and metadata; *etag is absent if there is none.
 * ERR_COPY_SOURCE_FAILED if the answer is an error or malformed (sets status and code), else the
 * errors of http_client_ask. */
struct err fetch_properties(struct fetch *f, struct blob_head *out, struct str *etag);

struct fetch_part {
    bool ranged;
    uint64_t offset, length; /* UINT64_MAX: to the end */
    struct str etag;         /* that the source must still have; absent: any */
    uint64_t size_max;
    http_client_sink *sink;
    void *arg;
    /* out */
    struct blob_head *head; /* the properties sent with the bytes; NULL: not wanted. Its size is
                               that of the whole, if known */
};
/* The same errors, ERR_REQUEST_BODY_TOO_LARGE past size_max, and ERR_INVALID_RANGE if the source
 * has no such part. */
struct err fetch_bytes(struct fetch *f, struct fetch_part *part);

/* The first range of pages at or after `from`; *found is false if there are none. */
struct err fetch_next_pages(struct fetch *f, uint64_t from, uint64_t size, uint64_t *start,
                            uint64_t *end, bool *found);

/* The source's tags, as pairs.h encodes them: a separate request, because no other answer has
 * them. */
struct err fetch_tags(struct fetch *f, struct str *encoded);

/* Maps the failure to the error of the request. */
struct err fetch_refused(struct rest_call *call, const struct fetch *f, struct err error);

#endif
