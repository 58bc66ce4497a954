/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/sequence.h"

#include "smb/open.h"

/* The header's status field has the sequence and two reserved bytes. */
static uint16_t sequence_of(const struct smb_request *q)
{
    return (uint16_t)q->header.status;
}

static bool changes_something(const struct smb_request *q)
{
    return q->header.command == SMB_WRITE || q->header.command == SMB_SET_INFO ||
           q->header.command == SMB_IOCTL;
}

void smb_sequence_start(struct smb_open *o, const struct smb_request *q)
{
    o->sequence = (struct smb_sequence){
        .number = q->conn->dialect >= SMB_DIALECT_300 ? sequence_of(q) : (uint16_t)0};
}

uint32_t smb_sequence_begin(struct smb_request *q)
{
    struct smb_sequence *s = &q->open->sequence;
    bool again = (q->header.flags & SMB_FLAG_REPLAY) != 0;
    if (q->conn->dialect < SMB_DIALECT_300)
        return STATUS_SUCCESS;
    int16_t ahead = (int16_t)(sequence_of(q) - s->number);
    if (ahead < 0 || (again && s->earlier > 0))
        return changes_something(q) ? STATUS_FILE_NOT_AVAILABLE : STATUS_SUCCESS;
    if (ahead > 0) {
        s->earlier += s->requests;
        s->requests = 0;
        s->number = sequence_of(q);
    }
    s->requests++;
    q->counted = true;
    return STATUS_SUCCESS;
}

void smb_sequence_end(struct smb_request *q)
{
    struct smb_sequence *s = &q->open->sequence;
    if (!q->counted)
        return;
    q->counted = false;
    if (s->number == sequence_of(q))
        s->requests--;
    else
        s->earlier--;
}
