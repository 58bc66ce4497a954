/* SPDX-License-Identifier: Apache-2.0 */
/* The updates of a run that are operations on the paths of a hierarchical container: which one
 * follows from a seed and a number, and what the tree then is from doing the same in memory. */
#ifndef TEST_CRASH_POWER_TREE_H
#define TEST_CRASH_POWER_TREE_H

#include "service/common/store.h"

#define TREE_PARTITION STR("b/a/c")

/* Makes the container. */
void tree_begin(struct engine *e);
/* The update of that number, in the partition. It may be refused, by what is there. */
struct err tree_change(struct txn *t, uint32_t seed, uint32_t number);
/* Every path with its size, one to a line, in the arena. */
struct str tree_text(struct engine *e, struct arena *a);

/* Two such trees, with renames between them, which are several updates each. */
void trees_begin(struct engine *e);
/* The change of that number; waits for it. */
void trees_change(struct store *store, uint32_t seed, uint32_t number);
/* What the next writer and the sweeper do: ends a move that nobody carries on. */
void trees_settle(struct store *store);
/* Of both, each as a reader sees it. */
struct str trees_text(struct engine *e, struct arena *a);

#endif
