/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for messages, in and out. Large blocks are kept and used again: to get them from the
 * kernel anew, page by page, costs more than to fill them. One store per loop, so there is no lock.
 */
#ifndef SMB_BLOCK_H
#define SMB_BLOCK_H

#include "smb/header.h"

enum {
    SMB_FRAME_BYTES = 4, /* the length before every message */
    /* What may have to stand before an answer's body: it is written where it will be sent from. */
    SMB_FRONT_BYTES = SMB_FRAME_BYTES + SMB_TRANSFORM_BYTES + SMB_HEADER_BYTES,
    SMB_BLOCK_CLASSES = 2,
};

struct smb_block {
    struct smb_block *next;
    size_t capacity;
    size_t begin, end; /* what is used of it; begin moves as it is sent */
    char bytes[];
};

struct smb_blocks {
    struct {
        struct smb_block *spare;
        unsigned count;
    } classes[SMB_BLOCK_CLASSES];
};

/* A block for so many bytes, used from 0 to 0. */
struct smb_block *smb_block_take(struct smb_blocks *s, size_t capacity);
/* NULL is fine. */
void smb_block_give(struct smb_blocks *s, struct smb_block *block);
void smb_blocks_release(struct smb_blocks *s);

#endif
