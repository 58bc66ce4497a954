/* SPDX-License-Identifier: Apache-2.0 */
/* Internals of the server's table of handles, shared by open.c and durable.c only. */
#ifndef SMB_OPEN_TABLE_H
#define SMB_OPEN_TABLE_H

#include <pthread.h>

#include "smb/open.h"

enum { SMB_OPEN_BUCKETS = 4096 };

struct smb_opens {
    pthread_mutex_t lock;
    uint64_t last_id;
    struct smb_open *buckets[SMB_OPEN_BUCKETS]; /* by the fleeting id */
    struct smb_open *guids[SMB_OPEN_BUCKETS];   /* durable handles, by their client's GUID */
    struct smb_open *parked;
    bool looking; /* the timer is set, on the first loop */
    bool ending;  /* parking is over */
    struct smb_server *server;
    struct loop_task look;
    struct loop_timer timer;
};

#endif
