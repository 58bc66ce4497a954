/* SPDX-License-Identifier: Apache-2.0 */
#include "net/relay.h"

#include <assert.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "core/container.h"
#include "core/mem.h"

enum { RELAY_BYTES = 64 << 10, TURN_PIECES_MAX = 16 };

/* One direction. */
struct flow {
    char *bytes; /* RELAY_BYTES, or more initially */
    size_t begin, end;
    bool ended;    /* no more input */
    bool finished; /* the end was passed on to the other side */
};

struct side {
    struct loop_watch watch;
    struct stream stream;
    struct relay *relay;
    struct flow flow; /* received from this side */
};

struct relay {
    struct loop *loop;
    struct side sides[2];
    struct loop_task again;
    bool again_posted;
    bool closed;
    void (*ended)(void *arg, struct relay *r);
    void *arg;
};

static void release(struct relay *r)
{
    assert(r->closed);
    for (unsigned i = 0; i < 2; i++)
        free(r->sides[i].flow.bytes);
    free(r);
}

static void close_sides(struct relay *r, bool abort)
{
    r->closed = true;
    for (unsigned i = 0; i < 2; i++) {
        struct side *s = &r->sides[i];
        if (s->stream.fd < 0)
            continue;
        loop_watch_remove(r->loop, &s->watch);
        stream_close(&s->stream, abort);
    }
}

static void end(struct relay *r, bool abort)
{
    if (r->closed)
        return;
    close_sides(r, abort);
    if (!r->again_posted) {
        r->again_posted = true;
        loop_post(r->loop, &r->again);
    }
}

/* One step of a flow. False: nothing to do now. */
static bool move_some(struct relay *r, struct side *from, struct side *to)
{
    struct flow *f = &from->flow;
    if (f->begin < f->end && to->stream.may_send) {
        struct iovec part = {f->bytes + f->begin, f->end - f->begin};
        ssize_t sent = stream_send(&to->stream, &part, 1, false);
        if (sent == STREAM_FAILED) {
            end(r, true);
            return false;
        }
        f->begin += sent > 0 ? (size_t)sent : 0;
        return sent > 0;
    }
    if (f->begin < f->end)
        return false;
    if (!f->ended && from->stream.may_recv) {
        ssize_t got = stream_recv(&from->stream, f->bytes, RELAY_BYTES);
        if (got == STREAM_FAILED) {
            end(r, true);
            return false;
        }
        f->begin = 0;
        f->end = got > 0 ? (size_t)got : 0;
        f->ended = got == 0;
        return got >= 0;
    }
    if (f->ended && !f->finished) {
        f->finished = true;
        stream_finish(&to->stream);
    }
    return false;
}

static void drive(struct relay *r)
{
    struct side *a = &r->sides[0];
    struct side *b = &r->sides[1];
    bool more = true;
    for (unsigned n = 0; n < TURN_PIECES_MAX && more && !r->closed; n++) {
        more = move_some(r, a, b);
        if (!r->closed)
            more = move_some(r, b, a) || more;
    }
    if (r->closed)
        return;
    if (a->flow.finished && b->flow.finished) {
        end(r, false);
    } else if (more && !r->again_posted) {
        r->again_posted = true;
        loop_post(r->loop, &r->again);
    }
}

static void on_again(struct loop_task *task)
{
    struct relay *r = CONTAINER_OF(task, struct relay, again);
    r->again_posted = false;
    if (!r->closed) {
        drive(r);
        return;
    }
    r->ended(r->arg, r);
    release(r);
}

static void on_ready(struct loop_watch *watch, uint32_t events)
{
    struct side *s = CONTAINER_OF(watch, struct side, watch);
    stream_note(&s->stream, events);
    drive(s->relay);
}

static void join(struct relay *r, unsigned i, struct stream *stream)
{
    struct side *s = &r->sides[i];
    s->relay = r;
    s->stream = *stream;
    s->stream.may_recv = s->stream.may_send = true;
    s->watch = (struct loop_watch){.ready = on_ready, .fd = stream->fd};
    *stream = (struct stream){.fd = -1};
    if (err_is(loop_watch_add(r->loop, &s->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET))) {
        stream_close(&s->stream, true);
        end(r, true);
    }
}

struct relay *relay_new(struct loop *loop, const struct relay_ends *ends,
                        void (*ended)(void *arg, struct relay *r), void *arg)
{
    assert(loop != NULL);
    assert(ended != NULL);
    struct relay *r = MEM_NEW(struct relay);
    *r = (struct relay){.loop = loop, .again.run = on_again, .ended = ended, .arg = arg};
    for (unsigned i = 0; i < 2; i++) {
        size_t size = i == 0 && ends->bytes.n > RELAY_BYTES ? ends->bytes.n : RELAY_BYTES;
        r->sides[i].flow.bytes = mem_alloc(size);
        r->sides[i].stream.fd = -1;
    }
    if (ends->bytes.n > 0)
        memcpy(r->sides[0].flow.bytes, ends->bytes.p, ends->bytes.n);
    r->sides[0].flow.end = ends->bytes.n;
    join(r, 0, ends->near);
    if (!r->closed)
        join(r, 1, ends->far);
    else
        stream_close(ends->far, true);
    if (!r->again_posted) {
        r->again_posted = true;
        loop_post(loop, &r->again);
    }
    return r;
}

void relay_cut(struct relay *r)
{
    end(r, true);
}

void relay_free(struct relay *r)
{
    close_sides(r, true);
    release(r);
}
