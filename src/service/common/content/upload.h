/* SPDX-License-Identifier: Apache-2.0 */
/* An upload: a small body stays in memory and goes into the row; a larger one goes into extents
 * as it arrives, so a body of any length needs little memory. Nothing is visible until an update
 * adopts the pieces; upload_discard frees everything. One thread at a time. */
#ifndef SERVICE_COMMON_CONTENT_UPLOAD_H
#define SERVICE_COMMON_CONTENT_UPLOAD_H

#include "core/hash/md5_many.h"
#include "service/common/content/content.h"
#include "service/common/store.h"

enum {
    UPLOAD_INLINE_MAX = 8 << 10, /* fits into one row: one flush, no extent */
};

/* The MD5 of a small body is computed when the body is complete, so that several can be computed in
 * parallel. */
enum upload_md5 { UPLOAD_NO_MD5, UPLOAD_MD5_STREAMED, UPLOAD_MD5_LATE, UPLOAD_MD5_DONE };

struct upload {
    struct engine *engine;
    struct arena *arena;
    uint64_t inline_max;
    uint64_t expected; /* the body's length, UINT64_MAX if unknown */
    bool wants_crc64;
    enum upload_md5 md5_how;

    struct buf small; /* the whole body, while it is small */
    struct extent_writer *writer;
    uint32_t room; /* capacity of the writer */
    struct pieces pieces;
    struct md5 md5_state;

    /* Known at the end: */
    uint64_t size;
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
};

struct upload_options {
    uint64_t inline_max;
    int64_t expected; /* -1: unknown */
    bool wants_md5;
    bool wants_crc64;
};

/* The arena is the request's. */
void upload_init(struct upload *u, struct store *store, struct arena *a,
                 const struct upload_options *options);
/* ERR_NO_SPACE, ERR_IO. */
struct err upload_take(struct upload *u, struct str bytes);
/* For a caller that computes the MD5 itself, in parallel with others: returns the state to update,
 * or NULL if there is none. Such a caller uses upload_take_summed instead of upload_take. */
struct md5 *upload_md5(struct upload *u);
struct err upload_take_summed(struct upload *u, struct str bytes);
/* Optional, when the body is complete and before upload_end: returns the MD5 job for the caller
 * to run. False if there is none. */
bool upload_digest(struct upload *u, struct md5_job *job);
/* Ends the body: sets u->pieces, size and the requested checksums. */
struct err upload_end(struct upload *u);
/* May be called at any time, also after an error, unless an update has adopted the pieces. */
void upload_discard(struct upload *u);

#endif
