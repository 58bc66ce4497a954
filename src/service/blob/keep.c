/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/keep.h"

#include <assert.h>

#include "service/blob/path/path_trash.h"
#include "service/blob/sweep.h"
#include "service/common/name.h"

/* ---- the account's rules ---- */

struct err blob_find_retention(struct txn *t, const struct blob_request *request,
                               struct service_retention *out)
{
    assert(out != NULL);
    struct service_properties properties;
    *out = (struct service_retention){0};
    if (!str_given(request->settings))
        return OK;
    TRY(service_properties_peek(t, request->settings, &properties));
    *out = properties.delete_retention;
    return OK;
}

/* ---- heads at their places ---- */

static struct str key_at(struct txn *t, const struct blob *blob, const struct blob_at *at)
{
    return blob_key_of_items(txn_arena(t), blob_key_to_name(blob->key), at);
}

static struct err put_expiry(struct txn *t, const struct blob *blob)
{
    return txn_put(t,
                   blob_key_timed(txn_arena(t), BLOB_TIMED_DELETED, blob->head.purge_at, blob->key),
                   STR(""));
}

static struct err del_expiry(struct txn *t, struct str key, const struct blob_head *head)
{
    return txn_del(t, blob_key_timed(txn_arena(t), BLOB_TIMED_DELETED, head->purge_at, key));
}

/* Another head of the blob, with the state of the base. */
static struct err item_of(struct txn *t, const struct blob *blob, struct blob_at at,
                          const struct blob_head *head, struct blob *item)
{
    *item = (struct blob){.container = blob->container, .at = at, .stored = true, .exists = true};
    item->head = *head;
    item->head.lease = (struct lease){0};
    item->head.blocks = 0;
    blob_head_drop_appends(&item->head);
    item->key = key_at(t, blob, &at);
    return blob_settle_content(t, blob->container.incarnation, blob->key, &item->head);
}

/* One of the blob's rows, of any kind. */
static struct err item_of_row(const struct container *container, struct str key, struct str row,
                              struct blob *out)
{
    struct str name;
    *out = (struct blob){.container = *container, .key = key, .stored = true, .exists = true};
    if (!blob_key_parse_head(key, &name, &out->at))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(row, &out->head));
    blob_note_indexed(out);
    return OK;
}

/* A version written before versioning was on gets the time of its last write as its id, which is
 * unique. */
static struct err keep_as_version(struct txn *t, const struct blob *blob)
{
    int64_t id = blob->head.version != 0 ? blob->head.version : blob->head.etag;
    struct blob_at at = {.item = BLOB_VERSION, .time = id};
    struct blob version;
    TRY(item_of(t, blob, at, &blob->head, &version));
    version.head.version = id;
    if (version.head.type == BLOB_PAGE)
        version.head.pages_at = txn_stamp(t);
    return blob_save_unchanged(t, &version);
}

static void mark_deleted(struct txn *t, const struct service_retention *retention,
                         struct blob_head *head)
{
    head->deleted = txn_now(t);
    head->purge_at = txn_now(t) + (int64_t)retention->days * TICKS_PER_DAY;
}

/* Stores the head as a soft-deleted snapshot of now; it is already marked. */
static struct err keep_as_deleted_snapshot(struct txn *t, const struct blob *blob,
                                           const struct blob_head *head)
{
    struct blob_at at = {.item = BLOB_SNAPSHOT, .time = txn_stamp(t), .deleted = true};
    struct blob snapshot;
    TRY(item_of(t, blob, at, head, &snapshot));
    TRY(blob_save_unchanged(t, &snapshot));
    return put_expiry(t, &snapshot);
}

/* ---- overwriting ---- */

static struct err put_aside(struct txn *t, const struct blob_request *request, struct blob *blob)
{
    struct service_retention retention;
    if (request->versioning || blob->head.version != 0)
        return keep_as_version(t, blob);
    /* A hierarchical container does not retain overwritten states. */
    TRY(blob_find_retention(t, request, &retention));
    if (!retention.enabled || blob->container.hierarchical)
        return blob_drop_content(t, blob->container.incarnation, &blob->head);
    struct blob_head kept = blob->head;
    mark_deleted(t, &retention, &kept);
    return keep_as_deleted_snapshot(t, blob, &kept);
}

struct err blob_replace(struct txn *t, const struct blob_request *request, enum blob_type type,
                        struct blob *blob)
{
    const struct blob_head *old = &blob->head;
    TRY(blob_drop_blocks(t, blob->container.incarnation, &blob->head));
    if (blob->exists)
        TRY(put_aside(t, request, blob));
    else
        TRY(blob_begin(t, request, type, blob));
    blob->head = (struct blob_head){.type = type,
                                    .committed = old->committed,
                                    .created = old->created,
                                    .tier = old->tier,
                                    .tier_changed = old->tier_changed,
                                    .lease = old->lease,
                                    .path = old->path,
                                    .version = request->versioning ? txn_stamp(t) : 0};
    return OK;
}

struct err blob_keep_version(struct txn *t, const struct blob_request *request, struct blob *blob)
{
    if (!request->versioning && blob->head.version == 0)
        return OK;
    TRY(blob_share_content(t, blob));
    TRY(keep_as_version(t, blob));
    blob->head.version = request->versioning ? txn_stamp(t) : 0;
    return OK;
}

struct err blob_keep_overwritten(struct txn *t, const struct blob_request *request,
                                 struct blob *blob)
{
    struct service_retention retention;
    if (request->versioning || blob->head.version != 0)
        return blob_keep_version(t, request, blob);
    TRY(blob_find_retention(t, request, &retention));
    if (!retention.enabled)
        return OK;
    TRY(blob_share_content(t, blob));
    struct blob_head kept = blob->head;
    mark_deleted(t, &retention, &kept);
    return keep_as_deleted_snapshot(t, blob, &kept);
}

/* ---- items, one after the other ---- */

/* An action for each item; it may remove the item and insert others elsewhere. */
typedef struct err item_work(struct txn *t, struct blob *item);

static struct err work_on_items(struct txn *t, const struct blob *blob, struct cursor *c,
                                item_work *work, size_t max)
{
    struct arena *a = txn_arena(t);
    for (size_t i = 0; i < max && c->valid; i++) {
        struct blob item;
        TRY(item_of_row(&blob->container, arena_copy(a, c->key), arena_copy(a, c->value), &item));
        TRY(cursor_next(c));
        TRY(work(t, &item));
    }
    return OK;
}

/* The first max of them. */
static struct err each_item(struct txn *t, const struct blob *blob, const struct blob_at *kind,
                            item_work *work, size_t max)
{
    struct str prefix =
        blob_key_of_items_of(txn_arena(t), blob_key_to_name(blob->key), kind->item, kind->deleted);
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    struct err e = work_on_items(t, blob, c, work, max);
    cursor_close(c);
    return e;
}

static struct err first_item(struct txn *t, const struct blob *blob, const struct blob_at *kind,
                             bool *found, enum blob_type *type)
{
    struct str prefix =
        blob_key_of_items_of(txn_arena(t), blob_key_to_name(blob->key), kind->item, kind->deleted);
    struct cursor *c;
    struct blob_head head;
    struct err e = OK;
    TRY(cursor_open(t, prefix, &c));
    *found = c->valid;
    if (*found) {
        e = blob_head_decode(c->value, &head);
        *type = head.type;
    }
    cursor_close(c);
    return e;
}

struct err blob_has_items(struct txn *t, const struct blob *blob, enum blob_item item, bool *found)
{
    enum blob_type type;
    return first_item(t, blob, &(struct blob_at){.item = item}, found, &type);
}

/* ---- making a blob where there is none ---- */

/* All versions of a blob have one type: the page "Blob versioning". */
static struct err check_type_of_versions(struct txn *t, const struct blob *blob,
                                         enum blob_type type)
{
    enum blob_type other = type;
    bool found;
    TRY(first_item(t, blob, &(struct blob_at){.item = BLOB_VERSION}, &found, &other));
    return other == type ? OK : err_new(ERR_INVALID_BLOB_TYPE);
}

static struct err remove_with_expiry(struct txn *t, struct blob *item)
{
    TRY(del_expiry(t, item->key, &item->head));
    return blob_remove(t, item);
}

/* Replacing a soft-deleted blob by one of another type removes everything soft-deleted of that
 * name: the page "Soft delete for blobs", "by operation". */
static struct err remove_grave(struct txn *t, const struct blob *blob)
{
    static const struct blob_at snapshots = {.item = BLOB_SNAPSHOT, .deleted = true};
    struct blob grave = {.container = blob->container, .at = blob->at, .key = blob->key};
    grave.head = blob->grave;
    TRY(remove_with_expiry(t, &grave));
    return each_item(t, blob, &snapshots, remove_with_expiry, SIZE_MAX);
}

struct err blob_begin(struct txn *t, const struct blob_request *request, enum blob_type type,
                      struct blob *blob)
{
    assert(type >= BLOB_BLOCK && type <= BLOB_APPEND);
    if (request->versioning)
        TRY(check_type_of_versions(t, blob, type));
    if (!blob->buried)
        return OK;
    blob->buried = false;
    if (blob->grave.type != type)
        return remove_grave(t, blob);
    TRY(del_expiry(t, blob->key, &blob->grave));
    return keep_as_deleted_snapshot(t, blob, &blob->grave);
}

/* ---- deleting ---- */

struct err blob_remove(struct txn *t, struct blob *blob)
{
    TRY(blob_drop_content(t, blob->container.incarnation, &blob->head));
    TRY(blob_drop_blocks(t, blob->container.incarnation, &blob->head));
    return blob_forget(t, blob);
}

struct err blob_note_past_pages(struct txn *t, const struct blob *blob)
{
    struct str name;
    struct blob_at at;
    if (blob->head.type != BLOB_PAGE || !blob->head.content_shared)
        return OK;
    if (!blob_key_parse_head(blob->key, &name, &at))
        return err_new(ERR_CORRUPT);
    struct sweep_item item = {SWEEP_PAGES_PAST, blob->container.incarnation, blob->head.content};
    return blob_sweep_add_for(t, &item, name_from_key(txn_arena(t), name));
}

static struct err bury(struct txn *t, const struct service_retention *retention, struct blob *blob)
{
    mark_deleted(t, retention, &blob->head);
    blob->head.lease = (struct lease){0};
    if (blob->at.item != BLOB_BASE) {
        TRY(blob_forget(t, blob));
        blob->at.deleted = true;
        blob->key = key_at(t, blob, &blob->at);
    }
    TRY(blob_save_unchanged(t, blob));
    return put_expiry(t, blob);
}

struct err blob_take_away(struct txn *t, const struct blob_request *request,
                          const struct service_retention *retention, struct blob *blob, bool *kept)
{
    bool versioned = blob->exists && blob->at.item == BLOB_BASE && request->versioning;
    *kept = versioned || (blob->exists && retention->enabled);
    TRY(blob_drop_blocks(t, blob->container.incarnation, &blob->head));
    if (versioned) {
        TRY(keep_as_version(t, blob));
        return blob_forget(t, blob);
    }
    return *kept ? bury(t, retention, blob) : blob_remove(t, blob);
}

/* ---- restoring ---- */

static void mark_restored(struct blob_head *head)
{
    head->deleted = 0;
    head->purge_at = 0;
}

struct err blob_restore_base(struct txn *t, struct blob *blob)
{
    TRY(del_expiry(t, blob->key, &blob->grave));
    blob->head = blob->grave;
    blob->buried = false;
    blob->stored = blob->exists = true;
    mark_restored(&blob->head);
    return blob_save_unchanged(t, blob);
}

static struct err restore_item(struct txn *t, struct blob *item)
{
    TRY(del_expiry(t, item->key, &item->head));
    TRY(txn_del(t, item->key));
    item->at.deleted = false;
    item->key = key_at(t, item, &item->at);
    mark_restored(&item->head);
    return blob_save_unchanged(t, item);
}

struct err blob_restore_items(struct txn *t, const struct blob *blob, enum blob_item item,
                              size_t max, bool *found)
{
    struct blob_at kind = {.item = item, .deleted = true};
    enum blob_type type;
    TRY(first_item(t, blob, &kind, found, &type));
    return *found ? each_item(t, blob, &kind, restore_item, max) : OK;
}

/* ---- when the time is over ---- */

static struct err purge_row(struct txn *t, const struct container *container, struct str head_key)
{
    struct str row;
    struct blob blob;
    TRY(txn_get(t, head_key, &row));
    if (!str_given(row))
        return err_new(ERR_CORRUPT);
    TRY(item_of_row(container, head_key, row, &blob));
    if (blob.head.path.deletion_id != 0)
        return path_purge(t, &blob);
    TRY(blob_remove(t, &blob));
    return blob_note_past_pages(t, &blob);
}

struct err blob_purge(struct txn *t, struct blob *blob)
{
    TRY(del_expiry(t, blob->key, &blob->grave));
    return purge_row(t, &blob->container, blob->key);
}

static struct err purge_rows(struct txn *t, const struct container *container, struct cursor *c,
                             unsigned max, unsigned *count)
{
    while (*count < max && c->valid) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct str head_key;
        int64_t time;
        if (!blob_key_parse_timed(txn_arena(t), key, &time, &head_key))
            return err_new(ERR_CORRUPT);
        if (time > txn_now(t))
            return OK;
        ++*count;
        if (txn_writable(t)) {
            TRY(txn_del(t, key));
            TRY(purge_row(t, container, head_key));
        }
        TRY(cursor_next(c));
    }
    return OK;
}

struct err blob_purge_due(struct txn *t, const struct container *container, unsigned max,
                          unsigned *count)
{
    assert(max > 0);
    struct cursor *c;
    TRY(cursor_open(t, blob_key_all_timed(txn_arena(t), BLOB_TIMED_DELETED, container->incarnation),
                    &c));
    struct err e = purge_rows(t, container, c, max, count);
    cursor_close(c);
    return e;
}
