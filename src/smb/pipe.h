/* SPDX-License-Identifier: Apache-2.0 */
/* The pipes of IPC$: remote calls that list the shares (rpc.h). A call is written, its answer is
 * read; FSCTL_PIPE_TRANSCEIVE does both at once. */
#ifndef SMB_PIPE_H
#define SMB_PIPE_H

#include "smb/commands/create.h"

void smb_pipe_create(struct smb_create *c);
void smb_pipe_write(struct smb_request *q, struct str call);
void smb_pipe_read(struct smb_request *q, uint64_t length);
/* The answer to `call`, at most `max` bytes of it in *out; the rest waits to be read. then gets
 * ERR_INVALID_INPUT when it was no call. */
void smb_pipe_transceive(struct smb_request *q, struct str call,
                         void (*then)(struct smb_request *q, struct err outcome));
/* Returns the readable bytes, at most max; *more if some are left. */
struct str smb_pipe_take(struct smb_open *o, size_t max, bool *more);

#endif
