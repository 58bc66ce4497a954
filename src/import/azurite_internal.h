/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the parts of the import of Azurite's folder. */
#ifndef IMPORT_AZURITE_INTERNAL_H
#define IMPORT_AZURITE_INTERNAL_H

#include "import/azurite.h"
#include "import/chunk.h"
#include "import/document.h"
#include "import/loki.h"
#include "service/account/account.h"
#include "service/common/policy.h"

enum { IMPORT_ARENA_BYTES_MAX = 1 << 30, IMPORT_TEXT_BYTES_MAX = 4096 };

/* A document in the order in which it is to be imported. */
struct index_entry {
    uint64_t group; /* a hash of what the document belongs to */
    int64_t order;  /* within it */
    struct loki_span span;
};

struct index {
    struct index_entry *items;
    size_t count, capacity;
};

struct import {
    struct store *store;
    const struct azurite_import *options;
    struct report *report;
    int folder; /* Azurite's */
    int db;     /* the database that is read */
    uint64_t db_bytes;
    struct extents extents;
    struct arena arena; /* of one document */
    struct index index;
    /* Objects that an earlier import did not finish: they are created again. */
    char pending[IMPORT_TEXT_BYTES_MAX];
    size_t pending_n;
    struct err fatal; /* nothing more can be taken */
};

/* ---- azurite.c ---- */

/* A transaction that need not be durable yet: the import ends with a flush. Remembers an error that
 * ends the import. */
struct err import_update(struct import *im, struct str partition, engine_fn *fn, void *arg);

/* Before the first of several transactions that belong together, and after the last: if they were
 * interrupted, they are undone and repeated. */
struct err import_begin_steps(struct import *im, struct str what);
struct err import_end_steps(struct import *im);
/* Returns true if an earlier import was interrupted in it. */
bool import_was_cut_off(const struct import *im, struct str what);

void import_index_add(struct index *index, struct str group, int64_t order, struct loki_span span);
void import_index_sort(struct index *index);
/* Reads the document at that position. NULL if it cannot be read; then it is counted as damaged. */
const struct node *import_document(struct import *im, struct loki_span span, enum import_kind kind);
/* Reports the progress; false if the import must end. */
bool import_goes_on(struct import *im, const char *doing, uint64_t done, uint64_t of);

/* "account/…", for lines of the report and as the name of a group. In the arena. */
struct str import_name(struct import *im, struct str account, struct str first, struct str second);
/* A "metadata" member, encoded. ERR_INVALID_METADATA and so on. */
struct err import_metadata(struct import *im, const struct node *owner, struct str *out);
/* Stored access policies; malformed ones are skipped. */
struct str import_policies(struct import *im, const struct node *list);

/* ---- one per service: the documents of its database ---- */

bool import_blob_document(void *import, struct str collection, struct loki_span span);
void import_blobs_finish(struct import *im);
bool import_queue_document(void *import, struct str collection, struct loki_span span);
void import_queues_finish(struct import *im);
bool import_table_document(void *import, struct str collection, struct loki_span span);

#endif
