/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/incremental.h"

#include "service/blob/page/page.h"

enum { PATCHES_MAX = 512, PIECES_MAX = 4096 };

/* ---- what is to be done ---- */

struct destination {
    struct blob_request request;
    struct blob_copy_state state;
};

static struct err read_state(struct txn *t, void *arg)
{
    struct destination *to = arg;
    struct blob blob;
    TRY(blob_load(t, &to->request, &blob));
    to->state = (struct blob_copy_state){0};
    return blob.exists ? blob_copy_decode(blob.head.copy, &to->state) : OK;
}

/* A copy that failed left the blob between two snapshots: then everything is copied. */
static struct err find_since(struct store *store, struct str partition,
                             struct blob_incremental_args *args)
{
    struct destination to = {.request = {.arena = args->request.arena, .name = args->request.name}};
    TRY(engine_view(store->engine, partition, ENGINE_WAIT, read_state, &to));
    bool whole = to.state.incremental && to.state.status == BLOB_COPY_SUCCESS;
    args->since = whole ? to.state.source_snapshot : 0;
    return OK;
}

static struct err add_patch(struct store *store, struct blob_incremental_args *args,
                            uint64_t offset, uint64_t length, size_t *pieces)
{
    struct blob_source *source = &args->source;
    source->offset = offset;
    source->length = length;
    source->pieces_max = PIECES_MAX;
    TRY(engine_view(store->engine, source->partition, ENGINE_WAIT, blob_read_source, source));
    args->patches[args->patch_count++] = (struct blob_patch){offset, source->pieces};
    *pieces += source->pieces.count;
    if (source->until < offset + length || *pieces > PIECES_MAX)
        args->whole = false;
    return OK;
}

static struct err add_differences(struct store *store, struct blob_incremental_args *args,
                                  bool *known)
{
    const struct blob_source *source = &args->source;
    struct blob_page_ranges_args ranges = {
        .request = {.arena = source->arena, .name = source->name, .at = source->at},
        .differences = true,
        .previous = args->since,
        .max = PATCHES_MAX};
    struct err error =
        engine_view(store->engine, source->partition, ENGINE_WAIT, blob_get_page_ranges, &ranges);
    size_t pieces = 0;
    *known = error.code != ERR_PREVIOUS_SNAPSHOT_NOT_FOUND && error.code != ERR_BLOB_OVERWRITTEN &&
             !ranges.more;
    if (!*known)
        return OK;
    TRY(error);
    for (size_t i = 0; i < ranges.count && args->whole; i++) {
        struct blob_page_range range = ranges.ranges[i];
        TRY(add_patch(store, args, range.start, range.end - range.start, &pieces));
    }
    return OK;
}

struct err blob_incremental_find(struct store *store, struct str partition,
                                 struct blob_incremental_args *args)
{
    struct blob_source *source = &args->source;
    bool known = false;
    size_t pieces = 0;
    if (source->at.item != BLOB_SNAPSHOT)
        return err_new(ERR_INCREMENTAL_COPY_SOURCE_MUST_BE_SNAPSHOT);
    source->found = false;
    source->length = 0;
    TRY(engine_view(store->engine, source->partition, ENGINE_WAIT, blob_read_source, source));
    if (source->head.type != BLOB_PAGE)
        return err_new(ERR_INVALID_SOURCE_BLOB_TYPE);
    args->patches = ARENA_ARRAY(source->arena, struct blob_patch, PATCHES_MAX + 1);
    args->patch_count = 0;
    args->whole = true;
    TRY(find_since(store, partition, args));
    if (args->since != 0 && args->since < source->at.time)
        TRY(add_differences(store, args, &known));
    if (known)
        return OK;
    args->since = 0;
    args->patch_count = 0;
    return source->head.size == 0 ? OK : add_patch(store, args, 0, source->head.size, &pieces);
}

/* ---- doing it ---- */

static struct str without_query(struct str url)
{
    return str_head(url, str_find(url, '?', 0));
}

static struct err check_destination(const struct blob_incremental_args *args,
                                    const struct blob *blob, struct blob_copy_state *state)
{
    if (!blob->exists)
        return blob->stored ? err_new(ERR_INVALID_BLOB_TYPE) : OK;
    if (blob->head.type != BLOB_PAGE)
        return err_new(ERR_INVALID_BLOB_TYPE);
    TRY(blob_copy_decode(blob->head.copy, state));
    if (!state->incremental || !str_eq(without_query(state->source), without_query(args->url)))
        return err_new(ERR_INCREMENTAL_COPY_BLOB_MISMATCH);
    if (state->status == BLOB_COPY_SUCCESS && args->source.at.time <= state->source_snapshot)
        return err_new(ERR_INCREMENTAL_COPY_OF_EARLIER_SNAPSHOT_NOT_ALLOWED);
    /* The changes that were read are relative to another snapshot than the blob now has. */
    bool stale = args->since != 0 && args->since != state->source_snapshot;
    return stale ? err_new(ERR_SOURCE_CONDITION_NOT_MET) : OK;
}

static struct err take_properties(struct txn *t, const struct blob_incremental_args *args,
                                  struct blob *blob)
{
    const struct blob_head *from = &args->source.head;
    struct blob_properties p = {
        .http = from->http, .metadata = from->metadata, .tags = blob->head.tags};
    blob_set_properties(t, blob, &p);
    blob->head.type = BLOB_PAGE;
    blob->head.sequence = from->sequence;
    if (from->size < blob->head.size)
        TRY(blob_pages_cut(t, &args->request, blob, from->size));
    blob->head.size = from->size;
    return OK;
}

static struct err write_patches(struct txn *t, const struct blob_incremental_args *args,
                                struct blob *blob)
{
    for (size_t i = 0; i < args->patch_count; i++)
        TRY(blob_pages_write(t, &args->request, blob, args->patches[i].offset,
                             &args->patches[i].pieces, PIECE_HOLD));
    return OK;
}

static struct err begin_job(struct txn *t, struct blob_incremental_args *args,
                            const struct blob *blob, struct blob_copy_state *state)
{
    const struct blob_source *source = &args->source;
    struct copy_job job = {.incarnation = blob->container.incarnation,
                           .id = (uint64_t)txn_stamp(t),
                           .name = args->request.name,
                           .type = BLOB_PAGE,
                           .size = source->head.size,
                           .started = txn_now(t),
                           .content = blob->head.content};
    copy_job_set_source(&job, source);
    state->status = BLOB_COPY_PENDING;
    state->job = job.id;
    args->incarnation = job.incarnation;
    args->job = job.id;
    return copy_job_save(t, &job);
}

struct err blob_incremental_copy_blob(struct txn *t, void *arg)
{
    struct blob_incremental_args *args = arg;
    struct blob_copy_state old = {0};
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_COPY_ON, &blob));
    TRY(check_destination(args, &blob, &old));
    TRY(blob_source_guard(t, &args->source));
    if (!blob.exists) {
        TRY(blob_replace(t, &args->request, BLOB_PAGE, &blob));
        blob.head.content = (uint64_t)txn_stamp(t);
    }
    TRY(take_properties(t, args, &blob));
    struct blob_copy_state state = {.id = args->id,
                                    .source = args->url,
                                    .total = args->source.head.size,
                                    .incremental = true,
                                    .snapshot = old.snapshot,
                                    .source_snapshot = args->source.at.time};
    blob.keep_copy = true;
    if (args->whole) {
        TRY(write_patches(t, args, &blob));
        state.done = state.total;
        TRY(copy_end(t, args->request.name, &blob, &state, BLOB_COPY_SUCCESS));
    } else {
        TRY(begin_job(t, args, &blob, &state));
        blob.head.copy = blob_copy_encode(txn_arena(t), &state);
        TRY(blob_save_written(t, &blob));
    }
    args->status = state.status;
    return blob_give(&args->request, &blob.head, &args->head);
}
