/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/copy/copier_remote.h"

#include <errno.h>

#include "rest/copy/fetch.h"
#include "service/common/content/interval_upload.h"
#include "service/common/content/upload.h"

enum { STEP_BYTES = 32 << 20, PAGE_STEP_BYTES = 4 << 20, FAILURES_MAX = 10 };

/* ---- bytes of block and append blobs ---- */

static struct err take_bytes(void *arg, struct str bytes)
{
    return upload_take(arg, bytes);
}

static struct err finish(struct remote_step *step, struct copy_step_args *args, bool *ended)
{
    args->incarnation = step->job->incarnation;
    args->id = step->job->id;
    args->from = step->job->done;
    struct err error =
        store_write_wait(step->store, step->place->partition, step->place->step, args);
    *ended = args->ended;
    return error;
}

static struct err fetch_part(struct remote_step *step, struct fetch *f, struct upload *u,
                             bool *ended)
{
    const struct copy_job *job = step->job;
    uint64_t left = job->size - job->done;
    struct fetch_part part = {.ranged = true,
                              .offset = job->done,
                              .length = left < STEP_BYTES ? left : STEP_BYTES,
                              .etag = job->url_etag,
                              .sink = take_bytes,
                              .arg = u};
    part.size_max = part.length;
    TRY(fetch_bytes(f, &part));
    TRY(upload_end(u));
    if (u->size != part.length)
        return err_cause(ERR_IO, EPIPE);
    struct copy_step_args args = {.pieces = &u->pieces, .claim = PIECE_ADOPT};
    struct err error = finish(step, &args, ended);
    /* If the outcome is unknown, the blob may already own the pieces. */
    if (error.code == ERR_UNKNOWN_OUTCOME || (!err_is(error) && args.taken))
        u->pieces = (struct pieces){0};
    return error;
}

static struct err step_bytes(struct remote_step *step, struct fetch *f, bool *ended)
{
    struct upload u;
    struct upload_options options = {.inline_max = UPLOAD_INLINE_MAX, .expected = -1};
    upload_init(&u, step->store, step->arena, &options);
    struct err error = fetch_part(step, f, &u, ended);
    upload_discard(&u);
    return error;
}

/* ---- pages ---- */

static struct err take_pages(void *arg, struct str bytes)
{
    return interval_upload_take(arg, bytes);
}

/* The range before the pages is a hole. */
static struct err store_pages(struct remote_step *step, struct interval_upload *u, uint64_t start,
                              bool *ended)
{
    struct pieces pieces = {0};
    struct piece hole = {.kind = PIECE_HOLE, .length = start - step->job->done};
    if (hole.length > 0)
        pieces_add(&pieces, step->arena, &hole);
    for (size_t i = 0; u != NULL && i < u->pieces.count; i++)
        pieces_add(&pieces, step->arena, &u->pieces.items[i]);
    struct copy_step_args args = {.pieces = &pieces, .claim = PIECE_ADOPT};
    struct err error = finish(step, &args, ended);
    if (u != NULL && (error.code == ERR_UNKNOWN_OUTCOME || (!err_is(error) && args.taken)))
        u->pieces = (struct pieces){0};
    return error;
}

static struct err fetch_pages(struct remote_step *step, struct fetch *f, struct interval_upload *u,
                              uint64_t start, bool *ended)
{
    struct fetch_part part = {.ranged = true,
                              .offset = start,
                              .length = u->left,
                              .etag = step->job->url_etag,
                              .size_max = u->left,
                              .sink = take_pages,
                              .arg = u};
    TRY(fetch_bytes(f, &part));
    if (err_is(interval_upload_end(u)))
        return err_cause(ERR_IO, EPIPE);
    return store_pages(step, u, start, ended);
}

static struct err step_part(struct remote_step *step, struct fetch *f, uint64_t start, uint64_t end,
                            bool *ended)
{
    struct interval_upload u;
    if (end - start > PAGE_STEP_BYTES)
        end = start + PAGE_STEP_BYTES;
    interval_upload_init(&u, step->store->engine, step->arena, start, end - start);
    struct err error = fetch_pages(step, f, &u, start, ended);
    interval_upload_discard(&u);
    return error;
}

static struct err step_pages(struct remote_step *step, struct fetch *f, bool *ended)
{
    const struct copy_job *job = step->job;
    uint64_t start = 0, end = 0;
    bool found = false;
    TRY(fetch_next_pages(f, job->done, job->size, &start, &end, &found));
    if (!found || start >= job->size)
        return store_pages(step, NULL, job->size, ended);
    return step_part(step, f, start, end < job->size ? end : job->size, ended);
}

static struct err step_once(struct remote_step *step, struct fetch *f, bool *ended)
{
    const struct copy_job *job = step->job;
    if (job->type == BLOB_PAGE)
        return step_pages(step, f, ended);
    return step->of_file ? step_part(step, f, job->done, job->size, ended)
                         : step_bytes(step, f, ended);
}

/* ---- both ---- */

static struct err fail_copy(struct remote_step *step, struct str why, bool *ended)
{
    struct copy_step_args args = {.failure = why};
    return finish(step, &args, ended);
}

/* A refusal by the source is final; an unreachable source is tried again. */
static bool is_final(const struct fetch *f, struct err error)
{
    if (f->status >= 300 && f->status < 500 && f->status != 408 && f->status != 429)
        return true;
    return error.code == ERR_INVALID_RANGE || error.code == ERR_REQUEST_BODY_TOO_LARGE ||
           (error.code == ERR_IO && error.cause == EACCES);
}

static struct str describe(struct remote_step *step, const struct fetch *f, struct err error)
{
    if (f->status != 0)
        return arena_printf(step->arena, "%d %.*s \"The source answered with an error.\"",
                            f->status, STR_ARG(f->code));
    if (error.code == ERR_IO && error.cause == EACCES)
        return STR("403 AuthorizationFailure \"This server may not reach the source.\"");
    return STR("500 InternalError \"The source could not be read.\"");
}

struct err copier_remote_step(struct remote_step *step, bool *ended)
{
    struct fetch f = {.dialer = step->dialer, .arena = step->arena};
    *ended = false;
    if (!uri_parse(step->job->url, &f.uri))
        return err_new(ERR_CORRUPT);
    if (store_now(step->store) > step->job->started + BLOB_COPY_TIME_MAX)
        return fail_copy(step,
                         STR("500 OperationCancelled \"The copy operation exceeded the "
                             "maximum allowed time.\""),
                         ended);
    struct err error = step_once(step, &f, ended);
    if (!err_is(error) || error.code == ERR_STOPPING ||
        (error.code == ERR_IO && error.cause == ECANCELED))
        return error;
    if (is_final(&f, error) || step->failures >= FAILURES_MAX)
        return fail_copy(step, describe(step, &f, error), ended);
    return error;
}
