/* SPDX-License-Identifier: Apache-2.0 */
/* engine_partitions for engines with one ordered key space: seeks from partition to partition
 * and never scans inside one. */
#ifndef ENGINE_PARTITION_WALK_H
#define ENGINE_PARTITION_WALK_H

#include "engine/engine_internal.h"

/* One state of the key space. */
struct walk_source {
    /* The first key at or after `at`, borrowed until the next call; absent when there is none. */
    struct err (*seek)(struct walk_source *s, struct str at, struct str *found);
    /* Absent when there is no such row; borrowed until the next call. */
    struct err (*get)(struct walk_source *s, struct str key, struct str *value);
};

struct err walk_partitions(struct walk_source *s, const struct partition_walk *walk);

#endif
