/* SPDX-License-Identifier: Apache-2.0 */
/* WRITE. The first part of a large one is written to the disk while the rest still arrives: client
 * and server work in parallel, and the bytes are still in the processor's cache. Permissions and
 * the signature are checked when the message is complete; until then nothing is visible, and a
 * refused write is freed. */
#ifndef SMB_COMMANDS_WRITE_H
#define SMB_COMMANDS_WRITE_H

#include "smb/conn.h"

void smb_write(struct smb_request *q);
/* So many bytes of the message have come, but not all. True: it is a write, and worth being stored
 * while the rest comes. */
bool smb_write_expect(struct smb_message *m, size_t have);
/* Stores what has come of it, if that is enough. On any thread, if nobody else has the message. */
void smb_write_early(struct smb_message *m, size_t have);
/* The message ends: frees what was written ahead and not used. */
void smb_write_forget(struct smb_message *m);

#endif
