/* SPDX-License-Identifier: Apache-2.0 */
/* Recording what updates change, for test control (service/common/saved.h). This is not part of the
 * seam: the local and the memory engine offer it, an engine across a network does not. */
#ifndef ENGINE_RECORD_H
#define ENGINE_RECORD_H

#include "engine/engine.h"

/* Writes a row of another partition in the same commit: for data that belongs to the update's own
 * partition and is stored apart. Only updates of one partition, or updates that nothing else runs
 * beside, may write it. */
struct err txn_put_beside(struct txn *t, struct str partition, const struct engine_row *row);
struct err txn_del_beside(struct txn *t, struct str partition, struct str key);

/* Called for every row that an update is about to change, before the change, on the update's
 * thread; it may read and write through t. Its error becomes the update's. While there is a
 * recorder, extents are dropped after the function has returned, so that the recorder can hold what
 * the update drops.
 */
struct engine_recorder {
    struct err (*changing)(struct engine_recorder *r, struct txn *t, struct str partition,
                           struct str key);
};
/* Call it before the first update. ERR_NOT_IMPLEMENTED if the engine does not offer it. */
struct err engine_record(struct engine *e, struct engine_recorder *recorder);

#endif
