/* SPDX-License-Identifier: Apache-2.0 */
#include "core/arena.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"

enum { ARENA_BLOCK_BYTES = 16 << 10, ARENA_ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    size_t size;
    _Alignas(ARENA_ALIGN) char bytes[];
};

void arena_init(struct arena *a, size_t limit)
{
    *a = (struct arena){.limit = limit};
}

void arena_init_in(struct arena *a, size_t limit, char *room, size_t room_bytes)
{
    assert(room != NULL || room_bytes == 0);
    *a = (struct arena){.limit = limit, .next = room, .end = room + room_bytes};
}

static void arena_use_block(struct arena *a, struct arena_block *block)
{
    a->next = block->bytes;
    a->end = block->bytes + block->size;
}

void arena_reset(struct arena *a)
{
    struct arena_block *keep = NULL;
    for (struct arena_block *block = a->blocks, *next; block != NULL; block = next) {
        next = block->next;
        if (keep == NULL && block->size == ARENA_BLOCK_BYTES)
            keep = block;
        else
            free(block);
    }
    size_t limit = a->limit;
    arena_init(a, limit);
    if (keep != NULL) {
        keep->next = NULL;
        a->blocks = keep;
        arena_use_block(a, keep);
    }
}

void arena_release(struct arena *a)
{
    arena_reset(a);
    free(a->blocks);
    arena_init(a, a->limit);
}

/* Large requests get a block of their own, so that the rest of the current one stays in use. */
static char *arena_take(struct arena *a, size_t size)
{
    assert(a->next <= a->end);
    a->used += size;
    if (a->used > a->limit)
        a->over_limit = true;
    if (size <= (size_t)(a->end - a->next)) {
        char *at = a->next;
        a->next += size;
        return at;
    }
    bool own_block = size > ARENA_BLOCK_BYTES / 2;
    struct arena_block *block = mem_alloc(sizeof *block + (own_block ? size : ARENA_BLOCK_BYTES));
    block->size = own_block ? size : ARENA_BLOCK_BYTES;
    block->next = a->blocks;
    a->blocks = block;
    if (own_block)
        return block->bytes;
    arena_use_block(a, block);
    a->next += size;
    return block->bytes;
}

void *arena_alloc(struct arena *a, size_t size)
{
    size_t skip = (size_t)(-(uintptr_t)a->next & (ARENA_ALIGN - 1));
    if (skip > 0 && skip <= (size_t)(a->end - a->next))
        a->next += skip;
    size_t rounded = (size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
    assert(rounded >= size);
    return memset(arena_take(a, rounded), 0, rounded);
}

char *arena_bytes(struct arena *a, size_t size)
{
    return arena_take(a, size);
}

struct str arena_copy(struct arena *a, struct str s)
{
    if (s.p == NULL)
        return s;
    if (s.n == 0)
        return STR(""); /* no bytes of a fresh arena would be at NULL, which means absent */
    char *copy = arena_bytes(a, s.n);
    memcpy(copy, s.p, s.n);
    return (struct str){copy, s.n};
}

char *arena_cstr(struct arena *a, struct str s)
{
    char *copy = arena_bytes(a, s.n + 1);
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

struct str arena_printf(struct arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    va_list again;
    va_copy(again, args);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    assert(length >= 0);
    char *text = arena_bytes(a, (size_t)length + 1);
    (void)vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return (struct str){text, (size_t)length};
}
