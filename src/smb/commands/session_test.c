/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions whose user becomes anonymous. */
#include "smb/commands/session.h"

#include "smb/smb_fixture.h"

static struct str setup_body(struct smb_fixture *f, struct str token)
{
    enum { TOKEN_OFFSET = SMB_HEADER_BYTES + 24 };
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 25);
    buf_put_u8(&b, 0);
    buf_put_u8(&b, SMB_SIGNING_ENABLED);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le16(&b, TOKEN_OFFSET);
    buf_put_le16(&b, (uint16_t)token.n);
    buf_put_le64(&b, 0);
    buf_put(&b, token);
    return buf_str(&b);
}

/* An anonymous message: all six fields are empty. */
static struct str nobody(struct smb_fixture *f)
{
    enum { FIELDS = 6, HEAD_BYTES = 64, ANONYMOUS = 0x00088A01 };
    struct buf b = buf_in(&f->arena);
    buf_put(&b, (struct str){"NTLMSSP\0\x03\0\0\0", 12});
    for (unsigned i = 0; i < FIELDS; i++) {
        buf_put_le32(&b, 0);
        buf_put_le32(&b, HEAD_BYTES);
    }
    buf_put_le32(&b, ANONYMOUS);
    return buf_str(&b);
}

static struct smb_answer log_on_as_nobody(struct smb_peer *p)
{
    struct str hello = {"NTLMSSP\0\x01\0\0\0\x01\x82\x08\0", 16};
    struct smb_answer a = smb_peer_ask(p, SMB_SESSION_SETUP, setup_body(p->f, hello));
    CHECK_INT(a.header.status, STATUS_MORE_PROCESSING_REQUIRED);
    p->session = a.header.session_id;
    return smb_peer_ask(p, SMB_SESSION_SETUP, setup_body(p->f, nobody(p->f)));
}

static struct str connect_body(struct smb_fixture *f)
{
    struct buf b = buf_in(&f->arena);
    struct str path = {"\\\0\\\0h\0\\\0I\0P\0C\0$\0", 16};
    buf_put_le16(&b, 9);
    buf_put_le16(&b, 0);
    buf_put_le16(&b, SMB_HEADER_BYTES + 8);
    buf_put_le16(&b, (uint16_t)path.n);
    buf_put(&b, path);
    return buf_str(&b);
}

void test_smb_session_of_nobody_keeps_what_is_open_and_opens_nothing(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file");
    CHECK_INT(smb_peer_ask(&p, SMB_WRITE, smb_body_write(&f, id, 0, STR("x"))).header.status,
              STATUS_SUCCESS);
    uint64_t session = p.session;
    struct smb_answer a = log_on_as_nobody(&p);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK_INT(p.session, session);
    CHECK_INT((unsigned char)a.body.p[2], SMB_SESSION_FLAG_NULL);
    CHECK_INT(smb_peer_ask(&p, SMB_READ, smb_body_read(&f, id, 0, 1)).header.status,
              STATUS_SUCCESS);
    struct smb_wanted w = {.name = "file", .sharing = SMB_ALL_SHARED, .disposition = SMB_OPEN};
    CHECK_INT(smb_peer_ask(&p, SMB_CREATE, smb_body_create(&f, &w)).header.status,
              STATUS_ACCESS_DENIED);
    CHECK_INT(smb_peer_ask(&p, SMB_TREE_CONNECT, connect_body(&f)).header.status,
              STATUS_ACCESS_DENIED);
    struct str rename = {"\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x02\0\0\0z\0", 22};
    CHECK_INT(smb_peer_ask(&p, SMB_SET_INFO, smb_body_set(&f, id, 10, rename)).header.status,
              STATUS_ACCESS_DENIED);
    CHECK_INT(smb_peer_ask(&p, SMB_CLOSE, smb_body_close(&f, id)).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_session_is_not_made_for_nobody(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_new(&f);
    struct buf b = buf_in(&f.arena);
    buf_put_le16(&b, 36);
    buf_put_le16(&b, 1);
    buf_put_le16(&b, SMB_SIGNING_ENABLED);
    for (unsigned i = 0; i < 30; i++)
        buf_put_u8(&b, 0);
    buf_put_le16(&b, SMB_DIALECT_302);
    CHECK_INT(smb_peer_ask(&p, SMB_NEGOTIATE, buf_str(&b)).header.status, STATUS_SUCCESS);
    CHECK_INT(log_on_as_nobody(&p).header.status, STATUS_LOGON_FAILURE);
    smb_fixture_end(&f);
}
