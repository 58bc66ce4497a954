/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/copy.h"

#include <assert.h>

#include "service/blob/keep.h"
#include "service/blob/page/page.h"
#include "service/blob/tier.h"

static enum blob_type type_of(const struct blob_copy_args *args)
{
    return args->as_block_blob ? BLOB_BLOCK : args->from->type;
}

/* ---- may it be ---- */

/* A copy of an archived blob is rehydrated to an online tier, so the request must name one. */
static struct err check_archived(const struct blob_copy_args *args)
{
    enum blob_tier tier = args->wishes.tier;
    if (args->from->tier != BLOB_TIER_ARCHIVE)
        return OK;
    return tier == BLOB_TIER_NONE || tier == BLOB_TIER_ARCHIVE ? err_new(ERR_BLOB_ARCHIVED) : OK;
}

static struct err check_tier(const struct blob_copy_args *args)
{
    enum blob_tier tier = args->wishes.tier;
    enum blob_type type = type_of(args);
    if (tier == BLOB_TIER_NONE)
        return OK;
    if (type == BLOB_APPEND || blob_tier_is_for_pages(tier) != (type == BLOB_PAGE))
        return err_new(ERR_INVALID_BLOB_TIER);
    return OK;
}

static struct err check_destination(struct txn *t, const struct blob_copy_args *args,
                                    const struct blob *blob)
{
    const struct lease *lease = &blob->head.lease;
    bool leased = blob->exists && lease_locked(lease_state(lease, txn_now(t)));
    if (args->needs_infinite_lease && leased && lease->seconds != LEASE_INFINITE)
        return err_new(ERR_INFINITE_LEASE_DURATION_REQUIRED);
    TRY(blob_check_type(blob, type_of(args)));
    TRY(check_archived(args));
    return check_tier(args);
}

/* ---- properties ---- */

static void take_properties(struct txn *t, const struct blob_copy_args *args, struct blob *blob)
{
    const struct blob_head *from = args->from;
    const struct blob_copy_wishes *w = &args->wishes;
    struct blob_head *head = &blob->head;
    struct blob_properties p = {.http = from->http,
                                .metadata = w->has_metadata ? w->metadata : from->metadata,
                                .tags = w->tags,
                                .tier = w->tier,
                                .protection = w->protection};
    bool archived = from->tier == BLOB_TIER_ARCHIVE;
    if (archived)
        p.tier = BLOB_TIER_ARCHIVE;
    blob_set_properties(t, blob, &p);
    head->type = type_of(args);
    head->sequence = head->type == BLOB_PAGE ? from->sequence : 0;
    head->sealed = head->type == BLOB_APPEND && (w->has_seal ? w->seal : from->sealed);
    if (!archived)
        return;
    head->rehydrate = w->tier;
    head->rehydrate_at = txn_now(t) + w->rehydrate_ticks;
    head->rehydrate_high = w->high_priority;
    blob_head_settle(head, txn_now(t));
}

/* ---- content ---- */

static bool is_itself(const struct blob_copy_args *args, const struct blob *blob)
{
    const struct blob_source *source = args->source;
    return source != NULL && source->incarnation == blob->container.incarnation &&
           str_eq(source->key, blob->key) && source->head.type == type_of(args);
}

/* Within a container both blobs name the content of a block blob, which never changes. Incarnations
 * are stamps, so no two containers have the same. */
static bool can_name(const struct blob_copy_args *args, const struct blob *blob)
{
    const struct blob_source *source = args->source;
    return source != NULL && source->incarnation == blob->container.incarnation &&
           source->head.type == BLOB_BLOCK;
}

static struct err name_content(struct txn *t, const struct blob_copy_args *args, struct blob *blob)
{
    struct blob source = {.container = blob->container, .key = args->source->key};
    struct str row;
    TRY(txn_get(t, source.key, &row));
    TRY(blob_take_row(&source, row));
    TRY(blob_share_content(t, &source));
    TRY(blob_save_unchanged(t, &source));
    TRY(blob_replace(t, &args->request, BLOB_BLOCK, blob));
    blob->head.content = source.head.content;
    blob->head.content_rows = source.head.content_rows;
    blob->head.content_inline = source.head.content_inline;
    blob->head.content_shared = source.head.content_shared;
    blob->head.block_count = source.head.block_count;
    blob->head.size = source.head.size;
    return OK;
}

static struct copy_job new_job(struct txn *t, const struct blob_copy_args *args,
                               const struct blob *blob)
{
    struct copy_job job = {.incarnation = blob->container.incarnation,
                           .id = (uint64_t)txn_stamp(t),
                           .name = blob->name,
                           .type = type_of(args),
                           .size = args->from->size,
                           .started = txn_now(t),
                           .content = (uint64_t)txn_stamp(t)};
    const struct blob_source *source = args->source;
    if (source == NULL) {
        job.url = args->remote_url;
        job.url_etag = args->remote_etag;
        return job;
    }
    copy_job_set_source(&job, source);
    job.source_blocks = source->head.type == job.type ? source->head.block_count : 0;
    return job;
}

/* Writes the new content as far as the source's pieces were read; the rest becomes a job. */
static struct err begin_content(struct txn *t, struct blob_copy_args *args, struct blob *blob,
                                struct blob_copy_state *state)
{
    struct copy_job job = new_job(t, args, blob);
    TRY(blob_replace(t, &args->request, job.type, blob));
    if (job.type == BLOB_PAGE) {
        blob->head.content = job.content;
        blob->head.size = job.size;
    }
    if (args->pieces != NULL)
        TRY(copy_job_write(t, blob, &job, args->pieces, args->claim));
    state->done = job.done;
    if (job.done == job.size)
        return copy_job_finish(t, blob, &job);
    state->status = BLOB_COPY_PENDING;
    state->completed = 0;
    state->job = job.id;
    args->incarnation = job.incarnation;
    args->job = job.id;
    return copy_job_save(t, &job);
}

struct err blob_copy_blob(struct txn *t, void *arg)
{
    struct blob_copy_args *args = arg;
    const struct blob_head *from = args->from;
    struct blob blob;
    struct blob_copy_state state = {.status = BLOB_COPY_SUCCESS,
                                    .id = args->id,
                                    .source = args->url,
                                    .done = from->size,
                                    .total = from->size,
                                    .completed = txn_now(t)};
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(check_destination(t, args, &blob));
    if (args->source != NULL)
        TRY(blob_source_guard(t, args->source));
    if (is_itself(args, &blob)) {
        TRY(blob_keep_overwritten(t, &args->request, &blob));
        TRY(blob_drop_blocks(t, blob.container.incarnation, &blob.head));
    } else if (can_name(args, &blob)) {
        TRY(name_content(t, args, &blob));
    } else {
        TRY(begin_content(t, args, &blob, &state));
    }
    take_properties(t, args, &blob);
    TRY(blob_check_tier_size(&blob.head));
    blob.head.copy = blob_copy_encode(txn_arena(t), &state);
    blob.keep_copy = true;
    args->status = state.status;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Abort Copy Blob ---- */

struct err blob_abort_copy_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_abort_args *args = arg;
    struct blob_copy_state state;
    struct copy_job job;
    struct blob blob;
    bool found;
    TRY(blob_open(t, &args->request, BLOB_COPY_END, &blob));
    TRY(blob_copy_decode(blob.head.copy, &state));
    if (state.status != BLOB_COPY_PENDING)
        return err_new(ERR_NO_PENDING_COPY_OPERATION);
    if (!guid_eq(&state.id, &args->id))
        return err_new(ERR_COPY_ID_MISMATCH);
    TRY(copy_job_load(t, blob.container.incarnation, state.job, &job, &found));
    if (!found)
        return err_new(ERR_CORRUPT);
    TRY(copy_job_undo(t, &blob, &job, &state));
    TRY(copy_job_drop(t, &job));
    return copy_end(t, blob.name, &blob, &state, BLOB_COPY_ABORTED);
}
