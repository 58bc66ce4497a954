/* SPDX-License-Identifier: Apache-2.0 */
/* Set Access Control Recursive: a path and everything below it, in batches. The continuation is the
 * next path's name, so it survives a restart of client or server. */
#include "service/blob/list.h"
#include "service/blob/path/path.h"
#include "service/common/store.h"

struct round {
    struct txn *txn;
    struct path_recursive_args *args;
    struct str *names; /* of what this call is about */
    size_t count;
    struct str *closed; /* directories that the caller may not list, among the names or the last */
    size_t closed_count;
    bool stopped;
};

static void begin(void *sink)
{
    (void)sink;
}

static void take_name(void *sink, const struct blob_list_item *item)
{
    struct round *r = sink;
    if (r->count < PATH_RECURSIVE_MAX)
        r->names[r->count++] = arena_copy(txn_arena(r->txn), item->name);
}

/* Names are hidden from callers that may not list them, and their paths are not changed. */
static void take_closed(void *sink, struct str directory)
{
    struct round *r = sink;
    if (r->closed_count <= PATH_RECURSIVE_MAX)
        r->closed[r->closed_count++] = arena_copy(txn_arena(r->txn), directory);
}

static void take_prefix(void *sink, struct str prefix)
{
    (void)sink;
    (void)prefix;
}

/* The paths below, from where the last call ended. The path itself is part of the first call. */
static struct err find_names(struct round *r)
{
    struct path_recursive_args *args = r->args;
    struct buf prefix = buf_in(txn_arena(r->txn));
    bool first = !str_given(args->continuation);
    if (first)
        r->names[r->count++] = args->request.name;
    buf_put(&prefix, args->request.name);
    if (prefix.n > 0)
        buf_putc(&prefix, '/');
    struct blob_list_args list = {.arena = txn_arena(r->txn),
                                  .prefix = buf_str(&prefix),
                                  .marker = args->continuation,
                                  .max = args->max - r->count,
                                  .caller = args->request.path.caller,
                                  .closed = take_closed,
                                  .sink = r,
                                  .begin = begin,
                                  .item = take_name,
                                  .prefix_found = take_prefix};
    TRY(blob_list_blobs(r->txn, &list));
    args->next = str_given(list.next) ? arena_copy(args->request.arena, list.next) : STR_NONE;
    return OK;
}

static struct err change_one(struct round *r, struct str name, bool *directory)
{
    const struct path_recursive_args *args = r->args;
    struct blob_request request = args->request;
    struct acl_request change = {.how = args->how, .entries = &args->acl, .skip_defaults = true};
    struct blob blob;
    request.name = name;
    request.path.looks = true;
    request.conditions = (struct conditions){0};
    TRY(blob_open(r->txn, &request, BLOB_LEASE, &blob));
    *directory = blob.head.path.directory;
    if (!acl_is_owner(&blob.head.path, request.path.caller))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(acl_apply(txn_arena(r->txn), &change, &blob.head.path));
    return blob_save_unchanged(r->txn, &blob);
}

static void note_failure(struct round *r, struct str name, bool directory, enum err_code code)
{
    struct path_recursive_args *args = r->args;
    args->failures[args->failure_count++] = (struct path_failure){
        .name = arena_copy(args->request.arena, name), .directory = directory, .code = code};
    if (args->force)
        return;
    r->stopped = true;
    args->next = STR_NONE;
}

/* Returns true if only this path failed: the caller may not change it, or its list has no room for
 * the entries. */
static bool is_failure_of_path(const struct path_recursive_args *args, struct err error)
{
    return error.code == ERR_AUTHORIZATION_PERMISSION_MISMATCH ||
           (error.code == ERR_INVALID_INPUT && args->how == ACL_MODIFY);
}

/* Reports a path that cannot be changed, and then ends the call unless it is forced; any other
 * error undoes the call. */
static struct err change_all(struct round *r)
{
    struct path_recursive_args *args = r->args;
    for (size_t i = 0; i < r->count && !r->stopped; i++) {
        bool directory = false;
        struct err error = change_one(r, r->names[i], &directory);
        if (is_failure_of_path(args, error))
            note_failure(r, r->names[i], directory, error.code);
        else
            TRY(error);
        args->directories += !err_is(error) && directory;
        args->files += !err_is(error) && !directory;
    }
    return OK;
}

/* For a directory that was changed itself, reports that its entries were not. */
static void note_closed(struct round *r)
{
    struct path_recursive_args *args = r->args;
    for (size_t i = 0; i < r->closed_count && !r->stopped; i++) {
        bool told = false;
        for (size_t k = 0; k < args->failure_count; k++)
            told = told || str_eq(args->failures[k].name, r->closed[i]);
        if (!told && args->failure_count <= args->max)
            note_failure(r, r->closed[i], true, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    }
}

struct err path_set_access_control_recursive(struct txn *t, void *arg)
{
    struct path_recursive_args *args = arg;
    struct container container;
    struct blob blob;
    struct round r = {.txn = t, .args = args};
    args->directories = args->files = args->failure_count = 0;
    args->next = STR_NONE;
    TRY(container_load(t, &container));
    if (!container.hierarchical)
        return err_new(ERR_HIERARCHICAL_NAMESPACE_NOT_ENABLED);
    TRY(blob_load(t, &args->request, &blob));
    if (!blob.exists)
        return err_new(ERR_BLOB_NOT_FOUND);
    r.names = ARENA_ARRAY(txn_arena(t), struct str, PATH_RECURSIVE_MAX);
    r.closed = ARENA_ARRAY(txn_arena(t), struct str, PATH_RECURSIVE_MAX + 1);
    if (blob.head.path.directory)
        TRY(find_names(&r));
    else
        r.names[r.count++] = args->request.name;
    TRY(change_all(&r));
    note_closed(&r);
    return OK;
}

struct err path_set_access_control_steps(struct store *store, struct str partition,
                                         struct path_recursive_args *args)
{
    struct path_recursive_args step = *args;
    size_t left = args->max;
    args->directories = args->files = args->failure_count = 0;
    do {
        step.max = left < PATH_RECURSIVE_STEP ? left : PATH_RECURSIVE_STEP;
        step.failures = args->failures + args->failure_count;
        TRY(store_write_wait(store, partition, path_set_access_control_recursive, &step));
        args->directories += step.directories;
        args->files += step.files;
        args->failure_count += step.failure_count;
        step.continuation = args->next = step.next;
        left -= step.max;
    } while (left > 0 && str_given(args->next));
    return OK;
}
