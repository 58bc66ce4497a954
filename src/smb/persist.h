/* SPDX-License-Identifier: Apache-2.0 */
/* Handles that survive a restart of the server ([MS-SMB2] 3.3.5.9.10, .12: persistent ones). They
 * are durable handles whose state is stored durably before the client is told: the handle, its
 * locks, and the mark that its file is to be deleted (by any client). After a restart they are
 * parked again, with their share modes and locks in force, before the first client can send a
 * request.
 *
 * The state that a cache was broken to is not stored: the file is restored with all caches that its
 * clients may still have. So a break may ask a client for more than it has, never for less
 * (service/file/opens/keep.h). All changes made through such a handle are durable when they are
 * answered. */
#ifndef SMB_PERSIST_H
#define SMB_PERSIST_H

#include "service/file/opens/held.h"
#include "smb/drive.h"
#include "smb/open.h"

enum { SMB_PERSISTENT = 2 /* a flag of DH2Q and DH2C */ };

/* True if CREATE requests such a handle, and may get one on a file. */
bool smb_persist_wanted(const struct smb_create *c);
/* Encodes the current row of a handle; in the arena. */
void smb_persist_describe(const struct smb_open *o, struct arena *a, struct file_held *out);
/* Stores the handle, then continues; continues at once if the handle is not persistent. */
void smb_persist_save(struct smb_request *q, struct smb_open *o, smb_then *then);
/* Called when the client closes the handle: deletes its row first. Continues at once for other
 * handles. */
void smb_persist_let_go(struct smb_request *q, const struct smb_open *o, smb_then *then);
/* The same without waiting. */
void smb_persist_forget(const struct smb_open *o, struct str partition);
/* Called when the request's file was marked for deletion, or unmarked, through any handle: updates
 * the rows of all such handles. Continues at once if there are none. */
void smb_persist_mark(struct smb_request *q, smb_then *then);
/* The request's handle, or one without a request, was to delete its file and was closed: updates
 * the remaining ones. */
void smb_persist_closed(struct smb_request *q, smb_then *then);
void smb_persist_dropped(const struct smb_open *o, struct str partition);
/* Restores all stored handles as parked ones. Before the loops run. */
struct err smb_persist_restore(struct smb_server *s);

#endif
