/* SPDX-License-Identifier: Apache-2.0 */
/* A hierarchical container over blob_fixture.h. For tests only. */
#ifndef SERVICE_BLOB_PATH_PATH_FIXTURE_H
#define SERVICE_BLOB_PATH_PATH_FIXTURE_H

#include "service/blob/blob_fixture.h"
#include "service/blob/path/path.h"
#include "service/blob/path/path_append.h"

/* Makes the fixture's container a hierarchical one. */
void pf_init(struct blob_fixture *f);
/* Recreates the fixture's container as a hierarchical one. */
void pf_make_hierarchical(struct blob_fixture *f);

struct err pf_make(struct blob_fixture *f, struct blob_request request, bool directory);
struct err pf_append(struct blob_fixture *f, struct blob_request request, uint64_t position,
                     const char *text, bool flush);
struct err pf_flush(struct blob_fixture *f, struct blob_request request, uint64_t position);
struct err pf_rename(struct blob_fixture *f, struct blob_request from, struct blob_request to);
struct err pf_delete(struct blob_fixture *f, struct blob_request request, bool recursive);
/* All paths, each followed by a blank. */
struct str pf_all(struct blob_fixture *f);

#endif
