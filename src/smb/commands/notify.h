/* SPDX-License-Identifier: Apache-2.0 */
/* CHANGE_NOTIFY: waits for a change in a directory ([MS-SMB2] 3.3.5.19). The first one on a
 * handle starts the handle's watch (service/file/opens/watch.h), which lasts until the handle
 * is closed. */
#ifndef SMB_COMMANDS_NOTIFY_H
#define SMB_COMMANDS_NOTIFY_H

#include "smb/transport/conn.h"

struct smb_open;

void smb_change_notify(struct smb_request *q);
/* The handle is closed: its watch ends. */
void smb_notify_end(struct smb_open *o);

#endif
