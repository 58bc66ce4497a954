/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps any engine and fails its n-th fallible call, so that a test can run an operation for every
 * n until it succeeds and see that each failure changed nothing. */
#ifndef ENGINE_FAULT_H
#define ENGINE_FAULT_H

#include "engine/engine.h"

/* Owns inner: engine_close of the wrapper closes it. */
struct engine *engine_fault_new(struct engine *inner);
/* The n-th call from now (1 = the next) answers with error; 0 turns it off. */
void engine_fault_arm(struct engine *fault, uint64_t n, struct err error);
/* Whether the armed fault was met. */
bool engine_fault_fired(const struct engine *fault);

#endif
