/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/block/block.h"

#include <assert.h>

#include "service/blob/block/block_index.h"
#include "service/blob/block/block_stage.h"
#include "service/common/records.h"

/* ---- the set's row ---- */

#define SET(number, member) RECORD_MEMBER(struct block_set, number, member)
static const struct record_member SET_MEMBERS[] = {
    SET(1, name),  SET(2, count),   SET(3, id_bytes), SET(4, touched),
    SET(5, small), SET(6, version), SET(7, removed),
};
#undef SET
const struct record_type BLOCK_SET_RECORD = RECORD_TYPE(struct block_set, SET_MEMBERS);

struct err block_set_decode(struct str row, struct block_set *out)
{
    assert(out != NULL);
    *out = (struct block_set){0};
    bool good = record_read(row, &BLOCK_SET_RECORD, out) && str_given(out->name);
    return good ? OK : err_new(ERR_CORRUPT);
}

static struct str set_key(struct txn *t, const struct blob *blob)
{
    return blob_key_blocks(txn_arena(t), blob->container.incarnation, blob->head.blocks);
}

struct err block_set_load(struct txn *t, const struct blob *blob, struct block_set *out)
{
    struct str row;
    TRY(txn_get(t, set_key(t, blob), &row));
    return str_given(row) ? block_set_decode(row, out) : err_new(ERR_CORRUPT);
}

struct err block_set_save(struct txn *t, const struct blob *blob, const struct block_set *set)
{
    assert(str_given(set->name) && blob->head.blocks != 0);
    struct buf row = buf_in(txn_arena(t));
    struct block_set changed = *set;
    changed.version = (uint64_t)txn_stamp(t);
    record_write(&row, &BLOCK_SET_RECORD, &changed);
    struct engine_row whole = {.key = set_key(t, blob), .value = buf_str(&row), .hints = HINT_SOON};
    return set->is_new ? txn_insert(t, &whole) : txn_put_row(t, &whole);
}

/* ---- Put Block ---- */

/* Loads the set of the blob's uncommitted blocks, and the row of this block. */
static struct err load_set(struct txn *t, const struct blob *blob, struct str id,
                           struct block_set *set, struct str *old)
{
    struct engine_read reads[] = {
        {.key = set_key(t, blob)},
        {.key = blob_key_block(txn_arena(t), blob->container.incarnation, blob->head.blocks, id)}};
    TRY(txn_get_many(t, reads, 2));
    *old = reads[1].value;
    return str_given(reads[0].value) ? block_set_decode(reads[0].value, set) : err_new(ERR_CORRUPT);
}

/* A first block creates a set; if there is no blob yet, it also creates an uncommitted one. */
static struct err open_set(struct txn *t, struct blob *blob, const struct block_put_args *args,
                           struct block_set *set, struct str *old)
{
    *old = STR_NONE;
    if (blob->head.blocks != 0)
        return load_set(t, blob, args->id, set, old);
    *set = (struct block_set){.name = blob->name, .id_bytes = args->id.n, .is_new = true};
    if (!blob->stored) {
        TRY(blob_begin(t, &args->request, BLOB_BLOCK, blob));
        blob->head =
            (struct blob_head){.type = BLOB_BLOCK, .created = txn_now(t), .path = blob->head.path};
    }
    blob->head.blocks = (uint64_t)txn_stamp(t);
    return blob_save_unchanged(t, blob);
}

struct err blob_drop_pieces(struct txn *t, struct str row)
{
    struct reader r = reader_of(row);
    struct piece piece;
    while (piece_decode(&r, &piece))
        if (piece.kind == PIECE_EXTENT)
            TRY(txn_extent(t, EXTENT_DROP, &piece.extent));
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

static struct err save_block(struct txn *t, struct str key, const struct pieces *pieces,
                             enum piece_claim how)
{
    for (size_t i = 0; i < pieces->count; i++)
        TRY(piece_claim(t, &pieces->items[i], how));
    struct buf row = buf_in(txn_arena(t));
    pieces_encode(&row, pieces);
    return txn_put(t, key, buf_str(&row));
}

struct err blob_put_block(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct block_put_args *args = arg;
    struct blob blob;
    struct block_set set;
    struct str old;
    TRY(blob_open(t, &args->request, BLOB_STAGE, &blob));
    TRY(blob_check_type(&blob, BLOB_BLOCK));
    if (blob_head_has_appends(&blob.head))
        return err_new(ERR_BLOB_OPERATION_NOT_SUPPORTED);
    TRY(blob_claim_check(t, &args->claim));
    TRY(open_set(t, &blob, args, &set, &old));
    if (set.id_bytes != args->id.n)
        return err_new(ERR_INVALID_BLOB_OR_BLOCK);
    struct str key =
        blob_key_block(txn_arena(t), blob.container.incarnation, blob.head.blocks, args->id);
    if (str_given(old))
        TRY(blob_drop_pieces(t, old));
    else if (set.count++ >= BLOCKS_UNCOMMITTED_MAX)
        return err_new(ERR_BLOCK_COUNT_EXCEEDS_LIMIT);
    set.touched = txn_now(t);
    TRY(save_block(t, key, args->pieces, args->claim.how));
    return block_set_save(t, &blob, &set);
}

/* ---- Put Block List ---- */

/* A running commit. */
struct commit {
    struct txn *txn;
    const struct blob *blob;
    struct block_index committed;
    struct block_index uncommitted;
    struct content_writer writer;
    struct content_walk walk; /* over the content that is replaced */
    uint64_t content;
    struct buf list; /* the row of the new block list that is being filled */
    uint64_t blocks; /* written so far */
};

static struct err flush_list(struct commit *c, uint64_t row)
{
    struct str key = blob_key_block_list_row(txn_arena(c->txn), c->blob->container.incarnation,
                                             c->content, (uint32_t)row);
    TRY(txn_put(c->txn, key, buf_str(&c->list)));
    buf_clear(&c->list);
    return OK;
}

static struct err list_block(struct commit *c, struct str id, uint64_t size)
{
    block_list_put(&c->list, id, size);
    c->blocks++;
    return c->blocks % BLOB_BLOCK_LIST_ROW == 0 ? flush_list(c, c->blocks / BLOB_BLOCK_LIST_ROW - 1)
                                                : OK;
}

/* Moves the block's pieces from its row to the blob's content. A block that is listed twice shares
 * them with itself. */
static struct err take_uncommitted(struct commit *c, struct block_index_entry *block)
{
    struct reader r = reader_of(block->pieces);
    struct piece piece;
    while (piece_decode(&r, &piece))
        TRY(content_write(&c->writer, &piece, block->used ? PIECE_HOLD : PIECE_MOVE));
    if (!reader_ok(&r))
        return err_new(ERR_CORRUPT);
    if (!block->used) {
        c->uncommitted.used++;
        TRY(txn_del(c->txn, blob_key_block(txn_arena(c->txn), c->blob->container.incarnation,
                                           c->blob->head.blocks, block->id)));
    }
    block->used = true;
    return list_block(c, block->id, block->size);
}

static struct err take_committed(struct commit *c, const struct block_index_entry *block)
{
    struct pieces pieces;
    TRY(content_walk_read(&c->walk, block->offset, block->size, &pieces));
    for (size_t i = 0; i < pieces.count; i++)
        TRY(content_write(&c->writer, &pieces.items[i], PIECE_HOLD));
    return list_block(c, block->id, block->size);
}

static struct err take_entry(struct commit *c, const struct block_entry *entry)
{
    struct block_index_entry *block = NULL;
    if (entry->kind != BLOCK_COMMITTED)
        block = block_index_find(&c->uncommitted, entry->id);
    if (block != NULL)
        return take_uncommitted(c, block);
    if (entry->kind != BLOCK_UNCOMMITTED)
        block = block_index_find(&c->committed, entry->id);
    return block == NULL ? err_new(ERR_INVALID_BLOCK_LIST) : take_committed(c, block);
}

static struct err load_indexes(struct commit *c)
{
    const struct blob_head *head = &c->blob->head;
    struct arena *a = txn_arena(c->txn);
    uint64_t incarnation = c->blob->container.incarnation;
    if (head->block_count > 0)
        TRY(block_index_committed(c->txn, a, blob_key_block_list(a, incarnation, head->content),
                                  head->block_count, &c->committed));
    if (head->blocks != 0 && !head->blocks_appended)
        TRY(block_index_uncommitted(c->txn, blob_key_blocks(a, incarnation, head->blocks),
                                    &c->uncommitted));
    block_index_sort(&c->committed);
    return OK;
}

static struct err write_blocks(struct commit *c, const struct block_commit_args *args)
{
    struct arena *a = txn_arena(c->txn);
    uint64_t incarnation = c->blob->container.incarnation;
    struct err e = OK;
    c->content = (uint64_t)txn_stamp(c->txn);
    c->list = buf_in(a);
    content_write_begin(&c->writer, c->txn, blob_key_content(a, incarnation, c->content));
    content_walk_begin(&c->walk, c->txn, blob_key_content(a, incarnation, c->blob->head.content));
    for (size_t i = 0; i < args->count && !err_is(e); i++)
        e = take_entry(c, &args->entries[i]);
    content_walk_end(&c->walk);
    TRY(e);
    TRY(content_write_end(&c->writer));
    return c->list.n > 0 ? flush_list(c, c->blocks / BLOB_BLOCK_LIST_ROW) : OK;
}

/* Leaves the blocks that the list did not name to the sweeper; an empty set is only its row. */
static struct err end_set(struct commit *c, struct blob *blob)
{
    if (blob->head.blocks == 0 || blob->head.blocks_appended ||
        c->uncommitted.used < c->uncommitted.count)
        return blob_drop_blocks(c->txn, blob->container.incarnation, &blob->head);
    TRY(txn_del(c->txn, blob_key_blocks(txn_arena(c->txn), blob->container.incarnation,
                                        blob->head.blocks)));
    blob->head.blocks = 0;
    return OK;
}

/* Writes the content and the list in this transaction. */
static struct err commit_here(struct txn *t, const struct block_commit_args *args,
                              struct blob *blob, struct block_content *out)
{
    struct commit c = {.txn = t, .blob = blob};
    TRY(load_indexes(&c));
    TRY(write_blocks(&c, args));
    TRY(end_set(&c, blob));
    *out = (struct block_content){.id = c.content,
                                  .rows = c.writer.rows,
                                  .size = c.writer.size,
                                  .extents = c.writer.extents,
                                  .blocks = c.blocks};
    return OK;
}

struct err blob_put_block_list(struct txn *t, void *arg)
{
    struct block_commit_args *args = arg;
    struct blob blob;
    struct block_content content;
    assert(args->count <= BLOCKS_COMMITTED_MAX);
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(blob_check_type(&blob, BLOB_BLOCK));
    if (args->stage != NULL)
        TRY(block_stage_take(t, args->stage, &blob, &content));
    else
        TRY(commit_here(t, args, &blob, &content));
    TRY(blob_replace(t, &args->request, BLOB_BLOCK, &blob));
    blob.head.content = content.size == 0 ? 0 : content.id;
    blob.head.content_rows = content.rows;
    blob.head.content_inline = content.rows == 1 && !content.extents;
    blob.head.size = content.size;
    blob.head.block_count = content.blocks;
    blob_set_properties(t, &blob, &args->properties);
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* ---- Get Block List ---- */

static void give_blocks(const struct blob_request *request, const struct block_index *index,
                        struct block_info **out, size_t *count)
{
    *count = index->count;
    *out = ARENA_ARRAY(request->arena, struct block_info, index->count + 1);
    for (size_t i = 0; i < index->count; i++)
        (*out)[i] = (struct block_info){arena_copy(request->arena, index->entries[i].id),
                                        index->entries[i].size};
}

struct err blob_get_block_list(struct txn *t, void *arg)
{
    struct block_list_args *args = arg;
    struct blob blob;
    struct block_index committed = {0}, uncommitted = {0};
    TRY(blob_open(t, &args->request, BLOB_READ_STORED, &blob));
    if (blob.head.type != BLOB_BLOCK)
        return err_new(ERR_INVALID_BLOB_TYPE);
    const struct blob_head *head = &blob.head;
    struct arena *a = txn_arena(t);
    if (args->wants_committed && head->block_count > 0)
        TRY(block_index_committed(t, a,
                                  blob_key_block_list(a, blob.container.incarnation, head->content),
                                  head->block_count, &committed));
    if (args->wants_uncommitted && head->blocks != 0 && !head->blocks_appended)
        TRY(block_index_uncommitted(t, blob_key_blocks(a, blob.container.incarnation, head->blocks),
                                    &uncommitted));
    give_blocks(&args->request, &committed, &args->committed, &args->committed_count);
    give_blocks(&args->request, &uncommitted, &args->uncommitted, &args->uncommitted_count);
    return blob_give(&args->request, head, &args->head);
}
