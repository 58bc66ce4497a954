/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/append.h"

#include <assert.h>

struct err blob_create_append_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_create_append_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CREATE, &blob));
    TRY(blob_check_type(&blob, BLOB_APPEND));
    TRY(blob_replace(t, &args->request, BLOB_APPEND, &blob));
    blob_set_properties(t, &blob, &args->properties);
    blob.head.type = BLOB_APPEND;
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

static struct err check_position(const struct blob_append_args *args, const struct blob_head *head)
{
    if (args->has_position && args->position != head->size)
        return err_new(ERR_APPEND_POSITION_CONDITION_NOT_MET);
    if (args->has_size_max &&
        (head->size > args->size_max || args->size > args->size_max - head->size))
        return err_new(ERR_MAX_BLOB_SIZE_CONDITION_NOT_MET);
    return OK;
}

static struct err write_block(struct txn *t, const struct blob_append_args *args, struct blob *blob)
{
    struct blob_head *head = &blob->head;
    struct content_writer w;
    if (head->content == 0)
        head->content = (uint64_t)txn_stamp(t);
    content_write_begin(&w, t,
                        blob_key_content(txn_arena(t), blob->container.incarnation, head->content));
    content_write_from(&w, head->size);
    for (size_t i = 0; i < args->pieces->count; i++)
        TRY(content_write(&w, &args->pieces->items[i], args->claim.how));
    TRY(content_write_end(&w));
    head->content_rows += w.rows;
    head->content_inline = false;
    head->size = w.size;
    head->block_count++;
    return OK;
}

struct err blob_write_at_end(struct txn *t, const struct blob_append_args *args, struct blob *blob)
{
    if (blob->head.sealed)
        return err_new(ERR_BLOB_IS_SEALED);
    if (blob->head.block_count >= BLOB_APPEND_BLOCKS_MAX)
        return err_new(ERR_BLOCK_COUNT_EXCEEDS_LIMIT);
    return write_block(t, args, blob);
}

struct err blob_append_block(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_append_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_ALTER, &blob));
    TRY(blob_check_type(&blob, BLOB_APPEND));
    TRY(blob_check_scope_said(&args->request, &blob));
    if (blob.head.sealed)
        return err_new(ERR_BLOB_IS_SEALED);
    TRY(check_position(args, &blob.head));
    if (blob.head.block_count >= BLOB_APPEND_BLOCKS_MAX)
        return err_new(ERR_BLOCK_COUNT_EXCEEDS_LIMIT);
    TRY(blob_claim_check(t, &args->claim));
    args->offset = blob.head.size;
    TRY(write_block(t, args, &blob));
    TRY(blob_save_written(t, &blob));
    return blob_give(&args->request, &blob.head, &args->head);
}

/* Sealing a sealed blob again changes nothing and succeeds, so that a client may repeat it. */
struct err blob_seal_append_blob(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct blob_append_args *args = arg;
    struct blob blob;
    TRY(blob_open(t, &args->request, BLOB_CHANGE, &blob));
    TRY(blob_check_type(&blob, BLOB_APPEND));
    TRY(check_position(args, &blob.head));
    if (!blob.head.sealed) {
        blob.head.sealed = true;
        TRY(blob_save_written(t, &blob));
    }
    return blob_give(&args->request, &blob.head, &args->head);
}
