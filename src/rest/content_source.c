/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/content_source.h"

#include <assert.h>

#include "core/container.h"
#include "net/pool.h"
#include "rest/server.h"

enum { SPAN_BYTES_MAX = 1 << 20, ZEROS_BYTES = 64 << 10 };

static const char ZEROS[ZEROS_BYTES];

struct content_source {
    struct http_source base; /* first: pull gets its address */
    struct rest_call *call;
    const struct pieces *pieces;
    size_t piece;
    uint64_t offset; /* in the piece */
    bool on_extent;  /* the span found last is one of an extent, and call->loan is its loan */
    struct loop_task task;
    /* What the pool found. */
    bool fetched;
    struct err error;
    struct extent_span span;
    /* The function that returns more pieces. */
    content_refill *refill;
    void *refill_arg;
    struct pieces list; /* the one in use */
    struct pieces next; /* what the pool found */
    bool refilled;
};

static struct content_source *source_of_task(struct loop_task *task)
{
    return CONTAINER_OF(task, struct content_source, task);
}

/* Bytes that are fetched are fetched in full, because the engine's memory may not keep them for
 * long. */
static uint32_t span_length(const struct content_source *s, enum engine_wait wait)
{
    uint64_t left = s->pieces->items[s->piece].length - s->offset;
    return left < SPAN_BYTES_MAX || wait == ENGINE_WAIT ? (uint32_t)left : SPAN_BYTES_MAX;
}

static struct err locate(struct content_source *s, enum engine_wait wait)
{
    assert(s->piece < s->pieces->count && s->pieces->items[s->piece].kind == PIECE_EXTENT);
    const struct piece *piece = &s->pieces->items[s->piece];
    struct extent_range part = {piece->extent_offset + (uint32_t)s->offset, span_length(s, wait)};
    TRY(store_locate(s->call->store, &piece->extent, part, wait, &s->span));
    s->call->loan = s->span.loan;
    s->on_extent = true;
    return OK;
}

static void back_on_loop(struct loop_task *task)
{
    http_source_ready(source_of_task(task)->call->x);
}

static void fetch_in_pool(struct loop_task *task)
{
    struct content_source *s = source_of_task(task);
    s->error = locate(s, ENGINE_WAIT);
    s->fetched = true;
    s->task.run = back_on_loop;
    loop_post(s->call->x->loop, &s->task);
}

static void refill_in_pool(struct loop_task *task)
{
    struct content_source *s = source_of_task(task);
    struct arena *lists = &s->call->list_arena;
    arena_reset(lists);
    s->error = s->refill(s->refill_arg, lists, &s->next);
    s->refilled = true;
    s->task.run = back_on_loop;
    loop_post(s->call->x->loop, &s->task);
}

/* The list is sent: the end, or the next one. */
static enum http_pull pull_list(struct content_source *s)
{
    if (s->refill == NULL)
        return HTTP_PULL_END;
    if (!s->refilled) {
        s->task.run = refill_in_pool;
        pool_post(s->call->server->pool, &s->task);
        return HTTP_PULL_WAIT;
    }
    s->refilled = false;
    if (err_is(s->error))
        return HTTP_PULL_FAIL;
    s->list = s->next;
    s->pieces = &s->list;
    s->piece = 0;
    s->offset = 0;
    return s->list.count == 0 ? HTTP_PULL_END : HTTP_PULL_SPAN;
}

static void advance(struct content_source *s, size_t length)
{
    assert(s->piece < s->pieces->count && length <= s->pieces->items[s->piece].length - s->offset);
    s->offset += length;
    if (s->offset < s->pieces->items[s->piece].length)
        return;
    s->piece++;
    s->offset = 0;
}

/* While a piece is sent, the engine fetches the next one. */
static void prefetch_next(const struct content_source *s)
{
    size_t next = s->piece + 1;
    if (s->offset > 0 || next >= s->pieces->count || s->pieces->items[next].kind != PIECE_EXTENT)
        return;
    const struct piece *piece = &s->pieces->items[next];
    store_prefetch(s->call->store, &piece->extent,
                   (struct extent_range){piece->extent_offset, (uint32_t)piece->length});
}

static enum http_pull pull_extent(struct content_source *s, struct http_span *out)
{
    if (!s->fetched)
        s->error = locate(s, ENGINE_NOWAIT);
    if (s->error.code == ERR_WOULD_BLOCK) {
        const struct rest_server *server = s->call->server;
        s->task.run = fetch_in_pool;
        pool_post(server->content_pool != NULL ? server->content_pool : server->pool, &s->task);
        return HTTP_PULL_WAIT;
    }
    s->fetched = false;
    if (err_is(s->error))
        return HTTP_PULL_FAIL;
    *out = (struct http_span){s->span.memory, s->span.fd, s->span.file_offset, s->span.length};
    prefetch_next(s);
    advance(s, s->span.length);
    return HTTP_PULL_SPAN;
}

static enum http_pull pull_memory(struct content_source *s, const char *memory, size_t length,
                                  struct http_span *out)
{
    *out = (struct http_span){.memory = memory, .fd = -1, .length = length};
    advance(s, length);
    return HTTP_PULL_SPAN;
}

static enum http_pull pull(struct http_source *source, struct http_span *out)
{
    struct content_source *s = (struct content_source *)(void *)source;
    /* The last span was sent. (One that the pool has just found was not.) */
    if (s->on_extent && !s->fetched) {
        store_end_loan(&s->call->loan);
        s->on_extent = false;
    }
    if (s->piece == s->pieces->count) {
        enum http_pull list = pull_list(s);
        if (list != HTTP_PULL_SPAN)
            return list;
    }
    const struct piece *piece = &s->pieces->items[s->piece];
    uint64_t left = piece->length - s->offset;
    switch (piece->kind) {
    case PIECE_EXTENT:
        return pull_extent(s, out);
    case PIECE_INLINE:
        return pull_memory(s, piece->bytes + s->offset, (size_t)left, out);
    case PIECE_HOLE:
        break;
    }
    return pull_memory(s, ZEROS, left < ZEROS_BYTES ? (size_t)left : ZEROS_BYTES, out);
}

void content_source_set(struct rest_call *call, const struct pieces *pieces)
{
    assert(pieces != NULL);
    struct content_source *s = ARENA_NEW(call->arena, struct content_source);
    s->base.pull = pull;
    s->call = call;
    s->pieces = pieces;
    call->source = &s->base;
    call->content_length = (int64_t)pieces_length(pieces);
}

void content_source_refill(struct rest_call *call, content_refill *refill, void *arg)
{
    assert(call->source != NULL && refill != NULL);
    struct content_source *s = (struct content_source *)(void *)call->source;
    arena_init(&call->list_arena, SIZE_MAX);
    s->refill = refill;
    s->refill_arg = arg;
}
