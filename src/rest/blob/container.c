/* SPDX-License-Identifier: Apache-2.0 */
/* The operations on containers: decode and encode. */
#include "service/blob/container.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/listing.h"
#include "rest/metadata.h"
#include "rest/policy_xml.h"
#include "rest/server.h"

static struct container_args *args_of(struct rest_call *call)
{
    return call->args;
}

/* The common start of all of them. */
static struct err decode_container(struct rest_call *call, struct container_args **out)
{
    struct container_args *args = ARENA_NEW(call->arena, struct container_args);
    TRY(rest_blob_read_container_request(call, &args->request));
    call->args = args;
    *out = args;
    return OK;
}

static struct err read_public_access(struct rest_call *call, enum blob_public *out)
{
    const struct str name = STR("x-ms-blob-public-access");
    struct str text = call_header(call, name);
    *out = BLOB_PUBLIC_NONE;
    if (!str_given(text))
        return OK;
    if (str_ieq(text, STR("container")))
        *out = BLOB_PUBLIC_CONTAINER;
    else if (str_ieq(text, STR("blob")))
        *out = BLOB_PUBLIC_BLOB;
    else
        return call_bad_header(call, name);
    return OK;
}

static void put_public_access(struct rest_call *call, enum blob_public level)
{
    if (level != BLOB_PUBLIC_NONE)
        call_put(call, STR("x-ms-blob-public-access"),
                 level == BLOB_PUBLIC_BLOB ? STR("blob") : STR("container"));
}

static void put_etag(struct rest_call *call)
{
    const struct container *c = &args_of(call)->container;
    rest_blob_put_etag(call, c->etag, c->last_modified);
}

/* ---- Create Container ---- */

static struct err read_default_scope(struct rest_call *call, struct container_args *args)
{
    const struct str name = STR("x-ms-default-encryption-scope");
    const struct str deny = STR("x-ms-deny-encryption-scope-override");
    TRY(rest_blob_read_encryption_scope(call, name, &args->encryption_scope));
    if (str_eq(args->encryption_scope, BLOB_ACCOUNT_SCOPE))
        args->encryption_scope = STR_NONE;
    TRY(call_header_bool(call, deny, &args->deny_scope_override));
    /* To deny other scopes, the request must name one. */
    return args->deny_scope_override && !str_given(call_header(call, name))
               ? call_missing_header(call, name)
               : OK;
}

struct err rest_create_container_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode_container(call, &args));
    TRY(read_public_access(call, &args->public_access));
    TRY(read_default_scope(call, args));
    args->hierarchical = accounts_is_hierarchical(call->server->auth.accounts, call->account);
    if (call->who.kind == AUTH_BEARER)
        args->owner = call->who.identity;
    return rest_metadata_from_headers(call, &args->metadata);
}

struct err rest_create_container_encode(struct rest_call *call)
{
    put_etag(call);
    call->status = 201;
    return OK;
}

/* ---- Delete Container ---- */

struct err rest_delete_container_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode_container(call, &args));
    const struct rest_options *options = &call->server->options;
    args->delete_ticks = (int64_t)options->container_delete_seconds * TICKS_PER_SECOND;
    args->retention_ticks = (int64_t)options->container_retention_days * TICKS_PER_DAY;
    return OK;
}

struct err rest_delete_container_encode(struct rest_call *call)
{
    call->status = 202;
    return OK;
}

/* ---- Restore Container ---- */

/* A container can only be restored under its original name. Azure withdrew the other form in 2021,
 * and says since that the header must match the destination's name (azure-sdk-for-cpp pull request
 * 2263, azure-docs issue 77199); so the SDKs' renaming option is deprecated. */
struct err rest_restore_container_decode(struct rest_call *call)
{
    const struct str name = STR("x-ms-deleted-container-name");
    const struct str version = STR("x-ms-deleted-container-version");
    struct container_args *args;
    TRY(decode_container(call, &args));
    if (call_header(call, name).n == 0)
        return call_missing_header(call, name);
    if (call_header(call, version).n == 0)
        return call_missing_header(call, version);
    if (!str_eq(call_header(call, name), call->container))
        return call_bad_header(call, name);
    if (!listing_parse_version(call_header(call, version), &args->deleted_version))
        return call_bad_header(call, version);
    return OK;
}

struct err rest_restore_container_encode(struct rest_call *call)
{
    put_etag(call);
    call->status = 201;
    return OK;
}

/* ---- Get Container Properties, Get Container Metadata ---- */

struct err rest_get_container_decode(struct rest_call *call)
{
    struct container_args *args;
    return decode_container(call, &args);
}

struct err rest_get_container_properties_encode(struct rest_call *call)
{
    const struct container *c = &args_of(call)->container;
    put_etag(call);
    rest_metadata_put_headers(call, c->metadata);
    rest_blob_put_lease(call, &c->lease);
    put_public_access(call, c->public_access);
    call_put_bool(call, STR("x-ms-has-immutability-policy"), false);
    call_put_bool(call, STR("x-ms-has-legal-hold"), false);
    /* In the cloud the management plane sets it; here every container accepts policies. */
    call_put_bool(call, STR("x-ms-immutable-storage-with-versioning-enabled"), true);
    call_put(call, STR("x-ms-default-encryption-scope"), container_scope(c));
    call_put_bool(call, STR("x-ms-deny-encryption-scope-override"), c->deny_scope_override);
    return OK;
}

struct err rest_get_container_metadata_encode(struct rest_call *call)
{
    put_etag(call);
    rest_metadata_put_headers(call, args_of(call)->container.metadata);
    return OK;
}

/* ---- Set Container Metadata ---- */

struct err rest_set_container_metadata_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode_container(call, &args));
    return rest_metadata_from_headers(call, &args->metadata);
}

/* ---- Get and Set Container ACL ---- */

struct err rest_get_container_acl_encode(struct rest_call *call)
{
    const struct container *c = &args_of(call)->container;
    put_etag(call);
    put_public_access(call, c->public_access);
    call_begin_xml(call);
    policies_put_xml(&call->out, c->acl);
    return OK;
}

struct err rest_set_container_acl_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode_container(call, &args));
    TRY(read_public_access(call, &args->public_access));
    return policies_from_xml(call, STR("racwdxyltfmeopi"), &args->acl);
}

/* For Set Container Metadata and Set Container ACL. */
struct err rest_set_container_encode(struct rest_call *call)
{
    put_etag(call);
    return OK;
}

/* ---- Lease Container ---- */

struct err rest_lease_container_decode(struct rest_call *call)
{
    struct container_args *args;
    TRY(decode_container(call, &args));
    return rest_blob_read_lease_request(call, &args->lease);
}

struct err rest_lease_container_encode(struct rest_call *call)
{
    const struct container_args *args = args_of(call);
    put_etag(call);
    rest_blob_put_lease_outcome(call, &args->lease, &args->container.lease,
                                args->lease_left_seconds);
    return OK;
}
