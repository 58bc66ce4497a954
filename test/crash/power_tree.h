/* SPDX-License-Identifier: Apache-2.0 */
/* The updates of a run that are operations on the paths of a hierarchical container. A seed and a
 * number determine each; the expected tree comes from the same operations in memory. */
#ifndef TEST_CRASH_POWER_TREE_H
#define TEST_CRASH_POWER_TREE_H

#include "service/common/store.h"

#define TREE_PARTITION STR("b/a/c")

/* Makes the container. */
void tree_begin(struct engine *e);
/* Runs the update of that number in the partition. The state of the tree may cause a refusal. */
struct err tree_change(struct txn *t, uint32_t seed, uint32_t number);
/* Every path with its size, one to a line, in the arena. */
struct str tree_text(struct engine *e, struct arena *a);

/* Two such trees, with renames between them. Each rename is several updates. */
void trees_begin(struct engine *e);
/* Makes the change of that number and waits for it. */
void trees_change(struct store *store, uint32_t seed, uint32_t number);
/* Completes an abandoned move, as the next writer and the sweeper do. */
void trees_settle(struct store *store);
/* The paths of both trees, as a reader sees them. */
struct str trees_text(struct engine *e, struct arena *a);

#endif
