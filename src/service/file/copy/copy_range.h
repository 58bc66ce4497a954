/* SPDX-License-Identifier: Apache-2.0 */
/* Copies ranges from one open file to another of the same share: the extents are shared, and only
 * rows are read and written. */
#ifndef SERVICE_FILE_COPY_COPY_RANGE_H
#define SERVICE_FILE_COPY_COPY_RANGE_H

#include "service/file/by_id.h"

struct file_copy_part {
    uint64_t from, to; /* offsets */
    uint32_t length;
};

struct file_copy_range_args {
    struct file_at at; /* the destination */
    uint64_t source;   /* another node than that */
    int64_t source_snapshot;
    const struct file_copy_part *parts;
    size_t count;
    bool keep_times;
    /* out */
    size_t done; /* parts that were copied: up to the first that reaches past the source's end */
};
engine_fn file_copy_range;

#endif
