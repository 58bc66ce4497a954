/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the content of the store, for metrics: objects by kind, their bytes, and active leases.
 * Nothing is counted on writes: while clients request the metrics, the census scans the rows that
 * name objects, in bounded steps. A small store is counted again for each request; for a large
 * one the last complete scan is reported, with its age. It works on every engine and after any
 * restart. */
#ifndef SERVICE_CENSUS_CENSUS_H
#define SERVICE_CENSUS_CENSUS_H

#include "service/common/store.h"
#include "service/common/sweeper.h"

enum {
    CENSUS_STEP_ROWS = 10000, /* of one step; a smaller store is counted for each request */
    CENSUS_STEP_MS = 50,
    CENSUS_PAUSE_MS = 60000,   /* between two scans of a large store */
    CENSUS_ASKED_MS = 300000,  /* how long one request keeps scans running */
    CENSUS_LEASES_MAX = 65536, /* with recorded ends; others count until the next scan */
};

enum census_kind {
    CENSUS_CONTAINER,
    CENSUS_BLOCK_BLOB,
    CENSUS_APPEND_BLOB,
    CENSUS_PAGE_BLOB,
    CENSUS_BLOB_DIRECTORY, /* of a hierarchical container */
    CENSUS_BLOB_SNAPSHOT,
    CENSUS_BLOB_VERSION,
    CENSUS_BLOB_DELETED, /* softly: blobs, snapshots and versions */
    CENSUS_TABLE,
    CENSUS_ENTITY,
    CENSUS_SHARE,
    CENSUS_DIRECTORY,
    CENSUS_FILE,
    CENSUS_KINDS
};

enum census_lease {
    CENSUS_LEASED_CONTAINER,
    CENSUS_LEASED_BLOB,
    CENSUS_LEASED_SHARE,
    CENSUS_LEASED_FILE,
    CENSUS_LEASED_KINDS
};

struct census_counts {
    bool known;       /* a scan is complete */
    int64_t taken_at; /* ticks: when it ended */
    int64_t walk_ms;  /* how long it took, with its pauses */
    uint64_t rows;    /* that it examined */
    uint64_t objects[CENSUS_KINDS];
    uint64_t bytes[CENSUS_KINDS];
    uint64_t leases[CENSUS_LEASED_KINDS]; /* active at the time of the request */
};

struct census;
struct census *census_new(void);
void census_free(struct census *c); /* NULL is fine */

/* Returns the counts; waits for the disk. Any thread. */
struct err census_ask(struct census *c, struct store *store, struct census_counts *out);
/* The job that continues a scan; its context is the census. */
sweep_step census_sweep;

/* "blob", "append_blob": of metrics' labels. */
const char *census_service(enum census_kind kind);
const char *census_kind_name(enum census_kind kind);
const char *census_lease_name(enum census_lease kind);

#endif
