/* SPDX-License-Identifier: Apache-2.0 */
/* Wraps any engine and fails its n-th fallible call. A test runs an operation for every n until
 * it succeeds, and checks that each failure changed nothing. */
#ifndef ENGINE_FAULT_H
#define ENGINE_FAULT_H

#include "engine/engine.h"

/* Owns inner: engine_close of the wrapper closes it. */
struct engine *engine_fault_new(struct engine *inner);
/* The n-th call from now (1 = the next) answers with error; 0 turns it off. */
void engine_fault_arm(struct engine *fault, uint64_t n, struct err error);
/* The n-th call from now first calls `meet`, on its own thread, and then continues. */
void engine_fault_meet(struct engine *fault, uint64_t n, void (*meet)(void *arg), void *arg);
/* True if the armed fault has occurred. */
bool engine_fault_fired(const struct engine *fault);

#endif
