/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the tests of copies, over blob_fixture.h: sources, copies within the fixture's
 * container, blobs that take more than one transaction to copy. */
#ifndef SERVICE_BLOB_COPY_FIXTURE_H
#define SERVICE_BLOB_COPY_FIXTURE_H

#include "service/blob/blob_fixture.h"
#include "service/blob/copy/copy.h"

/* All of the blob, not looked for yet; and looking for it. */
struct blob_source cf_source(struct blob_fixture *f, const char *name);
struct err cf_find(struct blob_fixture *f, struct blob_source *source);
struct blob_copy_args cf_args(struct blob_request to, const struct blob_source *source);
/* Finds and copies it. */
struct err cf_copy_to(struct blob_fixture *f, struct blob_source *source, struct blob_request to,
                      struct blob_copy_wishes wishes);
struct err cf_copy(struct blob_fixture *f, const char *from, const char *to);
struct blob_copy_state cf_state(struct blob_fixture *f, const char *name);
/* An append blob of so many blocks of one byte; a page blob of 1 GiB with so many pages. */
void cf_append_blob(struct blob_fixture *f, const char *name, unsigned blocks);
void cf_page_blob(struct blob_fixture *f, const char *name, unsigned pages);
/* Runs steps until the only copy has ended; returns their number. */
unsigned cf_advance(struct blob_fixture *f, const char *name);

#endif
