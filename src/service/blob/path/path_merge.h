/* SPDX-License-Identifier: Apache-2.0 */
/* Merging of many appends before a flush.
 *
 * To flush 10,000 appends in one transaction would delay all other updates. So appends that follow
 * each other are merged in advance, by transactions of a few hundred rows each: their bytes go to
 * an extent, and one row that names it takes their place. That changes nothing that a client can
 * see: they are still appends, and wait for a flush. (A flush in the middle of merged ones would be
 * refused; so they are merged only up to where a flush was asked for that can succeed.) */
#ifndef SERVICE_BLOB_PATH_PATH_MERGE_H
#define SERVICE_BLOB_PATH_PATH_MERGE_H

#include "service/blob/path/path_append.h"
#include "service/common/store.h"

enum {
    PATH_MERGE_MIN = 1000, /* appends of a file; fewer are flushed without merging */
    PATH_MERGE_ROWS_MAX = 256,
};

/* Merges the file's appends before args->position, when a transaction has said ERR_STAGE_STALE;
 * waits for the store. ERR_INVALID_FLUSH_POSITION: the flush would be refused. `partition` is the
 * container's. */
struct err path_merge_appends(struct store *store, struct str partition,
                              struct path_write_args *args);

#endif
