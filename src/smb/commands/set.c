/* SPDX-License-Identifier: Apache-2.0 */
/* SET_INFO ([MS-FSCC] 2.4): times, attributes, extended ones, size, name, deletion, security. */
#include "core/time.h"
#include "service/file/short_name.h"
#include "smb/commands/create.h"
#include "smb/commands/ea.h"
#include "smb/commands/info.h"
#include "smb/commands/io.h"
#include "smb/commands/query.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/persist.h"
#include "smb/waiting.h"

enum {
    SET_BASIC = 4,
    SET_RENAME = 10,
    SET_LINK = 11,
    SET_DISPOSITION = 13,
    SET_POSITION = 14,
    SET_FULL_EA = 15,
    SET_MODE = 16,
    SET_ALLOCATION = 19,
    SET_END_OF_FILE = 20,
    SET_DISPOSITION_EX = 64,
    SET_RENAME_EX = 65,

    DISPOSITION_DELETE = 1,
    DISPOSITION_IGNORE_READ_ONLY = 0x10,
    RENAME_REPLACE = 1,
};

struct setting {
    struct smb_request *q;
    uint8_t type, class;
    uint32_t parts;
    struct str data;
    struct file_change_args change;
    struct file_rename_args rename;
    struct file_long_path_args lengthen;
    struct smb_waiting waiting;
    struct file_security_args security;
    struct file_look_args look;
    bool deletes;
    bool ignores_read_only;
};

static void finish(struct smb_request *q, struct err outcome)
{
    buf_put_le16(&q->out, 2);
    smb_complete_err(q, outcome);
}

static void change(struct setting *s)
{
    s->change.at = smb_at(s->q);
    smb_update(s->q, file_change, &s->change, ENGINE_VISIBLE, finish);
}

/* ---- times and attributes ---- */

enum time_wish { TIME_KEEP, TIME_SET, TIME_FREEZE, TIME_THAW, TIME_BAD };

/* 0 leaves it, -1 stops and -2 resumes automatic updates. */
static enum time_wish read_time(struct reader *r, int64_t *ticks)
{
    int64_t value = (int64_t)read_le64(r);
    *ticks = value - TIME_TICKS_YEAR_1601;
    return value == 0    ? TIME_KEEP
           : value == -1 ? TIME_FREEZE
           : value == -2 ? TIME_THAW
           : value < 0   ? TIME_BAD
                         : TIME_SET;
}

static bool take_time(struct reader *r, struct file_time *out, enum time_wish *wish)
{
    *wish = read_time(r, &out->ticks);
    out->kind = *wish == TIME_SET ? FILE_TIME_GIVEN : FILE_TIME_KEEP;
    return *wish != TIME_BAD;
}

static void set_basic(struct setting *s)
{
    struct smb_open *o = s->q->open;
    struct reader r = reader_of(s->data);
    struct file_settings *settings = &s->change.settings;
    struct file_time accessed;
    enum time_wish wish, write_wish, change_wish;
    bool good = take_time(&r, &settings->created, &wish) && take_time(&r, &accessed, &wish) &&
                take_time(&r, &settings->last_write, &write_wish) &&
                take_time(&r, &settings->changed, &change_wish);
    uint32_t attributes = read_le32(&r);
    bool directory = (attributes & NODE_DIRECTORY_BIT) != 0;
    if (!reader_ok(&r)) {
        smb_complete(s->q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    if (!good || (directory && !o->directory) ||
        (o->directory && (attributes & NODE_TEMPORARY) != 0)) {
        smb_complete(s->q, STATUS_INVALID_PARAMETER);
        return;
    }
    s->change.has_accessed = accessed.kind == FILE_TIME_GIVEN;
    s->change.accessed = accessed.ticks;
    settings->has_attributes = attributes != 0;
    settings->attributes = attributes;
    if (write_wish == TIME_SET || write_wish == TIME_FREEZE)
        o->times_kept = true;
    else if (write_wish == TIME_THAW)
        o->times_kept = false;
    if (change_wish == TIME_SET || change_wish == TIME_FREEZE)
        o->change_kept = true;
    else if (change_wish == TIME_THAW)
        o->change_kept = false;
    s->change.keep_changed = o->change_kept || change_wish == TIME_THAW;
    change(s);
}

static void set_eas(struct setting *s)
{
    uint32_t status = smb_ea_read(s->q->arena, s->data, &s->change.eas);
    s->change.keep_changed = s->q->open->change_kept;
    if (status == STATUS_SUCCESS)
        change(s);
    else
        smb_complete(s->q, status);
}

/* ---- sizes ---- */

static void set_size(struct setting *s)
{
    struct reader r = reader_of(s->data);
    s->change.size = read_le64(&r);
    if (!reader_ok(&r)) {
        smb_complete(s->q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    if (s->change.size > INT64_MAX || s->q->open->directory) {
        smb_complete(s->q, STATUS_INVALID_PARAMETER);
        return;
    }
    s->change.has_size = true;
    s->change.keep_times = s->q->open->times_kept;
    if (s->class == SET_ALLOCATION) {
        s->q->open->allocation = s->change.size;
        s->change.only_shrinks = true;
    } else {
        s->q->open->allocation = 0;
    }
    opens_io(smb_opens_table(s->q), s->q->open->handle, true);
    change(s);
}

/* ---- deleting ---- */

static void dispose(struct smb_request *q, struct err outcome)
{
    struct setting *s = q->work;
    const struct node *n = &s->look.seen.node;
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    if (n->kind != NODE_DIRECTORY && (n->attributes & NODE_READ_ONLY) != 0 &&
        !s->ignores_read_only) {
        smb_complete(q, STATUS_CANNOT_DELETE);
        return;
    }
    if (n->kind == NODE_DIRECTORY && !s->look.empty) {
        smb_complete(q, STATUS_DIRECTORY_NOT_EMPTY);
        return;
    }
    if (s->look.seen.id == 0) {
        smb_complete(q, STATUS_CANNOT_DELETE); /* the root */
        return;
    }
    if (q->open->closed) {
        smb_complete(q, STATUS_FILE_CLOSED);
        return;
    }
    struct err error = opens_set_delete(smb_opens_table(q), q->open->handle, true);
    if (err_is(error))
        finish(q, error);
    else
        smb_persist_mark(q, finish);
}

static void spare(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome))
        finish(q, outcome);
    else
        smb_persist_mark(q, finish);
}

static void set_disposition(struct setting *s)
{
    struct reader r = reader_of(s->data);
    uint32_t flags = s->class == SET_DISPOSITION ? read_u8(&r) : read_le32(&r);
    if (!reader_ok(&r)) {
        smb_complete(s->q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    if (s->class == SET_DISPOSITION)
        flags = flags != 0 ? DISPOSITION_DELETE : 0;
    if ((flags & DISPOSITION_DELETE) == 0) {
        struct err error = opens_set_delete(smb_opens_table(s->q), s->q->open->handle, false);
        if (err_is(error))
            finish(s->q, error);
        else
            smb_persist_save(s->q, s->q->open, spare);
        return;
    }
    s->ignores_read_only = (flags & DISPOSITION_IGNORE_READ_ONLY) != 0;
    s->look.at = smb_at(s->q);
    s->look.wants_empty = true;
    smb_view(s->q, file_look, &s->look, dispose);
}

/* ---- renaming ---- */

static void renamed(struct smb_request *q, struct err outcome)
{
    struct setting *s = q->work;
    struct opens *opens = smb_opens_table(q);
    struct opens_key key = {.share = q->open->incarnation, .node = q->open->node};
    file_pass_end(&s->rename.pass);
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    opens_set_path(opens, key, s->rename.new_parent, s->rename.new_path);
    finish(q, OK);
}

/* Only for a claim that would have to wait; the claim is cancelled at once. */
static void nobody_waits(struct opens_wait *wait)
{
    (void)wait;
}

static void rename_now(struct smb_request *q);

static void caches_given_up(struct smb_request *q, struct err outcome)
{
    if (err_is(outcome) || q->conn->closed)
        smb_complete(q, STATUS_CANCELLED);
    else
        rename_now(q);
}

/* Closes first the handles that others keep open only for caching. */
static void rename_now(struct smb_request *q)
{
    struct setting *s = q->work;
    if (q->open->closed) {
        smb_complete(q, STATUS_FILE_CLOSED);
        return;
    }
    if (s->waiting.q == NULL)
        smb_waiting_init(&s->waiting, q);
    struct err error = opens_break_handles(smb_opens_table(q), q->open->handle, &s->waiting.wait);
    if (error.code == ERR_OTHERS_FIRST)
        smb_wait_for_caches(&s->waiting, caches_given_up);
    else
        smb_update(q, file_rename_at, &s->rename, ENGINE_VISIBLE, renamed);
}

/* Directories in the new path may be short names; the last name is used literally. */
static struct str directory_of(struct str path)
{
    size_t last = path_last(path).n;
    return str_head(path, last == path.n ? 0 : path.n - last - 1);
}

static void lengthened(struct smb_request *q, struct err outcome)
{
    struct setting *s = q->work;
    if (!err_is(outcome) && s->lengthen.exists) {
        struct buf path = buf_in(q->arena);
        buf_put(&path, s->lengthen.long_path);
        buf_putc(&path, '/');
        buf_put(&path, path_last(s->rename.path));
        s->rename.path = buf_str(&path);
    }
    rename_now(q);
}

static void set_name(struct setting *s)
{
    struct reader r = reader_of(s->data);
    uint32_t flags = s->class == SET_RENAME ? read_u8(&r) : read_le32(&r);
    (void)read_raw(&r, s->class == SET_RENAME ? 7 : 4);
    uint64_t root = read_le64(&r);
    uint32_t length = read_le32(&r);
    struct str name = read_raw(&r, length);
    struct str path;
    if (!reader_ok(&r) || root != 0 || length == 0) {
        smb_complete(s->q, STATUS_INVALID_PARAMETER);
        return;
    }
    /* The handle gives access to the file, but not to the destination directory. */
    if (s->q->session->anonymous) {
        smb_complete(s->q, STATUS_ACCESS_DENIED);
        return;
    }
    if (length >= 2 && name.p[0] == '\\' && name.p[1] == 0)
        name = str_from(name, 2);
    uint32_t status = smb_read_name(s->q->arena, name, &path);
    if (status != STATUS_SUCCESS) {
        smb_complete(s->q, status);
        return;
    }
    s->rename.at = smb_at(s->q);
    s->rename.path = path;
    s->rename.replace = s->class == SET_RENAME ? flags != 0 : (flags & RENAME_REPLACE) != 0;
    s->rename.pass.opens = smb_opens_table(s->q);
    s->rename.pass.wait.done = nobody_waits;
    if (!short_name_in_path(directory_of(path))) {
        rename_now(s->q);
        return;
    }
    s->lengthen = (struct file_long_path_args){.at = s->rename.at, .path = directory_of(path)};
    smb_view_in_pool(s->q, file_long_path, &s->lengthen, lengthened);
}

/* ---- security ---- */

static void set_security(struct setting *s)
{
    uint32_t access = s->q->open->access;
    bool owns = (s->parts & (FILE_SD_OWNER | FILE_SD_GROUP | FILE_SD_LABEL)) != 0;
    if ((owns && (access & SMB_WRITE_OWNER) == 0) ||
        ((s->parts & FILE_SD_DACL) != 0 && (access & SMB_WRITE_DAC) == 0) ||
        ((s->parts & FILE_SD_SACL) != 0 && (access & SMB_SYSTEM_SECURITY) == 0)) {
        smb_complete(s->q, STATUS_ACCESS_DENIED);
        return;
    }
    s->security = (struct file_security_args){.at = smb_at(s->q), .parts = s->parts, .sd = s->data};
    smb_update(s->q, file_set_security, &s->security, ENGINE_VISIBLE, finish);
}

/* ---- the request ---- */

/* The right that the class needs; 0: none. */
static uint32_t right_for(uint8_t class)
{
    switch (class) {
    case SET_BASIC:
        return SMB_WRITE_ATTRIBUTES;
    case SET_FULL_EA:
        return SMB_WRITE_EA;
    case SET_RENAME:
    case SET_RENAME_EX:
    case SET_DISPOSITION:
    case SET_DISPOSITION_EX:
        return SMB_DELETE;
    case SET_ALLOCATION:
    case SET_END_OF_FILE:
        return SMB_WRITE_DATA;
    default:
        return 0;
    }
}

static void set_position(struct setting *s)
{
    struct reader r = reader_of(s->data);
    uint64_t position = read_le64(&r);
    if (!reader_ok(&r)) {
        smb_complete(s->q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    s->q->open->position = position;
    finish(s->q, OK);
}

/* Stores the client's mode: its caching, and synchronous requests. */
static void set_mode(struct setting *s)
{
    enum { SETTABLE = 0x3E };
    struct reader r = reader_of(s->data);
    uint32_t mode = read_le32(&r);
    if (!reader_ok(&r)) {
        smb_complete(s->q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    if ((mode & ~(uint32_t)SETTABLE) != 0) {
        smb_complete(s->q, STATUS_INVALID_PARAMETER);
        return;
    }
    s->q->open->options = (s->q->open->options & ~(uint32_t)SETTABLE) | mode;
    finish(s->q, OK);
}

static void set_file(struct setting *s)
{
    uint32_t right = right_for(s->class);
    if (right != 0 && (s->q->open->access & right) == 0) {
        smb_complete(s->q, STATUS_ACCESS_DENIED);
        return;
    }
    switch (s->class) {
    case SET_BASIC:
        set_basic(s);
        return;
    case SET_RENAME:
    case SET_RENAME_EX:
        set_name(s);
        return;
    case SET_DISPOSITION:
    case SET_DISPOSITION_EX:
        set_disposition(s);
        return;
    case SET_ALLOCATION:
    case SET_END_OF_FILE:
        set_size(s);
        return;
    case SET_POSITION:
        set_position(s);
        return;
    case SET_MODE:
        set_mode(s);
        return;
    case SET_FULL_EA:
        set_eas(s);
        return;
    case SET_LINK:
        smb_complete(s->q, STATUS_NOT_SUPPORTED); /* SMB shares have no links */
        return;
    default:
        smb_complete(s->q, STATUS_INVALID_INFO_CLASS);
    }
}

static uint32_t read_setting(struct smb_request *q, struct setting *s)
{
    struct reader in = reader_of(str_from(q->body, 2));
    s->q = q;
    s->type = read_u8(&in);
    s->class = read_u8(&in);
    uint32_t length = read_le32(&in);
    uint16_t offset = read_le16(&in);
    (void)read_le16(&in);
    s->parts = read_le32(&in);
    struct smb_file_id id = smb_read_file_id(&in);
    if (!reader_ok(&in) || (length > 0 && (offset < SMB_HEADER_BYTES || offset > q->packet.n ||
                                           length > q->packet.n - offset)))
        return STATUS_INVALID_PARAMETER;
    s->data = length == 0 ? STR("") : (struct str){q->packet.p + offset, length};
    uint32_t status = smb_open_find(q, id);
    if (status == STATUS_SUCCESS && q->open->pipe)
        status = STATUS_NOT_SUPPORTED;
    if (status == STATUS_SUCCESS && q->open->handle == NULL)
        status = STATUS_MEDIA_WRITE_PROTECTED; /* a snapshot's */
    return status;
}

void smb_set_info(struct smb_request *q)
{
    struct setting *s = ARENA_NEW(q->arena, struct setting);
    q->work = s;
    uint32_t status = read_setting(q, s);
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else if (s->type == SMB_INFO_FILE)
        set_file(s);
    else if (s->type == SMB_INFO_SECURITY)
        set_security(s);
    else
        smb_complete(q, STATUS_NOT_SUPPORTED); /* volumes and quotas can be set only by REST */
}
