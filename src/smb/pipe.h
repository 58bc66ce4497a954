/* SPDX-License-Identifier: Apache-2.0 */
/* The pipes of IPC$: remote calls that list the shares (rpc.h). The client writes a call and reads
 * its answer; FSCTL_PIPE_TRANSCEIVE does both at once. */
#ifndef SMB_PIPE_H
#define SMB_PIPE_H

#include "smb/commands/create.h"

void smb_pipe_create(struct smb_create *c);
void smb_pipe_write(struct smb_request *q, struct str call);
void smb_pipe_read(struct smb_request *q, uint64_t length);
/* Puts the answer to `call` in *out, at most `max` bytes; the rest can be read later. `then` gets
 * ERR_INVALID_INPUT if `call` was not a call. */
void smb_pipe_transceive(struct smb_request *q, struct str call,
                         void (*then)(struct smb_request *q, struct err outcome));
/* Returns the readable bytes, at most max; *more if some are left. */
struct str smb_pipe_take(struct smb_open *o, size_t max, bool *more);

#endif
