/* SPDX-License-Identifier: Apache-2.0 */
/* What an earlier run of the program has left behind: ranges that were written and never adopted,
 * and garbage not yet punched out. Found from the rows of the segments in question alone, in the
 * background, so that a start does not wait for it. */
#ifndef ENGINE_LOCAL_RECOVER_H
#define ENGINE_LOCAL_RECOVER_H

#include "engine/local/reap.h"

/* A bounded piece of it, on the reaper's thread. */
void recover_some(struct local_engine *e);

/* The reaper's: gives ranges back, deletes their garbage rows, unlinks segments left empty. */
void reap_waste(struct local_engine *e, struct waste *waste, size_t n);
void reap_unlink_if_empty(struct local_engine *e, uint64_t segment);

#endif
