/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for incoming and outgoing messages, and parts of files that are sent after it. Large
 * blocks are reused: fresh pages from the kernel cost more than filling them. One pool per loop, so
 * there is no lock. */
#ifndef SMB_TRANSPORT_BLOCK_H
#define SMB_TRANSPORT_BLOCK_H

#include "engine/engine.h"
#include "smb/header.h"

enum {
    SMB_FRAME_BYTES = 4, /* the length before every message */
    /* Space for headers before an answer's body, so that the body is sent from where it was
     * written. */
    SMB_FRONT_BYTES = SMB_FRAME_BYTES + SMB_TRANSFORM_BYTES + SMB_HEADER_BYTES,
    SMB_BLOCK_CLASSES = 2,
    SMB_TAIL_PARTS_MAX = 16,
};

/* Parts of files; the pin keeps the files unchanged until they are sent. */
struct smb_tail {
    struct engine *engine;
    struct engine_pin *pin;
    size_t bytes; /* still to be sent */
    unsigned count, at;
    struct extent_span parts[SMB_TAIL_PARTS_MAX];
};

struct smb_cover;

struct smb_block {
    struct smb_block *next;
    size_t capacity;
    size_t begin, end;       /* the used bytes; begin advances as they are sent */
    struct smb_tail *tail;   /* sent after it; NULL: nothing */
    struct smb_tail *source; /* read to source_at before the cover is applied; NULL: nothing */
    char *source_at;
    struct smb_cover *cover; /* applied by a sender before the block is sent (away.h); NULL: none */
    bool covered;            /* already applied */
    char bytes[];
};

struct smb_blocks {
    struct {
        struct smb_block *spare;
        unsigned count;
    } classes[SMB_BLOCK_CLASSES];
};

/* Returns an empty block with this capacity. */
struct smb_block *smb_block_take(struct smb_blocks *s, size_t capacity);
/* NULL is allowed. */
void smb_block_give(struct smb_blocks *s, struct smb_block *block);
/* The bytes left to send, including the tail. */
size_t smb_block_bytes(const struct smb_block *block);
/* Marks n bytes as sent. */
void smb_block_sent(struct smb_block *block, size_t n);
/* Takes a pin, which smb_tail_free releases. smb_tail_free accepts NULL. */
struct smb_tail *smb_tail_new(struct engine *e);
void smb_tail_free(struct smb_tail *t);
/* Reads all parts into `into`. False on failure. On any thread. */
bool smb_tail_read(const struct smb_tail *t, char *into);
/* False if the tail is full, or the span is not in a file. */
bool smb_tail_add(struct smb_tail *t, const struct extent_span *span);
void smb_blocks_release(struct smb_blocks *s);

#endif
