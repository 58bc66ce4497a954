/* SPDX-License-Identifier: Apache-2.0 */
/* The state of the copy that created a blob. The head contains it encoded (head.copy); only code
 * that needs it decodes it. The next write of the blob removes it; while the copy is pending, only
 * the copy may write. */
#ifndef SERVICE_BLOB_COPY_STATE_H
#define SERVICE_BLOB_COPY_STATE_H

#include "core/buf.h"
#include "core/err.h"
#include "core/guid.h"

enum { BLOB_COPY_SOURCE_MAX = 2048 };

enum blob_copy_status {
    BLOB_COPY_NONE,
    BLOB_COPY_PENDING,
    BLOB_COPY_SUCCESS,
    BLOB_COPY_ABORTED,
    BLOB_COPY_FAILED,
};

struct blob_copy_state {
    enum blob_copy_status status;
    struct guid id;
    struct str source;      /* the URL, without its signature */
    uint64_t done, total;   /* bytes */
    int64_t completed;      /* ticks; 0 while it is pending */
    struct str description; /* of a failure */
    uint64_t job;           /* of a pending one: see copy_job.h */
    bool incremental;
    int64_t snapshot;        /* which of this blob's snapshots the last incremental copy made */
    int64_t source_snapshot; /* which of the source's it was made of */
};

/* In the arena. */
struct str blob_copy_encode(struct arena *a, const struct blob_copy_state *state);
/* Absent bytes are BLOB_COPY_NONE. Slices are borrowed. ERR_CORRUPT. */
struct err blob_copy_decode(struct str bytes, struct blob_copy_state *out);
/* "pending" and so on. */
struct str blob_copy_status_text(enum blob_copy_status status);

#endif
