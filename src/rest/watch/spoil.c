/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/watch/spoil.h"

#include <unistd.h>

/* The interval at which a slow body sends its share. */
enum { SLICE_MS = 20 };

struct spoiled {
    struct http_source base;
    struct rest_call *call;
    struct script_deed deed;
    struct http_source *inner; /* NULL: the body is in memory */
    struct str body;
    struct http_span rest; /* of the last part: the bytes not passed on yet */
    uint64_t sent;
    struct loop_timer timer;
    bool waited;
    char flipped; /* the changed byte */
};

static struct spoiled *spoiled_of(struct http_source *base)
{
    return (struct spoiled *)(void *)base;
}

static void time_is_over(struct loop_timer *timer)
{
    struct spoiled *s = (struct spoiled *)((char *)timer - offsetof(struct spoiled, timer));
    s->waited = true;
    http_source_ready(s->call->x);
}

static enum http_pull wait_for(struct spoiled *s, int64_t ms)
{
    s->timer.fire = time_is_over;
    loop_timer_set(s->call->x->loop, &s->timer, ms);
    return HTTP_PULL_WAIT;
}

/* Makes s->rest the next part that has bytes. */
static enum http_pull refill(struct spoiled *s)
{
    if (s->rest.length > 0)
        return HTTP_PULL_SPAN;
    if (s->inner != NULL)
        return s->inner->pull(s->inner, &s->rest);
    if (s->body.n == 0)
        return HTTP_PULL_END;
    s->rest = (struct http_span){.memory = s->body.p, .fd = -1, .length = s->body.n};
    s->body = STR("");
    return HTTP_PULL_SPAN;
}

/* Passes on at most this many bytes. */
static enum http_pull hand_on(struct spoiled *s, uint64_t bytes_max, struct http_span *out)
{
    *out = s->rest;
    if (out->length > bytes_max)
        out->length = (size_t)bytes_max;
    s->rest.length -= out->length;
    if (s->rest.fd < 0)
        s->rest.memory += out->length;
    else
        s->rest.file_offset += (int64_t)out->length;
    s->sent += out->length;
    return HTTP_PULL_SPAN;
}

/* The first remaining byte, with one bit inverted. */
static enum http_pull flip(struct spoiled *s, struct http_span *out)
{
    struct http_span one;
    (void)hand_on(s, 1, &one);
    if (one.fd < 0)
        s->flipped = one.memory[0];
    else if (pread(one.fd, &s->flipped, 1, one.file_offset) != 1)
        return HTTP_PULL_FAIL;
    s->flipped = (char)(s->flipped ^ 1);
    *out = (struct http_span){.memory = &s->flipped, .fd = -1, .length = 1};
    return HTTP_PULL_SPAN;
}

static enum http_pull pull_slow(struct spoiled *s, struct http_span *out)
{
    uint64_t share = s->deed.bytes_per_second * SLICE_MS / 1000;
    if (!s->waited)
        return wait_for(s, share > 0 ? SLICE_MS : (int64_t)(1000 / s->deed.bytes_per_second));
    s->waited = false;
    return hand_on(s, share > 0 ? share : 1, out);
}

static enum http_pull end_early(struct spoiled *s)
{
    if (s->deed.act == SCRIPT_STALL && !s->waited)
        return wait_for(s, SCRIPT_STALL_MS);
    if (s->deed.act == SCRIPT_CLOSE)
        http_end_in_order(s->call->x);
    return HTTP_PULL_FAIL;
}

static enum http_pull pull(struct http_source *base, struct http_span *out)
{
    struct spoiled *s = spoiled_of(base);
    bool there = s->sent >= s->deed.after_bytes;
    bool ends = s->deed.act != SCRIPT_CORRUPT && s->deed.act != SCRIPT_SLOW;
    if (there && ends)
        return end_early(s);
    enum http_pull pulled = refill(s);
    if (pulled != HTTP_PULL_SPAN || s->rest.length == 0)
        return pulled;
    if (s->deed.act == SCRIPT_SLOW)
        return pull_slow(s, out);
    if (s->deed.act == SCRIPT_CORRUPT && s->sent == s->deed.after_bytes)
        return flip(s, out);
    return hand_on(s, there ? UINT64_MAX : s->deed.after_bytes - s->sent, out);
}

void spoil_reply(struct rest_call *call, const struct script_deed *deed)
{
    struct spoiled *s = ARENA_NEW(call->arena, struct spoiled);
    *s = (struct spoiled){
        .base = {.pull = pull},
        .call = call,
        .deed = *deed,
        .inner = call->source,
        .body = str_given(call->content) ? call->content : buf_str(&call->out),
        .rest = {.fd = -1},
    };
    bool whole = call->source == NULL && call->content_length < 0;
    struct http_response response = {
        .status = call->status,
        .headers = buf_str(&call->headers),
        .content_length = whole ? (int64_t)s->body.n : call->content_length,
        .source = &s->base,
    };
    http_reply(call->x, &response);
}
