/* SPDX-License-Identifier: Apache-2.0 */
/* Merging of many appends before a flush.
 *
 * Flushing 10,000 appends in one transaction would delay all other updates. So contiguous appends
 * are merged in advance, by transactions of a few hundred rows each: their bytes go to an extent,
 * and one row that names it replaces theirs. Clients see no difference: they are still appends that
 * wait for a flush. (A flush to a position inside a merged run would be refused, so appends are
 * merged only up to the position of a flush that can succeed.) */
#ifndef SERVICE_BLOB_PATH_PATH_MERGE_H
#define SERVICE_BLOB_PATH_PATH_MERGE_H

#include "service/blob/path/path_append.h"
#include "service/common/store.h"

enum {
    PATH_MERGE_MIN = 1000, /* appends of a file; fewer are flushed without merging */
    PATH_MERGE_ROWS_MAX = 256,
    PATH_OVERLAPS_MAX = 2000, /* of so many appends: those that overlap others */
};

/* Merges the file's appends before args->position, after a transaction has returned
 * ERR_STAGE_STALE; waits for the store. ERR_INVALID_FLUSH_POSITION: the flush would be refused.
 * `partition` is the container's. */
struct err path_merge_appends(struct store *store, struct str partition,
                              struct path_write_args *args);

#endif
