/* SPDX-License-Identifier: Apache-2.0 */
/* QUERY_INFO and SET_INFO. */
#ifndef SMB_COMMANDS_QUERY_H
#define SMB_COMMANDS_QUERY_H

#include "service/file/by_id.h"
#include "smb/open.h"

enum smb_info_type {
    SMB_INFO_FILE = 1,
    SMB_INFO_FILESYSTEM = 2,
    SMB_INFO_SECURITY = 3,
    SMB_INFO_QUOTA = 4,
};

void smb_query_info(struct smb_request *q);
void smb_set_info(struct smb_request *q);

/* An answer being built. If it does not fit, it is truncated where the class allows that. */
struct smb_query {
    struct smb_request *q;
    uint8_t type;
    uint8_t class;
    uint32_t room;
    uint32_t parts; /* the requested parts of a security descriptor, or the index of an extended
                       attribute */
    uint32_t flags;
    struct str input;
    struct file_look_args look;
    struct file_share_args share;
    struct buf out;
    size_t fixed; /* a shorter output buffer is refused */
};

/* Fill query->out and fixed; a status. query_file.c, query_fs.c. */
uint32_t smb_query_file(struct smb_query *query);
uint32_t smb_query_fs(struct smb_query *query);

#endif
