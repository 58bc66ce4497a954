/* SPDX-License-Identifier: Apache-2.0 */
/* IOCTL: the control codes ([MS-FSCC] 2.3, [MS-SMB2] 2.2.31). */
#ifndef SMB_COMMANDS_IOCTL_H
#define SMB_COMMANDS_IOCTL_H

#include "smb/open.h"

void smb_ioctl(struct smb_request *q);

struct smb_control {
    struct smb_request *q;
    uint32_t code;
    struct smb_file_id id;
    struct str input;
    uint32_t room; /* for the output */
    void *work;    /* of the control code */
};

/* Ends the request with its output, which must fit. */
void smb_control_answer(struct smb_control *c, struct str output, uint32_t status);

/* ioctl_sparse.c: holes. */
void smb_set_sparse(struct smb_control *c);
void smb_zero_data(struct smb_control *c);
void smb_allocated_ranges(struct smb_control *c);

/* ioctl_copy.c: a key for a file, and copying from the file with a key. */
void smb_resume_key(struct smb_control *c);
void smb_copy_chunks(struct smb_control *c);

#endif
