/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_append.h"

#include <assert.h>
#include <stdlib.h>

#include "service/blob/append.h"
#include "service/blob/block/block.h"
#include "service/blob/path/path_merge.h"
#include "service/blob/protect.h"

/* ---- beginning ---- */

static struct err apply_lease(struct txn *t, struct path_write_args *args, enum lease_action action,
                              struct blob *blob)
{
    struct lease_request request = args->lease;
    int left;
    request.action = action;
    request.id = args->request.lease.id;
    return lease_apply(&blob->head.lease, &request, txn_now(t), &left);
}

/* Checks the lease, and applies the request's lease action to it. */
static struct err begin_lease(struct txn *t, struct path_write_args *args, struct blob *blob)
{
    switch (args->lease_action) {
    case PATH_LEASE_ACQUIRE:
    case PATH_LEASE_ACQUIRE_RELEASE:
        return apply_lease(t, args, LEASE_ACQUIRE, blob);
    case PATH_LEASE_AUTO_RENEW:
        args->lease_renewed = lease_state(&blob->head.lease, txn_now(t)) == LEASE_EXPIRED;
        if (args->lease_renewed)
            return apply_lease(t, args, LEASE_RENEW, blob);
        break;
    case PATH_LEASE_RELEASE:
    case PATH_LEASE_NONE:
        break;
    }
    return lease_check_write(&blob->head.lease, LEASE_BLOB, &args->request.lease, txn_now(t));
}

static struct err end_lease(struct txn *t, struct path_write_args *args, struct blob *blob)
{
    if (args->lease_action == PATH_LEASE_RELEASE)
        return apply_lease(t, args, LEASE_RELEASE, blob);
    if (args->lease_action != PATH_LEASE_ACQUIRE_RELEASE)
        return OK;
    blob->head.lease = (struct lease){0};
    return OK;
}

/* The cloud documents read and write for an append; a role may grant them. */
static bool may_append(const struct tree_request *request, const struct blob_path *path)
{
    return request->passes || acl_allows(path, request->caller, ACL_READ | ACL_WRITE);
}

static struct err open(struct txn *t, struct path_write_args *args, struct blob *blob)
{
    bool leases = args->lease_action != PATH_LEASE_NONE;
    TRY(blob_open(t, &args->request, leases ? BLOB_LEASE : BLOB_ALTER, blob));
    if (leases) {
        TRY(blob_check_mutable(&blob->head, txn_now(t)));
        TRY(begin_lease(t, args, blob));
    }
    if (blob->head.path.directory)
        return err_new(ERR_PATH_CONFLICT);
    if (args->pieces != NULL && !may_append(&args->request.path, &blob->head.path))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    if (blob->head.type == BLOB_APPEND)
        return OK;
    TRY(blob_check_type(blob, BLOB_BLOCK));
    return blob->head.blocks != 0 && !blob->head.blocks_appended
               ? err_new(ERR_INVALID_FLUSH_OPERATION)
               : OK;
}

/* ---- Append ---- */

static struct str append_id(struct arena *a, uint64_t position, int64_t stamp)
{
    struct buf b = buf_in(a);
    buf_put_be64(&b, position);
    buf_put_be64(&b, (uint64_t)stamp);
    return buf_str(&b);
}

/* Small appends need no separate rows. The bytes of those to an empty file are the body of its
 * row, where the content will be, so a file that is created, appended to and flushed is always one
 * row; the head lists them, each with position, stamp and length. Others are in the row of the set,
 * which is written anyway. Each: position, stamp, pieces. */
enum { SMALL_APPENDS_MAX = BLOB_BESIDE_MAX, LISTED_BYTES_MAX = 256 };

static bool all_inline(const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->items[i].kind != PIECE_INLINE)
            return false;
    return true;
}

static struct err claim_pieces(struct txn *t, const struct pieces *pieces, struct str *row)
{
    struct buf b = buf_in(txn_arena(t));
    for (size_t i = 0; i < pieces->count; i++)
        TRY(piece_claim(t, &pieces->items[i], PIECE_ADOPT));
    pieces_encode(&b, pieces);
    *row = buf_str(&b);
    return OK;
}

static void add_small(struct txn *t, struct str id, struct str row, struct str *all)
{
    struct buf small = buf_in(txn_arena(t));
    (void)buf_reserve(&small, all->n + id.n + row.n + 8);
    buf_put(&small, *all);
    buf_put(&small, id);
    buf_put_bytes(&small, row);
    *all = buf_str(&small);
}

static size_t varint_bytes(uint64_t value)
{
    size_t n = 1;
    while (value >= 0x80) {
        value >>= 7;
        n++;
    }
    return n;
}

/* The same for pieces that are all inline: copies their bytes once. */
static void add_small_pieces(struct txn *t, struct str id, const struct pieces *pieces,
                             struct str *all)
{
    enum { LENGTH_BYTES_MAX = 10 };
    struct buf small = buf_in(txn_arena(t));
    size_t n = 0;
    for (size_t i = 0; i < pieces->count; i++)
        n += 1 + varint_bytes(pieces->items[i].length) + (size_t)pieces->items[i].length;
    (void)buf_reserve(&small, all->n + id.n + LENGTH_BYTES_MAX + n);
    buf_put(&small, *all);
    buf_put(&small, id);
    buf_put_varint(&small, n);
    pieces_encode(&small, pieces);
    *all = buf_str(&small);
}

static bool fits_small(const struct path_write_args *args, struct str all)
{
    return all_inline(args->pieces) && all.n + args->size <= SMALL_APPENDS_MAX;
}

static struct err keep_pieces(struct txn *t, const struct path_write_args *args,
                              const struct blob *blob, struct block_set *set)
{
    struct str id = append_id(txn_arena(t), args->position, txn_stamp(t)), row;
    if (fits_small(args, set->small)) {
        add_small_pieces(t, id, args->pieces, &set->small);
        return OK;
    }
    TRY(claim_pieces(t, args->pieces, &row));
    struct engine_row whole = {
        .key = blob_key_block(txn_arena(t), blob->container.incarnation, blob->head.blocks, id),
        .value = row};
    return txn_insert(t, &whole);
}

/* Takes the next append of a head's list. */
static bool read_listed(struct reader *list, struct str *id, uint64_t *length)
{
    *id = read_raw(list, PATH_APPEND_ID_BYTES);
    *length = read_varint(list);
    return reader_ok(list);
}

/* The same appends as the row of a set has them. */
static struct err to_small(struct txn *t, const struct blob *blob, struct str *all)
{
    struct reader list = reader_of(blob->head.appends);
    struct str rest = blob->body, id;
    uint64_t length;
    *all = STR_NONE;
    while (list.n > 0) {
        if (!read_listed(&list, &id, &length) || length > rest.n)
            return err_new(ERR_CORRUPT);
        struct piece piece = {.kind = PIECE_INLINE, .length = length, .bytes = rest.p};
        add_small_pieces(t, id, &(struct pieces){.items = &piece, .count = 1}, all);
        rest = str_from(rest, (size_t)length);
    }
    return rest.n == 0 ? OK : err_new(ERR_CORRUPT);
}

/* The appends that are the body of the file's row. */
static struct err load_beside(struct txn *t, struct blob *blob, struct str *all)
{
    *all = STR_NONE;
    if (blob->head.appended == 0)
        return OK;
    if (!str_given(blob->body))
        TRY(blob_load_body(t, blob->key, &blob->head, &blob->body));
    *all = blob->body;
    return str_given(blob->head.appends) ? to_small(t, blob, all) : OK;
}

/* Returns true if the append can be listed with those that are there. */
static bool goes_beside_appends(const struct path_write_args *args, const struct blob *blob,
                                struct str beside)
{
    const struct blob_head *head = &blob->head;
    bool listed = head->appended == 0 || str_given(head->appends);
    return head->blocks == 0 && head->content == 0 && listed &&
           head->appends.n < LISTED_BYTES_MAX && fits_small(args, beside);
}

static struct err keep_beside(struct txn *t, const struct path_write_args *args, struct blob *blob)
{
    const struct pieces *pieces = args->pieces;
    struct blob_head *head = &blob->head;
    struct buf list = buf_in(txn_arena(t)), body = buf_in(txn_arena(t));
    buf_put(&list, head->appends);
    buf_put(&list, append_id(txn_arena(t), args->position, txn_stamp(t)));
    buf_put_varint(&list, args->size);
    if (head->appended == 0 && pieces->count == 1) {
        blob->body = (struct str){pieces->items[0].bytes, (size_t)pieces->items[0].length};
    } else {
        (void)buf_reserve(&body, blob->body.n + args->size);
        buf_put(&body, head->appended == 0 ? STR_NONE : blob->body);
        for (size_t i = 0; i < pieces->count; i++)
            buf_put(&body, (struct str){pieces->items[i].bytes, (size_t)pieces->items[i].length});
        blob->body = buf_str(&body);
    }
    head->appends = buf_str(&list);
    head->appended = txn_now(t);
    return blob_save_unchanged(t, blob);
}

static size_t count_small(struct str all)
{
    struct reader r = reader_of(all);
    size_t count = 0;
    for (; r.n > 0 && reader_ok(&r); count++) {
        (void)read_raw(&r, PATH_APPEND_ID_BYTES);
        (void)read_bytes(&r);
    }
    return count;
}

/* Creates a set with the appends that were beside the head. */
static void begin_set(struct txn *t, struct blob *blob, struct str beside, struct block_set *set)
{
    *set = (struct block_set){.name = blob->name,
                              .count = count_small(beside),
                              .id_bytes = PATH_APPEND_ID_BYTES,
                              .small = beside,
                              .is_new = true};
    blob->head.blocks = (uint64_t)txn_stamp(t);
    blob->head.blocks_appended = true;
    blob_head_drop_appends(&blob->head);
}

static struct err keep_append(struct txn *t, const struct path_write_args *args, struct blob *blob)
{
    struct block_set set;
    struct str beside;
    bool first = blob->head.blocks == 0;
    TRY(load_beside(t, blob, &beside));
    if (goes_beside_appends(args, blob, beside))
        return keep_beside(t, args, blob);
    if (first)
        begin_set(t, blob, beside, &set);
    else
        TRY(block_set_load(t, blob, &set));
    if (set.count++ >= BLOCKS_UNCOMMITTED_MAX)
        return err_new(ERR_BLOCK_COUNT_EXCEEDS_LIMIT);
    set.touched = txn_now(t);
    TRY(keep_pieces(t, args, blob, &set));
    TRY(block_set_save(t, blob, &set));
    bool changed = first || args->lease_action != PATH_LEASE_NONE;
    return changed ? blob_save_unchanged(t, blob) : OK;
}

/* ---- Flush ---- */

struct append {
    uint64_t position, end;
    int64_t stamp;
    struct str key; /* absent: it has no separate row */
    struct str row; /* its pieces */
};

struct flush {
    struct txn *txn;
    struct blob *blob;
    uint64_t to;
    struct append *appends; /* sorted by position, then by stamp */
    size_t count, capacity;
    size_t used;          /* those before `to` come first */
    struct block_set set; /* of the earlier appends */
    uint64_t beyond;      /* rows of the set that begin at `to` or later, which were not read */
    bool overwrites;      /* they overlap each other, or the file */
    struct content_writer writer;
};

static struct err take_append(struct flush *f, struct str id, struct str row, struct str key)
{
    if (f->count == f->capacity) {
        size_t capacity = f->capacity == 0 ? 4 : f->capacity * 2;
        struct append *more = ARENA_ARRAY(txn_arena(f->txn), struct append, capacity);
        if (f->count > 0)
            memcpy(more, f->appends, f->count * sizeof *more);
        f->appends = more;
        f->capacity = capacity;
    }
    struct append *one = &f->appends[f->count++];
    struct reader at = reader_of(id), r = reader_of(row);
    one->key = key;
    one->row = row;
    one->position = read_be64(&at);
    one->stamp = (int64_t)read_be64(&at);
    one->end = one->position;
    struct piece piece;
    while (piece_decode(&r, &piece))
        one->end += piece.length;
    return reader_done(&at) && reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err load_rows(struct flush *f)
{
    const struct blob *blob = f->blob;
    struct arena *a = txn_arena(f->txn);
    size_t prefix = blob_key_blocks(a, blob->container.incarnation, blob->head.blocks).n;
    struct cursor *c;
    TRY(cursor_open(
        f->txn, blob_key_block(a, blob->container.incarnation, blob->head.blocks, STR("")), &c));
    struct err e = OK;
    while (!err_is(e) && c->valid) {
        struct str key = arena_copy(a, c->key);
        struct reader at = reader_of(str_from(key, prefix + 1));
        if (read_be64(&at) >= f->to)
            break;
        e = take_append(f, str_from(key, prefix + 1), arena_copy(a, c->value), key);
        if (!err_is(e))
            e = cursor_next(c);
    }
    cursor_close(c);
    return e;
}

static int compare_appends(const void *a, const void *b)
{
    const struct append *x = a, *y = b;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return x->stamp < y->stamp ? -1 : x->stamp > y->stamp;
}

static struct err take_small(struct flush *f, struct str all)
{
    struct reader r = reader_of(all);
    while (r.n > 0 && reader_ok(&r)) {
        struct str id = read_raw(&r, PATH_APPEND_ID_BYTES);
        TRY(take_append(f, id, read_bytes(&r), STR_NONE));
    }
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err load_set(struct flush *f, bool merged)
{
    struct arena *a = txn_arena(f->txn);
    TRY(block_set_load(f->txn, f->blob, &f->set));
    if (f->set.count >= PATH_MERGE_MIN && !merged)
        return err_new(ERR_STAGE_STALE);
    f->set.small = arena_copy(a, f->set.small);
    f->set.name = arena_copy(a, f->set.name);
    TRY(take_small(f, f->set.small));
    if (f->count < f->set.count)
        TRY(load_rows(f));
    if (f->count > f->set.count)
        return err_new(ERR_CORRUPT);
    f->beyond = f->set.count - f->count;
    return OK;
}

/* Loads the earlier appends, and adds that of this request. */
static struct err load_appends(struct flush *f, const struct path_write_args *args)
{
    struct arena *a = txn_arena(f->txn);
    struct str row, beside;
    TRY(load_beside(f->txn, f->blob, &beside));
    TRY(take_small(f, beside));
    if (f->blob->head.blocks != 0)
        TRY(load_set(f, args->merged));
    if (args->pieces != NULL) {
        TRY(claim_pieces(f->txn, args->pieces, &row));
        TRY(take_append(f, append_id(a, args->position, txn_stamp(f->txn)), row, STR_NONE));
    }
    if (f->count > 1)
        qsort(f->appends, f->count, sizeof *f->appends, compare_appends);
    return OK;
}

/* The file must end at `to` without a gap, and no append may cross `to`. */
static struct err check_position(struct flush *f)
{
    uint64_t reached = f->blob->head.size;
    for (f->used = 0; f->used < f->count; f->used++) {
        const struct append *one = &f->appends[f->used];
        if (one->position >= f->to)
            break;
        if (one->position > reached || one->end > f->to)
            return err_new(ERR_INVALID_FLUSH_POSITION);
        f->overwrites = f->overwrites || one->position < reached;
        reached = one->end > reached ? one->end : reached;
    }
    return reached == f->to ? OK : err_new(ERR_INVALID_FLUSH_POSITION);
}

static struct piece cut(struct piece piece, uint64_t offset, uint64_t length)
{
    if (piece.kind == PIECE_INLINE)
        piece.bytes += offset;
    if (piece.kind == PIECE_EXTENT)
        piece.extent_offset += (uint32_t)offset;
    piece.length = length;
    return piece;
}

/* Writes the part [from, to) of an append, which begins at its position. */
static struct err write_part(struct flush *f, const struct append *one, uint64_t from, uint64_t to,
                             enum piece_claim how)
{
    struct reader r = reader_of(one->row);
    uint64_t at = one->position;
    struct piece piece;
    while (piece_decode(&r, &piece)) {
        uint64_t begin = from > at ? from : at, end = at + piece.length;
        end = end < to ? end : to;
        if (begin < end) {
            struct piece part = cut(piece, begin - at, end - begin);
            TRY(content_write(&f->writer, &part, how));
        }
        at += piece.length;
    }
    return OK;
}

static struct err write_committed(struct flush *f, uint64_t from, uint64_t to)
{
    struct arena *a = txn_arena(f->txn);
    struct content_part part = {from, to - from, SIZE_MAX};
    struct pieces pieces;
    TRY(blob_read_content(f->txn, f->blob, part, a, &pieces));
    for (size_t i = 0; i < pieces.count; i++)
        TRY(content_write(&f->writer, &pieces.items[i], PIECE_HOLD));
    return OK;
}

/* The appends that begin before an offset, the latest first: a heap by stamp. Those that end before
 * the offset are dropped when they come first. */
struct cover {
    const struct append **heap;
    size_t count;
    size_t next; /* the first append that is not in it yet */
};

static void cover_add(struct cover *c, const struct append *one)
{
    size_t i = c->count++;
    for (; i > 0 && c->heap[(i - 1) / 2]->stamp < one->stamp; i = (i - 1) / 2)
        c->heap[i] = c->heap[(i - 1) / 2];
    c->heap[i] = one;
}

static void cover_drop(struct cover *c)
{
    const struct append *last = c->heap[--c->count];
    size_t i = 0, child = 1;
    for (; child < c->count; i = child, child = 2 * i + 1) {
        if (child + 1 < c->count && c->heap[child + 1]->stamp > c->heap[child]->stamp)
            child++;
        if (c->heap[child]->stamp <= last->stamp)
            break;
        c->heap[i] = c->heap[child];
    }
    c->heap[i] = last;
}

/* Returns what is visible at an offset, which only grows: the latest append there, NULL: the file
 * as it was. *until: the end of that part. */
static const struct append *seen_at(const struct flush *f, struct cover *c, uint64_t offset,
                                    uint64_t *until)
{
    for (; c->next < f->used && f->appends[c->next].position <= offset; c->next++)
        cover_add(c, &f->appends[c->next]);
    while (c->count > 0 && c->heap[0]->end <= offset)
        cover_drop(c);
    const struct append *seen = c->count > 0 ? c->heap[0] : NULL;
    *until = seen != NULL ? seen->end : f->to;
    for (; c->next < f->used && f->appends[c->next].position < *until; c->next++) {
        const struct append *one = &f->appends[c->next];
        if (seen == NULL || one->stamp > seen->stamp) {
            *until = one->position;
            break;
        }
        cover_add(c, one);
    }
    return seen;
}

enum {
    OVERWRITES_MAX = 5 * PATH_OVERLAPS_MAX / 2
}; /* also those merged between overlapping ones */

/* Writes a new content from the latest bytes at each offset. */
static struct err write_over(struct flush *f)
{
    if (f->used > OVERWRITES_MAX)
        return err_new(ERR_INVALID_FLUSH_POSITION);
    struct cover cover = {.heap =
                              ARENA_ARRAY(txn_arena(f->txn), const struct append *, f->used + 1)};
    for (uint64_t at = 0, until; at < f->to; at = until) {
        const struct append *one = seen_at(f, &cover, at, &until);
        if (one != NULL)
            TRY(write_part(f, one, at, until, PIECE_HOLD));
        else
            TRY(write_committed(f, at, until));
    }
    for (size_t i = 0; i < f->used; i++)
        TRY(blob_drop_pieces(f->txn, f->appends[i].row));
    return OK;
}

static struct err write_appended(struct flush *f)
{
    for (size_t i = 0; i < f->used; i++)
        TRY(write_part(f, &f->appends[i], 0, UINT64_MAX, PIECE_MOVE));
    return OK;
}

/* Returns true if all of it fits beside the head. */
static bool goes_beside(const struct flush *f)
{
    const struct blob_head *head = &f->blob->head;
    if (f->to > BLOB_BESIDE_MAX || f->overwrites || (head->size > 0 && !head->content_beside))
        return false;
    for (size_t i = 0; i < f->used; i++) {
        struct reader r = reader_of(f->appends[i].row);
        struct piece piece;
        while (piece_decode(&r, &piece))
            if (piece.kind != PIECE_INLINE)
                return false;
    }
    return true;
}

static struct err write_beside(struct flush *f)
{
    struct blob *blob = f->blob;
    struct buf body = buf_in(txn_arena(f->txn));
    (void)buf_reserve(&body, f->to);
    if (blob->head.size > 0) {
        TRY(blob_load_body(f->txn, blob->key, &blob->head, &blob->body));
        buf_put(&body, blob->body);
    }
    for (size_t i = 0; i < f->used; i++) {
        struct reader r = reader_of(f->appends[i].row);
        struct piece piece;
        while (piece_decode(&r, &piece))
            buf_put(&body, (struct str){piece.bytes, (size_t)piece.length});
    }
    blob->body = buf_str(&body);
    blob->head.content = (uint64_t)txn_stamp(f->txn);
    blob->head.content_beside = true;
    blob->head.size = body.n;
    return body.n == f->to ? OK : err_new(ERR_CORRUPT);
}

/* Extends the existing content: no other head names it. */
static struct err lengthen(struct flush *f)
{
    struct blob_head *head = &f->blob->head;
    uint64_t incarnation = f->blob->container.incarnation;
    TRY(blob_settle_content(f->txn, incarnation, f->blob->key, head));
    if (head->content == 0)
        head->content = (uint64_t)txn_stamp(f->txn);
    content_write_begin(&f->writer, f->txn,
                        blob_key_content(txn_arena(f->txn), incarnation, head->content));
    content_write_from(&f->writer, head->size);
    TRY(write_appended(f));
    TRY(content_write_end(&f->writer));
    head->content_rows += f->writer.rows;
    head->content_inline = false;
    head->size = f->to;
    return OK;
}

static struct err renew(struct flush *f)
{
    struct blob_head *head = &f->blob->head;
    uint64_t incarnation = f->blob->container.incarnation, id = (uint64_t)txn_stamp(f->txn);
    content_write_begin(&f->writer, f->txn, blob_key_content(txn_arena(f->txn), incarnation, id));
    TRY(write_over(f));
    TRY(content_write_end(&f->writer));
    TRY(blob_drop_content(f->txn, incarnation, head));
    head->content = id;
    head->content_beside = head->content_shared = false;
    head->content_rows = f->writer.rows;
    head->content_inline = f->writer.rows == 1 && !f->writer.extents;
    head->size = f->to;
    return OK;
}

static struct err write_content(struct flush *f)
{
    if (f->used == 0)
        return OK;
    f->blob->head.block_count = 0;
    if (goes_beside(f))
        return write_beside(f);
    return f->overwrites || f->blob->head.content_shared ? renew(f) : lengthen(f);
}

/* Keeps what a later flush may need. */
static struct err keep_rest(struct flush *f)
{
    struct arena *a = txn_arena(f->txn);
    if (f->blob->head.blocks == 0)
        begin_set(f->txn, f->blob, STR_NONE, &f->set);
    f->set.touched = f->set.is_new ? txn_now(f->txn) : f->set.touched;
    f->set.count = f->count - f->used + f->beyond;
    f->set.removed = (uint64_t)txn_stamp(f->txn);
    f->set.small = STR_NONE;
    for (size_t i = f->used; i < f->count; i++) {
        const struct append *one = &f->appends[i];
        if (!str_given(one->key))
            add_small(f->txn, append_id(a, one->position, one->stamp), one->row, &f->set.small);
    }
    return block_set_save(f->txn, f->blob, &f->set);
}

/* Rows of appends that are now in the file, and of obsolete ones. */
static struct err end_appends(struct flush *f, bool retain)
{
    struct blob *blob = f->blob;
    size_t keep = retain ? f->count - f->used : 0;
    for (size_t i = 0; i < f->count - keep; i++) {
        if (i >= f->used)
            TRY(blob_drop_pieces(f->txn, f->appends[i].row));
        if (str_given(f->appends[i].key))
            TRY(txn_del(f->txn, f->appends[i].key));
    }
    blob_head_drop_appends(&blob->head);
    if (keep > 0 || (retain && f->beyond > 0))
        return keep_rest(f);
    if (f->beyond > 0) /* the sweeper removes them */
        return blob_drop_blocks(f->txn, blob->container.incarnation, &blob->head);
    if (blob->head.blocks == 0)
        return OK;
    TRY(txn_del(f->txn, blob_key_blocks(txn_arena(f->txn), blob->container.incarnation,
                                        blob->head.blocks)));
    blob->head.blocks = 0;
    blob->head.blocks_appended = false;
    return OK;
}

static void take_http(const struct blob_http *given, struct blob_http *http)
{
    if (str_given(given->content_type))
        http->content_type = given->content_type;
    if (str_given(given->content_encoding))
        http->content_encoding = given->content_encoding;
    if (str_given(given->content_language))
        http->content_language = given->content_language;
    if (str_given(given->content_disposition))
        http->content_disposition = given->content_disposition;
    if (str_given(given->cache_control))
        http->cache_control = given->cache_control;
    http->content_md5 = given->content_md5;
}

/* Returns true if the body of the file's row is all that is flushed, from its first byte on: as
 * nearly always, because clients append one after the other. */
static bool body_is_content(const struct blob_head *head, uint64_t to)
{
    struct reader list = reader_of(head->appends);
    uint64_t end = 0, length;
    struct str id;
    if (head->appended == 0 || !str_given(head->appends))
        return false;
    while (list.n > 0 && read_listed(&list, &id, &length)) {
        struct reader at = reader_of(id);
        if (read_be64(&at) != end)
            return false;
        end += length;
    }
    return reader_ok(&list) && end == to;
}

/* The body becomes the content, and nothing reads or writes it. */
static void take_body(struct txn *t, struct blob_head *head, uint64_t size)
{
    assert(head->content == 0 && head->blocks == 0);
    blob_head_drop_appends(head);
    head->content = (uint64_t)txn_stamp(t);
    head->content_beside = true;
    head->block_count = 0;
    head->size = size;
}

static struct err merge_appends(struct txn *t, struct path_write_args *args, struct blob *blob,
                                uint64_t to)
{
    struct flush f = {.txn = t, .blob = blob, .to = to};
    TRY(load_appends(&f, args));
    TRY(check_position(&f));
    if (args->adds_only && f.used > 0 && f.appends[0].position < blob->head.size)
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(write_content(&f));
    return end_appends(&f, args->retain);
}

static struct err flush(struct txn *t, struct path_write_args *args, struct blob *blob, uint64_t to)
{
    if (args->pieces == NULL && body_is_content(&blob->head, to))
        take_body(t, &blob->head, to);
    else
        TRY(merge_appends(t, args, blob, to));
    take_http(&args->http, &blob->head.http);
    TRY(blob_save_written(t, blob));
    /* After the write, which removes an expired lease; this one is not expired. */
    if (args->lease_action == PATH_LEASE_NONE)
        return OK;
    TRY(end_lease(t, args, blob));
    return blob_save_unchanged(t, blob);
}

/* For a file that is an append blob: it has no uncommitted part, and only grows at its end. */
static struct err write_append_blob(struct txn *t, struct path_write_args *args, struct blob *blob)
{
    struct blob_append_args block = {.pieces = args->pieces};
    if (args->pieces == NULL && args->position != blob->head.size)
        return err_new(ERR_INVALID_FLUSH_POSITION);
    if (args->position != blob->head.size)
        return err_new(ERR_INVALID_QUERY_PARAMETER_VALUE);
    if (args->pieces != NULL)
        TRY(blob_write_at_end(t, &block, blob));
    if (args->pieces == NULL || args->flush)
        take_http(&args->http, &blob->head.http);
    TRY(blob_save_written(t, blob));
    if (args->lease_action != PATH_LEASE_NONE) {
        TRY(end_lease(t, args, blob));
        TRY(blob_save_unchanged(t, blob));
    }
    blob_give_written(&args->request, &blob->head, &args->written);
    return OK;
}

struct err path_append(struct txn *t, void *arg)
{
    struct path_write_args *args = arg;
    struct blob blob;
    assert(args->size > 0);
    if (args->position > UINT64_MAX / 2)
        return err_new(ERR_INVALID_FLUSH_POSITION);
    TRY(open(t, args, &blob));
    if (blob.head.type == BLOB_APPEND)
        return write_append_blob(t, args, &blob);
    if (args->flush) {
        TRY(flush(t, args, &blob, args->position + args->size));
        blob_give_written(&args->request, &blob.head, &args->written);
        return OK;
    }
    blob.soon = true; /* for the flush */
    TRY(keep_append(t, args, &blob));
    if (args->lease_action == PATH_LEASE_ACQUIRE_RELEASE) {
        TRY(end_lease(t, args, &blob));
        TRY(blob_save_unchanged(t, &blob));
    }
    blob_give_written(&args->request, &blob.head, &args->written);
    return OK;
}

struct err path_flush(struct txn *t, void *arg)
{
    struct path_write_args *args = arg;
    struct blob blob;
    TRY(open(t, args, &blob));
    if (blob.head.type == BLOB_APPEND)
        return write_append_blob(t, args, &blob);
    TRY(flush(t, args, &blob, args->position));
    blob_give_written(&args->request, &blob.head, &args->written);
    return OK;
}
