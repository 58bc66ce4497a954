/* SPDX-License-Identifier: Apache-2.0 */
/* For tests: fails every engine call of an operation in turn and checks the outcome. */
#ifndef SERVICE_COMMON_FAULT_FIXTURE_H
#define SERVICE_COMMON_FAULT_FIXTURE_H

#include "engine/engine.h"

/* All rows of all partitions as one string, in the arena; *rows may be NULL. */
struct str fault_dump(struct engine *e, struct arena *a, size_t *rows);
/* Returns the bytes that extents use, after everything dropped was freed. */
uint64_t fault_extent_bytes(struct engine *e);

/* One run of the operation under test. */
typedef struct err fault_operation(void *world);

/* Runs the operation with its first engine call failing, then its second, and so on until it
 * succeeds. Checks each time that it failed with that error, changed no row and freed its space.
 * The engine is one of engine_fault_new. Returns the number of runs. */
uint64_t fault_each_call(struct engine *fault, struct arena *a, fault_operation *run, void *world);

#endif
