/* SPDX-License-Identifier: Apache-2.0 */
/* The memory engine: the reference that the conformance suite holds the others to, the store of
 * unit tests, and what `--in-memory` serves from. Views and updates have the same meaning as
 * everywhere; nothing survives the process. */
#ifndef ENGINE_MEM_MEM_H
#define ENGINE_MEM_MEM_H

#include "engine/engine.h"

struct engine *engine_mem_new(const struct clock *clock);
/* Refuses what would make rows and extents take more bytes than this together: ERR_NO_SPACE. Before
 * the first update; 0, as it is without: no limit. Updates that grow by little have a sixteenth
 * more, since a deletion also writes a row for the sweeper. */
void engine_mem_limit(struct engine *e, uint64_t bytes);

#endif
