/* SPDX-License-Identifier: Apache-2.0 */
/* CHANGE_NOTIFY: waits for something to happen in a directory ([MS-SMB2] 3.3.5.19). The first of a
 * handle begins its watch (service/file/opens/watch.h), which then lasts as long as the handle. */
#ifndef SMB_COMMANDS_NOTIFY_H
#define SMB_COMMANDS_NOTIFY_H

#include "smb/conn.h"

struct smb_open;

void smb_change_notify(struct smb_request *q);
/* The handle is closed: its watch ends. */
void smb_notify_end(struct smb_open *o);

#endif
