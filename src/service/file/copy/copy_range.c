/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/copy/copy_range.h"

#include <assert.h>

static const struct interval_limits COPY_LIMITS = {.pieces_max = 16384, .inline_max = 32 << 20};

/* Divides pieces for the destination: none crosses the border of two chunks. */
static void cut_pieces(struct arena *a, uint64_t offset, const struct pieces *in,
                       struct pieces *out)
{
    for (size_t i = 0; i < in->count; i++) {
        struct piece rest = in->items[i];
        while (rest.length > 0) {
            enum piece_kind kind;
            struct piece part = rest;
            if (rest.kind != PIECE_HOLE)
                part.length = interval_piece_length(offset, rest.length, &kind);
            pieces_add(out, a, &part);
            offset += part.length;
            rest.length -= part.length;
            if (rest.kind == PIECE_INLINE)
                rest.bytes += part.length;
            else if (rest.kind == PIECE_EXTENT)
                rest.extent_offset += (uint32_t)part.length;
        }
    }
}

static struct err copy_part(struct txn *t, const struct interval_map *source,
                            struct interval_map *to, const struct file_copy_part *part)
{
    uint64_t done = 0;
    while (done < part->length) {
        struct pieces read = {0}, cut = {0};
        uint64_t until;
        TRY(interval_read(source,
                          (struct interval_range){part->from + done, part->from + part->length},
                          &COPY_LIMITS, txn_arena(t), &read, &until));
        cut_pieces(txn_arena(t), part->to + done, &read, &cut);
        TRY(interval_write(to, part->to + done, &cut, PIECE_HOLD));
        done = until - part->from;
    }
    return OK;
}

static struct err check_parts(struct file_copy_range_args *args, uint64_t size, uint64_t *end)
{
    *end = 0;
    for (args->done = 0; args->done < args->count; args->done++) {
        const struct file_copy_part *p = &args->parts[args->done];
        if (p->from > size || p->length > size - p->from)
            return OK;
        if (p->to > NODE_SIZE_MAX - p->length)
            return err_new(ERR_SHARE_SIZE_LIMIT_REACHED);
        if (p->to + p->length > *end)
            *end = p->to + p->length;
    }
    return OK;
}

struct err file_copy_range(struct txn *t, void *arg)
{
    struct file_copy_range_args *args = arg;
    struct file_scope s, past;
    struct file_found source, to;
    uint64_t end;
    assert(args->source != args->at.id);
    TRY(file_scope_open_incarnation(t, args->at.incarnation, args->source_snapshot, &past));
    TRY(file_find_id(&past, args->source, &source));
    TRY(file_open_id(t, &args->at, &s, &to));
    if (!source.exists)
        return err_new(ERR_RESOURCE_NOT_FOUND);
    TRY(check_parts(args, source.node.size, &end));
    if (args->done == 0)
        return OK;
    if (end > to.node.size)
        TRY(file_resize(&s, &to, end));
    file_give_content(&s, &to.node);
    struct interval_map from = file_map(&past, &source.node);
    struct interval_map map = file_map(&s, &to.node);
    for (size_t i = 0; i < args->done; i++)
        TRY(copy_part(t, &from, &map, &args->parts[i]));
    TRY(file_keep_map(&s, &to, &map));
    if (!args->keep_times)
        to.node.last_write = txn_now(t);
    to.node.changed = txn_now(t);
    file_touch(&s, &to.node);
    TRY(file_put(&s, &to));
    return file_scope_close(&s);
}
