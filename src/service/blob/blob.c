/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob.h"

#include <assert.h>

#include "service/blob/copy/copy_state.h"
#include "service/blob/page/page.h"
#include "service/blob/path/path.h"
#include "service/blob/path/path_move.h"
#include "service/blob/path/path_trash.h"
#include "service/blob/protect.h"

/* ---- Put Blob ---- */

struct err blob_check_type(const struct blob *blob, enum blob_type type)
{
    if (!blob->stored)
        return OK;
    if (blob->head.type != type)
        return err_new(ERR_INVALID_BLOB_TYPE);
    return blob_head_check_online(&blob->head);
}

void blob_set_properties(struct txn *t, struct blob *blob, const struct blob_properties *p)
{
    struct blob_head *head = &blob->head;
    if (!blob->exists)
        head->created = txn_now(t);
    head->committed = true;
    head->type = BLOB_BLOCK;
    head->http = p->http;
    head->metadata = p->metadata;
    head->tags = p->tags;
    head->protection = p->protection;
    head->expires = 0;
    head->encryption_scope = blob->scope;
    if (blob->tracks_access)
        head->accessed = txn_now(t);
    if (p->tier != BLOB_TIER_NONE && p->tier != head->tier) {
        head->tier = p->tier;
        head->tier_changed = txn_now(t);
    }
}

/* Returns true if the content goes into the body of the head's row. */
static bool goes_beside(const struct pieces *pieces)
{
    return pieces->count == 1 && pieces->items[0].kind == PIECE_INLINE &&
           pieces->items[0].length <= BLOB_BESIDE_MAX;
}

/* Writes the new content under a new id; does not touch a retained old one. */
static struct err write_content(struct txn *t, const struct blob_put_args *args, struct blob *blob)
{
    struct blob_head *head = &blob->head;
    struct content_writer w;
    uint64_t id = (uint64_t)txn_stamp(t);
    if (goes_beside(args->pieces)) {
        const struct piece *piece = &args->pieces->items[0];
        head->content = id;
        head->content_beside = true;
        head->size = piece->length;
        blob->body = (struct str){piece->bytes, (size_t)piece->length};
        return OK;
    }
    content_write_begin(&w, t, blob_key_content(txn_arena(t), blob->container.incarnation, id));
    for (size_t i = 0; i < args->pieces->count; i++)
        TRY(content_write(&w, &args->pieces->items[i], args->claim.how));
    TRY(content_write_end(&w));
    head->content = w.size == 0 ? 0 : id;
    head->content_rows = w.rows;
    head->content_inline = w.rows == 1 && !w.extents;
    head->size = w.size;
    return OK;
}

/* Tools that use only the Blob API create directories this way. */
static struct err put_directory(struct txn *t, struct blob_put_args *args)
{
    struct path_create_args create = {.request = args->request, .properties = args->properties};
    create.request.path.directory = true;
    create.properties.http.content_md5 = STR_NONE;
    create.properties.metadata = path_unmark(txn_arena(t), args->properties.metadata);
    TRY(path_create(t, &create));
    args->head = (struct blob_head){.type = BLOB_BLOCK,
                                    .etag = create.written.etag,
                                    .last_modified = create.written.last_modified,
                                    .encryption_scope = create.written.encryption_scope};
    return OK;
}

static struct err makes_directory(struct txn *t, const struct blob_put_args *args, bool *out)
{
    struct container container;
    *out = args->size == 0 && path_is_marked(args->properties.metadata);
    if (!*out)
        return OK;
    TRY(container_load(t, &container));
    *out = container.hierarchical;
    return OK;
}

struct err blob_put_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_put_args *args = arg;
    struct blob blob;
    bool directory;
    TRY(makes_directory(t, args, &directory));
    if (directory)
        return put_directory(t, args);
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(blob_check_type(&blob, BLOB_BLOCK));
    TRY(blob_claim_check(t, &args->claim));
    TRY(blob_replace(t, &args->request, BLOB_BLOCK, &blob));
    TRY(write_content(t, args, &blob));
    blob_set_properties(t, &blob, &args->properties);
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

struct err blob_put_blob_from_url(struct txn *t, void *arg)
{
    const struct blob_put_args *args = arg;
    struct err error = blob_put_blob(t, arg);
    const struct conditions *c = &args->request.conditions;
    if (error.code == ERR_CONDITION_NOT_MET && str_given(c->if_match) && c->if_tags == NULL)
        error.code = ERR_TARGET_CONDITION_NOT_MET;
    return error;
}

/* ---- Get Blob and its properties ---- */

/* Cuts the range to the blob. */
static struct err cut_range(struct blob_get_args *args, uint64_t size)
{
    args->offset = args->has_range ? args->range_offset : 0;
    if (args->has_range && args->offset >= size)
        return err_new(ERR_INVALID_RANGE);
    args->length = size - args->offset;
    if (args->has_range && args->range_length < args->length)
        args->length = args->range_length;
    return OK;
}

/* Reading extents waits for the disk, so not on an event loop. */
static struct err read_bytes_of_range(const struct txn *t, struct blob_get_args *args)
{
    if (!txn_may_wait(t))
        return err_new(ERR_LONG_WORK);
    char *to = arena_bytes(args->request.arena, (size_t)args->length);
    args->bytes = (struct str){to, (size_t)args->length};
    return pieces_gather(args->store, &args->pieces, ENGINE_WAIT, to);
}

/* The content of an incremental copy is read through its snapshots. */
static struct err check_incremental(const struct blob *blob)
{
    struct blob_copy_state copy;
    if (!str_given(blob->head.copy) || blob->at.item != BLOB_BASE)
        return OK;
    TRY(blob_copy_decode(blob->head.copy, &copy));
    return copy.incremental ? err_new(ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB) : OK;
}

struct err blob_get_blob(struct txn *t, void *arg)
{
    struct blob_get_args *args = arg;
    struct blob blob;
    args->request.wants_content = args->wants_content;
    args->request.loan = args->loan;
    struct err opened = blob_open(t, &args->request, BLOB_READ, &blob);
    args->at = blob.at;
    args->hierarchical = blob.container.hierarchical;
    args->name = blob.container.hierarchical ? arena_copy(args->request.arena, blob.name)
                                             : args->request.name;
    /* "Not modified" reports the state that the client has. */
    if (!err_is(opened) || opened.code == ERR_NOT_MODIFIED)
        TRY(blob_give(&args->request, &blob.head, &args->head));
    TRY(opened);
    if (!args->wants_content)
        return OK;
    TRY(blob_head_check_online(&blob.head));
    TRY(check_incremental(&blob));
    TRY(cut_range(args, blob.head.size));
    if (args->wants_bytes && args->length > BLOB_RANGE_BYTES_MAX)
        return err_new(ERR_OUT_OF_RANGE_INPUT);
    if (blob.head.content == 0)
        return OK;
    if (blob.head.type == BLOB_PAGE) {
        TRY(blob_pages_read(t, &args->request, &blob, args));
        return args->wants_bytes ? read_bytes_of_range(t, args) : OK;
    }
    struct content_part all = {args->offset, args->length, SIZE_MAX};
    TRY(blob_read_content(t, &blob, all, args->request.arena, &args->pieces));
    return args->wants_bytes ? read_bytes_of_range(t, args) : OK;
}

/* ---- properties, metadata, lease ---- */

struct err blob_set_blob_properties(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, args->pages != NULL ? BLOB_ALTER : BLOB_CHANGE, &blob));
    if (args->pages != NULL)
        TRY(blob_page_apply(t, &args->request, &blob, args->pages));
    if (!args->keep_http)
        blob.head.http = args->http;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

struct err blob_set_blob_metadata(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_ALTER, &blob));
    TRY(blob_check_scope_said(&args->request, &blob));
    if (blob.container.hierarchical && path_has_mark(args->metadata))
        return err_new(ERR_UNSUPPORTED_HEADER); /* a path does not become a directory so */
    TRY(blob_keep_version(t, &args->request, &blob));
    blob.head.metadata = args->metadata;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

struct err blob_lease_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_LEASE, &blob));
    TRY(lease_apply(&blob.head.lease, &args->lease, txn_now(t), &args->lease_left_seconds));
    TRY(blob_save_unchanged(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Snapshot Blob ---- */

/* The snapshot is the blob's current state, without its lease and uncommitted blocks. A snapshot
 * with its own metadata is a new object with its own ETag; otherwise it has the blob's. With
 * versioning, the blob becomes a new version: the page "Blob versioning". */
struct err blob_snapshot_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE_SHARED, &blob));
    TRY(blob_check_scope_said(&args->request, &blob));
    TRY(blob_head_check_online(&blob.head));
    TRY(blob_share_content(t, &blob));
    if (args->request.versioning)
        TRY(blob_keep_version(t, &args->request, &blob));
    TRY(blob_save_unchanged(t, &blob));
    args->snapshot = txn_stamp(t);
    args->version = blob.head.version;
    struct blob_at at = {.item = BLOB_SNAPSHOT, .time = args->snapshot};
    struct blob snapshot = blob;
    snapshot.at = at;
    snapshot.head.version = 0;
    snapshot.key = blob_key_head(txn_arena(t), blob.container.incarnation, blob.name, &at);
    snapshot.head.lease = (struct lease){0};
    snapshot.head.protection = (struct blob_protection){0};
    snapshot.head.expires = 0;
    snapshot.head.blocks = 0;
    blob_head_drop_appends(&snapshot.head);
    if (args->has_metadata) {
        snapshot.head.metadata = args->metadata;
        snapshot.keep_copy = true;
        TRY(blob_save_written(t, &snapshot));
    } else {
        TRY(blob_save_unchanged(t, &snapshot));
    }
    return blob_give(&args->request, &snapshot.head, &args->head);
}

/* ---- Delete Blob ---- */

/* A running deletion. */
struct deletion {
    struct txn *txn;
    struct blob_delete_args *args;
    struct service_retention retention;
};

static struct err take_snapshots_away(const struct deletion *d, const struct blob *blob,
                                      struct cursor *c)
{
    struct arena *a = txn_arena(d->txn);
    while (c->valid) {
        struct blob snapshot = {.container = blob->container,
                                .at = {.item = BLOB_SNAPSHOT},
                                .key = arena_copy(a, c->key)};
        struct str name;
        TRY(blob_take_row(&snapshot, arena_copy(a, c->value)));
        if (!blob_key_parse_head(snapshot.key, &name, &snapshot.at))
            return err_new(ERR_CORRUPT);
        TRY(blob_check_mutable(&snapshot.head, txn_now(d->txn)));
        TRY(cursor_next(c));
        TRY(blob_take_away(d->txn, &d->args->request, &d->retention, &snapshot, &d->args->kept));
    }
    return OK;
}

/* Deletes all snapshots, or only checks if there are any. Soft-deleted ones do not count. */
static struct err delete_snapshots(const struct deletion *d, const struct blob *blob)
{
    struct cursor *c;
    bool found;
    if (d->args->snapshots == BLOB_SNAPSHOTS_KEEP) {
        TRY(blob_has_items(d->txn, blob, BLOB_SNAPSHOT, &found));
        return found ? err_new(ERR_SNAPSHOTS_PRESENT) : OK;
    }
    struct str snapshots =
        blob_key_of_items_of(txn_arena(d->txn), blob_key_to_name(blob->key), BLOB_SNAPSHOT, false);
    TRY(cursor_open(d->txn, snapshots, &c));
    struct err e = take_snapshots_away(d, blob, c);
    cursor_close(c);
    return e;
}

/* Deletes only snapshots and versions that are already soft-deleted. */
static struct err delete_permanently(const struct deletion *d)
{
    const struct blob_request *request = &d->args->request;
    struct blob_request of_deleted = *request;
    struct blob blob;
    if (request->at.item == BLOB_BASE || !d->retention.enabled || !d->retention.permanent_delete)
        return err_new(ERR_PERMANENT_DELETE_NOT_ALLOWED);
    TRY(blob_load(d->txn, request, &blob));
    if (blob.stored)
        return err_new(ERR_BLOB_SNAPSHOT_NOT_SOFT_DELETED);
    of_deleted.at.deleted = true;
    TRY(blob_load(d->txn, &of_deleted, &blob));
    if (!acl_may_unlink(&blob.parent, &blob.grave.path, request->path.caller))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    return blob.buried ? blob_purge(d->txn, &blob) : err_new(ERR_BLOB_NOT_FOUND);
}

/* Compared in whole seconds, like all dates. A tier that was never set is as old as the blob. */
static struct err check_tier_time(const struct blob_delete_args *args, const struct blob_head *head)
{
    int64_t changed = head->tier_changed != 0 ? head->tier_changed : head->created;
    changed -= changed % TICKS_PER_SECOND;
    bool met = (!args->has_tier_modified_since || changed > args->tier_modified_since) &&
               (!args->has_tier_unmodified_since || changed <= args->tier_unmodified_since);
    return met ? OK : err_new(ERR_ACCESS_TIER_CHANGE_TIME_CONDITION_NOT_MET);
}

/* In a hierarchical container: a directory must be empty; a file's snapshots are deleted only if
 * the request says so. */
static struct err delete_path(const struct deletion *d, struct blob *blob)
{
    struct blob_delete_args *args = d->args;
    if (blob->head.path.directory && args->snapshots != BLOB_SNAPSHOTS_KEEP)
        return err_new(ERR_OPERATION_NOT_SUPPORTED_ON_DIRECTORY);
    TRY(path_check_removable(d->txn, blob, false, ERR_DIRECTORY_IS_NOT_EMPTY));
    if (args->snapshots != BLOB_SNAPSHOTS_INCLUDE)
        TRY(delete_snapshots(d, blob));
    if (args->snapshots == BLOB_SNAPSHOTS_ONLY)
        return OK;
    TRY(path_take_away(d->txn, &args->request, blob, &args->deletion_id));
    args->kept = args->deletion_id != 0;
    return OK;
}

struct err blob_delete_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_delete_args *args = arg;
    struct deletion d = {.txn = t, .args = args};
    struct blob blob;
    args->kept = false;
    args->deletion_id = 0;
    TRY(blob_find_retention(t, &args->request, &d.retention));
    if (args->permanent)
        return delete_permanently(&d);
    TRY(blob_open(t, &args->request, BLOB_DELETE, &blob));
    TRY(check_tier_time(args, &blob.head));
    if (blob.at.item == BLOB_BASE && blob.container.hierarchical)
        return delete_path(&d, &blob);
    if (blob.at.item == BLOB_BASE && args->request.at.item == BLOB_VERSION)
        return err_new(ERR_OPERATION_NOT_ALLOWED_ON_ROOT_BLOB);
    if (blob.at.item == BLOB_BASE)
        TRY(delete_snapshots(&d, &blob));
    TRY(blob_note_past_pages(t, &blob));
    if (args->snapshots == BLOB_SNAPSHOTS_ONLY)
        return OK;
    return blob_take_away(t, &args->request, &d.retention, &blob, &args->kept);
}

/* ---- Undelete Blob ---- */

/* If nothing is soft-deleted, nothing changes; not found only if there is nothing of the blob at
 * all. */
struct err blob_undelete_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_undelete_args *args = arg;
    struct blob blob;
    bool found = false;
    TRY(blob_load(t, &args->request, &blob));
    if (blob.container.hierarchical) {
        struct path_undelete_args path = {.request = args->request,
                                          .deletion_id = args->deletion_id};
        TRY(path_undelete(t, &path));
        args->head = path.head;
        return OK;
    }
    if (blob.buried)
        TRY(blob_restore_base(t, &blob));
    bool any = blob.stored;
    TRY(blob_restore_items(t, &blob, BLOB_SNAPSHOT, BLOB_UNDELETE_MAX, &found));
    any = any || found;
    TRY(blob_restore_items(t, &blob, BLOB_VERSION, BLOB_UNDELETE_MAX, &found));
    any = any || found;
    if (!any)
        TRY(blob_has_items(t, &blob, BLOB_VERSION, &any));
    if (!any)
        TRY(blob_has_items(t, &blob, BLOB_SNAPSHOT, &any));
    return any ? OK : err_new(ERR_BLOB_NOT_FOUND);
}
