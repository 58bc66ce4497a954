/* SPDX-License-Identifier: Apache-2.0 */
/* Tells whoever wants to know (smb_world.refused) of requests that share modes, locks, leases of
 * REST and pending deletes have refused, and who holds what was in the way. */
#ifndef SMB_REFUSED_H
#define SMB_REFUSED_H

#include "smb/conn.h"

struct smb_refusal {
    const char *command; /* "Create" */
    enum err_code error;
    struct str account, share, path;
    struct str wish;   /* what was asked for; absent: a range of the file */
    struct str holder; /* the open that was in the way; absent: none, so a lease of REST */
    struct str client; /* the name that the client gave itself */
    const struct sockaddr_storage *peer;
    int64_t at; /* ticks */
};

/* The request is about to be answered with q->status. */
void smb_tell_refusal(const struct smb_request *q);
/* A CREATE is refused for this wish. */
void smb_note_wish(struct smb_request *q, const struct opens_request *wish);

#endif
