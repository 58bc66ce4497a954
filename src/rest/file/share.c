/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on shares: decode and encode. */
#include "service/file/share.h"
#include "core/text/base64.h"
#include "core/text/json.h"
#include "core/text/xml.h"
#include "core/time.h"
#include "rest/blob/request.h"
#include "rest/file/ops.h"
#include "rest/file/request.h"
#include "rest/file/share_settings.h"
#include "rest/listing.h"
#include "rest/metadata.h"
#include "rest/policy_xml.h"
#include "rest/server.h"
#include "service/common/name.h"
#include "service/common/service_properties.h"
#include "service/file/keys.h"
#include "service/file/security/permission_ops.h"
#include "service/file/security/sddl.h"

enum { VERSION_USAGE_BYTES = 20180328 };
#define GIB (1ULL << 30)

static struct share_args *args_of(struct rest_call *call)
{
    return call->args;
}

/* The common start of all of them. */
static struct err decode_share(struct rest_call *call, bool snapshot, struct share_args **out)
{
    struct share_args *args = ARENA_NEW(call->arena, struct share_args);
    args->arena = call->arena;
    call->args = args;
    *out = args;
    TRY(name_check(call->container));
    call->partition = file_partition(call->arena, call->account, call->container);
    TRY(rest_file_read_snapshot(call, STR("sharesnapshot"), &args->snapshot));
    if (args->snapshot != 0 && !snapshot)
        return call_bad_query(call, STR("sharesnapshot"));
    return rest_blob_read_lease_id(call, &args->lease);
}

static void put_etag(struct rest_call *call)
{
    const struct share *s = &args_of(call)->share;
    rest_blob_put_etag(call, s->etag, s->last_modified);
}

/* ---- Create Share ---- */

struct err rest_create_share_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    TRY(rest_share_settings_read(call, args));
    TRY(rest_share_protocol_read(call, &args->protocol));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_create_share_encode(struct rest_call *call)
{
    put_etag(call);
    rest_share_settings_put_provision(call, &args_of(call)->share, false);
    call->status = 201;
    return OK;
}

/* ---- Get Share Properties, Metadata, ACL, Stats ---- */

struct err rest_get_share_decode(struct rest_call *call)
{
    struct share_args *args;
    return decode_share(call, true, &args);
}

struct err rest_get_share_properties_encode(struct rest_call *call)
{
    const struct share_args *args = args_of(call);
    const struct share *s = &args->share;
    if (args->snapshot != 0) {
        const struct share_snapshot *snapshot = &args->of_snapshot;
        rest_blob_put_etag(call, snapshot->etag, snapshot->last_modified);
        rest_metadata_put_headers(call, snapshot->metadata);
        rest_share_settings_put(call, s, &snapshot->settings);
        rest_blob_put_lease(call, &snapshot->lease);
        return OK;
    }
    put_etag(call);
    rest_metadata_put_headers(call, s->metadata);
    rest_share_settings_put(call, s, &s->settings);
    rest_blob_put_lease(call, &s->lease);
    return OK;
}

struct err rest_get_share_metadata_encode(struct rest_call *call)
{
    const struct share_args *args = args_of(call);
    if (args->snapshot != 0)
        rest_blob_put_etag(call, args->of_snapshot.etag, args->of_snapshot.last_modified);
    else
        put_etag(call);
    rest_metadata_put_headers(call, args->snapshot != 0 ? args->of_snapshot.metadata
                                                        : args->share.metadata);
    return OK;
}

struct err rest_get_share_acl_encode(struct rest_call *call)
{
    put_etag(call);
    call_begin_xml(call);
    policies_put_xml(&call->out, args_of(call)->share.acl);
    return OK;
}

/* Before 2018-03-28 usage is given in whole GiB, rounded up. */
struct err rest_get_share_stats_encode(struct rest_call *call)
{
    put_etag(call);
    call_begin_xml(call);
    xml_open(&call->out, STR("ShareStats"));
    uint64_t bytes = args_of(call)->share.usage;
    if (call->version < VERSION_USAGE_BYTES)
        xml_element_u64(&call->out, STR("ShareUsage"), (bytes + GIB - 1) / GIB);
    else
        xml_element_u64(&call->out, STR("ShareUsageBytes"), bytes);
    xml_close(&call->out, STR("ShareStats"));
    return OK;
}

/* ---- Set Share Properties, Metadata, ACL ---- */

struct err rest_set_share_properties_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    return rest_share_settings_read(call, args);
}

struct err rest_set_share_properties_encode(struct rest_call *call)
{
    put_etag(call);
    rest_share_settings_put_provision(call, &args_of(call)->share, true);
    return OK;
}

struct err rest_set_share_metadata_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_set_share_acl_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    return policies_from_xml(call, STR("rcwdl"), &args->acl);
}

struct err rest_set_share_encode(struct rest_call *call)
{
    put_etag(call);
    return OK;
}

/* ---- Lease Share ---- */

struct err rest_lease_share_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, true, &args));
    return rest_blob_read_lease_request(call, &args->lease_request);
}

struct err rest_lease_share_encode(struct rest_call *call)
{
    const struct share_args *args = args_of(call);
    bool snapshot = args->snapshot != 0;
    put_etag(call);
    rest_blob_put_lease_outcome(call, &args->lease_request,
                                snapshot ? &args->of_snapshot.lease : &args->share.lease,
                                args->lease_left_seconds);
    return OK;
}

/* ---- Snapshot Share ---- */

struct err rest_snapshot_share_decode(struct rest_call *call)
{
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    TRY(rest_metadata_from_headers(call, &args->metadata));
    args->has_metadata = str_given(args->metadata);
    return OK;
}

struct err rest_snapshot_share_encode(struct rest_call *call)
{
    const struct share_snapshot *s = &args_of(call)->of_snapshot;
    rest_blob_put_etag(call, s->etag, s->last_modified);
    rest_file_put_iso(call, STR("x-ms-snapshot"), s->stamp);
    call->status = 201;
    return OK;
}

/* ---- Delete Share, Restore Share ---- */

struct err rest_delete_share_decode(struct rest_call *call)
{
    static const struct str WORDS[] = {STR_INIT(""), STR_INIT("include"),
                                       STR_INIT("include-leased")};
    const struct str name = STR("x-ms-delete-snapshots");
    struct share_args *args;
    unsigned word = 0;
    TRY(decode_share(call, true, &args));
    if (str_given(call_header(call, name))) {
        TRY(rest_share_word_read(call, name, WORDS, 3, &word));
        if (args->snapshot != 0)
            return call_bad_header(call, name);
    }
    args->delete_snapshots = (enum share_delete_snapshots)word;
    args->blocked_ticks = (int64_t)call->server->options.share_delete_seconds * TICKS_PER_SECOND;
    args->properties = service_properties_partition(call->arena, SERVICE_FILE, call->account);
    return OK;
}

struct err rest_delete_share_encode(struct rest_call *call)
{
    const struct share_args *args = args_of(call);
    if (args->snapshot != 0)
        call_put_u64(call, STR("x-ms-file-share-snapshot-usage-bytes"), args->of_snapshot.usage);
    else
        call_put_u64(call, STR("x-ms-file-share-usage-bytes"), args->share.usage);
    call->status = 202;
    return OK;
}

struct err rest_restore_share_decode(struct rest_call *call)
{
    const struct str version = STR("x-ms-deleted-share-version");
    struct str name = call_header(call, STR("x-ms-deleted-share-name"));
    struct share_args *args;
    TRY(decode_share(call, false, &args));
    if (!str_given(name))
        return call_missing_header(call, STR("x-ms-deleted-share-name"));
    if (!str_eq(name, call->container))
        return call_bad_header(call, STR("x-ms-deleted-share-name"));
    if (!str_given(call_header(call, version)))
        return call_missing_header(call, version);
    return listing_parse_version(call_header(call, version), &args->deleted_version)
               ? OK
               : call_bad_header(call, version);
}

/* ---- Create Permission, Get Permission ---- */

struct err rest_create_permission_decode(struct rest_call *call)
{
    struct permission_args *args = ARENA_NEW(call->arena, struct permission_args);
    struct json_reader r = json_reader_of(call->arena, call->body);
    struct json_value object = json_value(&r);
    struct str permission = STR_NONE;
    struct str format = STR_NONE;
    struct str name;
    call->args = args;
    args->arena = call->arena;
    TRY(name_check(call->container));
    call->partition = file_partition(call->arena, call->account, call->container);
    while (object.kind == JSON_OBJECT && json_member(&r, &name)) {
        struct json_value v = json_value(&r);
        if (str_ieq(name, STR("permission")) && v.kind == JSON_STRING)
            permission = v.text;
        else if (str_ieq(name, STR("format")) && v.kind == JSON_STRING)
            format = v.text;
        else
            json_skip(&r, v);
    }
    if (!json_done(&r) || !str_given(permission) ||
        (str_given(format) && !rest_file_permission_format_known(format)))
        return err_new(ERR_INVALID_INPUT);
    return rest_file_read_permission_text(call, permission, format, &args->sd);
}

struct err rest_create_permission_encode(struct rest_call *call)
{
    const struct permission_args *args = call->args;
    rest_file_put_permission_key(call, &args->key);
    call->status = 201;
    return OK;
}

struct err rest_get_permission_decode(struct rest_call *call)
{
    const struct str name = STR("x-ms-file-permission-key");
    struct permission_args *args = ARENA_NEW(call->arena, struct permission_args);
    call->args = args;
    args->arena = call->arena;
    TRY(name_check(call->container));
    call->partition = file_partition(call->arena, call->account, call->container);
    if (!str_given(call_header(call, name)))
        return call_missing_header(call, name);
    return permission_key_parse(call_header(call, name), &args->key) ? OK
                                                                     : call_bad_header(call, name);
}

struct err rest_get_permission_encode(struct rest_call *call)
{
    const struct permission_args *args = call->args;
    struct str format = call_header(call, STR("x-ms-file-permission-format"));
    bool binary = str_given(format) && str_ieq(format, STR("binary"));
    struct buf text = buf_in(call->arena);
    struct json_writer w = json_writer_of(&call->out);
    struct sd sd;
    TRY(sd_decode(call->arena, args->sd, &sd));
    if (binary)
        base64_put(&text, args->sd);
    else
        sddl_put(&text, &sd);
    call_put(call, STR("Content-Type"), STR("application/json"));
    json_open(&w, '{');
    json_name(&w, STR("permission"));
    json_string(&w, buf_str(&text));
    if (str_given(format)) {
        json_name(&w, STR("format"));
        json_string(&w, binary ? STR("binary") : STR("sddl"));
    }
    json_close(&w, '}');
    return OK;
}
