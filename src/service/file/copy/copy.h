/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a file of this server, from any share to any other: the bytes are shared by reference. A
 * small file is copied before the request is answered, a large one in the background; until the
 * copy is complete it is pending and refuses other writes.
 *
 * A view of the source's partition reads the source; the transactions on the destination check with
 * every row they copy that it has not changed. A write to the source during the copy fails the
 * copy. */
#ifndef SERVICE_FILE_COPY_COPY_H
#define SERVICE_FILE_COPY_COPY_H

#include "service/common/store.h"
#include "service/file/access.h"
#include "service/file/sweep.h"

enum { COPY_SOURCE_MAX = 2048 };

/* The source that was found. */
struct copy_source {
    struct arena *arena;
    /* in */
    struct str partition;
    struct str path;
    bool keep_dots;
    int64_t snapshot;
    /* out */
    uint64_t incarnation;
    uint64_t id;
    struct node node;
    struct str sd; /* its security descriptor */
};
/* In the source's partition, as a view. ERR_SHARE_NOT_FOUND, ERR_RESOURCE_NOT_FOUND, … */
engine_fn file_copy_find;

struct copy_foreign;

struct copy_args {
    struct file_request request; /* first: the destination */
    const struct copy_source *source;
    const struct copy_foreign *foreign; /* the source is not a file of this server: only the node of
                                           `source` is used, with its known properties */
    struct str url;                     /* as sent, for x-ms-copy-source */
    struct guid id;
    struct file_settings settings;
    bool source_permission, source_attributes, source_created, source_last_write, source_changed;
    bool source_mode, source_owner; /* of NFS shares */
    bool ignore_read_only;
    bool set_archive;
    bool has_metadata; /* else the source's */
    struct str metadata;
    bool create_only;
    /* out */
    struct file_outcome outcome;
};
/* In the destination's partition: creates the file, with a pending copy unless it is empty. */
engine_fn file_copy_file;

struct copy_abort_args {
    struct file_request request; /* first */
    struct guid id;
};
/* ERR_NO_PENDING_COPY_OPERATION, ERR_COPY_ID_MISMATCH. Leaves an empty file. */
engine_fn file_abort_copy;

/* One bounded step of a copy in progress; waits for the engine. For the sweeper, and for a request
 * that tries to finish before it answers. */
struct err file_copy_step(struct store *store, struct str partition, const struct sweep_note *note);
/* Runs steps until the copy is complete or `steps` are done; then returns its state. */
struct copy_progress {
    struct arena *arena;
    uint64_t incarnation, id;
    struct node node; /* out: absent copies are COPY_NONE */
};
struct err file_copy_advance(struct store *store, struct str partition, unsigned steps,
                             struct copy_progress *progress);
/* A copy from a blob or from another server has ended: watches of the share must scan again. */
void file_copy_ended(struct store *store, uint64_t incarnation);

#endif
