/* SPDX-License-Identifier: Apache-2.0 */
/* Engines for tests, around any other one. */
#ifndef ENGINE_REPEAT_H
#define ENGINE_REPEAT_H

#include "engine/engine.h"

/* Runs every transaction function twice: views one run after the other, updates with the first run
 * rolled back. So it shows that a function may run more than once. */
struct engine *engine_repeat_new(struct engine *inner);
/* Ignores all hints. */
struct engine *engine_hintless_new(struct engine *inner);

#endif
