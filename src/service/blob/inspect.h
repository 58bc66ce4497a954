/* SPDX-License-Identifier: Apache-2.0 */
/* The leases on an account's containers and blobs, for an operator: a scan of the rows. */
#ifndef SERVICE_BLOB_INSPECT_H
#define SERVICE_BLOB_INSPECT_H

#include "service/common/lease.h"
#include "service/common/store.h"

enum {
    BLOB_INSPECT_MAX = 1000,    /* leases of one answer */
    BLOB_INSPECT_ROWS = 200000, /* rows examined for it */
};

struct blob_leased {
    struct str container;
    struct str blob; /* absent: the container itself */
    struct lease lease;
    int64_t etag;
};

struct blob_inspect {
    struct arena *arena;
    struct str account;
    struct blob_leased *leases; /* those that are leased or breaking */
    size_t count;
    size_t rows; /* examined */
    bool cut;    /* there may be more */
};
/* A read; runs in any partition, and scans all of the account's. */
engine_fn blob_inspect_leases;

#endif
