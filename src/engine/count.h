/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps any engine and counts the sequential round trips that an engine across a network would
 * need for the same calls, by the rules of engine.h. It also behaves like one: every read must
 * wait (ENGINE_NOWAIT fails), and the bytes of extents are lent. For tests. */
#ifndef ENGINE_COUNT_H
#define ENGINE_COUNT_H

#include "engine/engine.h"

/* Rows that a cursor's read-ahead fetches with one round trip. */
enum { COUNT_CURSOR_ROWS = 1000 };

/* Owns inner. `remembers`: rows read or written with HINT_SOON stay in memory, as in a server
 * that has run for a while. Otherwise each is read again. */
struct engine *engine_count_new(struct engine *inner, bool remembers);
/* Returns the round trips so far, summed over concurrent transactions. */
uint64_t engine_count_trips(struct engine *count);
/* Returns how many parts of extents are lent and not returned. */
uint64_t engine_count_lent(struct engine *count);

#endif
