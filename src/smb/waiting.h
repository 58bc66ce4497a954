/* SPDX-License-Identifier: Apache-2.0 */
/* A request that waits in the open-file table for others to give up what they cache. They have
 * OPENS_SMB_BREAK_MS, then it is taken from them. */
#ifndef SMB_WAITING_H
#define SMB_WAITING_H

#include "service/file/opens/opens.h"
#include "smb/conn.h"

/* Lies in the request's arena. */
struct smb_waiting {
    struct opens_wait wait; /* for the table's call that says ERR_OTHERS_FIRST */
    struct smb_request *q;
    void (*then)(struct smb_request *q); /* tries again */
    struct loop_task wake;
    struct loop_timer timer;
    bool cancelled;
};

void smb_waiting_init(struct smb_waiting *w, struct smb_request *q,
                      void (*then)(struct smb_request *q));
/* The wait is queued: `then` comes, or the request ends with STATUS_CANCELLED. The client gets an
 * interim answer, except in the middle of a compound, where it just waits. */
void smb_waiting_begin(struct smb_waiting *w);

#endif
