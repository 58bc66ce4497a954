/* SPDX-License-Identifier: Apache-2.0 */
/* The memory engine: the reference for the conformance suite, the store of unit tests, and the
 * engine of `--in-memory`. Views and updates have the usual meaning; nothing survives the
 * process. */
#ifndef ENGINE_MEM_MEM_H
#define ENGINE_MEM_MEM_H

#include "engine/engine.h"

struct engine *engine_mem_new(const struct clock *clock);
/* Refuses updates that would make rows and extents larger than this in total: ERR_NO_SPACE. Call
 * it before the first update; 0, the default, means no limit. Small updates may use a sixteenth
 * more, because a delete also writes a row for the sweeper. */
void engine_mem_limit(struct engine *e, uint64_t bytes);

#endif
