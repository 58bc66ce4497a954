/* SPDX-License-Identifier: Apache-2.0 */
/* An account's shares and the handles that SMB clients have open in them, for an operator. */
#ifndef SERVICE_FILE_INSPECT_H
#define SERVICE_FILE_INSPECT_H

#include "service/common/lease.h"
#include "service/common/store.h"
#include "service/file/opens/opens.h"

enum {
    FILE_INSPECT_SHARES_MAX = 1000,
    FILE_INSPECT_OPENS_MAX = 1000,
    FILE_INSPECT_LEASES_MAX = 1000,
    FILE_INSPECT_ROWS = 200000, /* entries scanned for leases */
};

struct file_share_seen {
    struct str name;
    uint64_t incarnation;
    struct lease lease;
};

struct file_open_seen {
    struct str share;
    struct opens_info info; /* its texts are in the arena */
};

struct file_lease_seen {
    struct str share, path;
    struct lease lease;
    int64_t etag;
};

struct file_inspect {
    struct arena *arena;
    struct str account;
    struct file_share_seen *shares;
    size_t share_count;
    struct file_open_seen *opens;
    size_t open_count;
    bool cut; /* there may be more */
};
/* Fills in shares and opens. Waits for the disk. */
struct err file_inspect(struct store *store, struct file_inspect *in);

struct file_lease_inspect {
    struct arena *arena;
    struct file_share_seen *shares; /* as found by file_inspect */
    size_t share_count;
    struct str account;
    struct file_lease_seen *leases; /* of files, those that are leased */
    size_t count;
    size_t rows; /* examined */
    bool cut;    /* there may be more */
};
/* Waits for the disk. */
struct err file_inspect_leases(struct store *store, struct file_lease_inspect *in);

#endif
