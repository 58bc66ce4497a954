/* SPDX-License-Identifier: Apache-2.0 */
/* A request's body: collected in memory, streamed into its sink on the loop, or, when it is large,
 * stored by a bulk thread while the loop receives (bulk.h). */
#include "rest/dispatch.h"

#include <assert.h>

#include "rest/head/phases.h"
#include "rest/server.h"

void body_give_back(struct dispatch *d)
{
    bulk_drop(&d->bulk);
    if (d->sink_open) {
        d->sink_open = false;
        d->call.sink->drop(d->call.sink);
    }
}

/* ---- whole ---- */

static struct err end_phases(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (call->op->body == BODY_STREAM)
        return call->sink == NULL ? OK : call->sink->end(call->sink);
    call->body = buf_str(&d->small_body);
    return rest_decode(call);
}

static void decode_whole(struct dispatch *d)
{
    d->call.received_us = loop_now_us(d->call.x->loop);
    struct err error = end_phases(d);
    if (!err_is(error) && d->call.arena->over_limit)
        error = err_new(ERR_REQUEST_BODY_TOO_LARGE);
    dispatch_begin(d, error);
}

static void digest_ready(struct digest *digest)
{
    decode_whole(CONTAINER_OF(digest, struct dispatch, digest));
}

/* A small body waits for the others of this turn of the loop, to compute their checksums together.
 */
static bool wait_for_digest(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    struct rest_sink *sink = call->sink;
    if (call->server->digests == NULL || sink == NULL || sink->digest == NULL ||
        !sink->digest(sink, &d->digest.job))
        return false;
    d->digest.ready = digest_ready;
    digests_add(call->server->digests, call->x->loop, &d->digest);
    return true;
}

static void body_is_whole(struct dispatch *d)
{
    assert(d->body_ended);
    bulk_drop(&d->bulk);
    if (!wait_for_digest(d))
        decode_whole(d);
}

/* ---- large ones ---- */

/* A piece of a large body is stored, or there is no more of it now. The connection continues to
 * read, which may end the call. */
static void piece_stored(struct bulk_body *b)
{
    struct dispatch *d = CONTAINER_OF(b, struct dispatch, bulk);
    if (err_is(b->error))
        dispatch_fail(d, b->error);
    else if (d->body_ended)
        body_is_whole(d);
    else
        http_body_resume(d->call.x);
}

/* There is something to receive. */
static void body_lent(struct http_exchange *x)
{
    struct dispatch *d = x->user;
    bulk_receive(&d->bulk);
}

void body_begin(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (call->sink == NULL ||
        !bulk_begin(call->server->bulk, &d->bulk, call->x->request.content_length))
        return;
    d->bulk.sink = call->sink;
    d->bulk.x = call->x;
    d->bulk.stored = piece_stored;
    (void)http_body_lend(call->x, body_lent); /* else it comes in pieces */
}

/* ---- as it comes ---- */

static struct err take_here(struct dispatch *d, struct str bytes)
{
    struct rest_call *call = &d->call;
    switch (call->op->body) {
    case BODY_NONE:
        break;
    case BODY_STREAM:
        return call->sink == NULL ? OK : call->sink->take(call->sink, bytes);
    case BODY_SMALL:
        if (d->small_body.n + bytes.n > call->op->body_max)
            return rest_body_too_large(call);
        buf_put(&d->small_body, bytes);
        break;
    }
    return OK;
}

void body_take(struct dispatch *d, struct str bytes)
{
    assert(!d->body_ended);
    if (d->bulk.bulk != NULL) {
        if (bulk_add(&d->bulk, bytes))
            http_body_pause(d->call.x);
        return;
    }
    struct err error = take_here(d, bytes);
    if (err_is(error))
        dispatch_fail(d, error);
}

void body_end(struct dispatch *d)
{
    assert(!d->body_ended);
    d->body_ended = true;
    if (d->bulk.bulk == NULL || !bulk_end(&d->bulk))
        body_is_whole(d);
}
