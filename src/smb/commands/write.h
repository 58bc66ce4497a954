/* SPDX-License-Identifier: Apache-2.0 */
/* WRITE. The first part of a large one is written to disk while the rest still arrives: client and
 * server work in parallel, and the bytes are still in the processor's cache. Permissions and the
 * signature are checked when the message is complete; until then nothing is visible, and a refused
 * write is freed. */
#ifndef SMB_COMMANDS_WRITE_H
#define SMB_COMMANDS_WRITE_H

#include "smb/transport/conn.h"

void smb_write(struct smb_request *q);
/* Called when `have` bytes of an incomplete message have arrived. True if it is a write that is
 * worth storing while the rest arrives. */
bool smb_write_expect(struct smb_message *m, size_t have);
/* Stores the bytes that have arrived, if they are enough. On any thread that has the message to
 * itself. */
void smb_write_early(struct smb_message *m, size_t have);
/* Called when the message ends: frees early-written data that was not used. */
void smb_write_forget(struct smb_message *m);

#endif
