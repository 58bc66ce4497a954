/* SPDX-License-Identifier: Apache-2.0 */
/* Channel sequences ([MS-SMB2] 3.3.5.2.10): a client of 3.x that has lost a connection increments
 * its channel sequence and repeats the requests that were not answered. A late request from before
 * must not undo a newer one, so changes with an older sequence are refused; repeated ones are
 * refused too while the original request is under way. */
#ifndef SMB_SEQUENCE_H
#define SMB_SEQUENCE_H

#include "smb/transport/conn.h"

/* Of a handle. */
struct smb_sequence {
    uint16_t number;
    uint32_t requests; /* requests of this sequence under way */
    uint32_t earlier;  /* of those before */
};

/* Called when CREATE makes the handle, or its client reconnects to it. */
struct smb_open;
void smb_sequence_start(struct smb_open *o, const struct smb_request *q);
/* A request has found its handle: STATUS_FILE_NOT_AVAILABLE if it may not continue. */
uint32_t smb_sequence_begin(struct smb_request *q);
/* It has ended. */
void smb_sequence_end(struct smb_request *q);

#endif
