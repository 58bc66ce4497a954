/* SPDX-License-Identifier: Apache-2.0 */
/* Reading, writing and clearing ranges. */
#include "service/file/range.h"

#include <assert.h>

#include "service/file/keys.h"

/* ---- reading ---- */

static const struct interval_limits READ_LIMITS = {.pieces_max = 4096, .inline_max = 4 << 20};

/* Clips the requested range to the file. */
static struct err choose_range(struct file_read_args *args, uint64_t size)
{
    args->offset = 0;
    args->length = size;
    if (!args->has_range)
        return OK;
    if (args->range_offset >= size)
        return err_new(ERR_INVALID_RANGE);
    args->offset = args->range_offset;
    args->length = size - args->offset;
    if (args->range_length < args->length)
        args->length = args->range_length;
    return OK;
}

struct err file_get_file(struct txn *t, void *arg)
{
    struct file_read_args *args = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_open(t, &args->request, FILE_FILE, FILE_READ, &s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    TRY(choose_range(args, found.node.size));
    struct interval_map m = file_map(&s, &found.node);
    args->until = args->offset;
    args->pieces = (struct pieces){0};
    TRY(interval_read(&m, (struct interval_range){args->offset, args->offset + args->length},
                      &READ_LIMITS, args->request.arena, &args->pieces, &args->until));
    if (args->until < args->offset + args->length && args->kept != NULL)
        txn_keep_state(t, args->kept);
    return OK;
}

void file_read_more_init(struct file_read_more *more, const struct file_read_args *args,
                         uint64_t incarnation)
{
    *more = (struct file_read_more){.incarnation = incarnation,
                                    .snapshot = args->request.snapshot,
                                    .id = args->outcome.id,
                                    .content = args->outcome.node.content,
                                    .from = args->until,
                                    .to = args->offset + args->length};
}

struct err file_get_file_more(struct txn *t, void *arg)
{
    struct file_read_more *more = arg;
    struct file_scope s;
    struct file_found found;
    TRY(file_scope_open_incarnation(t, more->incarnation, more->snapshot, &s));
    TRY(file_find_id(&s, more->id, &found));
    if (!found.exists || found.node.content != more->content)
        return err_new(ERR_CORRUPT);
    struct interval_map m = file_map(&s, &found.node);
    return interval_read(&m, (struct interval_range){more->from, more->to}, &READ_LIMITS,
                         more->arena, &more->pieces, &more->until);
}

/* ---- writing ---- */

void file_give_content(struct file_scope *s, struct node *n)
{
    if (n->content == 0)
        n->content = (uint64_t)txn_stamp(s->txn);
}

struct err file_write_pieces(struct file_scope *s, struct file_found *found, uint64_t offset,
                             const struct pieces *pieces)
{
    assert(txn_writable(s->txn));
    file_give_content(s, &found->node);
    struct interval_map m = file_map(s, &found->node);
    TRY(interval_write(&m, offset, pieces, PIECE_ADOPT));
    return file_keep_map(s, found, &m);
}

static const char ZEROS[FILE_SECTOR_BYTES];

static struct err write_zeros(struct interval_map *m, uint64_t from, uint64_t to)
{
    struct piece items[2];
    struct pieces pieces = {.items = items};
    for (uint64_t at = from; at < to;) {
        enum piece_kind kind;
        struct piece *piece = &items[pieces.count++];
        *piece = (struct piece){.kind = PIECE_INLINE, .bytes = ZEROS};
        piece->length = interval_piece_length(at, to - at, &kind);
        at += piece->length;
    }
    return interval_write(m, from, &pieces, PIECE_ADOPT);
}

/* Whole sectors become a hole; the edges become zeros that count as written, also in the last
 * sector of a file that ends in it. */
struct err file_clear(struct file_scope *s, struct file_found *found, uint64_t from, uint64_t to)
{
    assert(from <= to);
    uint64_t inner_from = (from + FILE_SECTOR_BYTES - 1) & ~(uint64_t)(FILE_SECTOR_BYTES - 1);
    uint64_t inner_to = to & ~(uint64_t)(FILE_SECTOR_BYTES - 1);
    file_give_content(s, &found->node);
    struct interval_map m = file_map(s, &found->node);
    if (inner_from >= inner_to) {
        TRY(write_zeros(&m, from, to));
    } else {
        TRY(write_zeros(&m, from, inner_from));
        TRY(interval_cut(&m, inner_from, inner_to));
        TRY(write_zeros(&m, inner_to, to));
    }
    return file_keep_map(s, found, &m);
}

struct err file_clear_rest(struct file_scope *s, struct file_found *found, uint64_t from)
{
    assert(txn_writable(s->txn));
    uint64_t size = found->node.size;
    uint64_t inner_from = (from + FILE_SECTOR_BYTES - 1) & ~(uint64_t)(FILE_SECTOR_BYTES - 1);
    file_give_content(s, &found->node);
    struct interval_map m = file_map(s, &found->node);
    TRY(write_zeros(&m, from, inner_from < size ? inner_from : size));
    if (inner_from < size)
        TRY(interval_cut(&m, inner_from, size));
    return file_keep_map(s, found, &m);
}

struct err file_put_range(struct txn *t, void *arg)
{
    struct file_range_args *args = arg;
    struct file_scope s;
    struct file_found found;
    assert(args->length > 0);
    TRY(file_open(t, &args->request, FILE_FILE, FILE_WRITE, &s, &found));
    if (found.node.kind != NODE_FILE)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    uint64_t size = found.node.size;
    if (args->offset >= size || args->length > size - args->offset)
        return err_new(ERR_INVALID_RANGE);
    if (args->pieces != NULL)
        TRY(file_write_pieces(&s, &found, args->offset, args->pieces));
    else
        TRY(file_clear(&s, &found, args->offset, args->offset + args->length));
    if (args->last_write.kind != FILE_TIME_KEEP)
        found.node.last_write =
            args->last_write.kind == FILE_TIME_GIVEN ? args->last_write.ticks : txn_now(t);
    found.node.changed = txn_now(t);
    file_touch(&s, &found.node);
    TRY(file_put(&s, &found));
    file_give(&args->request, &s, &found, &args->outcome);
    return file_scope_close(&s);
}
