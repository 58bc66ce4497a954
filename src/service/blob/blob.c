/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob.h"

#include "service/blob/page.h"
#include "service/blob/sweep.h"

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
    if (p->tier != BLOB_TIER_NONE && p->tier != head->tier) {
        head->tier = p->tier;
        head->tier_changed = txn_now(t);
    }
}

/* The new content, under an id of its own; the old one is untouched. */
static struct err write_content(struct txn *t, const struct blob_put_args *args, struct blob *blob)
{
    struct blob_head *head = &blob->head;
    struct content_writer w;
    uint64_t id = (uint64_t)txn_stamp(t);
    content_write_begin(&w, t, blob_key_content(txn_arena(t), blob->container.incarnation, id));
    for (size_t i = 0; i < args->pieces->count; i++)
        TRY(content_write(&w, &args->pieces->items[i], PIECE_ADOPT));
    TRY(content_write_end(&w));
    head->content = w.size == 0 ? 0 : id;
    head->content_rows = w.rows;
    head->content_inline = w.rows == 1 && !w.extents;
    head->size = w.size;
    return OK;
}

struct err blob_put_blob(struct txn *t, void *arg)
{
    struct blob_put_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(blob_check_type(&blob, BLOB_BLOCK));
    TRY(blob_replace(t, &args->request, &blob));
    TRY(write_content(t, args, &blob));
    blob_set_properties(t, &blob, &args->properties);
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
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

/* Reading extents waits for the disk, which an event loop must not: the first run says so, and the
 * front end runs it again elsewhere. */
static struct err read_bytes_of_range(struct blob_get_args *args)
{
    if (!args->in_pool) {
        args->in_pool = true;
        return err_new(ERR_WOULD_BLOCK);
    }
    char *to = arena_bytes(args->request.arena, (size_t)args->length);
    args->bytes = (struct str){to, (size_t)args->length};
    for (size_t i = 0; i < args->pieces.count; i++) {
        const struct piece *piece = &args->pieces.items[i];
        if (piece->kind == PIECE_EXTENT)
            TRY(extent_read(args->store->engine, &piece->extent, piece->extent_offset,
                            (uint32_t)piece->length, to));
        else if (piece->kind == PIECE_INLINE)
            memcpy(to, piece->bytes, (size_t)piece->length);
        else
            memset(to, 0, (size_t)piece->length);
        to += piece->length;
    }
    return OK;
}

struct err blob_get_blob(struct txn *t, void *arg)
{
    struct blob_get_args *args = arg;
    struct blob blob;
    struct err opened = blob_open(t, &args->request, BLOB_READ, &blob);
    /* "Not modified" tells which state it is that the client has. */
    if (!err_is(opened) || opened.code == ERR_NOT_MODIFIED)
        TRY(blob_give(&args->request, &blob.head, &args->head));
    TRY(opened);
    if (!args->wants_content)
        return OK;
    TRY(blob_head_check_online(&blob.head));
    TRY(cut_range(args, blob.head.size));
    if (blob.head.content == 0)
        return OK;
    if (blob.head.type == BLOB_PAGE) {
        TRY(blob_pages_read(t, &args->request, &blob, args));
        return args->wants_bytes ? read_bytes_of_range(args) : OK;
    }
    struct str content =
        blob_key_content(txn_arena(t), blob.container.incarnation, blob.head.content);
    TRY(content_read(t, content, args->offset, args->length, args->request.arena, &args->pieces));
    return args->wants_bytes ? read_bytes_of_range(args) : OK;
}

/* ---- properties, metadata, lease ---- */

struct err blob_set_blob_properties(struct txn *t, void *arg)
{
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    if (args->pages != NULL)
        TRY(blob_page_apply(t, &args->request, &blob, args->pages));
    if (!args->keep_http)
        blob.head.http = args->http;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

struct err blob_set_blob_metadata(struct txn *t, void *arg)
{
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    blob.head.metadata = args->metadata;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

struct err blob_lease_blob(struct txn *t, void *arg)
{
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_LEASE, &blob));
    TRY(lease_apply(&blob.head.lease, &args->lease, txn_now(t), &args->lease_left_seconds));
    TRY(blob_save_unchanged(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Snapshot Blob ---- */

/* The snapshot is the blob as it is, without its lease and its uncommitted blocks. One that is
 * given metadata of its own is a new object with an ETag of its own; else it has the blob's. */
struct err blob_snapshot_blob(struct txn *t, void *arg)
{
    struct blob_set_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE_SHARED, &blob));
    TRY(blob_head_check_online(&blob.head));
    TRY(blob_share_content(t, &blob));
    TRY(blob_save_unchanged(t, &blob));
    args->snapshot = txn_stamp(t);
    struct blob_at at = {BLOB_SNAPSHOT, args->snapshot};
    struct blob snapshot = blob;
    snapshot.key = blob_key_head(txn_arena(t), blob.container.incarnation, args->request.name, &at);
    snapshot.head.lease = (struct lease){0};
    snapshot.head.blocks = 0;
    if (args->has_metadata) {
        snapshot.head.metadata = args->metadata;
        TRY(blob_save_written(t, &snapshot));
    } else {
        TRY(blob_save_unchanged(t, &snapshot));
    }
    return blob_give(&args->request, &snapshot.head, &args->head);
}

/* ---- Delete Blob ---- */

static struct err remove_head(struct txn *t, struct blob *blob)
{
    TRY(blob_drop_content(t, blob->container.incarnation, &blob->head));
    TRY(blob_drop_blocks(t, blob->container.incarnation, &blob->head));
    return blob_forget(t, blob);
}

/* All snapshots, or only a look whether there are any. */
static struct err visit_snapshots(struct txn *t, const struct blob *blob, struct cursor *c,
                                  bool remove)
{
    while (cursor_valid(c)) {
        struct blob snapshot = {.container = blob->container,
                                .key = arena_copy(txn_arena(t), cursor_key(c))};
        if (str_eq(snapshot.key, blob->key))
            return OK;
        if (!remove)
            return err_new(ERR_SNAPSHOTS_PRESENT);
        TRY(blob_take_row(&snapshot, arena_copy(txn_arena(t), cursor_value(c))));
        TRY(remove_head(t, &snapshot));
        TRY(cursor_next(c));
    }
    return OK;
}

static struct err delete_snapshots(struct txn *t, const struct blob_request *request,
                                   const struct blob *blob, bool remove)
{
    struct str items = blob_key_items(txn_arena(t), blob->container.incarnation, request->name);
    struct cursor *c;
    TRY(cursor_open(t, items, &c));
    struct err e = cursor_seek(c, items);
    if (!err_is(e))
        e = visit_snapshots(t, blob, c, remove);
    cursor_close(c);
    return e;
}

/* What only the snapshots that went had seen of a page blob's pages can go too. */
static struct err note_past_pages(struct txn *t, const struct blob_request *request,
                                  const struct blob *blob)
{
    if (blob->head.type != BLOB_PAGE || !blob->head.content_shared)
        return OK;
    struct sweep_item item = {SWEEP_PAGES_PAST, blob->container.incarnation, blob->head.content};
    return sweep_add_for(t, &item, request->name);
}

struct err blob_delete_blob(struct txn *t, void *arg)
{
    struct blob_delete_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_DELETE, &blob));
    if (args->request.at.item == BLOB_BASE)
        TRY(delete_snapshots(t, &args->request, &blob, args->snapshots != BLOB_SNAPSHOTS_KEEP));
    if (args->snapshots == BLOB_SNAPSHOTS_ONLY)
        return note_past_pages(t, &args->request, &blob);
    TRY(remove_head(t, &blob));
    return note_past_pages(t, &args->request, &blob);
}
