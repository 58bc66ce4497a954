/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/copy/source.h"

#include "service/blob/page/page.h"
#include "service/common/rows.h"

enum { SHARED_PIECE_BYTES = 64 << 10, SHARED_PIECES_MIN = 16, INLINE_BYTES_MAX = 4 << 20 };

/* ---- finding ---- */

static struct err check_state(const struct blob_head *head, bool archived_too)
{
    struct blob_copy_state copy;
    TRY(blob_copy_decode(head->copy, &copy));
    if (copy.status == BLOB_COPY_PENDING)
        return err_new(ERR_PENDING_COPY_OPERATION);
    if (head->rehydrate != BLOB_TIER_NONE)
        return err_new(ERR_BLOB_BEING_REHYDRATED);
    return archived_too ? OK : blob_head_check_online(head);
}

/* The base of incremental copies is work in progress; only its snapshots are content. */
static struct err check_incremental(const struct blob_source *source, const struct blob_head *head)
{
    struct blob_copy_state copy;
    if (source->at.item != BLOB_BASE)
        return OK;
    TRY(blob_copy_decode(head->copy, &copy));
    return copy.incremental ? err_new(ERR_OPERATION_NOT_ALLOWED_ON_INCREMENTAL_COPY_BLOB) : OK;
}

static struct err open_source(struct txn *t, const struct blob_source *source,
                              const struct blob_request *request, struct blob *out)
{
    struct err error = blob_open(t, request, BLOB_READ, out);
    /* Conditions on a missing source are not evaluated. */
    if (error.code == ERR_CONDITION_NOT_MET || error.code == ERR_NOT_MODIFIED)
        return err_new(out->exists ? ERR_SOURCE_CONDITION_NOT_MET : ERR_BLOB_NOT_FOUND);
    TRY(error);
    TRY(check_state(&out->head, source->archived_too));
    return check_incremental(source, &out->head);
}

/* Pages are written in place, so the ETag identifies the state. An append blob's content only
 * grows, and has its own id. */
static bool is_same(const struct blob_source *source, uint64_t incarnation,
                    const struct blob_head *head)
{
    return incarnation == source->incarnation && head->content == source->head.content &&
           head->type == source->head.type && head->committed && head->deleted == 0 &&
           (head->type == BLOB_APPEND || head->etag == source->head.etag);
}

static struct err read_pieces(struct txn *t, struct blob_source *source,
                              const struct blob_request *request, const struct blob *blob)
{
    uint64_t size = source->head.size;
    source->pieces = (struct pieces){0};
    source->marks = (struct interval_marks){0};
    source->until = source->offset;
    if (source->length == 0)
        return OK;
    if (source->offset > size || (source->offset == size && size > 0))
        return err_new(ERR_INVALID_RANGE);
    uint64_t length =
        source->length < size - source->offset ? source->length : size - source->offset;
    if (length == 0 || blob->head.content == 0)
        return OK;
    if (source->not_of_blocks && blob->head.type == BLOB_BLOCK)
        return OK;
    if (blob->head.type == BLOB_PAGE) {
        struct interval_limits limits = {.pieces_max = source->pieces_max,
                                         .inline_max = INLINE_BYTES_MAX};
        struct blob_pages pages;
        TRY(blob_pages_open(t, request, blob, &pages));
        TRY(interval_read(&pages.map,
                          (struct interval_range){source->offset, source->offset + length}, &limits,
                          source->arena, &source->pieces, &source->until));
        /* A snapshot's pages are preserved. */
        return blob->at.item != BLOB_BASE
                   ? OK
                   : interval_marks_take(&pages.map, source->offset, &source->pieces, source->arena,
                                         &source->marks);
    }
    struct content_part part = {source->offset, length, source->pieces_max};
    TRY(blob_read_content(t, blob, part, source->arena, &source->pieces));
    source->until = source->offset + pieces_length(&source->pieces);
    return OK;
}

struct err blob_read_source(struct txn *t, void *arg)
{
    struct blob_source *source = arg;
    struct blob_request request = {.arena = source->arena, .name = source->name, .at = source->at};
    struct blob blob;
    if (source->found) {
        struct err error = blob_open(t, &request, BLOB_READ, &blob);
        bool gone = err_http_status(error.code) == 404;
        if (!gone)
            TRY(error);
        if (gone || !is_same(source, blob.container.incarnation, &blob.head))
            return err_new(ERR_SOURCE_CONDITION_NOT_MET);
        return read_pieces(t, source, &request, &blob);
    }
    request.conditions = source->conditions;
    TRY(open_source(t, source, &request, &blob));
    source->incarnation = blob.container.incarnation;
    source->key = arena_copy(source->arena, blob.key);
    source->at = blob.at;
    TRY(blob_give(&request, &blob.head, &source->head));
    TRY(read_pieces(t, source, &request, &blob));
    source->found = true;
    return OK;
}

/* ---- using ---- */

struct err blob_source_guard(struct txn *t, const struct blob_source *source)
{
    struct str row;
    struct container container;
    struct blob_head head;
    bool live = false;
    TRY(row_get_in(t, source->partition, BLOB_KEY_CONTAINER, &row));
    if (str_given(row))
        TRY(container_decode(row, &container, &live));
    if (!live)
        return err_new(ERR_SOURCE_CONDITION_NOT_MET);
    TRY(row_get_in(t, source->partition, source->key, &row));
    if (!str_given(row))
        return err_new(ERR_SOURCE_CONDITION_NOT_MET);
    TRY(blob_head_decode(row, &head));
    bool same = is_same(source, container.incarnation, &head);
    if (same)
        TRY(interval_marks_check(t, source->partition, &source->marks, &same));
    return same ? OK : err_new(ERR_SOURCE_CONDITION_NOT_MET);
}

struct err blob_claim_check(struct txn *t, const struct blob_claim *claim)
{
    return claim->source == NULL ? OK : blob_source_guard(t, claim->source);
}

bool blob_source_shareable(const struct blob_source *source, uint64_t inline_max)
{
    uint64_t inline_bytes = 0;
    uint64_t length = source->until - source->offset;
    for (size_t i = 0; i < source->pieces.count; i++) {
        const struct piece *piece = &source->pieces.items[i];
        if (piece->kind == PIECE_INLINE)
            inline_bytes += piece->length;
    }
    return inline_bytes <= inline_max &&
           source->pieces.count <= length / SHARED_PIECE_BYTES + SHARED_PIECES_MIN;
}
