/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/ioctl.h"

#include <netinet/in.h>

#include "core/text/utf16.h"
#include "core/time.h"
#include "service/file/by_id.h"
#include "smb/commands/info.h"
#include "smb/commands/io.h"
#include "smb/commands/negotiate.h"
#include "smb/drive.h"
#include "smb/message.h"
#include "smb/pipe.h"
#include "smb/server.h"

enum {
    IS_FSCTL = 1,
    HEAD_BYTES = 48,

    FSCTL_DFS_REFERRALS = 0x00060194,
    FSCTL_DFS_REFERRALS_EX = 0x000601B0,
    FSCTL_OBJECT_ID = 0x000900C0, /* create or get */
    FSCTL_GET_COMPRESSION = 0x0009003C,
    FSCTL_SET_COMPRESSION = 0x0009C040,
    FSCTL_SET_SPARSE = 0x000900C4,
    FSCTL_ALLOCATED_RANGES = 0x000940CF,
    FSCTL_ZERO_DATA = 0x000980C8,
    FSCTL_PIPE_TRANSCEIVE = 0x0011C017,
    FSCTL_RESUME_KEY = 0x00140078,
    FSCTL_INTERFACES = 0x001401FC,
    FSCTL_VALIDATE_NEGOTIATE = 0x00140204,
    FSCTL_SNAPSHOTS = 0x00144064,
    FSCTL_COPY_CHUNK = 0x001440F2,
    FSCTL_COPY_CHUNK_WRITE = 0x001480F2,
};

void smb_control_answer(struct smb_control *c, struct str output, uint32_t status)
{
    struct buf *out = &c->q->out;
    uint32_t offset = SMB_HEADER_BYTES + HEAD_BYTES;
    buf_put_le16(out, 49);
    buf_put_le16(out, 0);
    buf_put_le32(out, c->code);
    smb_put_file_id(out, c->id);
    buf_put_le32(out, offset);
    buf_put_le32(out, 0);
    buf_put_le32(out, offset);
    buf_put_le32(out, (uint32_t)output.n);
    buf_put_le64(out, 0);
    buf_put(out, output);
    if (output.n == 0)
        buf_putc(out, 0);
    c->q->keeps_body = true;
    smb_complete(c->q, status);
}

/* ---- the negotiation ---- */

/* Detects an attacker in the middle that changed the negotiation before signing began. */
static void validate_negotiate(struct smb_control *c)
{
    struct smb_conn *conn = c->q->conn;
    struct reader r = reader_of(c->input);
    struct buf out = buf_in(c->q->arena);
    uint32_t capabilities = read_le32(&r);
    struct str guid = read_raw(&r, SMB_GUID_BYTES);
    uint16_t security_mode = read_le16(&r);
    uint16_t count = read_le16(&r);
    uint16_t newest = 0;
    for (unsigned i = 0; i < count && reader_ok(&r); i++) {
        uint16_t dialect = read_le16(&r);
        if (dialect > newest && dialect <= SMB_DIALECT_311)
            newest = dialect;
    }
    bool same = reader_ok(&r) && capabilities == conn->client_capabilities &&
                str_eq(guid, (struct str){(char *)conn->client_guid, SMB_GUID_BYTES}) &&
                security_mode == conn->client_security_mode && newest == conn->dialect;
    if (!same) {
        smb_conn_close(conn);
        smb_complete(c->q, STATUS_ACCESS_DENIED);
        return;
    }
    if (c->room < 24) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    buf_put_le32(&out, smb_server_capabilities(conn));
    buf_put(&out, (struct str){(const char *)smb_server_guid(conn->server), SMB_GUID_BYTES});
    buf_put_le16(&out, smb_server_security_mode(conn));
    buf_put_le16(&out, (uint16_t)conn->dialect);
    smb_control_answer(c, buf_str(&out), STATUS_SUCCESS);
}

/* ---- the address that this connection uses ---- */

static void put_zeros(struct buf *out, size_t n)
{
    memset(buf_reserve(out, n), 0, n);
    out->n += n;
}

static void interfaces(struct smb_control *c)
{
    enum { ENTRY_BYTES = 152, FAMILY_IPV4 = 2, FAMILY_IPV6 = 0x17 };
    struct sockaddr_storage own = {0};
    socklen_t length = sizeof own;
    struct buf out = buf_in(c->q->arena);
    if (c->room < ENTRY_BYTES) {
        smb_complete(c->q, STATUS_BUFFER_TOO_SMALL);
        return;
    }
    (void)getsockname(c->q->conn->watch.fd, (struct sockaddr *)&own, &length);
    buf_put_le32(&out, 0);
    buf_put_le32(&out, 1);
    buf_put_le64(&out, 0);
    buf_put_le64(&out, 1000000000); /* bits a second */
    if (own.ss_family == AF_INET6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&own;
        buf_put_le16(&out, FAMILY_IPV6);
        put_zeros(&out, 6);
        buf_put(&out, (struct str){(const char *)&in6->sin6_addr, 16});
    } else {
        const struct sockaddr_in *in4 = (const struct sockaddr_in *)&own;
        buf_put_le16(&out, FAMILY_IPV4);
        put_zeros(&out, 2);
        buf_put(&out, (struct str){(const char *)&in4->sin_addr, 4});
    }
    put_zeros(&out, ENTRY_BYTES - out.n);
    smb_control_answer(c, buf_str(&out), STATUS_SUCCESS);
}

/* ---- snapshots ---- */

/* "@GMT-2026.11.16-00.25.28", in UTC; newest first. */
static void put_snapshot_name(struct smb_control *c, struct buf *names, int64_t stamp)
{
    char iso[TIME_ISO_BYTES];
    time_iso(stamp, iso);
    struct str name = arena_printf(c->q->arena, "@GMT-%.4s.%.2s.%.2s-%.2s.%.2s.%.2s", iso, iso + 5,
                                   iso + 8, iso + 11, iso + 14, iso + 17);
    utf16_put(names, name);
    buf_put_le16(names, 0);
}

static void snapshots_found(struct smb_request *q, struct err outcome)
{
    enum { COUNTS_BYTES = 12, SHORT_ANSWER_BYTES = 16 };
    struct smb_control *c = q->work;
    struct file_share_args *share = c->work;
    struct buf names = buf_in(q->arena), out = buf_in(q->arena);
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    for (size_t i = share->snapshot_count; i > 0; i--)
        put_snapshot_name(c, &names, share->snapshots[i - 1]);
    buf_put_le16(&names, 0);
    bool fits = COUNTS_BYTES + names.n <= c->room;
    buf_put_le32(&out, (uint32_t)share->snapshot_count);
    buf_put_le32(&out, fits ? (uint32_t)share->snapshot_count : 0);
    buf_put_le32(&out, (uint32_t)names.n);
    if (fits)
        buf_put(&out, buf_str(&names));
    else
        buf_put_le32(&out, 0);
    smb_control_answer(c, buf_str(&out), STATUS_SUCCESS);
}

static void snapshots(struct smb_control *c)
{
    enum { LEAST_BYTES = 16 };
    struct file_share_args *share = ARENA_NEW(c->q->arena, struct file_share_args);
    if (c->room < LEAST_BYTES) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    share->at = smb_at(c->q);
    c->work = share;
    smb_view(c->q, file_look_share, share, snapshots_found);
}

/* A file's number serves as its object id: it never changes. */
static void object_id(struct smb_control *c)
{
    enum { OBJECT_ID_BYTES = 64 };
    const struct smb_open *o = c->q->open;
    struct buf out = buf_in(c->q->arena);
    if (c->room < OBJECT_ID_BYTES) {
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
        return;
    }
    for (unsigned i = 0; i < 2; i++) { /* the object id, and the birth object id */
        buf_put_le64(&out, smb_file_index(o->incarnation, o->node));
        buf_put_le64(&out, o->incarnation);
    }
    put_zeros(&out, OBJECT_ID_BYTES - out.n);
    smb_control_answer(c, buf_str(&out), STATUS_SUCCESS);
}

/* Only "no compression" is supported. */
static void set_compression(struct smb_control *c)
{
    struct reader r = reader_of(c->input);
    uint16_t format = read_le16(&r);
    if (!reader_ok(&r))
        smb_complete(c->q, STATUS_INVALID_PARAMETER);
    else if (format != 0)
        smb_complete(c->q, STATUS_NOT_SUPPORTED);
    else
        smb_control_answer(c, STR(""), STATUS_SUCCESS);
}

/* ---- pipes ---- */

static void pipe_answered(struct smb_request *q, struct err outcome)
{
    struct smb_control *c = q->control;
    bool more;
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    struct str answer = smb_pipe_take(q->open, c->room, &more);
    smb_control_answer(c, answer, more ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
}

static void transceive(struct smb_control *c)
{
    if (!c->q->open->pipe) {
        smb_complete(c->q, STATUS_INVALID_DEVICE_REQUEST);
        return;
    }
    c->q->control = c;
    smb_pipe_transceive(c->q, c->input, pipe_answered);
}

/* ---- the request ---- */

static uint32_t read_control(struct smb_request *q, struct smb_control *c)
{
    struct reader in = reader_of(str_from(q->body, 4));
    c->q = q;
    c->code = read_le32(&in);
    c->id = smb_read_file_id(&in);
    uint32_t offset = read_le32(&in);
    uint32_t length = read_le32(&in);
    (void)read_le32(&in);
    (void)read_le64(&in);
    c->room = read_le32(&in);
    uint32_t flags = read_le32(&in);
    if (!reader_ok(&in) || (length > 0 && (offset < SMB_HEADER_BYTES || offset > q->packet.n ||
                                           length > q->packet.n - offset)))
        return STATUS_INVALID_PARAMETER;
    c->input = length == 0 ? STR("") : (struct str){q->packet.p + offset, length};
    if (c->room > SMB_IO_BYTES_MAX || length > SMB_IO_BYTES_MAX ||
        !smb_charge_covers(q, length > c->room ? length : c->room))
        return STATUS_INVALID_PARAMETER;
    return flags == IS_FSCTL ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED;
}

/* The control codes without a file. */
static bool run_without_file(struct smb_control *c)
{
    switch (c->code) {
    case FSCTL_DFS_REFERRALS:
    case FSCTL_DFS_REFERRALS_EX:
        smb_complete(c->q, STATUS_NOT_FOUND);
        return true;
    case FSCTL_VALIDATE_NEGOTIATE:
        validate_negotiate(c);
        return true;
    case FSCTL_INTERFACES:
        if (c->id.persistent != UINT64_MAX || c->id.fleeting != UINT64_MAX)
            smb_complete(c->q, STATUS_INVALID_PARAMETER);
        else
            interfaces(c);
        return true;
    default:
        return false;
    }
}

static void run_on_file(struct smb_control *c)
{
    if (c->code != FSCTL_PIPE_TRANSCEIVE && c->q->open->pipe) {
        smb_complete(c->q, STATUS_INVALID_DEVICE_REQUEST);
        return;
    }
    switch (c->code) {
    case FSCTL_PIPE_TRANSCEIVE:
        transceive(c);
        return;
    case FSCTL_SNAPSHOTS:
        snapshots(c);
        return;
    case FSCTL_OBJECT_ID:
        object_id(c);
        return;
    case FSCTL_GET_COMPRESSION:
        smb_control_answer(c, STR("\0\0"), STATUS_SUCCESS); /* none */
        return;
    case FSCTL_SET_COMPRESSION:
        set_compression(c);
        return;
    case FSCTL_SET_SPARSE:
        smb_set_sparse(c);
        return;
    case FSCTL_ALLOCATED_RANGES:
        smb_allocated_ranges(c);
        return;
    case FSCTL_ZERO_DATA:
        smb_zero_data(c);
        return;
    case FSCTL_RESUME_KEY:
        smb_resume_key(c);
        return;
    case FSCTL_COPY_CHUNK:
    case FSCTL_COPY_CHUNK_WRITE:
        smb_copy_chunks(c);
        return;
    default:
        smb_complete(c->q, STATUS_INVALID_DEVICE_REQUEST);
    }
}

void smb_ioctl(struct smb_request *q)
{
    struct smb_control *c = ARENA_NEW(q->arena, struct smb_control);
    q->work = c;
    uint32_t status = read_control(q, c);
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    if (run_without_file(c))
        return;
    status = smb_open_find(q, c->id);
    if (status != STATUS_SUCCESS)
        smb_complete(q, status);
    else
        run_on_file(c);
}
