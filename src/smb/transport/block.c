/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/block.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/mem.h"
#include "smb/crypto/cover.h"

/* Smaller blocks are left to malloc. */
enum { KEPT_BYTES_MIN = 128 << 10, SLACK_BYTES = 4096 };

/* Two sizes that clients use: a megabyte, and the maximum. */
static const struct {
    size_t capacity;
    unsigned kept_max;
} CLASSES[SMB_BLOCK_CLASSES] = {
    {(1 << 20) + SLACK_BYTES, 8},
    {(8 << 20) + SLACK_BYTES, 1},
};

/* SMB_BLOCK_CLASSES if it belongs to no class. */
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
    if (block != NULL) {
        smb_tail_free(block->tail);
        smb_tail_free(block->source);
        smb_cover_free(block->cover);
        block->tail = block->source = NULL;
        block->cover = NULL;
        block->covered = false;
    }
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

/* ---- sending ---- */

size_t smb_block_bytes(const struct smb_block *block)
{
    return block->end - block->begin + (block->tail == NULL ? 0 : block->tail->bytes);
}

static void tail_sent(struct smb_tail *t, size_t n)
{
    assert(n <= t->bytes);
    t->bytes -= n;
    while (n > 0) {
        struct extent_span *part = &t->parts[t->at];
        size_t of_it = n < part->length ? n : part->length;
        part->file_offset += (int64_t)of_it;
        part->length -= of_it;
        n -= of_it;
        if (part->length == 0)
            t->at++;
    }
}

void smb_block_sent(struct smb_block *block, size_t n)
{
    size_t own = block->end - block->begin;
    size_t of_it = n < own ? n : own;
    block->begin += of_it;
    if (n > of_it)
        tail_sent(block->tail, n - of_it);
}

/* ---- tails ---- */

struct smb_tail *smb_tail_new(struct engine *e)
{
    struct smb_tail *t = mem_alloc(sizeof *t);
    t->engine = e;
    t->pin = engine_pin(e);
    t->bytes = 0;
    t->count = t->at = 0;
    return t;
}

void smb_tail_free(struct smb_tail *t)
{
    if (t == NULL)
        return;
    engine_unpin(t->engine, t->pin);
    free(t);
}

static bool read_span(const struct extent_span *span, char *into)
{
    size_t have = 0;
    while (have < span->length) {
        ssize_t n = pread(span->fd, into + have, span->length - have,
                          (off_t)(span->file_offset + (int64_t)have));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        have += (size_t)n;
    }
    return true;
}

bool smb_tail_read(const struct smb_tail *t, char *into)
{
    for (unsigned i = 0; i < t->count; i++) {
        if (!read_span(&t->parts[i], into))
            return false;
        into += t->parts[i].length;
    }
    return true;
}

bool smb_tail_add(struct smb_tail *t, const struct extent_span *span)
{
    if (t->count == SMB_TAIL_PARTS_MAX || span->fd < 0)
        return false;
    t->parts[t->count++] = *span;
    t->bytes += span->length;
    return true;
}
