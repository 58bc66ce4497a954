/* SPDX-License-Identifier: Apache-2.0 */
/* The part of librados that the cluster engine calls; loaded as libpq is, see pq.h. */
#ifndef ENGINE_CLUSTER_RADOSLIB_H
#define ENGINE_CLUSTER_RADOSLIB_H

#include "core/err.h"

#include <stddef.h>
#include <stdint.h>
#include <time.h>

typedef void *rados_cluster;
typedef void *rados_io;
typedef void *rados_done;
typedef void *rados_reading;
typedef void *rados_writing;
typedef void rados_called(rados_done done, void *arg);

/* What a writer knows of an object in advance; librados' LIBRADOS_ALLOC_HINT_FLAG_…. */
enum {
    RADOS_SEQUENTIAL_WRITE = 1,
    RADOS_SEQUENTIAL_READ = 4,
    RADOS_APPEND_ONLY = 16,
    RADOS_IMMUTABLE = 32,
};

struct radoslib {
    int (*create)(rados_cluster *out, const char *id);
    int (*conf_read_file)(rados_cluster c, const char *path);
    int (*conf_set)(rados_cluster c, const char *option, const char *value);
    int (*connect)(rados_cluster c);
    void (*shutdown)(rados_cluster c);
    int (*io_create)(rados_cluster c, const char *pool, rados_io *out);
    void (*io_destroy)(rados_io io);
    void (*set_namespace)(rados_io io, const char *name);
    /* A full pool refuses writes at once, instead of holding them until there is room. */
    void (*set_full_try)(rados_io io);
    int (*done_create)(void *arg, rados_called *complete, rados_done *out);
    int (*done_wait)(rados_done d);
    int (*done_is)(rados_done d);
    int (*done_result)(rados_done d);
    void (*done_release)(rados_done d);
    rados_writing (*writing_create)(void);
    void (*writing_release)(rados_writing w);
    void (*writing_hint)(rados_writing w, uint64_t object_bytes, uint64_t write_bytes,
                         uint32_t flags);
    void (*writing_full)(rados_writing w, const char *bytes, size_t n);
    int (*writing_start)(rados_writing w, rados_io io, rados_done d, const char *name,
                         time_t *modified, int flags);
    int (*remove)(rados_io io, const char *name, rados_done d);
    rados_reading (*reading_create)(void);
    void (*reading_release)(rados_reading r);
    void (*reading_read)(rados_reading r, uint64_t offset, size_t n, char *to, size_t *got,
                         int *result);
    int (*reading_start)(rados_reading r, rados_io io, rados_done d, const char *name, int flags);
};

/* ERR_IO with a sentence. */
struct err radoslib_load(struct radoslib *out);

#endif
