/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_flat.h"

#include "service/blob/keep.h"
#include "service/blob/path/path_move.h"
#include "service/common/name.h"

/* A walk over the blobs below a directory, in the order of their names. */
struct below {
    struct txn *txn;
    struct container container;
    struct str prefix; /* "directory/" */
    size_t done;
    struct str next; /* where the next call begins; absent at the end */
};

/* An action for one blob; it may delete or rename it. */
typedef struct err below_work(struct below *w, struct blob *blob, void *arg);

static struct err visit(struct below *w, struct cursor *c, below_work *work, void *arg)
{
    struct arena *a = txn_arena(w->txn);
    while (c->valid) {
        struct blob blob = {.container = w->container, .key = arena_copy(a, c->key)};
        struct str name;
        if (!blob_key_parse_head(blob.key, &name, &blob.at))
            return err_new(ERR_CORRUPT);
        blob.name = name_from_key(a, name);
        TRY(blob_take_row(&blob, arena_copy(a, c->value)));
        if (blob.at.item == BLOB_BASE && blob.stored && w->done++ == PATH_FLAT_BLOBS_MAX) {
            w->next = blob.name;
            return OK;
        }
        TRY(cursor_next(c));
        if (blob.at.item == BLOB_BASE && blob.stored)
            TRY(work(w, &blob, arg));
    }
    return OK;
}

/* A client may make a continuation up, so only its form is checked. Earlier calls have removed the
 * blobs they worked on, so each call begins at the first blob that is left. */
static struct err check_continuation(const struct below *w, struct str continuation)
{
    return !str_given(continuation) || str_starts(continuation, w->prefix)
               ? OK
               : err_new(ERR_INVALID_QUERY_PARAMETER_VALUE);
}

static struct err each_below(struct below *w, below_work *work, void *arg)
{
    struct cursor *c;
    TRY(cursor_open(w->txn, blob_key_heads(txn_arena(w->txn), w->container.incarnation, w->prefix),
                    &c));
    struct err e = visit(w, c, work, arg);
    cursor_close(c);
    return e;
}

static struct str directory_prefix(struct txn *t, struct str path)
{
    struct buf b = buf_in(txn_arena(t));
    buf_put(&b, path);
    buf_putc(&b, '/');
    return buf_str(&b);
}

static struct err any_below(struct txn *t, const struct container *container, struct str path,
                            bool *out)
{
    struct cursor *c;
    TRY(cursor_open(
        t, blob_key_heads(txn_arena(t), container->incarnation, directory_prefix(t, path)), &c));
    *out = c->valid;
    cursor_close(c);
    return OK;
}

/* ---- Delete ---- */

static struct err delete_one(struct txn *t, const struct blob_request *request, struct str name,
                             bool *kept)
{
    struct blob_delete_args one = {.request = *request, .snapshots = BLOB_SNAPSHOTS_INCLUDE};
    one.request.name = name;
    TRY(blob_delete_blob(t, &one));
    *kept = one.kept;
    return OK;
}

static struct err delete_below(struct below *w, struct blob *blob, void *arg)
{
    struct path_delete_args *args = arg;
    struct blob_request plain = args->request;
    plain.conditions = (struct conditions){0};
    plain.lease = (struct lease_id){0};
    return delete_one(w->txn, &plain, blob->name, &args->kept);
}

/* The last call deletes the directory's blob. */
struct err path_delete_flat(struct txn *t, struct path_delete_args *args)
{
    struct below w = {.txn = t, .prefix = directory_prefix(t, args->request.name)};
    struct blob blob;
    bool any;
    TRY(blob_load(t, &args->request, &blob));
    w.container = blob.container;
    TRY(any_below(t, &w.container, args->request.name, &any));
    if (!blob.exists && !any)
        return err_new(ERR_BLOB_NOT_FOUND);
    TRY(check_continuation(&w, args->continuation));
    if (any && !args->recursive && (!blob.exists || path_is_marked(blob.head.metadata)))
        return err_new(ERR_DIRECTORY_NOT_EMPTY);
    if (any && args->recursive)
        TRY(each_below(&w, delete_below, args));
    if (str_given(w.next)) {
        args->next = arena_copy(args->request.arena, w.next);
        return OK;
    }
    return blob.exists ? delete_one(t, &args->request, args->request.name, &args->kept) : OK;
}

/* ---- Rename ---- */

/* Retains the overwritten blob, like any overwrite. */
static struct err clear_place(struct txn *t, const struct blob_request *request,
                              enum blob_type type, struct blob *there)
{
    bool kept = request->versioning || there->head.version != 0;
    if (there->exists && request->create_only)
        return err_new(ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    if (there->stored)
        TRY(lease_check_write(&there->head.lease, LEASE_BLOB, &request->lease, txn_now(t)));
    if (there->exists && !kept)
        TRY(blob_check_mutable(&there->head, txn_now(t)));
    TRY(blob_replace(t, request, type, there));
    return blob_forget(t, there);
}

static struct err check_head(struct txn *t, struct blob *item, void *arg)
{
    (void)arg;
    return blob_check_mutable(&item->head, txn_now(t));
}

static struct err move_to(struct txn *t, const struct path_rename_args *args,
                          const struct blob *from, struct str name, const struct blob_path_new *as)
{
    struct blob_request request = args->destination;
    struct blob there;
    request.name = name;
    TRY(name_check_blob(name));
    TRY(path_each_head(t, from, check_head, NULL));
    TRY(blob_load(t, &request, &there));
    TRY(clear_place(t, &request, from->head.type, &there));
    return path_move_heads(t, from, name, as);
}

static struct err move_below(struct below *w, struct blob *blob, void *arg)
{
    struct path_rename_args *args = arg;
    struct buf name = buf_in(txn_arena(w->txn));
    struct lease_id none = {0};
    TRY(lease_check_write(&blob->head.lease, LEASE_BLOB, &none, txn_now(w->txn)));
    buf_put(&name, args->destination.name);
    buf_put(&name, str_from(blob->name, args->source.name.n));
    return move_to(w->txn, args, blob, buf_str(&name), NULL);
}

/* Checked at each call, because a client may make a continuation up. Then only blobs that earlier
 * calls have moved may be below the destination. */
static struct err check_flat_destination(struct txn *t, const struct path_rename_args *args,
                                         const struct blob *source, bool directory)
{
    struct blob there;
    bool any;
    TRY(blob_load(t, &args->destination, &there));
    struct condition_target target = {
        .exists = there.exists, .etag = there.head.etag, .last_modified = there.head.last_modified};
    TRY(conditions_check(&args->destination.conditions, CONDITION_CREATE, &target));
    if (there.exists && args->destination.create_only)
        return err_new(ERR_UNAUTHORIZED_BLOB_OVERWRITE);
    TRY(any_below(t, &source->container, args->destination.name, &any));
    if (any && !str_given(args->continuation))
        return err_new(ERR_PATH_ALREADY_EXISTS);
    return there.exists && path_is_marked(there.head.metadata) != directory
               ? err_new(ERR_INVALID_SOURCE_OR_DESTINATION_RESOURCE_TYPE)
               : OK;
}

static bool is_within(struct str path, struct str directory)
{
    return str_starts(path, directory) && (path.n == directory.n || path.p[directory.n] == '/');
}

static struct err open_flat_source(struct txn *t, const struct path_rename_args *args,
                                   struct blob *out, bool *any)
{
    TRY(blob_load(t, &args->source, out));
    TRY(any_below(t, &out->container, args->source.name, any));
    if (!out->exists)
        return *any ? OK : err_new(ERR_SOURCE_PATH_NOT_FOUND);
    struct err error = blob_open(t, &args->source, BLOB_DELETE, out);
    return error.code == ERR_CONDITION_NOT_MET ? err_new(ERR_SOURCE_CONDITION_NOT_MET) : error;
}

struct err path_rename_flat(struct txn *t, struct path_rename_args *args)
{
    struct below w = {.txn = t, .prefix = directory_prefix(t, args->source.name)};
    struct blob_path_new as = {.has_metadata = args->has_metadata, .metadata = args->metadata};
    struct blob source;
    bool any;
    TRY(open_flat_source(t, args, &source, &any));
    if (str_eq(args->source.name, args->destination.name))
        return blob_give(&args->destination, &source.head, &args->head);
    bool directory = any || path_is_marked(source.head.metadata);
    if (directory && args->file_only)
        return err_new(ERR_AUTHORIZATION_RESOURCE_TYPE_MISMATCH);
    if (directory && is_within(args->destination.name, args->source.name))
        return err_new(ERR_INVALID_RENAME_SOURCE_PATH);
    if (path_is_marked(source.head.metadata))
        as.metadata = path_mark(txn_arena(t), as.metadata);
    w.container = source.container;
    TRY(check_flat_destination(t, args, &source, directory));
    TRY(check_continuation(&w, args->continuation));
    if (any)
        TRY(each_below(&w, move_below, args));
    if (str_given(w.next)) {
        args->next = arena_copy(args->destination.arena, w.next);
        return OK;
    }
    if (source.exists)
        TRY(move_to(t, args, &source, args->destination.name, &as));
    return blob_give(&args->destination, &source.head, &args->head);
}
