/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/io.h"

#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/pipe.h"
#include "smb/server.h"
#include "smb/transport/away.h"

enum {
    READ_HEAD_BYTES = 16,
    FROM_FILE_MIN = 32 << 10, /* fewer bytes are copied, not sent from the file */
};

struct file_at smb_at(struct smb_request *q)
{
    const struct smb_open *o = q->open;
    return (struct file_at){.arena = q->arena,
                            .incarnation = o->incarnation,
                            .snapshot = o->snapshot,
                            .id = o->node,
                            .changes = &q->changes};
}

bool smb_charge_covers(const struct smb_request *q, uint64_t bytes)
{
    uint64_t charge = q->header.credit_charge == 0 ? 1 : q->header.credit_charge;
    return bytes <= charge * SMB_CREDIT_BYTES;
}

/* ---- reading ---- */

struct reading {
    struct file_read_at_args args;
    uint64_t offset, length;
    uint32_t least;
    uint64_t have;
    char *bytes; /* in q->out, after the head */
    bool bare;   /* the answer may be sent from files */
    bool away;   /* a sender may read it, and then signs or encrypts it */
    struct smb_tail *tail;
};

/* Finds the extents of the whole range, if they are few; otherwise there is no tail. */
static struct err find_in_files(struct smb_request *q, enum engine_wait wait)
{
    struct reading *r = q->work;
    struct store *store = smb_store(q);
    struct smb_tail *t = smb_tail_new(store->engine);
    r->args.offset = r->offset;
    r->args.length = r->length;
    struct err error = smb_read_store(q, q->tree->partition, wait, file_read_at, &r->args);
    const struct pieces *pieces = &r->args.pieces;
    bool fits = r->args.until == r->offset + r->length || r->args.until >= r->args.size;
    for (size_t i = 0; i < pieces->count && fits && !err_is(error); i++) {
        const struct piece *piece = &pieces->items[i];
        struct extent_span span = {0};
        fits = piece->kind == PIECE_EXTENT && pieces->count <= SMB_TAIL_PARTS_MAX;
        if (fits)
            error = extent_locate(store->engine, &piece->extent, piece->extent_offset,
                                  (uint32_t)piece->length, wait, &span);
        fits = fits && !err_is(error) && smb_tail_add(t, &span);
        if (!fits && !err_is(error) && piece->kind == PIECE_EXTENT)
            engine_loan_end(&span.loan);
    }
    bool enough = r->bare ? t->bytes >= FROM_FILE_MIN : smb_goes_away(q->conn, t->bytes);
    if (!err_is(error) && fits && enough) {
        r->tail = t;
        r->have = t->bytes;
    } else {
        smb_tail_free(t);
    }
    return error;
}

/* Reads until the range or the file ends. A second call starts again. */
static struct err read_all(struct smb_request *q, enum engine_wait wait)
{
    struct reading *r = q->work;
    struct store *store = smb_store(q);
    struct engine_pin *pin = engine_pin(store->engine);
    struct err error = OK;
    r->have = 0;
    do {
        r->args.offset = r->offset + r->have;
        r->args.length = r->length - r->have;
        error = smb_read_store(q, q->tree->partition, wait, file_read_at, &r->args);
        if (!err_is(error))
            error = pieces_gather(store, &r->args.pieces, wait, r->bytes + r->have);
        if (!err_is(error))
            r->have = r->args.until - r->offset;
    } while (!err_is(error) && r->have < r->length && r->args.until < r->args.size);
    engine_unpin(store->engine, pin);
    return error;
}

static struct err read_any(struct smb_request *q, enum engine_wait wait)
{
    const struct reading *r = q->work;
    if (r->bare || r->away)
        TRY(find_in_files(q, wait));
    if (r->tail != NULL)
        return OK;
    bool is_long = r->length > SMB_ON_LOOP_MAX || smb_goes_away(q->conn, r->length);
    return is_long && wait == ENGINE_NOWAIT ? err_new(ERR_LONG_WORK) : read_all(q, wait);
}

static struct err read_in_pool(struct smb_request *q)
{
    return read_any(q, ENGINE_WAIT);
}

static void read_done(struct smb_request *q, struct err outcome)
{
    struct reading *r = q->work;
    if (r->tail != NULL && r->bare) {
        q->block->tail = r->tail; /* the block owns it now */
    } else if (r->tail != NULL) {
        q->block->source = r->tail;
        q->block->source_at = r->bytes;
    }
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    if ((r->have == 0 && r->length > 0) || r->have < r->least) {
        smb_complete(q, STATUS_END_OF_FILE);
        return;
    }
    q->open->position = r->offset + r->have;
    buf_put_le16(&q->out, 17);
    buf_put_u8(&q->out, SMB_HEADER_BYTES + READ_HEAD_BYTES);
    buf_put_u8(&q->out, 0);
    buf_put_le32(&q->out, (uint32_t)r->have);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, 0);
    if (r->tail == NULL || !r->bare)
        q->out.n += r->have; /* read in place, already or later by a sender */
    if (r->have == 0)
        buf_putc(&q->out, 0);
    smb_complete(q, STATUS_SUCCESS);
}

static uint32_t check_read(struct smb_request *q, const struct reading *r)
{
    struct smb_open *o = q->open;
    if (r->length > SMB_IO_BYTES_MAX || !smb_charge_covers(q, r->length) || r->offset > INT64_MAX ||
        r->length > INT64_MAX - r->offset)
        return STATUS_INVALID_PARAMETER;
    if (o->directory)
        return STATUS_INVALID_DEVICE_REQUEST;
    if ((o->access & (SMB_READ_DATA | SMB_EXECUTE)) == 0)
        return STATUS_ACCESS_DENIED;
    if (o->handle == NULL)
        return STATUS_SUCCESS;
    struct err error = opens_lock_check(smb_opens_table(q), o->handle, r->offset, r->length, false);
    return err_is(error) ? err_ntstatus(error.code) : STATUS_SUCCESS;
}

static void read_or_wait(struct smb_request *q, struct err outcome)
{
    if (store_wants_pool(outcome))
        smb_in_pool(q, read_in_pool, read_done);
    else
        read_done(q, outcome);
}

static void read_file(struct smb_request *q)
{
    struct reading *r = q->work;
    uint32_t status = check_read(q, r);
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    r->args.at = smb_at(q);
    smb_reserve_answer(q, READ_HEAD_BYTES + r->length + 1);
    r->bytes = q->out.p + READ_HEAD_BYTES;
    r->bare = r->length >= FROM_FILE_MIN && smb_answer_is_bare(q);
    r->away = !r->bare && q->block != NULL && smb_goes_away(q->conn, r->length);
    read_or_wait(q, read_any(q, ENGINE_NOWAIT));
}

void smb_read(struct smb_request *q)
{
    struct reading *r = ARENA_NEW(q->arena, struct reading);
    struct reader in = reader_of(str_from(q->body, 4));
    q->work = r;
    r->length = read_le32(&in);
    r->offset = read_le64(&in);
    struct smb_file_id id = smb_read_file_id(&in);
    r->least = read_le32(&in);
    uint32_t status = reader_ok(&in) ? smb_open_find(q, id) : STATUS_INVALID_PARAMETER;
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (q->open->pipe)
        smb_pipe_read(q, r->length);
    else
        read_file(q);
}

/* ---- flushing ---- */

static void flushed(struct smb_request *q, struct err outcome)
{
    buf_put_le16(&q->out, 4);
    buf_put_le16(&q->out, 0);
    smb_complete_err(q, outcome);
}

void smb_flush(struct smb_request *q)
{
    struct reader in = reader_of(str_from(q->body, 8));
    struct smb_file_id id = smb_read_file_id(&in);
    uint32_t status = reader_ok(&in) ? smb_open_find(q, id) : STATUS_INVALID_PARAMETER;
    if (status == STATUS_SUCCESS && !q->open->pipe &&
        (q->open->access & (SMB_WRITE_DATA | SMB_APPEND_DATA)) == 0)
        status = STATUS_ACCESS_DENIED;
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (q->open->pipe)
        flushed(q, OK);
    else
        smb_flush_store(q, flushed);
}
