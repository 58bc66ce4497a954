/* SPDX-License-Identifier: Apache-2.0 */
/* A body on its way into the store: small ones stay in memory and go into the row, larger ones go
 * into extents as they arrive, so a body of any length takes little memory. Nothing is visible
 * until an update adopts the pieces; upload_discard gives all of it back. One thread at a time. */
#ifndef SERVICE_COMMON_UPLOAD_H
#define SERVICE_COMMON_UPLOAD_H

#include "core/md5_many.h"
#include "service/common/content.h"
#include "service/common/store.h"

enum {
    UPLOAD_INLINE_MAX = 8 << 10, /* what one write of one row can carry: one flush, no extent */
};

/* A body that will be small is summed up when it is whole: then it can be together with others. */
enum upload_md5 { UPLOAD_NO_MD5, UPLOAD_MD5_STREAMED, UPLOAD_MD5_LATE, UPLOAD_MD5_DONE };

struct upload {
    struct engine *engine;
    struct arena *arena;
    uint64_t inline_max;
    uint64_t expected; /* the body's length, UINT64_MAX when not known */
    bool wants_crc64;
    enum upload_md5 md5_how;

    struct buf small; /* all of it, while it is small */
    struct extent_writer *writer;
    uint32_t room; /* of the writer */
    struct pieces pieces;
    struct md5 md5_state;

    /* What is known at the end. */
    uint64_t size;
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
};

struct upload_options {
    uint64_t inline_max;
    int64_t expected; /* -1: not known */
    bool wants_md5;
    bool wants_crc64;
};

/* The arena is the request's. */
void upload_init(struct upload *u, struct store *store, struct arena *a,
                 const struct upload_options *options);
/* ERR_NO_SPACE, ERR_IO. */
struct err upload_take(struct upload *u, struct str bytes);
/* For a caller that feeds the MD5 itself, side by side with others: the state to feed, NULL when
 * none is kept; then upload_take_summed in place of upload_take. */
struct md5 *upload_md5(struct upload *u);
struct err upload_take_summed(struct upload *u, struct str bytes);
/* Optional, when the body is whole and before upload_end: what is to be summed up, by the caller.
 * False when there is nothing. */
bool upload_digest(struct upload *u, struct md5_job *job);
/* The body is whole: u->pieces, size and the checksums asked for are there. */
struct err upload_end(struct upload *u);
/* At any time, also after an error of the above, unless an update adopted the pieces. */
void upload_discard(struct upload *u);

#endif
