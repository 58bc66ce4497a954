/* SPDX-License-Identifier: Apache-2.0 */
/* Read, properties, status and access control of paths: decode and encode. */
#include "rest/blob/get.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/dfs/ops.h"
#include "rest/dfs/request.h"
#include "rest/server.h"

/* ---- Read, Get Properties: as Blob has them, with the properties in this API's form too ---- */

struct err rest_read_path_decode(struct rest_call *call)
{
    if (call->object.n == 0)
        return err_new(ERR_OPERATION_NOT_SUPPORTED_ON_DIRECTORY);
    return rest_get_blob_decode(call);
}

struct err rest_read_path_encode(struct rest_call *call)
{
    const struct get_blob *get = call->args;
    dfs_put_properties(call, &get->args.head);
    return rest_get_blob_encode(call);
}

struct err rest_get_path_properties_decode(struct rest_call *call)
{
    struct get_blob *get = ARENA_NEW(call->arena, struct get_blob);
    call->args = get;
    return dfs_read_request(call, &get->args.request);
}

struct err rest_get_path_properties_encode(struct rest_call *call)
{
    const struct get_blob *get = call->args;
    dfs_put_properties(call, &get->args.head);
    return rest_get_blob_properties_encode(call);
}

/* ---- Get Status, Get Access Control, Check Access ---- */

static struct err decode(struct rest_call *call, struct path_set_args **out)
{
    struct path_set_args *args = ARENA_NEW(call->arena, struct path_set_args);
    call->args = args;
    *out = args;
    return dfs_read_request(call, &args->request);
}

struct err rest_get_path_status_decode(struct rest_call *call)
{
    struct path_set_args *args;
    return decode(call, &args);
}

struct err rest_get_path_status_encode(struct rest_call *call)
{
    const struct path_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    dfs_put_status(call, &args->head, args->hierarchical);
    call->content_length = (int64_t)args->head.size;
    return OK;
}

struct err rest_get_path_access_control_encode(struct rest_call *call)
{
    const struct path_set_args *args = call->args;
    struct buf mode = buf_in(call->arena);
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    acl_put_mode(&mode, &args->head.path);
    call_put(call, STR("x-ms-owner"), acl_owner(&args->head.path));
    call_put(call, STR("x-ms-group"), acl_group(&args->head.path));
    call_put(call, STR("x-ms-permissions"), buf_str(&mode));
    dfs_put_acl(call, &args->head);
    return OK;
}

struct err rest_check_path_access_decode(struct rest_call *call)
{
    const struct str name = STR("fsAction");
    struct str letters = call_query(call, name);
    struct path_set_args *args;
    TRY(decode(call, &args));
    if (!str_given(letters))
        return call_missing_query(call, name);
    for (size_t i = 0; i < letters.n; i++) {
        char c = letters.p[i];
        if (c != 'r' && c != 'w' && c != 'x' && c != '-')
            return call_bad_query(call, name);
        args->bits |= c == 'r' ? ACL_READ : c == 'w' ? ACL_WRITE : c == 'x' ? ACL_EXECUTE : 0;
    }
    return OK;
}

struct err rest_check_path_access_encode(struct rest_call *call)
{
    const struct path_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    return OK;
}

/* ---- Set Access Control, Set Properties ---- */

/* Changing the owner needs more permission than changing the rights of others. */
static struct err check_letters(struct rest_call *call, const struct path_set_args *args)
{
    bool gives = str_given(args->owner) || str_given(args->group);
    bool allows = args->has_mode || args->has_acl;
    return (!gives || auth_permits(&call->who, "o")) && (!allows || auth_permits(&call->who, "p"))
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

struct err rest_set_path_access_control_decode(struct rest_call *call)
{
    struct path_set_args *args;
    TRY(decode(call, &args));
    TRY(dfs_read_id(call, STR("x-ms-owner"), &args->owner));
    TRY(dfs_read_id(call, STR("x-ms-group"), &args->group));
    TRY(dfs_read_mode(call, STR("x-ms-permissions"), &args->mode, &args->has_mode));
    TRY(dfs_read_acl(call, false, &args->acl, &args->has_acl));
    if (args->has_mode && args->has_acl)
        return call_bad_header(call, STR("x-ms-acl"));
    return check_letters(call, args);
}

struct err rest_set_path_access_control_encode(struct rest_call *call)
{
    const struct path_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    call_put_bool(call, STR("x-ms-namespace-enabled"), args->hierarchical);
    return OK;
}

struct err rest_set_path_properties_decode(struct rest_call *call)
{
    struct path_set_args *args;
    TRY(decode(call, &args));
    TRY(dfs_read_http(call, &args->http));
    return dfs_read_properties(call, &args->metadata);
}

struct err rest_set_path_properties_encode(struct rest_call *call)
{
    const struct path_set_args *args = call->args;
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    return OK;
}
