/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/part.h"

#include <assert.h>

static void start(struct part *p)
{
    arena_reset(&p->arena);
    p->text = buf_in(&p->arena);
    p->w = json_writer_of(&p->text);
    p->count = 0;
    json_open(&p->w, '[');
}

void part_begin(struct part *p)
{
    assert(p->walk != NULL && p->name != NULL);
    arena_init(&p->arena, ITEM_ARENA_BYTES_MAX);
    start(p);
}

static struct err give(struct part *p)
{
    json_close(&p->w, ']');
    struct str name = arena_printf(&p->arena, "%s-%06u", p->name, ++p->number);
    struct entry e = {.position = {p->kind, p->container, name},
                      .json = buf_str(&p->text),
                      .before = p->kind == ITEM_MESSAGES ? p->before : 0};
    p->before += p->count;
    TRY(source_walk_give(p->walk, &e));
    start(p);
    return OK;
}

struct err part_added(struct part *p)
{
    p->count++;
    return p->count == PART_OBJECTS_MAX || p->text.n >= PART_BYTES_MAX ? give(p) : OK;
}

struct err part_end(struct part *p, struct err error)
{
    if (!err_is(error) && p->count > 0)
        error = give(p);
    arena_release(&p->arena);
    return error;
}
