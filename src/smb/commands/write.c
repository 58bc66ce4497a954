/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/write.h"

#include <assert.h>

#include "service/common/content/interval_upload.h"
#include "smb/commands/io.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/pipe.h"
#include "smb/server.h"

enum {
    WRITE_THROUGH = 1,
    HEAD_BYTES = SMB_HEADER_BYTES + 48, /* the minimum before the data */
    /* The unit of early writes: small enough for the processor's cache, large enough to be cheap
     * for the kernel, which allocates pages by write size. */
    EARLY_BYTES = 256 << 10,
    AWAY_BYTES_MIN = 64 << 10, /* smaller writes are stored by the loop */
};

/* A write beyond this offset is invalid; one below it may find the disk full. Windows has separate
 * errors for the two. */
#define FILE_BYTES_MAX 0xFFFFFFF0000ULL

struct writing {
    struct file_write_args args;
    struct interval_upload upload;
    struct smb_file_id id;
    struct str bytes;
    uint64_t offset;
    uint32_t flags;
};

/* Parses the request; `packet` is the whole message. False: malformed. */
static bool read_writing(struct str body, struct str packet, struct writing *w)
{
    struct reader in = reader_of(str_from(body, 2));
    uint16_t data_offset = read_le16(&in);
    uint32_t length = read_le32(&in);
    w->offset = read_le64(&in);
    w->id = smb_read_file_id(&in);
    (void)read_raw(&in, 12);
    w->flags = read_le32(&in);
    if (!reader_ok(&in) ||
        (length > 0 && (data_offset < SMB_HEADER_BYTES || data_offset > packet.n ||
                        length > packet.n - data_offset)))
        return false;
    w->bytes = length == 0 ? STR("") : (struct str){packet.p + data_offset, length};
    return true;
}

static bool is_written_through(const struct writing *w, const struct smb_open *o)
{
    return (w->flags & WRITE_THROUGH) != 0 || (o->options & SMB_OPTION_WRITE_THROUGH) != 0;
}

static bool may_write(const struct smb_open *o)
{
    return (o->access & (SMB_WRITE_DATA | SMB_APPEND_DATA)) != 0;
}

/* ---- ahead ---- */

struct smb_early {
    struct writing writing;
    size_t done; /* bytes that are on disk */
    bool failed; /* the request tries again when it runs, and reports the error */
};

static struct pool *storers_of(const struct smb_conn *c)
{
    return smb_server_world(c->server)->storers;
}

/* Parses the message if it is a write large enough to be stored early. */
static bool is_worth_it(struct smb_message *m, struct writing *w)
{
    struct str packet = {m->input->bytes, m->input->end};
    struct str head = str_head(packet, HEAD_BYTES);
    struct smb_header h;
    if (!smb_header_read(head, &h) || h.command != SMB_WRITE || h.next != 0 ||
        !read_writing(str_from(head, SMB_HEADER_BYTES), packet, w) ||
        w->bytes.n < 2 * (size_t)EARLY_BYTES ||
        (storers_of(m->conn) == NULL && w->bytes.n > SMB_ON_LOOP_MAX) ||
        w->bytes.p < head.p + head.n || w->offset > FILE_BYTES_MAX)
        return false;
    const struct smb_channel *channel = smb_channel_find(m->conn, h.session_id);
    if (channel == NULL || !channel->bound || !channel->session->established)
        return false;
    const struct smb_open *o = smb_open_of_session(channel->session, w->id);
    return o != NULL && o->handle != NULL && !o->directory && may_write(o) &&
           !is_written_through(w, o);
}

bool smb_write_expect(struct smb_message *m, size_t have)
{
    struct writing w;
    if (m->early_asked || have < HEAD_BYTES)
        return m->early != NULL;
    m->early_asked = true;
    if (!is_worth_it(m, &w))
        return false;
    m->early = ARENA_NEW(&m->arena, struct smb_early);
    m->early->writing = w;
    struct interval_upload *u = &m->early->writing.upload;
    interval_upload_init(u, smb_server_world(m->conn->server)->store->engine, &m->arena, w.offset,
                         w.bytes.n);
    u->unhurried = true;
    return true;
}

void smb_write_early(struct smb_message *m, size_t have)
{
    struct smb_early *e = m->early;
    if (e == NULL || e->failed)
        return;
    struct str left = str_from(e->writing.bytes, e->done);
    size_t before = (size_t)(left.p - m->input->bytes);
    struct str come = str_head(left, have > before ? have - before : 0);
    if (come.n < EARLY_BYTES && come.n < left.n)
        return;
    e->done += come.n;
    e->failed = err_is(interval_upload_take(&e->writing.upload, come));
}

void smb_write_forget(struct smb_message *m)
{
    if (m->early != NULL)
        interval_upload_discard(&m->early->writing.upload);
    m->early = NULL;
}

/* Continues where the early write, if any, stopped. */
static size_t take_over(struct smb_message *m, struct writing *w)
{
    const struct smb_early *e = m->early;
    if (e == NULL || e->failed) {
        smb_write_forget(m);
        return 0;
    }
    assert(e->writing.bytes.p == w->bytes.p && e->writing.bytes.n == w->bytes.n);
    assert(e->writing.offset == w->offset);
    w->upload = e->writing.upload;
    m->early = NULL;
    return e->done;
}

/* ---- the whole message ---- */

static void written(struct smb_request *q, struct err outcome)
{
    struct writing *w = q->work;
    if (err_is(outcome)) {
        if (outcome.code != ERR_UNKNOWN_OUTCOME)
            interval_upload_discard(&w->upload);
        smb_complete_err(q, outcome);
        return;
    }
    q->open->position = w->offset + w->bytes.n;
    buf_put_le16(&q->out, 17);
    buf_put_le16(&q->out, 0);
    buf_put_le32(&q->out, (uint32_t)w->bytes.n);
    buf_put_le32(&q->out, 0);
    buf_put_le32(&q->out, 0);
    smb_complete(q, STATUS_SUCCESS);
}

static struct err upload(struct smb_request *q)
{
    struct writing *w = q->work;
    size_t done = take_over(q->message, w);
    if (done == 0)
        interval_upload_init(&w->upload, smb_store(q)->engine, q->arena, w->offset, w->bytes.n);
    w->upload.unhurried = !is_written_through(w, q->open);
    TRY(interval_upload_take(&w->upload, str_from(w->bytes, done)));
    return interval_upload_end(&w->upload);
}

static void uploaded(struct smb_request *q, struct err outcome)
{
    struct writing *w = q->work;
    enum engine_ack ack = is_written_through(w, q->open) ? ENGINE_DURABLE : ENGINE_VISIBLE;
    if (err_is(outcome)) {
        written(q, outcome);
        return;
    }
    w->args = (struct file_write_args){.at = smb_at(q),
                                       .offset = w->offset,
                                       .length = w->bytes.n,
                                       .pieces = &w->upload.pieces,
                                       .keep_times = q->open->times_kept};
    smb_update(q, file_write_at, &w->args, ack, written);
}

static uint32_t check_write(struct smb_request *q, const struct writing *w)
{
    struct smb_open *o = q->open;
    if (w->bytes.n > SMB_IO_BYTES_MAX || !smb_charge_covers(q, w->bytes.n) ||
        w->offset > INT64_MAX || (w->bytes.n > 0 && w->offset + w->bytes.n > FILE_BYTES_MAX))
        return STATUS_INVALID_PARAMETER;
    if (o->directory)
        return STATUS_INVALID_DEVICE_REQUEST;
    if (!may_write(o))
        return STATUS_ACCESS_DENIED;
    if (o->handle == NULL)
        return STATUS_MEDIA_WRITE_PROTECTED;
    struct err error = opens_lock_check(smb_opens_table(q), o->handle, w->offset, w->bytes.n, true);
    return err_is(error) ? err_ntstatus(error.code) : STATUS_SUCCESS;
}

static void write_file(struct smb_request *q)
{
    struct writing *w = q->work;
    uint32_t status = check_write(q, w);
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    if (w->bytes.n == 0) {
        written(q, OK);
        return;
    }
    opens_io(smb_opens_table(q), q->open->handle, true);
    const struct smb_early *early = q->message->early;
    size_t left = w->bytes.n - (early == NULL || early->failed ? 0 : early->done);
    struct pool *storers = storers_of(q->conn);
    if (storers != NULL && left >= AWAY_BYTES_MIN)
        smb_in_pool_of(q, storers, upload, uploaded);
    else if (left > SMB_ON_LOOP_MAX)
        smb_in_pool(q, upload, uploaded);
    else
        uploaded(q, upload(q));
}

void smb_write(struct smb_request *q)
{
    struct writing *w = ARENA_NEW(q->arena, struct writing);
    q->work = w;
    uint32_t status =
        read_writing(q->body, q->packet, w) ? smb_open_find(q, w->id) : STATUS_INVALID_PARAMETER;
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (q->open->pipe)
        smb_pipe_write(q, w->bytes);
    else
        write_file(q);
}
