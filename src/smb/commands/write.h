/* SPDX-License-Identifier: Apache-2.0 */
/* WRITE. Of a large one the first part goes to the disk while the rest is still on its way: the
 * client's core and ours work at the same time, and the bytes are in the processor's cache still.
 * That is work ahead and nothing else: who may write what is asked when the message is whole, and
 * its signature holds; until then nothing is visible, and what comes to nothing is given back. */
#ifndef SMB_COMMANDS_WRITE_H
#define SMB_COMMANDS_WRITE_H

#include "smb/conn.h"

void smb_write(struct smb_request *q);
/* So many bytes of the message have come, but not all. */
void smb_write_early(struct smb_message *m, size_t have);
/* The message ends: what was done ahead and is not taken over is given back. */
void smb_write_forget(struct smb_message *m);

#endif
