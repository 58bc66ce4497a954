/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that outlive their connection ([MS-SMB2] 3.3.5.9.6, .7, .10, .12). When the connection of
 * a durable handle is cut, the handle is parked: it belongs to no session and no thread then, only
 * to the server's table, until its client comes back for it, its time is over, or somebody else
 * wants the file. */
#ifndef SMB_DURABLE_H
#define SMB_DURABLE_H

#include "smb/conn.h"

enum {
    SMB_DURABLE_MS = 60000,      /* for those that ask for no time of their own */
    SMB_DURABLE_MS_MAX = 300000, /* more is not granted */
};

/* Of a handle. */
struct smb_durable {
    bool granted;
    bool second;     /* by DH2Q: it has a GUID of the client's */
    bool persistent; /* survives the server's restart as well */
    unsigned char guid[SMB_GUID_BYTES];
    uint32_t timeout_ms;
    /* While parked; under the lock of the server's table. */
    bool parked;
    int64_t expires_ms; /* monotonic */
};

#endif
