/* SPDX-License-Identifier: Apache-2.0 */
/* Extents as RADOS objects. An object is written once, whole, under a name that is used once: the
 * number of the gateway and a count. It holds the bytes and then a CRC-32C of each 64 KiB of them,
 * whose own checksum is the extent's. Objects are written in the background; the commit that adopts
 * the extent waits for it. Recently written or read bytes stay in a cache. */
#ifndef ENGINE_CLUSTER_EXTENTS_H
#define ENGINE_CLUSTER_EXTENTS_H

#include <pthread.h>
#include <stdatomic.h>

#include "core/buf.h"
#include "engine/cluster/radoslib.h"
#include "engine/engine_internal.h"

enum {
    EXTENT_CHUNK = 64 << 10,
    EXTENT_CHUNKS_MAX = EXTENT_BYTES_MAX / EXTENT_CHUNK,
    EXTENT_NAME_BYTES = 48,
    EXTENT_NAMES_EACH = 1024, /* names that one intent row reserves */
    EXTENT_CACHE_BYTES = 96 << 20,
    EXTENT_FLYING_BYTES = 128 << 20, /* bytes in flight; beyond it writers wait */
    EXTENT_STALLED_MS = 20000,       /* as long as nothing was written for less than this */
    EXTENT_TRIES = 2,
    EXTENT_PREFETCHES_MAX = 24, /* fetched before they are asked for */
};

/* A verified run of bytes of an extent in memory. Reference counted: the cache, loans, the write.
 */
struct extent_bytes {
    atomic_uint refs;
    struct extent extent;
    uint32_t from; /* of the extent; whole chunks, or to its end */
    uint32_t length;
    struct extent_bytes *bucket_next;
    struct extent_bytes *older, *newer; /* in the cache */
    bool cached;
    char *bytes;
};

enum flight_state { FLIGHT_UNDER_WAY, FLIGHT_DONE, FLIGHT_FAILED };

/* An extent that no row names yet. */
struct extent_flight {
    struct extents *owner;
    struct extent extent;
    struct extent_bytes *held; /* until it is written */
    enum flight_state state;
    int result;
    unsigned tries;
    bool discarded; /* remove it when the write has ended */
    rados_done done;
    struct extent_flight *next; /* in its bucket */
};

/* Names that an intent row has reserved. */
struct extent_names {
    uint64_t gateway;
    uint64_t first;
    uint32_t given; /* to writers */
    uint32_t settled;
    bool unsure; /* a write under this name may still follow: the row stays as long as the gateway
                    lives */
    struct extent_names *next;
};

struct extents {
    struct radoslib lib;
    rados_cluster cluster;
    rados_io io;
    char *pool, *conf, *id, *space;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct extent_flight *flights[256];
    uint64_t flight_count;
    uint64_t flying_bytes;      /* being written */
    int64_t written_ms;         /* when the last write succeeded, or the first of all began */
    uint64_t unnamed_bytes;     /* of extents that no row names */
    uint64_t removing;          /* removals under way */
    struct extent_names *names; /* newest first */
    uint64_t gateway;           /* whose names are given to writers */
    /* Reserves the next range of names: writes the intent row. The lock is not held. */
    struct err (*reserve)(void *arg, uint64_t *gateway, uint64_t *first);
    void *reserve_arg;
    /* The write of an object has ended. On a thread of librados; the lock is not held. */
    void (*landed)(void *arg);
    void *landed_arg;
    /* cache */
    struct extent_bytes *buckets[1024];
    struct extent_bytes *oldest, *newest;
    uint64_t cached_bytes;
    struct extent_fetch *prefetches; /* oldest first */
    unsigned prefetch_count;
};

/* "POOL[,conf=FILE][,id=NAME][,namespace=NAME]". A sentence in `text` with an error. */
struct err rados_extents_open(struct extents *x, struct str uri, struct buf *text);
void rados_extents_close(struct extents *x);

struct err cluster_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                                struct extent_writer **out);
void cluster_extent_discard(struct engine *e, const struct extent *x);
struct err cluster_extent_locate(struct engine *e, const struct extent *x,
                                 const struct extent_part *part, struct extent_span *out);
struct err cluster_extent_read(struct engine *e, const struct extent *x,
                               const struct extent_part *part, char *to);

void cluster_extent_prefetch(struct engine *e, const struct extent *x,
                             const struct extent_part *part);
/* Ends prefetches that no read has used. */
void extents_end_prefetches(struct extents *x);

/* How far the writes are of the extents that these changes adopt (struct extent_delta): done if all
 * are, failed if one has; then *error is ERR_IO, ERR_NO_SPACE or ERR_SERVER_BUSY. */
enum flight_state extents_state(struct extents *x, struct str deltas, struct err *error);
/* A row names the extent now. */
void extents_adopted(struct extents *x, const struct extent *extent);
/* Removes one range whose names are all settled; false if there is none. `closing`: no further name
 * is used. */
bool extents_retire(struct extents *x, bool closing, uint64_t *gateway, uint64_t *first);
/* The gateway has a new number: others took it for dead. No row may name an extent of the old one
 * any more, so the rest of its names is not used. */
void extents_rename(struct extents *x, uint64_t gateway);
/* Reserves a range of names in advance, so that no writer waits for one. */
void extents_stock(struct extents *x);

/* ---- shared by extent_write.c, extent_read.c, extent_cache.c ---- */

void extent_name(char name[EXTENT_NAME_BYTES], uint64_t segment, uint64_t offset);
/* Writes a whole object. Copies the bytes and does not wait; negative if it could not begin. */
int extents_write(const struct extents *x, const char *name, const char *bytes, uint32_t length,
                  rados_done done);
/* Removes the object without waiting; ENOENT is no error. */
void extents_remove(struct extents *x, uint64_t segment, uint64_t offset);
/* Removes several and waits. Returns the first error, negative, or 0. */
int extents_remove_all(struct extents *x, const uint64_t *segments, const uint64_t *offsets,
                       size_t count);
struct err err_of_rados(int result);

struct extent_bytes *extent_bytes_new(const struct extent *extent, uint32_t from, uint32_t length,
                                      uint32_t room);
struct extent_bytes *extent_bytes_get(struct extent_bytes *b);
void extent_bytes_put(void *b);
bool extent_bytes_hold(const struct extent_bytes *b, const struct extent *extent, uint32_t offset,
                       uint32_t length);
/* With a reference; NULL when no piece holds all of the part. */
struct extent_bytes *extent_cache_find(struct extents *x, const struct extent *extent,
                                       uint32_t offset, uint32_t length);
/* Returns the bytes of an extent in flight, with a reference. */
struct extent_bytes *extents_flying(struct extents *x, const struct extent *extent);
void extent_cache_add(struct extents *x, struct extent_bytes *b);
void extent_cache_release(struct extents *x);

static inline uint32_t extent_chunks(uint32_t length)
{
    return (length + EXTENT_CHUNK - 1) / EXTENT_CHUNK;
}

#endif
