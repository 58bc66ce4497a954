/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster engine: rows in PostgreSQL, extents in Ceph RADOS. Any number of gateways serve the
 * same store. libpq and librados are loaded only when it is opened. */
#ifndef ENGINE_CLUSTER_CLUSTER_H
#define ENGINE_CLUSTER_CLUSTER_H

#include "engine/engine.h"

struct engine_cluster_options {
    /* URIs of PostgreSQL with spaces between, one for each shard, in their order. Several hosts in
     * one are tried until one takes writes. */
    const char *rows;
    const char *extents; /* "rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]" */
    const char *schema;  /* of the tables; NULL: the first of the search path */
    const struct clock *clock;
    /* One sentence that says why, when a call fails. */
    char *text;
    size_t text_size;
};

struct err engine_cluster_open(const struct engine_cluster_options *options, struct engine **out);
/* Makes the tables in all shards, unless they are there, and tries the pool. A new store is spread
 * over them; a shard that is added to a store is empty until engine_cluster_rebalance. */
struct err engine_cluster_init(const struct engine_cluster_options *options);
/* Drops the tables of a schema that has a name, for tests. */
struct err engine_cluster_drop(const struct engine_cluster_options *options);
/* Gateways, rows, extents, the collector, as text for people. */
struct err engine_cluster_status(const struct engine_cluster_options *options, struct buf *out);
/* Moves buckets until every shard has as many, while gateways serve. Goes on where one that was
 * killed has ended. `progress` is told of buckets that have moved; may be NULL. */
typedef void cluster_progress(void *arg, const char *doing, uint64_t done, uint64_t of);
struct err engine_cluster_rebalance(const struct engine_cluster_options *options,
                                    cluster_progress *progress, void *arg);
/* The same, until the last shard has none. Gateways may be started without it then, and
 * engine_cluster_init without it takes it out of the store. */
struct err engine_cluster_drain(const struct engine_cluster_options *options,
                                cluster_progress *progress, void *arg);
/* Round trips to PostgreSQL so far, the gateway's own beats not counted. */
uint64_t engine_cluster_trips(struct engine *e);

#endif
