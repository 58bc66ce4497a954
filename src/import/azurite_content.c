/* SPDX-License-Identifier: Apache-2.0 */
#include "import/azurite_content.h"

#include "core/text/base64.h"
#include "service/blob/append.h"
#include "service/blob/block/block.h"
#include "service/blob/page/page.h"
#include "service/common/content/interval_upload.h"
#include "service/common/content/upload.h"

static struct blob_request request_of(struct import *im, const struct import_target *to)
{
    return (struct blob_request){.arena = &im->arena, .name = to->name};
}

/* ---- bytes ---- */

static struct err take_bytes(void *arg, struct str bytes)
{
    return upload_take(arg, bytes);
}

static struct err upload_chunk(struct import *im, const struct chunk *chunk, struct upload *u)
{
    im->report->bytes += chunk->count;
    return import_chunk_read(&im->extents, chunk, take_bytes, u);
}

/* Uploads one complete block; discards it on an error. */
static struct err upload_block(struct import *im, const struct node *block, uint64_t inline_max,
                               struct upload *u)
{
    struct chunk chunk;
    if (!import_chunk_of(block, &chunk))
        return err_detail(ERR_CORRUPT, "a block names no bytes");
    struct upload_options options = {.inline_max = inline_max, .expected = (int64_t)chunk.count};
    upload_init(u, im->store, &im->arena, &options);
    struct err error = upload_chunk(im, &chunk, u);
    if (!err_is(error))
        error = upload_end(u);
    if (err_is(error))
        upload_discard(u);
    return error;
}

/* ---- block blobs ---- */

struct err import_content_put_block(struct import *im, const struct import_target *to,
                                    const struct node *node)
{
    struct upload u;
    struct block_put_args args = {.request = request_of(im, to), .pieces = &u.pieces};
    if (!base64_decode(&im->arena, document_text(node, "name"), &args.id) || args.id.n == 0 ||
        args.id.n > BLOCK_ID_BYTES_MAX)
        return err_detail(ERR_CORRUPT, "a block's id is no base64");
    TRY(upload_block(im, node, BLOCK_INLINE_MAX, &u));
    struct err error = import_update(im, to->partition, blob_put_block, &args);
    if (err_is(error))
        upload_discard(&u);
    return error;
}

/* True if a blob here can have these blocks: their ids have one length. *count is their number. */
static bool blocks_fit(struct import *im, const struct node *blocks, size_t *count)
{
    size_t length = 0;
    *count = 0;
    for (const struct node *b = document_first(blocks); b != NULL; b = b->next, (*count)++) {
        struct str id;
        if (!base64_decode(&im->arena, document_text(b, "name"), &id) || id.n == 0 ||
            id.n > BLOCK_ID_BYTES_MAX || (length != 0 && id.n != length))
            return false;
        length = id.n;
    }
    return *count <= BLOCKS_COMMITTED_MAX;
}

static struct err put_blocks(struct import *im, const struct import_target *to,
                             const struct node *blocks, struct block_commit_args *commit)
{
    struct block_entry *entries = arena_alloc(&im->arena, commit->count * sizeof *entries);
    size_t n = 0;
    for (const struct node *b = document_first(blocks); b != NULL; b = b->next) {
        TRY(import_content_put_block(im, to, b));
        entries[n].kind = BLOCK_UNCOMMITTED;
        (void)base64_decode(&im->arena, document_text(b, "name"), &entries[n++].id);
    }
    commit->entries = entries;
    return import_update(im, to->partition, blob_put_block_list, commit);
}

static struct err upload_all(struct import *im, const struct node *node, const struct node *blocks,
                             struct upload *u)
{
    struct chunk chunk;
    if (import_chunk_of(node, &chunk))
        TRY(upload_chunk(im, &chunk, u));
    for (const struct node *b = document_first(blocks); b != NULL; b = b->next) {
        if (!import_chunk_of(b, &chunk))
            return err_detail(ERR_CORRUPT, "a block names no bytes");
        TRY(upload_chunk(im, &chunk, u));
    }
    return upload_end(u);
}

static struct err put_whole(struct import *im, const struct import_target *to,
                            const struct node *node, const struct blob_properties *properties)
{
    struct upload u;
    uint64_t size = 0;
    struct upload_options options = {.inline_max = UPLOAD_INLINE_MAX, .expected = -1};
    if (document_u64(document_member(node, "properties"), "contentLength", &size) &&
        size <= INT64_MAX)
        options.expected = (int64_t)size;
    upload_init(&u, im->store, &im->arena, &options);
    struct err error = upload_all(im, node, document_member(node, "committedBlocksInOrder"), &u);
    struct blob_put_args args = {.request = request_of(im, to),
                                 .properties = *properties,
                                 .pieces = &u.pieces,
                                 .size = u.size};
    if (!err_is(error) && options.expected >= 0 && u.size != size)
        error = err_detail(ERR_CORRUPT, "its bytes are fewer or more than its length");
    if (!err_is(error))
        error = import_update(im, to->partition, blob_put_blob, &args);
    if (err_is(error))
        upload_discard(&u);
    return error;
}

static struct err put_block_blob(struct import *im, const struct import_target *to,
                                 const struct node *node, const struct blob_properties *properties)
{
    const struct node *blocks = document_member(node, "committedBlocksInOrder");
    struct block_commit_args commit = {.request = request_of(im, to), .properties = *properties};
    if (document_first(blocks) != NULL && blocks_fit(im, blocks, &commit.count))
        return put_blocks(im, to, blocks, &commit);
    return put_whole(im, to, node, properties);
}

/* ---- append blobs ---- */

static struct err append(struct import *im, const struct import_target *to,
                         const struct node *block)
{
    struct upload u;
    TRY(upload_block(im, block, UPLOAD_INLINE_MAX, &u));
    struct blob_append_args args = {
        .request = request_of(im, to), .pieces = &u.pieces, .size = u.size};
    struct err error =
        u.size == 0 ? OK : import_update(im, to->partition, blob_append_block, &args);
    if (err_is(error) || u.size == 0)
        upload_discard(&u);
    return error;
}

static struct err put_append_blob(struct import *im, const struct import_target *to,
                                  const struct node *node, const struct blob_properties *properties)
{
    struct blob_create_append_args create = {.request = request_of(im, to),
                                             .properties = *properties};
    TRY(import_update(im, to->partition, blob_create_append_blob, &create));
    const struct node *blocks = document_member(node, "committedBlocksInOrder");
    for (const struct node *b = document_first(blocks); b != NULL; b = b->next)
        TRY(append(im, to, b));
    struct blob_append_args seal = {.request = request_of(im, to)};
    return document_true(document_member(node, "properties"), "isSealed")
               ? import_update(im, to->partition, blob_seal_append_blob, &seal)
               : OK;
}

/* ---- page blobs ---- */

static struct err take_pages(void *arg, struct str bytes)
{
    return interval_upload_take(arg, bytes);
}

/* the largest size of one Put Page */
enum { PAGES_BYTES_MAX = 4 << 20 };

static struct err put_pages(struct import *im, const struct import_target *to, uint64_t offset,
                            const struct chunk *chunk)
{
    struct interval_upload u;
    struct blob_page_args args = {.request = request_of(im, to),
                                  .offset = offset,
                                  .length = chunk->count,
                                  .pieces = &u.pieces};
    im->report->bytes += chunk->count;
    interval_upload_init(&u, im->store->engine, &im->arena, offset, chunk->count);
    struct err error = import_chunk_read(&im->extents, chunk, take_pages, &u);
    if (!err_is(error))
        error = interval_upload_end(&u);
    if (!err_is(error))
        error = import_update(im, to->partition, blob_put_page, &args);
    if (err_is(error))
        interval_upload_discard(&u);
    return error;
}

static struct err put_range(struct import *im, const struct import_target *to,
                            const struct node *range)
{
    struct chunk chunk;
    uint64_t start;
    uint64_t end;
    if (!import_chunk_of(range, &chunk) || !document_u64(range, "start", &start) ||
        !document_u64(range, "end", &end) || end < start || start % BLOB_PAGE_BYTES != 0 ||
        (end + 1) % BLOB_PAGE_BYTES != 0)
        return err_detail(ERR_CORRUPT, "a page range cannot be read");
    /* Zeros are skipped: pages that were never written read as zeros, and Azurite stores cleared
     * pages as zeros. */
    if (str_eq(chunk.id, STR("*ZERO*")))
        return OK;
    for (uint64_t at = start; at <= end; at += PAGES_BYTES_MAX) {
        uint64_t left = end + 1 - at;
        struct chunk part = {chunk.id, chunk.offset + (at - start),
                             left < PAGES_BYTES_MAX ? left : PAGES_BYTES_MAX};
        TRY(put_pages(im, to, at, &part));
    }
    return OK;
}

static struct err put_page_blob(struct import *im, const struct import_target *to,
                                const struct node *node, const struct blob_properties *properties)
{
    const struct node *p = document_member(node, "properties");
    struct blob_create_page_args create = {.request = request_of(im, to),
                                           .properties = *properties};
    if (!document_u64(p, "contentLength", &create.size) || create.size % BLOB_PAGE_BYTES != 0)
        return err_detail(ERR_CORRUPT, "its size is no number of pages");
    (void)document_u64(p, "blobSequenceNumber", &create.sequence);
    TRY(import_update(im, to->partition, blob_create_page_blob, &create));
    const struct node *ranges = document_member(node, "pageRangesInOrder");
    for (const struct node *r = document_first(ranges); r != NULL; r = r->next)
        TRY(put_range(im, to, r));
    return OK;
}

struct err import_content_put(struct import *im, const struct import_target *to,
                              const struct node *node, enum blob_type type,
                              const struct blob_properties *properties)
{
    if (type == BLOB_BLOCK)
        return put_block_blob(im, to, node, properties);
    return type == BLOB_PAGE ? put_page_blob(im, to, node, properties)
                             : put_append_blob(im, to, node, properties);
}
