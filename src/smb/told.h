/* SPDX-License-Identifier: Apache-2.0 */
/* Reports to smb_world.told: requests refused because of share modes, locks, REST leases or pending
 * deletes, with the holder; and reads and writes of files, at most once a second per handle,
 * because a copy is thousands of requests. */
#ifndef SMB_TOLD_H
#define SMB_TOLD_H

#include "smb/transport/conn.h"

struct smb_open;

enum smb_told_kind { SMB_TOLD_REFUSAL, SMB_TOLD_WRITE, SMB_TOLD_READ };

struct smb_told {
    enum smb_told_kind kind;
    const char *command; /* "Create" */
    enum err_code error; /* of a refusal */
    struct str account, share, path;
    struct str wish;   /* the requested access; absent: a range of the file */
    struct str holder; /* the open that was in the way; absent: a REST lease was */
    struct str client; /* the name that the client gave itself */
    const struct sockaddr_storage *peer;
    int64_t at; /* ticks */
};

/* The request is about to be answered with q->status. */
void smb_tell(const struct smb_request *q);
/* A CREATE has made or replaced a file, or has opened one. */
void smb_tell_open(const struct smb_request *q, struct smb_open *o);
/* Notes the requested access of a CREATE that is refused. */
void smb_note_wish(struct smb_request *q, const struct opens_request *wish);

#endif
