/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/header.h"

static const struct str MAGIC_SMB1 = STR_INIT("\xFFSMB");
static const struct str MAGIC_SMB2 = STR_INIT("\xFESMB");
static const struct str MAGIC_ENCRYPTED = STR_INIT("\xFDSMB");

enum smb_magic smb_magic_of(struct str message)
{
    if (str_starts(message, MAGIC_SMB2))
        return SMB_MAGIC_SMB2;
    if (str_starts(message, MAGIC_ENCRYPTED))
        return SMB_MAGIC_ENCRYPTED;
    return str_starts(message, MAGIC_SMB1) ? SMB_MAGIC_SMB1 : SMB_MAGIC_OTHER;
}

bool smb_header_read(struct str message, struct smb_header *out)
{
    struct reader r = reader_of(message);
    struct str magic = read_raw(&r, 4);
    uint16_t size = read_le16(&r);
    out->credit_charge = read_le16(&r);
    out->status = read_le32(&r);
    out->command = read_le16(&r);
    out->credits = read_le16(&r);
    out->flags = read_le32(&r);
    out->next = read_le32(&r);
    out->message_id = read_le64(&r);
    out->process_id = read_le32(&r);
    out->tree_id = read_le32(&r);
    out->session_id = read_le64(&r);
    struct str signature = read_raw(&r, SMB_SIGNATURE_BYTES);
    if (!reader_ok(&r) || !str_eq(magic, MAGIC_SMB2) || size != SMB_HEADER_BYTES)
        return false;
    memcpy(out->signature, signature.p, SMB_SIGNATURE_BYTES);
    return true;
}

void smb_header_put(struct buf *out, const struct smb_header *h)
{
    buf_put(out, MAGIC_SMB2);
    buf_put_le16(out, SMB_HEADER_BYTES);
    buf_put_le16(out, h->credit_charge);
    buf_put_le32(out, h->status);
    buf_put_le16(out, h->command);
    buf_put_le16(out, h->credits);
    buf_put_le32(out, h->flags);
    buf_put_le32(out, h->next);
    buf_put_le64(out, h->message_id);
    buf_put_le32(out, h->process_id);
    buf_put_le32(out, h->tree_id);
    buf_put_le64(out, h->session_id);
    buf_put(out, (struct str){(const char *)h->signature, SMB_SIGNATURE_BYTES});
}

bool smb_transform_read(struct str message, struct smb_transform *out)
{
    struct reader r = reader_of(message);
    struct str magic = read_raw(&r, 4);
    struct str signature = read_raw(&r, SMB_SIGNATURE_BYTES);
    struct str nonce = read_raw(&r, SMB_NONCE_BYTES);
    out->original_size = read_le32(&r);
    (void)read_le16(&r);
    out->flags = read_le16(&r);
    out->session_id = read_le64(&r);
    if (!reader_ok(&r) || !str_eq(magic, MAGIC_ENCRYPTED))
        return false;
    memcpy(out->signature, signature.p, SMB_SIGNATURE_BYTES);
    memcpy(out->nonce, nonce.p, SMB_NONCE_BYTES);
    return true;
}

void smb_transform_put(struct buf *out, const struct smb_transform *t)
{
    buf_put(out, MAGIC_ENCRYPTED);
    buf_put(out, (struct str){(const char *)t->signature, SMB_SIGNATURE_BYTES});
    buf_put(out, (struct str){(const char *)t->nonce, SMB_NONCE_BYTES});
    buf_put_le32(out, t->original_size);
    buf_put_le16(out, 0);
    buf_put_le16(out, t->flags);
    buf_put_le64(out, t->session_id);
}
