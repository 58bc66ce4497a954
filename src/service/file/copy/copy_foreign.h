/* SPDX-License-Identifier: Apache-2.0 */
/* Copies from anything other than a file of this server: from a blob of this server, whose extents
 * the file then shares, or from another server. It is a job (service/blob/copy/copy_job.h) in the
 * share's partition, under the id of the file; the copier runs it. */
#ifndef SERVICE_FILE_COPY_COPY_FOREIGN_H
#define SERVICE_FILE_COPY_COPY_FOREIGN_H

#include "service/blob/copy/copy_job.h"
#include "service/file/access.h"

struct copy_foreign {
    enum blob_type type;
    uint64_t size;
    const struct blob_source *blob; /* of this server; NULL: of another one, and then: */
    struct str url;                 /* with its signature */
    struct str etag;
};

/* Adds the job when the file is created. */
struct err copy_foreign_begin(struct file_scope *s, const struct file_found *found,
                              const struct copy_foreign *foreign);
/* Removes the job when the copy is aborted. */
struct err copy_foreign_drop(struct file_scope *s, uint64_t file);

/* One step: arg is a struct copy_step_args. Pieces of another server's source are divided as in
 * interval_upload.h. */
engine_fn file_step_copy;

#endif
