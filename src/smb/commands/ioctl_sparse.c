/* SPDX-License-Identifier: Apache-2.0 */
/* FSCTL_SET_SPARSE, FSCTL_SET_ZERO_DATA and FSCTL_QUERY_ALLOCATED_RANGES. Every file is stored
 * sparse; the attribute decides whether a client sees its holes. */
#include "service/file/by_id.h"
#include "smb/commands/io.h"
#include "smb/commands/ioctl.h"
#include "smb/drive.h"

static void done(struct smb_request *q, struct err outcome)
{
    struct smb_control *c = q->work;
    if (err_is(outcome))
        smb_complete_err(q, outcome);
    else
        smb_control_answer(c, STR(""), STATUS_SUCCESS);
}

static bool may_write(const struct smb_open *o, uint32_t rights)
{
    return o->handle != NULL && (o->access & rights) != 0;
}

void smb_set_sparse(struct smb_control *c)
{
    struct smb_open *o = c->q->open;
    struct file_change_args *args = ARENA_NEW(c->q->arena, struct file_change_args);
    if (o->directory) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    if (!may_write(o, SMB_WRITE_DATA | SMB_APPEND_DATA | SMB_WRITE_ATTRIBUTES)) {
        smb_complete(c->q, STATUS_ACCESS_DENIED);
        return;
    }
    args->at = smb_at(c->q);
    args->has_sparse = true;
    args->sparse = c->input.n == 0 || c->input.p[0] != 0;
    smb_update(c->q, file_change, args, ENGINE_VISIBLE, done);
}

void smb_zero_data(struct smb_control *c)
{
    struct smb_open *o = c->q->open;
    struct file_zero_args *args = ARENA_NEW(c->q->arena, struct file_zero_args);
    struct reader r = reader_of(c->input);
    args->from = read_le64(&r);
    args->to = read_le64(&r);
    if (!may_write(o, SMB_WRITE_DATA)) {
        smb_complete(c->q, STATUS_ACCESS_DENIED);
        return;
    }
    if (!reader_ok(&r) || o->directory || args->to > INT64_MAX || args->from > args->to) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    struct opens *opens = smb_opens_table(c->q);
    struct err error = opens_lock_check(opens, o->handle, args->from, args->to - args->from, true);
    if (err_is(error)) {
        smb_complete_err(c->q, error);
        return;
    }
    args->at = smb_at(c->q);
    args->keep_times = o->times_kept;
    opens_io(opens, o->handle, true);
    smb_update(c->q, file_zero_at, args, ENGINE_VISIBLE, done);
}

static void ranges_found(struct smb_request *q, struct err outcome)
{
    struct smb_control *c = q->work;
    const struct file_extents_args *args = c->work;
    struct buf out = buf_in(q->arena);
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    if (args->max == 0 && args->more) {
        smb_complete(q, STATUS_BUFFER_TOO_SMALL);
        return;
    }
    for (size_t i = 0; i < args->count; i++) {
        buf_put_le64(&out, args->ranges[i].start);
        buf_put_le64(&out, args->ranges[i].end - args->ranges[i].start);
    }
    smb_control_answer(c, buf_str(&out), args->more ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
}

void smb_allocated_ranges(struct smb_control *c)
{
    enum { RANGE_BYTES = 16 };
    struct smb_open *o = c->q->open;
    struct file_extents_args *args = ARENA_NEW(c->q->arena, struct file_extents_args);
    struct reader r = reader_of(c->input);
    args->from = read_le64(&r);
    uint64_t length = read_le64(&r);
    if ((o->access & SMB_READ_DATA) == 0) {
        smb_complete(c->q, STATUS_ACCESS_DENIED);
        return;
    }
    if (!reader_ok(&r) || o->directory || args->from > INT64_MAX ||
        length > INT64_MAX - args->from) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    args->to = args->from + length;
    args->max = c->room / RANGE_BYTES < FILE_EXTENTS_MAX ? c->room / RANGE_BYTES : FILE_EXTENTS_MAX;
    args->at = smb_at(c->q);
    c->work = args;
    smb_view(c->q, file_extents_at, args, ranges_found);
}
