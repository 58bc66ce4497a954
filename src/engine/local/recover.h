/* SPDX-License-Identifier: Apache-2.0 */
/* Cleans up after an earlier run: frees ranges that were written and never adopted, and garbage
 * that was not punched out. It reads only the rows of the segments in question, in the
 * background, so that a start does not wait for it. */
#ifndef ENGINE_LOCAL_RECOVER_H
#define ENGINE_LOCAL_RECOVER_H

#include "engine/local/reclaim.h"

/* Does a bounded step on the reclaimer's thread. */
void recover_some(struct local_engine *e);

/* Frees ranges, deletes their garbage rows and unlinks segments that become empty. */
void reclaim_waste(struct local_engine *e, struct waste *waste, size_t n);
void reclaim_unlink_if_empty(struct local_engine *e, uint64_t segment);

#endif
