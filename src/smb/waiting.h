/* SPDX-License-Identifier: Apache-2.0 */
/* A request that waits in the open-file table: for other clients to give up their caches, which are
 * revoked after OPENS_SMB_BREAK_MS, or for locks. */
#ifndef SMB_WAITING_H
#define SMB_WAITING_H

#include "service/file/opens/opens.h"
#include "smb/drive.h"

/* In the request's arena. */
struct smb_waiting {
    struct opens_wait wait; /* for a call of the table that returns ERR_OTHERS_FIRST */
    struct smb_request *q;
};

/* Before that call. */
void smb_waiting_init(struct smb_waiting *w, struct smb_request *q);

/* The wait is already queued. See smb_wait_for. */
void smb_wait_for_caches(struct smb_waiting *w, smb_then *then);
/* Waits without a limit if the client is patient; else briefly, for a REST operation. */
void smb_wait_for_lock(struct smb_waiting *w, bool patient, smb_then *then);

#endif
