/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster engine: rows in PostgreSQL, extents in Ceph RADOS. Any number of gateways serve the
 * same store. libpq and librados are loaded only when it is opened. */
#ifndef ENGINE_CLUSTER_CLUSTER_H
#define ENGINE_CLUSTER_CLUSTER_H

#include "engine/engine.h"

struct engine_cluster_options {
    const char *rows; /* a PostgreSQL URI; several hosts in it are tried until one takes writes */
    const char *extents; /* "rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]" */
    const char *schema;  /* of the tables; NULL: the first of the search path */
    const struct clock *clock;
    /* One sentence that says why, when a call fails. */
    char *text;
    size_t text_size;
};

struct err engine_cluster_open(const struct engine_cluster_options *options, struct engine **out);
/* Makes the tables, unless they are there, and tries the pool. */
struct err engine_cluster_init(const struct engine_cluster_options *options);
/* Drops the tables of a schema that has a name, for tests. */
struct err engine_cluster_drop(const struct engine_cluster_options *options);
/* Gateways, rows, extents, the collector, as text for people. */
struct err engine_cluster_status(const struct engine_cluster_options *options, struct buf *out);
/* Round trips to PostgreSQL so far, the gateway's own beats not counted. */
uint64_t engine_cluster_trips(struct engine *e);

#endif
