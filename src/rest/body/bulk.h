/* SPDX-License-Identifier: Apache-2.0 */
/* Stores large bodies away from the event loops. A bulk thread receives their bytes, computes
 * checksums, for several bodies in parallel (core/hash/md5_many.h), and writes them, while they are
 * in its processor's cache. So a small request on the same loop does not wait for them. The loop
 * receives bodies without a length and passes pieces on; the connection reads again once the piece
 * is stored. Meanwhile the socket's buffer fills. */
#ifndef REST_BODY_BULK_H
#define REST_BODY_BULK_H

#include "net/loop.h"
#include "rest/call.h"

enum {
    BULK_PIECE_BYTES = 512 << 10,   /* stored at a time */
    BULK_BODY_BYTES_MIN = 64 << 10, /* shorter bodies are stored by their loop */
    BULK_BUFFERS_MAX = 256,         /* bodies that have a buffer; others are stored by their loop */
};

struct bulk;

/* A body in progress; embedded in the receiver's memory. */
struct bulk_body {
    struct bulk *bulk; /* NULL: this body is not stored here */
    struct rest_sink *sink;
    struct http_exchange *x;
    unsigned slot; /* which buffer it has */
    char *buffer;
    size_t filled;
    size_t posted; /* the first bytes of the buffer: a piece that is being stored */
    bool lent;     /* a bulk thread is receiving it now */
    struct err error;
    struct loop_task task;
    struct bulk_body *next;
    /* On the body's loop: a piece is stored, or nothing more can be received now. b->error is the
     * outcome. */
    void (*stored)(struct bulk_body *b);
};

struct err bulk_new(unsigned threads, struct bulk **out);
/* Finishes the posted pieces and ends the threads. Buffers of abandoned bodies may still be in
 * use. */
void bulk_stop(struct bulk *k);
void bulk_free(struct bulk *k);

/* Prepares b for a body of `expected` bytes (-1: unknown). False if its loop must store it: it is
 * short, or there are too many already. */
bool bulk_begin(struct bulk *k, struct bulk_body *b, int64_t expected);
/* Lets a bulk thread receive the body from its connection, which is lent to it (http_body_lend);
 * `stored` follows. */
void bulk_receive(struct bulk_body *b);
/* Copies the bytes. True if a piece went to a thread: `stored` follows, and nothing may be added
 * before. */
bool bulk_add(struct bulk_body *b, struct str bytes);
/* The same for the rest at the end. False if there is none. */
bool bulk_end(struct bulk_body *b);
/* Releases the buffer. Not while a thread has the body. */
void bulk_drop(struct bulk_body *b);

#endif
