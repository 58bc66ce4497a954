/* SPDX-License-Identifier: Apache-2.0 */
/* Put Block, Put Block List, Get Block List: decode and encode. */
#include "rest/blob/block.h"

#include <stdlib.h>

#include "core/crc/crc64.h"
#include "core/text/base64.h"
#include "core/text/xml.h"
#include "rest/around.h"
#include "rest/blob/ops.h"
#include "rest/blob/request.h"
#include "rest/blob/upload.h"
#include "rest/server.h"
#include "service/blob/block/block_stage.h"

/* ---- Put Block ---- */

struct put_block {
    struct block_put_args args; /* first: run's argument */
    struct blob_upload *upload;
};

static bool decode_block_id(struct arena *a, struct str text, struct str *id)
{
    return base64_decode(a, text, id) && id->n > 0 && id->n <= BLOCK_ID_BYTES_MAX;
}

struct err rest_blob_read_block_id(struct rest_call *call, struct str *out)
{
    const struct str name = STR("blockid");
    struct str id = call_query(call, name);
    if (!str_given(id))
        return call_missing_query(call, name);
    return decode_block_id(call->arena, id, out) ? OK : call_bad_query(call, name);
}

struct err rest_put_block_decode(struct rest_call *call)
{
    struct put_block *put = ARENA_NEW(call->arena, struct put_block);
    call->args = put;
    TRY(rest_blob_read_base_request(call, &put->args.request));
    TRY(rest_blob_read_block_id(call, &put->args.id));
    if (call->body_length == 0)
        return call_bad_header(call, STR("Content-Length"));
    struct blob_upload_options options = {.size_max = rest_block_body_max(call),
                                          .inline_max = BLOCK_INLINE_MAX};
    TRY(rest_blob_upload_begin(call, &options, &put->upload));
    put->upload->size_min = 1;
    put->args.pieces = &put->upload->upload.pieces;
    return OK;
}

struct err rest_put_block_encode(struct rest_call *call)
{
    const struct put_block *put = call->args;
    rest_blob_upload_put_checksums(call, put->upload);
    rest_blob_put_encrypted(call, put->args.request.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Put Block List ---- */

static bool entry_kind(struct str name, enum block_list_kind *out)
{
    static const struct str NAMES[] = {STR_INIT("Committed"), STR_INIT("Uncommitted"),
                                       STR_INIT("Latest")};
    for (unsigned i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (str_eq(name, NAMES[i])) {
            *out = (enum block_list_kind)i;
            return true;
        }
    return false;
}

static int compare_entries(const void *a, const void *b)
{
    const struct block_entry *x = a, *y = b;
    return str_cmp(x->id, y->id);
}

/* A block may be listed more than once, but always from the same place. */
static bool places_agree(struct arena *a, const struct block_entry *entries, size_t count)
{
    struct block_entry *sorted = ARENA_ARRAY(a, struct block_entry, count + 1);
    if (count < 2)
        return true;
    memcpy(sorted, entries, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_entries);
    for (size_t i = 1; i < count; i++)
        if (str_eq(sorted[i].id, sorted[i - 1].id) && sorted[i].kind != sorted[i - 1].kind)
            return false;
    return true;
}

static struct err read_entries(struct rest_call *call, struct block_commit_args *args)
{
    struct xml_node *root;
    TRY(xml_parse(call->arena, call->body, &root));
    if (!str_eq(root->name, STR("BlockList")))
        return err_new(ERR_INVALID_XML_DOCUMENT);
    size_t count = 0;
    for (const struct xml_node *node = root->first_child; node != NULL; node = node->next)
        count++;
    if (count > BLOCKS_COMMITTED_MAX)
        return err_new(ERR_BLOCK_LIST_TOO_LONG);
    struct block_entry *entries = ARENA_ARRAY(call->arena, struct block_entry, count + 1);
    size_t i = 0;
    for (const struct xml_node *node = root->first_child; node != NULL; node = node->next, i++) {
        if (!entry_kind(node->name, &entries[i].kind))
            return err_new(ERR_INVALID_XML_DOCUMENT);
        if (!decode_block_id(call->arena, str_trim(node->text), &entries[i].id))
            return err_new(ERR_INVALID_BLOCK_LIST);
    }
    args->entries = entries;
    args->count = count;
    return places_agree(call->arena, entries, count) ? OK : err_new(ERR_INVALID_BLOCK_LIST);
}

/* A list of more bytes is read in the pool, not on the loop. */
enum { LIST_BYTES_LONG = 32 << 10 };

struct put_block_list {
    struct block_commit_args args; /* first: run's argument */
    bool is_read;
    unsigned tries;
};

struct err rest_put_block_list_decode(struct rest_call *call)
{
    struct put_block_list *put = ARENA_NEW(call->arena, struct put_block_list);
    struct block_commit_args *args = &put->args;
    call->args = put;
    TRY(rest_blob_read_base_request(call, &args->request));
    TRY(rest_blob_read_properties(call, false, &args->properties));
    TRY(rest_blob_read_tier(call, false, &args->properties.tier));
    TRY(rest_blob_check_body_checksums(call, call->body));
    put->is_read = call->body.n <= LIST_BYTES_LONG;
    return put->is_read ? read_entries(call, args) : OK;
}

/* In the pool. If the blob changed too often meanwhile, the last attempt is one transaction. */
static struct err stage_list(struct rest_call *call)
{
    struct put_block_list *put = call->args;
    if (!put->is_read)
        TRY(read_entries(call, &put->args));
    put->is_read = true;
    if (put->args.count >= BLOCK_STAGE_MIN && put->tries++ < BLOCK_STAGE_TRIES)
        block_stage_list(call->store, call->partition, &put->args, &put->args.stage);
    return OK;
}

static void drop_stage(struct rest_call *call)
{
    struct put_block_list *put = call->args;
    block_stage_drop_later(call->store, call->partition, put->args.stage);
    put->args.stage = NULL;
}

struct err rest_put_block_list_start(struct rest_call *call)
{
    const struct put_block_list *put = call->args;
    struct around around = {.reads = false};
    if (!put->is_read || put->args.count >= BLOCK_STAGE_MIN)
        around = (struct around){.before = stage_list, .failed = drop_stage};
    return rest_around(call, around);
}

/* The checksums are of the list that was sent, not of the blob. */
struct err rest_put_block_list_encode(struct rest_call *call)
{
    const struct block_commit_args *args =
        call->args; /* the common start of struct put_block_list */
    rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    rest_blob_put_version_id(call, args->head.version);
    rest_blob_put_body_checksums(call, call->body);
    rest_blob_put_encrypted(call, args->head.encryption_scope);
    call->status = 201;
    return OK;
}

/* ---- Get Block List ---- */

struct err rest_get_block_list_decode(struct rest_call *call)
{
    const struct str name = STR("blocklisttype");
    struct block_list_args *args = ARENA_NEW(call->arena, struct block_list_args);
    struct str type = call_query(call, name);
    call->args = args;
    TRY(rest_blob_read_request(call, &args->request));
    bool all = str_ieq(type, STR("all"));
    args->wants_committed = !str_given(type) || all || str_ieq(type, STR("committed"));
    args->wants_uncommitted = all || str_ieq(type, STR("uncommitted"));
    if (!args->wants_committed && !args->wants_uncommitted)
        return call_bad_query(call, name);
    /* Uncommitted blocks are visible to their writer only. */
    if (call->who.kind == AUTH_ANONYMOUS)
        args->wants_uncommitted = false;
    return OK;
}

static int compare_names(const void *a, const void *b)
{
    const struct block_info *x = a, *y = b;
    return str_cmp(x->id, y->id);
}

/* Ids are shown as text; uncommitted ones in the order of that text. */
static void put_blocks(struct rest_call *call, struct str element, struct block_info *blocks,
                       size_t count, bool sort)
{
    struct buf *b = &call->out;
    for (size_t i = 0; i < count; i++)
        blocks[i].id = base64_encode(call->arena, blocks[i].id);
    if (sort && count > 1)
        qsort(blocks, count, sizeof *blocks, compare_names);
    xml_open(b, element);
    for (size_t i = 0; i < count; i++) {
        buf_put(b, STR("<Block><Name>"));
        buf_put(b, blocks[i].id);
        buf_put(b, STR("</Name><Size>"));
        buf_put_u64(b, blocks[i].size);
        buf_put(b, STR("</Size></Block>"));
    }
    xml_close(b, element);
}

struct err rest_get_block_list_encode(struct rest_call *call)
{
    struct block_list_args *args = call->args;
    if (args->head.committed)
        rest_blob_put_etag(call, args->head.etag, args->head.last_modified);
    call_put_u64(call, STR("x-ms-blob-content-length"), args->head.size);
    call_begin_xml(call);
    buf_put(&call->out, STR("<BlockList>"));
    if (args->wants_committed)
        put_blocks(call, STR("CommittedBlocks"), args->committed, args->committed_count, false);
    if (args->wants_uncommitted)
        put_blocks(call, STR("UncommittedBlocks"), args->uncommitted, args->uncommitted_count,
                   true);
    buf_put(&call->out, STR("</BlockList>"));
    return OK;
}
