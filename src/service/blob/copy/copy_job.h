/* SPDX-License-Identifier: Apache-2.0 */
/* A running copy: builds the content of a blob piece by piece. A copy that one transaction can do
 * never has a row; a longer one is a row of the destination's partition until it is done, so that
 * it continues after a restart:
 *
 *   y              copies are running in this partition
 *   Y I job        one of them
 *
 * Until it is done a block or append blob is empty and a page blob is of its full length, with the
 * pages copied so far. Only the copy itself may write the blob (blob_open enforces that). */
#ifndef SERVICE_BLOB_COPY_JOB_H
#define SERVICE_BLOB_COPY_JOB_H

#include "service/blob/copy/source.h"

#define BLOB_KEY_COPIES    STR("y")
#define BLOB_COPY_TIME_MAX (14 * TICKS_PER_DAY)

struct copy_job {
    uint64_t incarnation, id; /* its key */
    struct str name;          /* of the destination */
    enum blob_type type;
    uint64_t size;   /* of the source */
    int64_t started; /* ticks */
    /* Where from: a blob of this server, … */
    struct str partition;
    struct str source_name;
    struct blob_at source_at;
    uint64_t source_incarnation, source_content, source_blocks;
    int64_t source_etag;
    /* … or another server's. */
    struct str url;
    struct str url_etag; /* must not change; absent if the server sends none */
    /* How far. */
    uint64_t content; /* the id of the new content */
    uint64_t done;
    uint64_t rows;
    bool extents;
};

struct err copy_job_save(struct txn *t, const struct copy_job *job);
/* The last job of the partition also removes the partition's mark. */
struct err copy_job_drop(struct txn *t, const struct copy_job *job);
/* *found is true if it exists; slices are borrowed. */
struct err copy_job_load(struct txn *t, uint64_t incarnation, uint64_t id, struct copy_job *out,
                         bool *found);

static inline bool copy_job_is_local(const struct copy_job *job)
{
    return str_given(job->partition);
}

/* Where from, for a source that was found here. */
void copy_job_set_source(struct copy_job *job, const struct blob_source *source);
/* Describes the next part of the source to read, in a view of it; in the arena. */
void copy_job_source(const struct copy_job *job, struct arena *a, struct blob_source *out);

/* Adds pieces to the new content. */
struct err copy_job_write(struct txn *t, struct blob *blob, struct copy_job *job,
                          const struct pieces *pieces, enum piece_claim claim);
/* After everything is written: gives the blob the content, and the source's block list. */
struct err copy_job_finish(struct txn *t, struct blob *blob, struct copy_job *job);
/* Removes what was written; the blob becomes empty. */
struct err copy_job_undo(struct txn *t, struct blob *blob, const struct copy_job *job,
                         const struct blob_copy_state *state);

/* Stores the copy's outcome in the blob, as a write. A successful incremental copy takes a snapshot
 * of the blob. */
struct err copy_end(struct txn *t, struct str name, struct blob *blob,
                    struct blob_copy_state *state, enum blob_copy_status status);

/* The jobs of one partition, at most max, for the copier; in the arena. */
struct copy_jobs_args {
    struct arena *arena;
    size_t max;
    uint64_t after_incarnation, after; /* the last one known; 0: from the first */
    /* out */
    struct copy_job *jobs;
    size_t count;
};
engine_fn copy_jobs_list;

/* One step of a copy: in an update of the destination's partition. */
struct copy_step_args {
    uint64_t incarnation, id;
    uint64_t from; /* the progress when the pieces were read; they are invalid at any other */
    const struct pieces *pieces;
    enum piece_claim claim;
    const struct blob_source *source; /* to be checked; NULL: another server's */
    struct str failure;               /* given: the copy ends with this description */
    /* out */
    bool taken; /* the pieces are the blob's, or the engine's, now */
    bool ended; /* there is nothing left to do */
};
engine_fn blob_step_copy;

/* One step of a copy within this server, by blob_step_copy or the like; waits for the engine.
 * *ended as above. */
struct copy_job_ref {
    struct str partition;
    uint64_t incarnation, id;
    engine_fn *step;
};
struct err copy_job_advance(struct store *store, const struct copy_job_ref *ref, bool *ended);

#endif
