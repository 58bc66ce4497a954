/* SPDX-License-Identifier: Apache-2.0 */
/* Put Blob, Set Blob Properties and Metadata, Snapshot, Delete, Lease: decode and encode. */
#include "core/time.h"
#include "rest/blob/ops.h"
#include "rest/blob/page.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "rest/head/second.h"
#include "rest/metadata.h"

/* ---- Put Blob ---- */

struct put_blob {
    struct blob_put_args args; /* first: run's argument */
    struct blob_upload *upload;
};

/* Ends the sink as usual, then passes its result to the transaction. Stores the content's MD5
 * unless the client sets another. */
static struct err put_blob_end(struct rest_sink *sink)
{
    struct blob_upload *u = (struct blob_upload *)(void *)sink;
    struct put_blob *put = u->call->args;
    TRY(rest_blob_upload_end(u));
    put->args.size = u->upload.size;
    if (!str_given(put->args.properties.http.content_md5))
        put->args.properties.http.content_md5 =
            (struct str){(const char *)u->upload.md5, MD5_BYTES};
    return OK;
}

/* For a block blob, the MD5 to store is also compared with the body, before Content-MD5. */
static struct err prefer_content_md5(struct rest_call *call, struct put_blob *put)
{
    struct str md5 = put->args.properties.http.content_md5;
    if (!str_given(md5))
        return OK;
    if (md5.n != MD5_BYTES)
        return call_error(call, ERR_INVALID_MD5, "HeaderName", STR("x-ms-blob-content-md5"));
    memcpy(put->upload->md5, md5.p, MD5_BYTES);
    put->upload->has_md5 = true;
    return OK;
}

struct err rest_put_blob_decode(struct rest_call *call)
{
    struct put_blob *put = ARENA_NEW(call->arena, struct put_blob);
    call->args = put;
    TRY(rest_blob_read_base_request(call, &put->args.request));
    TRY(rest_blob_read_properties(call, true, &put->args.properties));
    TRY(rest_blob_read_tier(call, false, &put->args.properties.tier));
    if (str_given(call_header(call, STR("x-ms-blob-content-length"))))
        return call_bad_header(call, STR("x-ms-blob-content-length"));
    struct blob_upload_options options = {
        .size_max = rest_blob_body_max(call), .inline_max = UPLOAD_INLINE_MAX, .always_md5 = true};
    TRY(rest_blob_upload_begin(call, &options, &put->upload));
    TRY(prefer_content_md5(call, put));
    put->upload->base.end = put_blob_end;
    put->args.pieces = &put->upload->upload.pieces;
    return OK;
}

struct err rest_put_blob_encode(struct rest_call *call)
{
    const struct put_blob *put = call->args;
    rest_blob_put_etag(call, put->args.head.etag, put->args.head.last_modified);
    rest_blob_put_version_id(call, put->args.head.version);
    rest_blob_upload_put_checksums(call, put->upload);
    rest_blob_put_encrypted(call, put->args.head.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Set Blob Properties, Set Blob Metadata ---- */

static struct err decode_set(struct rest_call *call, struct blob_set_args **out)
{
    struct blob_set_args *args = ARENA_NEW(call->arena, struct blob_set_args);
    call->args = args;
    *out = args;
    return rest_blob_read_base_request(call, &args->request);
}

struct err rest_set_blob_properties_decode(struct rest_call *call)
{
    struct blob_set_args *args;
    TRY(decode_set(call, &args));
    TRY(rest_blob_read_http(call, false, &args->http));
    return rest_blob_read_page_change(call, args);
}

struct err rest_set_blob_properties_encode(struct rest_call *call)
{
    const struct blob_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    if (args->head.type == BLOB_PAGE)
        call_put_u64(call, STR("x-ms-blob-sequence-number"), args->head.sequence);
    return OK;
}

struct err rest_set_blob_metadata_decode(struct rest_call *call)
{
    struct blob_set_args *args;
    TRY(decode_set(call, &args));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_set_blob_metadata_encode(struct rest_call *call)
{
    const struct blob_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_encrypted(call, args->head.encryption_scope);
    return OK;
}

/* ---- Snapshot Blob ---- */

struct err rest_snapshot_blob_decode(struct rest_call *call)
{
    struct blob_set_args *args;
    TRY(decode_set(call, &args));
    TRY(rest_metadata_from_headers(call, &args->metadata));
    args->has_metadata = str_given(args->metadata);
    return OK;
}

struct err rest_snapshot_blob_encode(struct rest_call *call)
{
    const struct blob_set_args *args = call->args;
    char time[TIME_ISO_BYTES];
    time_iso(args->snapshot, time);
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    call_put(call, STR("x-ms-snapshot"), (struct str){time, sizeof time});
    rest_blob_put_version_id(call, args->version);
    call_put_bool(call, STR("x-ms-request-server-encrypted"), false);
    call->status = 201;
    return OK;
}

/* ---- Lease Blob ---- */

struct err rest_lease_blob_decode(struct rest_call *call)
{
    struct blob_set_args *args;
    TRY(decode_set(call, &args));
    return rest_blob_read_lease_request(call, &args->lease);
}

struct err rest_lease_blob_encode(struct rest_call *call)
{
    const struct blob_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_lease_outcome(call, &args->lease, &args->head.lease, args->lease_left_seconds);
    return OK;
}

/* ---- Delete Blob ---- */

static struct err read_delete_snapshots(struct rest_call *call, struct blob_delete_args *args)
{
    const struct str name = STR("x-ms-delete-snapshots");
    struct str text = call_header(call, name);
    if (!str_given(text))
        return OK;
    if (str_ieq(text, STR("include")))
        args->snapshots = BLOB_SNAPSHOTS_INCLUDE;
    else if (str_ieq(text, STR("only")))
        args->snapshots = BLOB_SNAPSHOTS_ONLY;
    else
        return call_bad_header(call, name);
    /* A snapshot or version has none. (The service reports the version's id as the error, not the
     * header.) */
    if (args->request.at.item == BLOB_VERSION)
        return call_bad_query(call, STR("versionid"));
    return args->request.at.item != BLOB_BASE ? call_bad_header(call, name) : OK;
}

/* Since 2026-04-06. */
static struct err read_tier_times(struct rest_call *call, struct blob_delete_args *args)
{
    TRY(rest_blob_read_date(call, STR("x-ms-access-tier-if-modified-since"),
                            &args->has_tier_modified_since, &args->tier_modified_since));
    return rest_blob_read_date(call, STR("x-ms-access-tier-if-unmodified-since"),
                               &args->has_tier_unmodified_since, &args->tier_unmodified_since);
}

struct err rest_delete_blob_decode(struct rest_call *call)
{
    struct blob_delete_args *args = ARENA_NEW(call->arena, struct blob_delete_args);
    call->args = args;
    struct str type = call_query(call, STR("deletetype"));
    TRY(rest_blob_read_request(call, &args->request));
    args->permanent = str_ieq(type, STR("permanent"));
    if (str_given(type) && !args->permanent)
        return call_bad_query(call, STR("deletetype"));
    TRY(read_tier_times(call, args));
    return read_delete_snapshots(call, args);
}

struct err rest_delete_blob_encode(struct rest_call *call)
{
    const struct blob_delete_args *args = call->args;
    call_put_bool(call, STR("x-ms-delete-type-permanent"), !args->kept);
    if (args->deletion_id != 0)
        call_put_u64(call, STR("x-ms-deletion-id"), (uint64_t)args->deletion_id);
    call->status = 202;
    return OK;
}

/* ---- Undelete Blob ---- */

/* "path?deletionid=N": selects one of several deleted paths of the same name in a hierarchical
 * account. */
static struct err read_deletion_id(struct rest_call *call, struct blob_undelete_args *args)
{
    const struct str name = SECOND_UNDELETE_SOURCE;
    struct str query = call_header(call, name);
    const struct str parameter = STR("deletionid=");
    uint64_t id;
    if (!str_given(query))
        return OK;
    (void)str_cut(&query, '?');
    if (!str_given(query) || !str_istarts(query, parameter) ||
        !str_to_u64(str_from(query, parameter.n), &id) || id == 0 || id > INT64_MAX)
        return call_bad_header(call, name);
    args->deletion_id = (int64_t)id;
    return OK;
}

struct err rest_undelete_blob_decode(struct rest_call *call)
{
    struct blob_undelete_args *args = ARENA_NEW(call->arena, struct blob_undelete_args);
    call->args = args;
    TRY(read_deletion_id(call, args));
    return rest_blob_read_base_request(call, &args->request);
}

struct err rest_undelete_blob_encode(struct rest_call *call)
{
    const struct blob_undelete_args *args = call->args;
    if (args->deletion_id == 0)
        return OK;
    call_put(call, STR("x-ms-resource-type"),
             args->head.path.directory ? STR("directory") : STR("file"));
    call_put_time(call, STR("x-ms-creation-time"), args->head.created);
    return OK;
}
