/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path.h"

#include "service/common/pairs.h"

/* Clients differ in the case of the name. */
static struct str mark_of(struct str metadata)
{
    struct reader r = reader_of(metadata);
    struct pair pair;
    while (pairs_next(&r, &pair))
        if (str_ieq(pair.name, PATH_FOLDER_MARK))
            return pair.value;
    return STR_NONE;
}

bool path_has_mark(struct str metadata)
{
    return str_given(mark_of(metadata));
}

bool path_is_marked(struct str metadata)
{
    return str_ieq(mark_of(metadata), STR("true"));
}

bool path_is_folder(const struct blob_head *head, bool hierarchical)
{
    return hierarchical ? head->path.directory : path_is_marked(head->metadata);
}

struct str path_unmark(struct arena *a, struct str metadata)
{
    struct buf b = buf_in(a);
    struct reader r = reader_of(metadata);
    struct pair pair;
    while (pairs_next(&r, &pair))
        if (!str_ieq(pair.name, PATH_FOLDER_MARK))
            pairs_put(&b, pair.name, pair.value);
    return b.n == 0 ? STR_NONE : buf_str(&b);
}

struct str path_mark(struct arena *a, struct str metadata)
{
    struct buf b = buf_in(a);
    buf_put(&b, path_unmark(a, metadata));
    pairs_put(&b, PATH_FOLDER_MARK, STR("true"));
    return buf_str(&b);
}

/* ---- Create ---- */

static struct err need_hierarchy(const struct container *container)
{
    return container->hierarchical ? OK : err_new(ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED);
}

static struct err check_flat_create(const struct path_create_args *args, const struct blob *blob)
{
    const struct tree_request *path = &args->request.path;
    if (args->acl != NULL || path->has_mode || path->has_umask || str_given(args->owner) ||
        str_given(args->group) || args->has_expiry)
        return err_new(ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED);
    return blob->exists && path_is_marked(blob->head.metadata) != path->directory
               ? err_new(ERR_PATH_CONFLICT)
               : OK;
}

/* A creator cannot give the path to another user, nor to a group that it is not a member of. */
static struct err check_given(const struct path_create_args *args)
{
    const struct acl_caller *caller = args->request.path.caller;
    if (caller == NULL)
        return OK;
    bool own = !str_given(args->owner) || str_ieq(args->owner, caller->id);
    return own && (!str_given(args->group) || acl_is_member(caller, args->group))
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

/* Overwriting a path does not change its owner and permissions, unless the caller could change them
 * directly (Set Access Control). The mode is ignored then, like that of open(2); drivers always
 * send one. */
static struct err check_there(const struct path_create_args *args, const struct blob_path *path,
                              bool *may)
{
    *may = args->may_change_access && acl_is_owner(path, args->request.path.caller);
    bool gives = str_given(args->owner) || str_given(args->group);
    if (gives && !acl_is_owner(path, args->request.path.caller))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    return args->acl != NULL && !*may ? err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH) : OK;
}

/* Requested values take precedence over inherited ones. */
static struct err give_access(struct txn *t, const struct path_create_args *args, bool is_new,
                              struct blob *blob)
{
    struct blob_path *path = &blob->head.path;
    bool may = true;
    TRY(check_given(args));
    if (!is_new)
        TRY(check_there(args, path, &may));
    if (str_given(args->owner))
        path->owner = args->owner;
    if (str_given(args->group))
        path->group = args->group;
    if (str_given(args->encryption_context))
        path->encryption_context = args->encryption_context;
    if (args->request.path.has_mode && !is_new && may)
        TRY(acl_set_mode(txn_arena(t), args->request.path.mode, path));
    if (args->acl == NULL)
        return OK;
    struct acl_request set = {.how = ACL_SET, .entries = args->acl};
    return acl_apply(txn_arena(t), &set, path);
}

static struct err give_expiry(struct txn *t, const struct path_create_args *args,
                              struct blob_head *head)
{
    if (!args->has_expiry || args->expiry == BLOB_EXPIRY_NEVER)
        return OK;
    if (head->path.directory)
        return err_new(ERR_EXPIRY_NOT_SUPPORTED_FOR_DIRECTORY);
    head->expires =
        args->expiry == BLOB_EXPIRY_AT ? args->expiry_ticks : txn_now(t) + args->expiry_ticks;
    return head->expires > txn_now(t) ? OK : err_new(ERR_INVALID_HEADER_VALUE);
}

static struct err make(struct txn *t, struct path_create_args *args, struct blob *blob)
{
    bool directory = args->request.path.directory, is_new = !blob->stored;
    struct blob_properties properties = args->properties;
    int left;
    if (!blob->container.hierarchical)
        TRY(check_flat_create(args, blob));
    TRY(blob_check_type(blob, blob->stored ? blob->head.type : BLOB_BLOCK));
    enum blob_type type = args->appends && !directory ? BLOB_APPEND : BLOB_BLOCK;
    TRY(blob_replace(t, &args->request, type, blob));
    if (directory && !blob->container.hierarchical)
        properties.metadata = path_mark(txn_arena(t), properties.metadata);
    if (directory && is_new && blob->container.hierarchical)
        blob->head.path.id = path_tree_new_id(t, blob->made);
    blob_set_properties(t, blob, &properties);
    blob->head.type = type;
    if (blob->container.hierarchical)
        TRY(give_access(t, args, is_new, blob));
    TRY(give_expiry(t, args, &blob->head));
    if (args->has_lease)
        TRY(lease_apply(&blob->head.lease, &args->lease, txn_now(t), &left));
    blob->soon = true; /* the creator of a file appends to it */
    return blob_save_written(t, blob);
}

struct err path_create(struct txn *t, void *arg)
{
    struct path_create_args *args = arg;
    struct blob blob;
    struct err error = blob_open(t, &args->request, BLOB_CREATE, &blob);
    args->existed = blob.exists;
    args->existed_as_directory =
        blob.exists && path_is_folder(&blob.head, blob.container.hierarchical);
    TRY(error);
    TRY(make(t, args, &blob));
    blob_give_written(&args->request, &blob.head, &args->written);
    return OK;
}

/* ---- access control ---- */

/* Only the owner may change permissions, and only a superuser may change the owner; the owner may
 * set a group of which it is a member. */
static struct err check_owner(const struct path_set_args *args, const struct blob_path *path)
{
    const struct acl_caller *caller = args->request.path.caller;
    if (caller == NULL)
        return OK;
    bool member = !str_given(args->group) || acl_is_member(caller, args->group);
    bool keeps = !str_given(args->owner) || str_ieq(args->owner, acl_owner(path));
    return acl_is_owner(path, caller) && keeps && member
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

struct err path_set_access_control(struct txn *t, void *arg)
{
    struct path_set_args *args = arg;
    struct blob_request request = args->request;
    struct blob blob;
    request.path.looks = true; /* the owner needs no right to the path itself */
    TRY(blob_open(t, &request, BLOB_CHANGE, &blob));
    TRY(need_hierarchy(&blob.container));
    struct blob_path *path = &blob.head.path;
    TRY(check_owner(args, path));
    if (str_given(args->owner))
        path->owner = args->owner;
    if (str_given(args->group))
        path->group = args->group;
    if (args->has_mode)
        TRY(acl_set_mode(txn_arena(t), args->mode, path));
    struct acl_request set = {.how = ACL_SET, .entries = &args->acl};
    if (args->has_acl)
        TRY(acl_apply(txn_arena(t), &set, path));
    args->hierarchical = true;
    TRY(blob_save_unchanged(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

static struct err get(struct txn *t, struct path_set_args *args)
{
    struct blob_request request = args->request;
    struct blob blob;
    request.path.looks = true;
    struct err error = blob_open(t, &request, BLOB_READ, &blob);
    args->hierarchical = blob.container.hierarchical;
    if (!err_is(error) || error.code == ERR_NOT_MODIFIED)
        TRY(blob_give(&args->request, &blob.head, &args->head));
    return error;
}

struct err path_get_status(struct txn *t, void *arg)
{
    return get(t, arg);
}

/* A flat container reports that first: drivers use it as a probe. */
struct err path_get_access_control(struct txn *t, void *arg)
{
    struct container container;
    TRY(container_load(t, &container));
    TRY(need_hierarchy(&container));
    return get(t, arg);
}

struct err path_check_access(struct txn *t, void *arg)
{
    struct path_set_args *args = arg;
    TRY(path_get_access_control(t, arg));
    return acl_allows(&args->head.path, args->request.path.caller, args->bits)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

/* ---- Set Properties ---- */

static void replace_given(struct str given, struct str *stored)
{
    if (str_given(given))
        *stored = given;
}

struct err path_set_properties(struct txn *t, void *arg)
{
    struct path_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_ALTER, &blob));
    struct blob_http *http = &blob.head.http;
    replace_given(args->http.content_type, &http->content_type);
    replace_given(args->http.content_encoding, &http->content_encoding);
    replace_given(args->http.content_language, &http->content_language);
    replace_given(args->http.content_disposition, &http->content_disposition);
    replace_given(args->http.cache_control, &http->cache_control);
    replace_given(args->http.content_md5, &http->content_md5);
    bool marked = !blob.container.hierarchical && path_is_marked(blob.head.metadata);
    blob.head.metadata = marked ? path_mark(txn_arena(t), args->metadata) : args->metadata;
    args->hierarchical = blob.container.hierarchical;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}
