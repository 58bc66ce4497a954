/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/page/page.h"

#include <assert.h>
#include <stdlib.h>

#include "service/blob/page/page_clears.h"
#include "service/blob/sweep.h"
#include "service/blob/tier.h"

enum { SNAPSHOTS_SEEN_MAX = 10000, KEY_PREFIX_BYTES = 1 + 8 + 8 };

/* ---- the map ---- */

struct times {
    int64_t *items;
    size_t count;
    size_t capacity;
};

static void add_time(struct times *list, struct arena *a, int64_t time)
{
    if (list->count == list->capacity) {
        size_t capacity = list->capacity == 0 ? 16 : list->capacity * 2;
        int64_t *grown = ARENA_ARRAY(a, int64_t, capacity);
        if (list->count > 0)
            memcpy(grown, list->items, list->count * sizeof *grown);
        list->items = grown;
        list->capacity = capacity;
    }
    list->items[list->count++] = time;
}

/* The last stamp whose pages belong to an item other than the blob itself. */
static int64_t pages_at(const struct blob_at *at, const struct blob_head *head)
{
    return head->pages_at != 0 ? head->pages_at : at->time;
}

/* Collects the times of the blob's snapshots and versions that share the content, unsorted. */
static struct err find_times(struct txn *t, struct cursor *c, uint64_t content, struct times *list)
{
    while (c->valid) {
        struct str name;
        struct blob_at at;
        struct blob_head head;
        if (!blob_key_parse_head(c->key, &name, &at))
            return err_new(ERR_CORRUPT);
        if (at.item == BLOB_BASE)
            return OK;
        TRY(blob_head_decode(c->value, &head));
        if (head.content == content)
            add_time(list, txn_arena(t), pages_at(&at, &head));
        if (list->count > SNAPSHOTS_SEEN_MAX)
            return err_new(ERR_SNAPSHOT_COUNT_EXCEEDED);
        TRY(cursor_next(c));
    }
    return OK;
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Ascending, without duplicates: a version that a snapshot created has the snapshot's time. */
static void sort_times(struct times *list)
{
    size_t kept = 0;
    if (list->count == 0)
        return;
    qsort(list->items, list->count, sizeof *list->items, compare_times);
    for (size_t i = 1; i < list->count; i++)
        if (list->items[i] != list->items[kept])
            list->items[++kept] = list->items[i];
    list->count = kept + 1;
}

static struct err snapshot_times(struct txn *t, uint64_t incarnation, struct str name,
                                 uint64_t content, struct times *list)
{
    struct cursor *c;
    struct str items = blob_key_items(txn_arena(t), incarnation, name);
    TRY(cursor_open(t, items, &c));
    struct err e = cursor_seek(c, items);
    if (!err_is(e))
        e = find_times(t, c, content, list);
    cursor_close(c);
    sort_times(list);
    return e;
}

/* The map as it was at a time; VROW_LIVE: now. */
static void open_map(struct txn *t, const struct blob *blob, const struct blob_head *head,
                     int64_t at, struct blob_pages *out)
{
    uint64_t incarnation = blob->container.incarnation;
    out->rows.txn = t;
    out->rows.at = at;
    out->rows.history = blob_key_pages_past(txn_arena(t), incarnation, head->content);
    out->map = (struct interval_map){
        .rows = &out->rows,
        .prefix = blob_key_pages(txn_arena(t), incarnation, head->content),
        .has_chunks = (head->page_rows & BLOB_PAGE_HAS_CHUNKS) != 0,
        .has_blocks = (head->page_rows & BLOB_PAGE_HAS_BLOCKS) != 0,
    };
    (void)interval_voids_decode(head->page_voids, &out->map);
}

struct err blob_pages_open(struct txn *t, const struct blob_request *request,
                           const struct blob *blob, struct blob_pages *out)
{
    assert(out != NULL);
    struct times kept = {0};
    int64_t at = blob->at.item == BLOB_BASE ? VROW_LIVE : pages_at(&blob->at, &blob->head);
    *out = (struct blob_pages){0};
    if (blob->head.content_shared)
        TRY(snapshot_times(t, blob->container.incarnation, request->name, blob->head.content,
                           &kept));
    out->rows.kept = kept.items;
    out->rows.kept_count = kept.count;
    open_map(t, blob, &blob->head, at, out);
    return OK;
}

struct err blob_pages_write(struct txn *t, const struct blob_request *request, struct blob *blob,
                            uint64_t offset, const struct pieces *pieces, enum piece_claim claim)
{
    struct blob_pages map;
    TRY(blob_pages_open(t, request, blob, &map));
    TRY(interval_write(&map.map, offset, pieces, claim));
    return blob_pages_keep(t, request, blob, &map.map);
}

/* Removes [from, to), and records it in the head if there are snapshots. */
static struct err clear_pages(struct txn *t, struct blob *blob, struct blob_pages *pages,
                              struct interval_range range)
{
    struct page_clears clears;
    struct buf text = buf_in(txn_arena(t));
    TRY(interval_cut(&pages->map, range.from, range.to));
    if (!page_clears_decode(blob->head.page_clears, &clears))
        return err_new(ERR_CORRUPT);
    page_clears_add(&clears, &pages->rows, range.from, range.to);
    page_clears_encode(&text, &clears);
    blob->head.page_clears = clears.count == 0 ? STR_NONE : buf_str(&text);
    return OK;
}

struct err blob_pages_cut(struct txn *t, const struct blob_request *request, struct blob *blob,
                          uint64_t size)
{
    struct blob_pages pages;
    TRY(blob_pages_open(t, request, blob, &pages));
    TRY(clear_pages(t, blob, &pages, (struct interval_range){size, blob->head.size}));
    return blob_pages_keep(t, request, blob, &pages.map);
}

/* ---- Put Blob ---- */

struct err blob_create_page_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_create_page_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(blob_check_type(&blob, BLOB_PAGE));
    TRY(blob_replace(t, &args->request, BLOB_PAGE, &blob));
    blob.head.content = (uint64_t)txn_stamp(t);
    blob.head.size = args->size;
    blob.head.sequence = args->sequence;
    blob_set_properties(t, &blob, &args->properties);
    blob.head.type = BLOB_PAGE;
    TRY(blob_check_tier_size(&blob.head));
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Put Page ---- */

static struct err check_sequence(const struct blob_sequence_conditions *c, uint64_t current)
{
    bool met = (!c->has_le || current <= c->le) && (!c->has_lt || current < c->lt) &&
               (!c->has_eq || current == c->eq);
    return met ? OK : err_new(ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET);
}

struct err blob_put_page(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_page_args *args = arg;
    struct blob blob;
    struct blob_pages pages;
    TRY(blob_open(t, &args->request, BLOB_ALTER, &blob));
    TRY(blob_check_type(&blob, BLOB_PAGE));
    TRY(blob_check_scope_said(&args->request, &blob));
    TRY(check_sequence(&args->sequence, blob.head.sequence));
    if (args->offset > blob.head.size || args->length > blob.head.size - args->offset)
        return err_new(ERR_INVALID_PAGE_RANGE);
    TRY(blob_pages_open(t, &args->request, &blob, &pages));
    if (args->pieces == NULL)
        TRY(clear_pages(t, &blob, &pages,
                        (struct interval_range){args->offset, args->offset + args->length}));
    else
        TRY(interval_write(&pages.map, args->offset, args->pieces, PIECE_ADOPT));
    TRY(blob_pages_keep(t, &args->request, &blob, &pages.map));
    blob.keep_copy = true;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Set Blob Properties ---- */

static struct err apply_sequence(struct blob_head *head, const struct blob_page_change *change)
{
    switch (change->action) {
    case BLOB_SEQUENCE_KEEP:
        break;
    case BLOB_SEQUENCE_MAX:
        head->sequence = change->number > head->sequence ? change->number : head->sequence;
        break;
    case BLOB_SEQUENCE_UPDATE:
        head->sequence = change->number;
        break;
    case BLOB_SEQUENCE_INCREMENT:
        if (head->sequence >= INT64_MAX)
            return err_new(ERR_SEQUENCE_NUMBER_INCREMENT_TOO_LARGE);
        head->sequence++;
        break;
    }
    return OK;
}

struct err blob_page_apply(struct txn *t, const struct blob_request *request, struct blob *blob,
                           const struct blob_page_change *change)
{
    if (!change->resize && change->action == BLOB_SEQUENCE_KEEP)
        return OK;
    TRY(blob_check_type(blob, BLOB_PAGE));
    TRY(apply_sequence(&blob->head, change));
    if (!change->resize)
        return OK;
    if (change->size < blob->head.size)
        TRY(blob_pages_cut(t, request, blob, change->size));
    blob->head.size = change->size;
    return blob_check_tier_size(&blob->head);
}

/* ---- Get Blob ---- */

struct err blob_pages_read(struct txn *t, const struct blob_request *request,
                           const struct blob *blob, struct blob_get_args *args)
{
    /* One response is one committed state, so its map is collected in one view. */
    static const struct interval_limits limits = {.pieces_max = 1 << 18, .inline_max = 24 << 20};
    struct blob_pages pages;
    uint64_t until = 0;
    uint64_t end = args->offset + args->length;
    TRY(blob_pages_open(t, request, blob, &pages));
    TRY(interval_read(&pages.map, (struct interval_range){args->offset, end}, &limits,
                      request->arena, &args->pieces, &until));
    return until == end ? OK : err_new(ERR_SERVER_BUSY);
}

/* ---- rows seen from outside ---- */

bool blob_key_is_pages(struct str key)
{
    return key.n > KEY_PREFIX_BYTES && (key.p[0] == 'p' || key.p[0] == 'P');
}

/* The part of a row's key that the interval map made. */
static struct str map_key(struct str key)
{
    if (key.p[0] == 'P') {
        key = str_from(key, KEY_PREFIX_BYTES);
        if (key.n < KEY_PREFIX_BYTES + VROW_PAST_BYTES)
            return STR("");
        key.n -= VROW_PAST_BYTES;
    }
    return str_from(key, KEY_PREFIX_BYTES);
}

struct err blob_pages_drop_row(struct txn *t, struct str key, struct str value)
{
    struct vrow row;
    if (!vrow_split(value, &row))
        return err_new(ERR_CORRUPT);
    return interval_key_is_chunk(map_key(key)) ? interval_drop(t, row.payload) : OK;
}

bool blob_pages_row_extents(struct str key, struct str value, content_named *named, void *sink)
{
    struct vrow row;
    if (!vrow_split(value, &row))
        return false;
    return !interval_key_is_chunk(map_key(key)) || interval_extents(row.payload, named, sink);
}

/* ---- after a snapshot went ---- */

static struct err prune_rows(struct txn *t, struct cursor *c, const struct vrow_scope *scope,
                             unsigned *budget)
{
    while (c->valid && *budget > 0) {
        struct str key = arena_copy(txn_arena(t), c->key);
        struct str value = arena_copy(txn_arena(t), c->value);
        struct vrow row;
        if (!vrow_split(value, &row))
            return err_new(ERR_CORRUPT);
        (*budget)--;
        if (vrow_past_unseen(scope, key, &row)) {
            TRY(blob_pages_drop_row(t, key, value));
            TRY(txn_del(t, key));
        }
        TRY(cursor_next(c));
    }
    return OK;
}

struct err blob_pages_prune(struct txn *t, uint64_t incarnation, const struct blob_prune *prune,
                            struct str *next, unsigned *budget)
{
    struct arena *a = txn_arena(t);
    struct times kept = {0};
    struct vrow_scope scope = {.txn = t, .at = VROW_LIVE};
    struct cursor *c;
    *next = STR_NONE;
    TRY(snapshot_times(t, incarnation, prune->name, prune->content, &kept));
    scope.kept = kept.items;
    scope.kept_count = kept.count;
    scope.history = blob_key_pages_past(a, incarnation, prune->content);
    TRY(cursor_open(t, scope.history, &c));
    struct err e = cursor_seek(c, str_given(prune->from) ? prune->from : scope.history);
    if (!err_is(e))
        e = prune_rows(t, c, &scope, budget);
    if (!err_is(e) && c->valid)
        *next = arena_copy(a, c->key);
    cursor_close(c);
    return e;
}
