/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: the loop that fails every engine call of an operation in turn, and looking behind. */
#ifndef SERVICE_COMMON_FAULT_FIXTURE_H
#define SERVICE_COMMON_FAULT_FIXTURE_H

#include "engine/engine.h"

/* All rows of all partitions as one string, in the arena; *rows may be NULL. */
struct str fault_dump(struct engine *e, struct arena *a, size_t *rows);
/* What the extents take up, once all that was dropped is given back. */
uint64_t fault_extent_bytes(struct engine *e);

/* One operation of the loop, over whatever it works on. */
typedef struct err fault_operation(void *world);

/* Runs the operation with its first engine call failing, then its second, and so on until it
 * succeeds, and checks each time that it failed with that error, changed no row and gave its space
 * back. The engine is one of engine_fault_new. Returns how many runs it took. */
uint64_t fault_each_call(struct engine *fault, struct arena *a, fault_operation *run, void *world);

#endif
