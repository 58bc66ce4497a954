/* SPDX-License-Identifier: Apache-2.0 */
/* Content from a URL instead of the request's body: the common part of Copy Blob From URL, Put
 * Blob, Put Block, Put Page, Append Block and Put Range From URL. For a blob of this server the
 * result names the same extents if that is sensible; otherwise, and for files of this server, the
 * bytes are uploaded like a body. */
#ifndef REST_COPY_FROM_URL_H
#define REST_COPY_FROM_URL_H

#include "net/pool.h"
#include "rest/copy/source.h"
#include "service/common/content/upload.h"
#include "service/common/feed.h"
#include "service/file/range.h"

struct from_url {
    struct source_url url;
    struct blob_source found; /* of this server; its conditions are those on any source */
    struct file_source {
        struct str partition;
        struct file_read_args read;
        struct engine_state *state;
    } file;                  /* the same, of a file of this server */
    struct blob_head remote; /* the properties of the other server's source, or of the file */
    /* The requested part. */
    bool has_range;
    uint64_t offset, length;
    uint64_t size_max;
    enum err_code too_large; /* the error beyond it */
    uint64_t inline_max;
    bool wants_crc64;
    bool wants_tags;         /* the source's, in its head */
    bool has_md5, has_crc64; /* sent by the client, for the requested part */
    bool wants_md5;          /* computed: for the check, or for the answer of an old version */
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
    /* Receives the bytes instead of an upload; NULL: the upload does. */
    feed_sink *sink;
    void *sink_arg;
    /* out */
    const struct blob_head *head; /* of the source */
    const struct pieces *pieces;
    struct blob_claim claim;
    uint64_t size;
    uint64_t stored; /* bytes that went into the upload or the sink */
    bool uploading;  /* there is something to free */
    struct upload upload;
    struct md5 md5_state;
    unsigned char md5_found[MD5_BYTES];
    uint64_t crc64_found;
};

/* x-ms-copy-source, -authorization and the conditions. */
struct err from_url_read(struct rest_call *call, bool with_tags, struct from_url *out);
/* The same for a file of this server whose URL was already parsed. */
struct err from_url_read_file(struct rest_call *call, struct from_url *f);
/* x-ms-source-range: both ends, or to the end. */
struct err from_url_read_range(struct rest_call *call, struct from_url *f);
/* x-ms-source-content-md5 and -crc64. */
struct err from_url_read_checksums(struct rest_call *call, struct from_url *f);

/* In a pool: finds or fetches the source. May run again after from_url_drop. */
struct err from_url_fetch(struct rest_call *call, struct from_url *f);
/* The pool to do it in. */
struct pool *from_url_pool(const struct rest_call *call, const struct from_url *f);
/* Frees the uploaded extents, unless an update adopted them. */
void from_url_drop(struct from_url *f);
/* Content-MD5 if the client sent one, x-ms-content-crc64 if it is known. */
void from_url_put_checksums(struct rest_call *call, const struct from_url *f);

#endif
