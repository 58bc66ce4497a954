/* SPDX-License-Identifier: Apache-2.0 */
/* engine_partitions for engines whose rows lie in one ordered key space: seeks from partition to
 * partition, never scanning what lies within one. */
#ifndef ENGINE_HOP_H
#define ENGINE_HOP_H

#include "engine/engine_internal.h"

/* One state of the key space. */
struct hop_source {
    /* The first key at or after `at`, borrowed until the next call; absent when there is none. */
    struct err (*seek)(struct hop_source *s, struct str at, struct str *found);
    /* Absent when there is no such row; borrowed until the next call. */
    struct err (*get)(struct hop_source *s, struct str key, struct str *value);
};

struct err hop_partitions(struct hop_source *s, const struct partition_walk *walk);

#endif
