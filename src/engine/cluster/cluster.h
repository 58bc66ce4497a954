/* SPDX-License-Identifier: Apache-2.0 */
/* The cluster engine: rows in PostgreSQL, extents in Ceph RADOS. Any number of gateways serve the
 * same store. libpq and librados are loaded only when it is opened. */
#ifndef ENGINE_CLUSTER_CLUSTER_H
#define ENGINE_CLUSTER_CLUSTER_H

#include "engine/engine.h"

struct engine_cluster_options {
    /* URIs of PostgreSQL, separated by spaces, one for each shard in order. If a URI has several
     * hosts, the first one that accepts writes is used. */
    const char *rows;
    const char *extents; /* "rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]" */
    const char *schema;  /* of the tables; NULL: the first of the search path */
    const struct clock *clock;
    /* One sentence: why a call failed. */
    char *text;
    size_t text_size;
};

struct err engine_cluster_open(const struct engine_cluster_options *options, struct engine **out);
/* Creates missing tables in all shards, and checks that the pool accepts a write. A new store is
 * spread over all shards; a shard that is added later is empty until engine_cluster_rebalance. */
struct err engine_cluster_init(const struct engine_cluster_options *options);
/* Drops the tables of a schema that has a name, for tests. */
struct err engine_cluster_drop(const struct engine_cluster_options *options);
/* Gateways, rows, extents, the collector, as text for people. */
struct err engine_cluster_status(const struct engine_cluster_options *options, struct buf *out);
/* Moves buckets until all shards have the same number, while gateways serve. Continues where an
 * earlier, killed run has ended. `progress` gets the number of moved buckets; may be NULL. */
typedef void cluster_progress(void *arg, const char *doing, uint64_t done, uint64_t of);
struct err engine_cluster_rebalance(const struct engine_cluster_options *options,
                                    cluster_progress *progress, void *arg);
/* The same, until the last shard has none. Gateways may be started without it then, and
 * engine_cluster_init without it takes it out of the store. */
struct err engine_cluster_drain(const struct engine_cluster_options *options,
                                cluster_progress *progress, void *arg);
/* Returns the round trips to PostgreSQL so far, without heartbeats. */
uint64_t engine_cluster_trips(struct engine *e);

#endif
