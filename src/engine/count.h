/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps any engine and counts the sequential round trips that an engine across a network would need
 * for the same calls, by the rules of engine.h. It also behaves like one: nothing is there without
 * waiting (ENGINE_NOWAIT), and the bytes of extents are lent. For tests. */
#ifndef ENGINE_COUNT_H
#define ENGINE_COUNT_H

#include "engine/engine.h"

/* How many rows a cursor's read-ahead brings with one round trip. */
enum { COUNT_CURSOR_ROWS = 1000 };

/* Owns inner. `remembers`: rows of HINT_SOON stay in memory once they were read or written, as in a
 * server that has worked for a while; else each is read anew. */
struct engine *engine_count_new(struct engine *inner, bool remembers);
/* Round trips so far. Transactions that run at the same time are added up. */
uint64_t engine_count_trips(struct engine *count);
/* Memory of extents that is lent and not given back yet. */
uint64_t engine_count_lent(struct engine *count);

#endif
