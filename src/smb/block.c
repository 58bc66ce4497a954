/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/block.h"

#include <stdlib.h>

#include "core/mem.h"

/* Below the first, malloc does well by itself. */
enum { KEPT_BYTES_MIN = 128 << 10, SLACK_BYTES = 4096 };

/* Two sizes that clients use: a megabyte, and the most there may be. */
static const struct {
    size_t capacity;
    unsigned kept_max;
} CLASSES[SMB_BLOCK_CLASSES] = {
    {(1 << 20) + SLACK_BYTES, 4},
    {(8 << 20) + SLACK_BYTES, 1},
};

/* SMB_BLOCK_CLASSES when it belongs to none. */
static size_t class_of(size_t capacity)
{
    size_t class = 0;
    if (capacity < KEPT_BYTES_MIN)
        return SMB_BLOCK_CLASSES;
    while (class < SMB_BLOCK_CLASSES && CLASSES[class].capacity < capacity)
        class ++;
    return class;
}

static struct smb_block *take_spare(struct smb_blocks *s, size_t class)
{
    struct smb_block *block = s->classes[class].spare;
    if (block == NULL)
        return NULL;
    s->classes[class].spare = block->next;
    s->classes[class].count--;
    block->next = NULL;
    block->begin = block->end = 0;
    return block;
}

struct smb_block *smb_block_take(struct smb_blocks *s, size_t capacity)
{
    size_t class = class_of(capacity);
    struct smb_block *block = NULL;
    if (class < SMB_BLOCK_CLASSES) {
        block = take_spare(s, class);
        capacity = CLASSES[class].capacity;
    }
    if (block == NULL) {
        block = mem_alloc(sizeof *block + capacity);
        *block = (struct smb_block){.capacity = capacity};
    }
    return block;
}

void smb_block_give(struct smb_blocks *s, struct smb_block *block)
{
    size_t class = block == NULL ? SMB_BLOCK_CLASSES : class_of(block->capacity);
    if (class == SMB_BLOCK_CLASSES || s->classes[class].count == CLASSES[class].kept_max) {
        free(block);
        return;
    }
    block->next = s->classes[class].spare;
    s->classes[class].spare = block;
    s->classes[class].count++;
}

void smb_blocks_release(struct smb_blocks *s)
{
    for (size_t class = 0; class < SMB_BLOCK_CLASSES; class ++) {
        for (struct smb_block *block; (block = take_spare(s, class)) != NULL;)
            free(block);
    }
}
