/* SPDX-License-Identifier: Apache-2.0 */
/* QUERY_INFO: the query, its lookup, and truncation to the client's buffer. */
#include "smb/commands/query.h"

#include "smb/commands/io.h"
#include "smb/drive.h"

/* ---- security ---- */

/* Writes a descriptor with only the requested parts. */
static uint32_t put_security(struct smb_query *query)
{
    struct sd sd;
    if (err_is(sd_decode(query->q->arena, query->look.sd, &sd)))
        return STATUS_INTERNAL_ERROR;
    if ((query->parts & FILE_SD_OWNER) == 0)
        sd.owner = STR_NONE;
    if ((query->parts & FILE_SD_GROUP) == 0)
        sd.group = STR_NONE;
    if ((query->parts & FILE_SD_DACL) == 0) {
        sd.control &= (uint16_t) ~(SD_DACL_PRESENT | SD_DACL_AUTO | SD_DACL_PROTECTED |
                                   SD_DACL_DEFAULTED | SD_DACL_AUTO_REQ);
        sd.dacl = (struct acl){0};
    }
    if ((query->parts & (FILE_SD_SACL | FILE_SD_LABEL)) == 0) {
        sd.control &= (uint16_t) ~(SD_SACL_PRESENT | SD_SACL_AUTO | SD_SACL_PROTECTED |
                                   SD_SACL_DEFAULTED | SD_SACL_AUTO_REQ);
        sd.sacl = (struct acl){0};
    }
    buf_put(&query->out, sd_encode(query->q->arena, &sd));
    query->fixed = 0;
    return query->out.n > query->room ? STATUS_BUFFER_TOO_SMALL : STATUS_SUCCESS;
}

static uint32_t check_security(const struct smb_query *query)
{
    uint32_t access = query->q->open->access;
    if ((query->parts & (FILE_SD_OWNER | FILE_SD_GROUP | FILE_SD_DACL | FILE_SD_LABEL)) != 0 &&
        (access & SMB_READ_CONTROL) == 0)
        return STATUS_ACCESS_DENIED;
    if ((query->parts & FILE_SD_SACL) != 0 && (access & SMB_SYSTEM_SECURITY) == 0)
        return STATUS_ACCESS_DENIED;
    return STATUS_SUCCESS;
}

/* ---- the answer ---- */

static void answer(struct smb_query *query, uint32_t status)
{
    enum { HEAD_BYTES = 8 };
    struct smb_request *q = query->q;
    bool cut = status == STATUS_BUFFER_OVERFLOW; /* to whole entries, which are a valid answer */
    if (cut)
        status = STATUS_SUCCESS;
    if (status == STATUS_BUFFER_TOO_SMALL) {
        q->error_data = arena_bytes(q->arena, 4);
        for (unsigned i = 0; i < 4; i++)
            q->error_data[i] = (char)((uint32_t)query->out.n >> (8 * i));
    }
    if (status == STATUS_SUCCESS && query->room < query->fixed)
        status = STATUS_INFO_LENGTH_MISMATCH;
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    struct str bytes = str_head(buf_str(&query->out), query->room);
    buf_put_le16(&q->out, 9);
    buf_put_le16(&q->out, bytes.n == 0 ? 0 : SMB_HEADER_BYTES + HEAD_BYTES);
    buf_put_le32(&q->out, (uint32_t)bytes.n);
    buf_put(&q->out, bytes);
    if (bytes.n == 0)
        buf_putc(&q->out, 0);
    smb_complete(q, cut || bytes.n < query->out.n ? STATUS_BUFFER_OVERFLOW : STATUS_SUCCESS);
}

static void looked(struct smb_request *q, struct err outcome)
{
    struct smb_query *query = q->work;
    if (err_is(outcome))
        smb_complete_err(q, outcome);
    else if (query->type == SMB_INFO_FILESYSTEM)
        answer(query, smb_query_fs(query));
    else if (query->type == SMB_INFO_SECURITY)
        answer(query, put_security(query));
    else
        answer(query, smb_query_file(query));
}

/* Pipes have only minimal information. */
static void answer_pipe(struct smb_query *query)
{
    enum { FILE_STANDARD = 5, PIPE_BYTES = 4096 };
    if (query->type != SMB_INFO_FILE || query->class != FILE_STANDARD) {
        smb_complete(query->q, STATUS_INVALID_PARAMETER);
        return;
    }
    buf_put_le64(&query->out, PIPE_BYTES);
    buf_put_le64(&query->out, 0);
    buf_put_le32(&query->out, 1);
    buf_put_le32(&query->out, 1);
    answer(query, STATUS_SUCCESS);
}

static uint32_t read_query(struct smb_request *q, struct smb_query *query)
{
    struct reader in = reader_of(str_from(q->body, 2));
    query->q = q;
    query->out = buf_in(q->arena);
    query->type = read_u8(&in);
    query->class = read_u8(&in);
    query->room = read_le32(&in);
    uint16_t offset = read_le16(&in);
    (void)read_le16(&in);
    uint32_t length = read_le32(&in);
    query->parts = read_le32(&in);
    query->flags = read_le32(&in);
    struct smb_file_id id = smb_read_file_id(&in);
    if (!reader_ok(&in) || query->room > SMB_IO_BYTES_MAX ||
        (length > 0 &&
         (offset < SMB_HEADER_BYTES || offset > q->packet.n || length > q->packet.n - offset)))
        return STATUS_INVALID_PARAMETER;
    if (length > 0)
        query->input = (struct str){q->packet.p + offset, length};
    uint32_t status = smb_open_find(q, id);
    if (status == STATUS_SUCCESS && !smb_charge_covers(q, query->room))
        status = STATUS_INVALID_PARAMETER;
    return status;
}

void smb_query_info(struct smb_request *q)
{
    struct smb_query *query = ARENA_NEW(q->arena, struct smb_query);
    q->work = query;
    uint32_t status = read_query(q, query);
    if (status == STATUS_SUCCESS && query->type == SMB_INFO_SECURITY)
        status = check_security(query);
    if (status == STATUS_SUCCESS && query->type == SMB_INFO_QUOTA)
        status = STATUS_NOT_SUPPORTED;
    if (status == STATUS_SUCCESS && (query->type == 0 || query->type > SMB_INFO_QUOTA))
        status = STATUS_INVALID_PARAMETER;
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    query->look.at = query->share.at = smb_at(q);
    query->look.wants_sd = query->type == SMB_INFO_SECURITY;
    if (q->open->pipe)
        answer_pipe(query);
    else if (query->type == SMB_INFO_FILESYSTEM)
        smb_view(q, file_look_share, &query->share, looked);
    else
        smb_view(q, file_look, &query->look, looked);
}
