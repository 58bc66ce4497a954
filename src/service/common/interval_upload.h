/* SPDX-License-Identifier: Apache-2.0 */
/* A body on its way into a range of an interval map (Put Range, Put Page): cut where the map wants
 * it cut, small parts in memory, large ones into extents as they arrive. Nothing is visible until
 * an update adopts the pieces; interval_upload_discard gives all of it back. One thread at a time.
 */
#ifndef SERVICE_COMMON_INTERVAL_UPLOAD_H
#define SERVICE_COMMON_INTERVAL_UPLOAD_H

#include "core/md5.h"
#include "service/common/interval.h"

struct interval_upload {
    struct engine *engine;
    struct arena *arena;
    bool wants_md5; /* set after interval_upload_init, all three */
    bool wants_crc64;
    bool unhurried;  /* HINT_LATER */
    uint64_t offset; /* where the next byte goes */
    uint64_t left;   /* bytes still to come */

    struct piece piece; /* the one that is being filled; length 0: none */
    char *bytes;        /* its memory, when it is inline */
    uint32_t filled;
    struct extent_writer *writer;
    struct md5 md5_state;

    /* What is known at the end. */
    struct pieces pieces;
    unsigned char md5[MD5_BYTES];
    uint64_t crc64;
};

/* For exactly `length` bytes at `offset`. The arena is the request's. */
void interval_upload_init(struct interval_upload *u, struct engine *engine, struct arena *a,
                          uint64_t offset, uint64_t length);
/* ERR_INVALID_INPUT for more than was announced; ERR_NO_SPACE, ERR_IO. */
struct err interval_upload_take(struct interval_upload *u, struct str bytes);
/* The body is whole. ERR_INVALID_INPUT when it is shorter than announced. */
struct err interval_upload_end(struct interval_upload *u);
/* At any time, also after an error of the above, unless an update adopted the pieces. */
void interval_upload_discard(struct interval_upload *u);

#endif
