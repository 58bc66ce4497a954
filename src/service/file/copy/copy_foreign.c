/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/copy/copy_foreign.h"

#include <assert.h>

struct err copy_foreign_begin(struct file_scope *s, const struct file_found *found,
                              const struct copy_foreign *foreign)
{
    const struct blob_source *blob = foreign->blob;
    struct copy_job job = {.incarnation = s->share.incarnation,
                           .id = found->id,
                           .name = STR("a file"),
                           .type = foreign->type,
                           .size = foreign->size,
                           .started = txn_now(s->txn),
                           .url = foreign->url,
                           .url_etag = foreign->etag};
    if (blob != NULL)
        copy_job_set_source(&job, blob);
    return copy_job_save(s->txn, &job);
}

struct err copy_foreign_drop(struct file_scope *s, uint64_t file)
{
    struct copy_job job;
    bool found;
    TRY(copy_job_load(s->txn, s->share.incarnation, file, &job, &found));
    return found ? copy_job_drop(s->txn, &job) : OK;
}

/* ---- going on ---- */

/* Splits pieces at the ends of chunks. */
static struct pieces cut_to_chunks(struct arena *a, uint64_t offset, const struct pieces *pieces)
{
    struct pieces out = {0};
    for (size_t i = 0; i < pieces->count; i++) {
        struct piece rest = pieces->items[i];
        while (rest.length > 0) {
            struct piece part = rest;
            uint64_t room = INTERVAL_CHUNK_BYTES - offset % INTERVAL_CHUNK_BYTES;
            if (rest.kind != PIECE_HOLE && rest.length > room)
                part.length = room;
            pieces_add(&out, a, &part);
            offset += part.length;
            rest.length -= part.length;
            if (rest.kind == PIECE_INLINE)
                rest.bytes += part.length;
            if (rest.kind == PIECE_EXTENT)
                rest.extent_offset += (uint32_t)part.length;
        }
    }
    return out;
}

static struct err end_copy(struct file_scope *s, struct file_found *found,
                           const struct copy_job *job, struct str failure)
{
    struct node_copy *copy = &found->node.copy;
    bool failed = str_given(failure);
    if (failed)
        TRY(file_drop_content(s, &found->node));
    copy->status = failed ? COPY_FAILED : COPY_SUCCESS;
    copy->completed = txn_now(s->txn);
    copy->description = failure;
    file_touch(s, &found->node);
    return copy_job_drop(s->txn, job);
}

static struct err take_pieces(struct file_scope *s, struct copy_step_args *args,
                              struct copy_job *job, struct file_found *found)
{
    if (args->source != NULL)
        TRY(blob_source_guard(s->txn, args->source));
    struct pieces pieces = cut_to_chunks(txn_arena(s->txn), job->done, args->pieces);
    struct interval_map m = file_map(s, &found->node);
    TRY(interval_write(&m, job->done, &pieces, args->claim));
    m.fold_wanted = false;
    TRY(file_keep_map(s, found, &m));
    args->taken = true;
    job->done += pieces_length(&pieces);
    found->node.copy.done = job->done;
    args->ended = job->done == job->size;
    return args->ended ? end_copy(s, found, job, STR_NONE) : copy_job_save(s->txn, job);
}

static struct err step_file(struct file_scope *s, struct copy_step_args *args, struct copy_job *job)
{
    struct file_found found;
    TRY(file_find_id(s, job->id, &found));
    if (!found.exists || found.node.copy.status != COPY_PENDING) {
        args->ended = true;
        return copy_job_drop(s->txn, job);
    }
    if (str_given(args->failure)) {
        args->ended = true;
        TRY(end_copy(s, &found, job, args->failure));
    } else if (args->from == job->done) {
        TRY(take_pieces(s, args, job, &found));
    } else {
        return OK;
    }
    return file_put(s, &found);
}

struct err file_step_copy(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct copy_step_args *args = arg;
    struct file_scope s;
    struct copy_job job;
    bool there;
    args->taken = false;
    TRY(copy_job_load(t, args->incarnation, args->id, &job, &there));
    args->ended = !there;
    if (!there)
        return OK;
    struct err error = file_scope_open_incarnation(t, args->incarnation, 0, &s);
    if (error.code == ERR_SHARE_NOT_FOUND) {
        args->ended = true;
        return copy_job_drop(t, &job);
    }
    TRY(error);
    TRY(step_file(&s, args, &job));
    return file_scope_close(&s);
}
