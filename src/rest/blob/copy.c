/* SPDX-License-Identifier: Apache-2.0 */
/* Copy Blob, Incremental Copy Blob and Abort Copy Blob: decode and encode. */
#include "rest/blob/copy.h"

#include <assert.h>

#include "rest/around.h"
#include "rest/blob/ops.h"
#include "rest/blob/protect.h"
#include "rest/blob/request.h"
#include "rest/blob/tags.h"
#include "rest/blob/upload.h"
#include "rest/copy/copier.h"
#include "rest/copy/fetch.h"
#include "rest/copy/from_url.h"
#include "rest/metadata.h"
#include "rest/server.h"
#include "service/blob/copy/incremental.h"

enum { STEPS_AT_ONCE = 64 };

/* ---- what copies have in common ---- */

/* The source's type determines the valid tiers, so this is checked later. */
static struct err read_tier(struct rest_call *call, enum blob_tier *out)
{
    const struct str name = STR("x-ms-access-tier");
    struct str text = call_header(call, name);
    *out = BLOB_TIER_NONE;
    return !str_given(text) || blob_tier_parse(text, out) ? OK : call_bad_header(call, name);
}

struct err rest_blob_read_copy_wishes(struct rest_call *call, struct blob_copy_wishes *out)
{
    assert(out != NULL);
    TRY(rest_metadata_from_headers(call, &out->metadata));
    out->has_metadata = str_given(out->metadata);
    TRY(rest_blob_read_tags_header(call, &out->tags));
    TRY(rest_blob_read_protection(call, &out->protection));
    TRY(read_tier(call, &out->tier));
    TRY(rest_blob_read_rehydrate_priority(call, &out->high_priority));
    out->rehydrate_ticks = (int64_t)call->server->options.rehydrate_seconds * TICKS_PER_SECOND;
    out->has_seal = str_given(call_header(call, STR("x-ms-seal-blob")));
    return call_header_bool(call, STR("x-ms-seal-blob"), &out->seal);
}

void rest_blob_put_copy_outcome(struct rest_call *call, const struct guid *id, struct str status)
{
    char text[GUID_TEXT_BYTES];
    guid_text(id, text);
    call_put(call, STR("x-ms-copy-id"), (struct str){text, sizeof text});
    call_put(call, STR("x-ms-copy-status"), status);
    call->status = 202;
}

/* ---- Copy Blob ---- */

struct copy_blob {
    struct blob_copy_args args; /* first: run's argument */
    struct source_url source;
    struct conditions conditions;
    struct blob_source found;
    struct from_url file;    /* a file of this server */
    struct blob_head remote; /* properties that another server reported */
};

/* A file is copied at once, like Put Blob From URL, and up to the same size. */
static struct err read_file(struct rest_call *call, struct copy_blob *copy)
{
    struct from_url *file = &copy->file;
    file->url = copy->source;
    file->length = UINT64_MAX;
    file->size_max = rest_blob_body_max(call);
    file->too_large = ERR_COPY_SOURCE_CONFLICT;
    file->inline_max = UPLOAD_INLINE_MAX;
    return from_url_read_file(call, file);
}

struct err rest_copy_blob_decode(struct rest_call *call)
{
    struct copy_blob *copy = ARENA_NEW(call->arena, struct copy_blob);
    struct blob_copy_args *args = &copy->args;
    call->args = copy;
    TRY(rest_blob_read_base_request(call, &args->request));
    /* With a type it would be Put Blob From URL, which is for block blobs only. */
    if (str_given(call_header(call, STR("x-ms-blob-type"))))
        return call_bad_header(call, STR("x-ms-blob-type"));
    copy->source.key_signs = true;
    TRY(copy_source_read(call, &copy->source));
    TRY(rest_blob_read_copy_wishes(call, &args->wishes));
    args->id = guid_random();
    args->url = copy->source.shown;
    args->needs_infinite_lease = true;
    if (copy_source_is_file(&copy->source))
        return read_file(call, copy);
    TRY(copy_source_conditions(call, &copy->source, true, &copy->conditions));
    if (copy->source.here)
        return copy_source_blob(call, &copy->source, &copy->found);
    args->remote_url = copy->source.url;
    /* Copy Blob, unlike Copy Blob From URL, does not have the header: a token may expire before the
     * copy ends. */
    const struct str token = STR("x-ms-copy-source-authorization");
    return str_given(copy->source.second.authorization)
               ? call_error(call, ERR_UNSUPPORTED_HEADER, "HeaderName", token)
               : OK;
}

/* In the pool: from another server. */
static struct err ask_source(struct rest_call *call)
{
    struct copy_blob *copy = call->args;
    struct fetch fetch;
    TRY(fetch_init(call, &copy->source, &fetch));
    struct err error = fetch_properties(&fetch, &copy->remote, &copy->args.remote_etag);
    copy->args.from = &copy->remote;
    return fetch_refused(call, &fetch, error);
}

/* In the pool: the copier continues it, and it may be done before the client asks again. */
static struct err hand_over(struct rest_call *call)
{
    const struct copy_blob *copy = call->args;
    const struct blob_copy_args *args = &copy->args;
    if (args->status == BLOB_COPY_PENDING)
        copier_add(call->server->copier, call->partition, args->incarnation, args->job);
    return OK;
}

/* If only the source's tags are requested, the service answers as if they were the destination's.
 */
static bool only_tags(const struct conditions *c)
{
    return c->if_tags != NULL && !str_given(c->if_match) && !str_given(c->if_none_match) &&
           !c->has_modified_since && !c->has_unmodified_since;
}

/* In the pool. */
static struct err find_source(struct rest_call *call)
{
    struct copy_blob *copy = call->args;
    struct blob_source *found = &copy->found;
    found->found = false;
    found->conditions = copy->conditions;
    found->archived_too = str_eq(copy->source.second.account, call->account);
    found->not_of_blocks = str_eq(found->partition, call->partition);
    found->offset = 0;
    found->length = UINT64_MAX;
    struct err error =
        store_read(call->store, found->partition, ENGINE_WAIT, blob_read_source, found);
    if (error.code == ERR_SOURCE_CONDITION_NOT_MET && only_tags(&copy->conditions))
        error.code = ERR_CONDITION_NOT_MET;
    copy->args.source = found;
    copy->args.from = &found->head;
    copy->args.pieces = &found->pieces;
    copy->args.claim = PIECE_HOLD;
    return copy_source_refused(call, error);
}

/* In the pool. */
static struct err fetch_file(struct rest_call *call)
{
    struct copy_blob *copy = call->args;
    TRY(from_url_fetch(call, &copy->file));
    copy->args.from = copy->file.head;
    copy->args.pieces = copy->file.pieces;
    copy->args.claim = PIECE_ADOPT;
    return OK;
}

static void drop_file(struct rest_call *call)
{
    struct copy_blob *copy = call->args;
    from_url_drop(&copy->file);
}

/* In the pool: a small copy may finish before the answer is sent. */
static struct err advance(struct rest_call *call)
{
    struct copy_blob *copy = call->args;
    struct blob_copy_args *args = &copy->args;
    struct copy_job_ref place = {call->partition, args->incarnation, args->job, blob_step_copy};
    bool ended = args->status != BLOB_COPY_PENDING;
    for (unsigned i = 0; i < STEPS_AT_ONCE && !ended; i++)
        TRY(copy_job_advance(call->store, &place, &ended));
    if (!ended)
        return hand_over(call);
    if (args->status != BLOB_COPY_PENDING)
        return OK;
    struct blob_copy_state state;
    struct blob_get_args now = {.request = {.arena = call->arena, .name = args->request.name}};
    struct err error = store_read(call->store, call->partition, ENGINE_WAIT, blob_get_blob, &now);
    /* Another write may have followed: the copy's result counts. */
    if (err_is(error))
        return OK;
    TRY(blob_copy_decode(now.head.copy, &state));
    if (state.status != BLOB_COPY_NONE && guid_eq(&state.id, &args->id)) {
        args->head = now.head;
        args->status = state.status;
    }
    return OK;
}

struct err rest_copy_blob_start(struct rest_call *call)
{
    const struct copy_blob *copy = call->args;
    if (copy_source_is_file(&copy->source))
        return rest_around(
            call,
            (struct around){.pool = call->server->pool, .before = fetch_file, .failed = drop_file});
    if (!copy->source.here)
        return rest_around(call, (struct around){.pool = call->server->fetch_pool,
                                                 .before = ask_source,
                                                 .after = hand_over});
    return rest_around(
        call, (struct around){.pool = call->server->pool, .before = find_source, .after = advance});
}

struct err rest_copy_blob_encode(struct rest_call *call)
{
    const struct copy_blob *copy = call->args;
    const struct blob_copy_args *args = &copy->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_copy_outcome(call, &args->id, blob_copy_status_text(args->status));
    return OK;
}

/* ---- Incremental Copy Blob ---- */

struct incremental_copy {
    struct blob_incremental_args args; /* first: run's argument */
    struct source_url source;
};

/* Snapshots are followed within this server only. */
struct err rest_incremental_copy_blob_decode(struct rest_call *call)
{
    struct incremental_copy *copy = ARENA_NEW(call->arena, struct incremental_copy);
    call->args = copy;
    TRY(rest_blob_read_base_request(call, &copy->args.request));
    copy->source.key_signs = true;
    TRY(copy_source_read(call, &copy->source));
    if (!copy->source.here)
        return err_new(ERR_INVALID_SOURCE_BLOB_URL);
    copy->args.id = guid_random();
    copy->args.url = copy->source.shown;
    return copy_source_blob(call, &copy->source, &copy->args.source);
}

static struct err find_changes(struct rest_call *call)
{
    struct incremental_copy *copy = call->args;
    return copy_source_refused(call,
                               blob_incremental_find(call->store, call->partition, &copy->args));
}

static struct err hand_over_changes(struct rest_call *call)
{
    const struct incremental_copy *copy = call->args;
    const struct blob_incremental_args *args = &copy->args;
    if (args->status == BLOB_COPY_PENDING)
        copier_add(call->server->copier, call->partition, args->incarnation, args->job);
    return OK;
}

struct err rest_incremental_copy_blob_start(struct rest_call *call)
{
    return rest_around(call, (struct around){.pool = call->server->pool,
                                             .before = find_changes,
                                             .after = hand_over_changes});
}

struct err rest_incremental_copy_blob_encode(struct rest_call *call)
{
    const struct incremental_copy *copy = call->args;
    const struct blob_incremental_args *args = &copy->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_copy_outcome(call, &args->id, blob_copy_status_text(args->status));
    return OK;
}

/* ---- Abort Copy Blob ---- */

struct err rest_abort_copy_blob_decode(struct rest_call *call)
{
    const struct str name = STR("copyid");
    struct blob_abort_args *args = ARENA_NEW(call->arena, struct blob_abort_args);
    struct str id = call_query(call, name);
    call->args = args;
    TRY(rest_blob_read_base_request(call, &args->request));
    if (!str_given(id))
        return call_missing_query(call, name);
    return guid_parse(id, &args->id) ? OK : call_bad_query(call, name);
}

struct err rest_abort_copy_blob_encode(struct rest_call *call)
{
    call->status = 204;
    return OK;
}
