/* SPDX-License-Identifier: Apache-2.0 */
/* An upload into a range of an interval map (Put Range, Put Page): divided as the map requires,
 * small parts in memory, large ones into extents as they arrive. Nothing is visible until an
 * update adopts the pieces; interval_upload_discard frees everything. One thread at a time. */
#ifndef SERVICE_COMMON_CONTENT_INTERVAL_UPLOAD_H
#define SERVICE_COMMON_CONTENT_INTERVAL_UPLOAD_H

#include "core/hash/md5.h"
#include "service/common/content/interval.h"

struct interval_upload {
    struct engine *engine;
    struct arena *arena;
    bool wants_md5; /* set these three after interval_upload_init */
    bool wants_crc64;
    bool unhurried;  /* HINT_LATER */
    uint64_t offset; /* where the next byte goes */
    uint64_t left;   /* bytes still to come */

    struct piece piece; /* the current piece; length 0: none */
    char *bytes;        /* its memory, if it is inline */
    uint32_t filled;
    struct extent_writer *writer;
    struct md5 md5_state;

    /* Known at the end: */
    struct pieces pieces;
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
};

/* Expects exactly `length` bytes at `offset`. The arena is the request's. */
void interval_upload_init(struct interval_upload *u, struct engine *engine, struct arena *a,
                          uint64_t offset, uint64_t length);
/* ERR_INVALID_INPUT for more than was announced; ERR_NO_SPACE, ERR_IO. */
struct err interval_upload_take(struct interval_upload *u, struct str bytes);
/* Ends the body. ERR_INVALID_INPUT if it is shorter than announced. */
struct err interval_upload_end(struct interval_upload *u);
/* May be called at any time, also after an error, unless an update has adopted the pieces. */
void interval_upload_discard(struct interval_upload *u);

#endif
