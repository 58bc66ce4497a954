/* SPDX-License-Identifier: Apache-2.0 */
/* Memory by lifetime: everything of one request comes from its arena and is freed with it.
 *
 * An allocation never fails: past the arena's limit it still succeeds and sets `over_limit`, which
 * the request's dispatcher checks between phases and answers with an error. The limits on a
 * request's input bound what it can allocate between two such checks. If the process has no memory
 * left it stops: a request must not continue with half its data. */
#ifndef CORE_ARENA_H
#define CORE_ARENA_H

#include "core/str.h"

struct arena_block;

struct arena {
    struct arena_block *blocks;
    char *next;
    char *end;
    size_t used;
    size_t limit;
    bool over_limit;
};

/* Takes no memory until the first allocation. */
void arena_init(struct arena *a, size_t limit);
/* The same, but the first block is the caller's memory, which must live at least as long. */
void arena_init_in(struct arena *a, size_t limit, char *room, size_t room_bytes);
/* Frees all but one block, ready for the next request. */
void arena_reset(struct arena *a);
void arena_release(struct arena *a);

/* Zeroed, aligned for any type. */
void *arena_alloc(struct arena *a, size_t size);
/* Not zeroed, not aligned: for text and payload. */
char *arena_bytes(struct arena *a, size_t size);
/* A copy that lives as long as the arena. An absent slice stays absent. */
struct str arena_copy(struct arena *a, struct str s);
/* A NUL-terminated copy. */
char *arena_cstr(struct arena *a, struct str s);
struct str arena_printf(struct arena *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define ARENA_NEW(a, type)      ((type *)arena_alloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (n)))

#endif
