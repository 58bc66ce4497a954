/* SPDX-License-Identifier: Apache-2.0 */
/* FSCTL_SRV_REQUEST_RESUME_KEY and FSCTL_SRV_COPYCHUNK: the server copies data that the client
 * would otherwise read and write back. Between two files of one share the extents are shared;
 * within one file, or from another share, the bytes are copied through memory. */
#include "service/common/content/interval_upload.h"
#include "service/file/copy/copy_range.h"
#include "smb/commands/io.h"
#include "smb/commands/ioctl.h"
#include "smb/commands/session.h"
#include "smb/drive.h"

enum {
    KEY_BYTES = 24,
    CHUNKS_MAX = 256,
    CHUNK_BYTES_MAX = 1 << 20,
    TOTAL_BYTES_MAX = 16 << 20,
    ANSWER_BYTES = 12,
    COPY_CHUNK = 0x001440F2, /* the other code does not require read access to the destination */
};

void smb_resume_key(struct smb_control *c)
{
    enum { RESUME_BYTES = 32 };
    struct buf out = buf_in(c->q->arena);
    if (c->room < RESUME_BYTES) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    smb_put_file_id(&out, c->q->open->id);
    buf_put_le64(&out, 0);
    buf_put_le64(&out, 0);
    smb_control_answer(c, buf_str(&out), STATUS_SUCCESS);
}

struct copying {
    struct smb_control *control;
    struct smb_open *source;
    struct file_copy_part parts[CHUNKS_MAX];
    uint32_t count;
    uint64_t total;
    struct file_copy_range_args shared;
    /* Copies through memory: one chunk after the other. */
    uint32_t at;
    struct file_read_at_args read;
    struct file_write_args write;
    struct interval_upload upload;
    char *bytes;
};

static void answer(struct copying *y, uint32_t status, uint32_t chunks, uint32_t bytes,
                   uint32_t total)
{
    struct buf out = buf_in(y->control->q->arena);
    buf_put_le32(&out, chunks);
    buf_put_le32(&out, bytes);
    buf_put_le32(&out, total);
    smb_open_put(y->source);
    y->source = NULL;
    smb_control_answer(y->control, buf_str(&out), status);
}

static void fail(struct copying *y, uint32_t status)
{
    smb_open_put(y->source);
    y->source = NULL;
    smb_complete(y->control->q, status);
}

/* y->at chunks are copied; an error reports their number. */
static void end(struct copying *y, uint32_t status)
{
    uint32_t total = 0;
    for (uint32_t i = 0; i < y->at; i++)
        total += y->parts[i].length;
    if (status == STATUS_SUCCESS && y->at < y->count)
        status = STATUS_INVALID_VIEW_SIZE;
    answer(y, status, y->at, 0, total);
}

/* ---- sharing ---- */

static void shared(struct smb_request *q, struct err outcome)
{
    struct copying *y = q->work;
    y->at = (uint32_t)y->shared.done;
    end(y, err_is(outcome) ? err_ntstatus(outcome.code) : STATUS_SUCCESS);
}

/* ---- through memory ---- */

static void copy_next(struct copying *y);

static void chunk_written(struct smb_request *q, struct err outcome)
{
    struct copying *y = q->work;
    if (err_is(outcome)) {
        if (outcome.code != ERR_UNKNOWN_OUTCOME)
            interval_upload_discard(&y->upload);
        end(y, outcome.code == ERR_INVALID_RANGE ? STATUS_SUCCESS : err_ntstatus(outcome.code));
        return;
    }
    y->at++;
    copy_next(y);
}

/* In the pool. */
static struct err read_chunk(struct smb_request *q)
{
    struct copying *y = q->work;
    const struct file_copy_part *part = &y->parts[y->at];
    struct store *store = smb_store(q);
    struct engine_pin *pin = engine_pin(store->engine);
    struct err error = OK;
    uint64_t have = 0;
    while (have < part->length && !err_is(error)) {
        y->read.offset = part->from + have;
        y->read.length = part->length - have;
        error = smb_read_store(q, y->source->tree->partition, ENGINE_WAIT, file_read_at, &y->read);
        if (!err_is(error) && y->read.until == y->read.offset)
            error = err_new(ERR_INVALID_RANGE);
        if (!err_is(error))
            error = pieces_gather(store, &y->read.pieces, ENGINE_WAIT, y->bytes + have);
        have = y->read.until - part->from;
    }
    engine_unpin(store->engine, pin);
    TRY(error);
    interval_upload_init(&y->upload, store->engine, q->arena, part->to, part->length);
    TRY(interval_upload_take(&y->upload, (struct str){y->bytes, part->length}));
    return interval_upload_end(&y->upload);
}

static void chunk_read(struct smb_request *q, struct err outcome)
{
    struct copying *y = q->work;
    const struct file_copy_part *part = &y->parts[y->at];
    if (err_is(outcome)) {
        chunk_written(q, outcome);
        return;
    }
    y->write = (struct file_write_args){.at = smb_at(q),
                                        .offset = part->to,
                                        .length = part->length,
                                        .pieces = &y->upload.pieces,
                                        .keep_times = q->open->times_kept};
    smb_update(q, file_write_at, &y->write, ENGINE_VISIBLE, chunk_written);
}

static void copy_next(struct copying *y)
{
    struct smb_request *q = y->control->q;
    if (y->at == y->count) {
        end(y, STATUS_SUCCESS);
        return;
    }
    y->read.at = (struct file_at){.arena = q->arena,
                                  .incarnation = y->source->incarnation,
                                  .snapshot = y->source->snapshot,
                                  .id = y->source->node};
    y->upload = (struct interval_upload){0};
    smb_in_pool(q, read_chunk, chunk_read);
}

/* ---- the request ---- */

static uint32_t read_chunks(struct copying *y, struct smb_file_id *key)
{
    struct reader r = reader_of(y->control->input);
    *key = smb_read_file_id(&r);
    (void)read_le64(&r);
    y->count = read_le32(&r);
    (void)read_le32(&r);
    if (!reader_ok(&r) || y->control->room < ANSWER_BYTES)
        return STATUS_INVALID_PARAMETER;
    bool within = y->count <= CHUNKS_MAX;
    for (uint32_t i = 0; within && i < y->count; i++) {
        struct file_copy_part *part = &y->parts[i];
        part->from = read_le64(&r);
        part->to = read_le64(&r);
        part->length = read_le32(&r);
        (void)read_le32(&r);
        if (!reader_ok(&r) || part->from > INT64_MAX || part->to > INT64_MAX)
            return STATUS_INVALID_PARAMETER;
        y->total += part->length;
        within = part->length > 0 && part->length <= CHUNK_BYTES_MAX && y->total <= TOTAL_BYTES_MAX;
    }
    return within ? STATUS_SUCCESS : STATUS_BUFFER_OVERFLOW;
}

static uint32_t check_access(const struct copying *y)
{
    const struct smb_open *to = y->control->q->open;
    const struct smb_open *from = y->source;
    bool reads_back = y->control->code == COPY_CHUNK;
    if (to->directory || from->directory || from->pipe)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (to->handle == NULL || (to->access & SMB_WRITE_DATA) == 0 ||
        (reads_back && (to->access & SMB_READ_DATA) == 0) ||
        (from->access & (SMB_READ_DATA | SMB_EXECUTE)) == 0)
        return STATUS_ACCESS_DENIED;
    return STATUS_SUCCESS;
}

static uint32_t check_locks(const struct copying *y)
{
    struct opens *opens = smb_opens_table(y->control->q);
    struct opens_handle *to = y->control->q->open->handle;
    struct opens_handle *from = y->source->handle;
    for (uint32_t i = 0; i < y->count; i++) {
        const struct file_copy_part *p = &y->parts[i];
        struct err error = opens_lock_check(opens, to, p->to, p->length, true);
        if (!err_is(error) && from != NULL)
            error = opens_lock_check(opens, from, p->from, p->length, false);
        if (err_is(error))
            return err_ntstatus(error.code);
    }
    return STATUS_SUCCESS;
}

static void copy(struct copying *y)
{
    struct smb_request *q = y->control->q;
    const struct smb_open *to = q->open;
    opens_io(smb_opens_table(q), to->handle, true);
    if (to->incarnation == y->source->incarnation && to->node != y->source->node) {
        y->shared = (struct file_copy_range_args){.at = smb_at(q),
                                                  .source = y->source->node,
                                                  .source_snapshot = y->source->snapshot,
                                                  .parts = y->parts,
                                                  .count = y->count,
                                                  .keep_times = to->times_kept};
        smb_update(q, file_copy_range, &y->shared, ENGINE_VISIBLE, shared);
        return;
    }
    y->bytes = arena_bytes(q->arena, CHUNK_BYTES_MAX);
    copy_next(y);
}

void smb_copy_chunks(struct smb_control *c)
{
    struct copying *y = ARENA_NEW(c->q->arena, struct copying);
    struct smb_file_id key;
    c->q->work = y;
    y->control = c;
    uint32_t status = read_chunks(y, &key);
    if (status == STATUS_BUFFER_OVERFLOW) {
        answer(y, STATUS_INVALID_PARAMETER, CHUNKS_MAX, CHUNK_BYTES_MAX, TOTAL_BYTES_MAX);
        return;
    }
    if (status == STATUS_SUCCESS) {
        y->source = smb_open_of_session(c->q->session, key);
        status = y->source == NULL ? STATUS_OBJECT_NAME_NOT_FOUND : check_access(y);
        smb_open_get(y->source);
    }
    uint32_t locks = status == STATUS_SUCCESS ? check_locks(y) : STATUS_SUCCESS;
    if (status != STATUS_SUCCESS)
        fail(y, status);
    else if (locks != STATUS_SUCCESS)
        end(y, locks);
    else if (y->count == 0)
        answer(y, STATUS_SUCCESS, 0, 0, 0);
    else
        copy(y);
}
