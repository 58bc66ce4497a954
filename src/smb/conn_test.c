/* SPDX-License-Identifier: Apache-2.0 */
/* Framing: how bytes become messages, and which end the connection. */
#include "smb/smb_fixture.h"

static struct str echo(void)
{
    return (struct str){"\4\0\0\0", 4};
}

void test_smb_frames_come_in_any_pieces(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct buf message = buf_in(&f.arena);
    struct buf framed = buf_in(&f.arena);
    smb_peer_add(&p, &message, &(struct smb_header){.command = SMB_ECHO}, echo());
    buf_put_be32(&framed, (uint32_t)message.n);
    buf_put(&framed, buf_str(&message));
    for (size_t i = 0; i < framed.n; i++)
        smb_peer_send_raw(&p, (struct str){framed.p + i, 1});
    struct smb_answer a = smb_peer_receive(&p);
    CHECK(a.header.command == SMB_ECHO && a.header.status == STATUS_SUCCESS);
    CHECK(a.header.message_id == 0 && (a.header.flags & SMB_FLAG_RESPONSE) != 0);
    smb_fixture_end(&f);
}

void test_smb_frames_in_one_write_are_answered_in_order(void)
{
    enum { MANY = 40 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f);
    struct buf all = buf_in(&f.arena);
    for (unsigned i = 0; i < MANY; i++) {
        struct buf message = buf_in(&f.arena);
        smb_peer_add(&p, &message, &(struct smb_header){.command = SMB_ECHO}, echo());
        buf_put_be32(&all, (uint32_t)message.n);
        buf_put(&all, buf_str(&message));
    }
    smb_peer_send_raw(&p, buf_str(&all));
    for (unsigned i = 0; i < MANY; i++)
        CHECK_INT(smb_peer_receive(&p).header.message_id, i);
    smb_fixture_end(&f);
}

static void check_cuts(bool in_session, struct str bytes)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = in_session ? smb_peer_in_session(&f) : smb_peer_new(&f);
    smb_peer_send_raw(&p, bytes);
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

void test_smb_frames_that_end_the_connection(void)
{
    check_cuts(false, (struct str){"\1\0\0\4abcd", 8}); /* the first byte is 0 */
    check_cuts(false, (struct str){"\0\0\0\3abc", 7});  /* no magic fits in */
    check_cuts(false, (struct str){"\0\1\0\1", 4});     /* 64 KiB and one, before a session */
    check_cuts(true, (struct str){"\0\xFF\xFF\xFF", 4});
    check_cuts(true, (struct str){"\0\0\0\4abcd", 8}); /* neither SMB1 nor SMB2 */
    check_cuts(true, (struct str){"\0\0\0\4\xFESMB", 8});
    check_cuts(true, (struct str){"\0\0\0\4\xFDSMB", 8}); /* encrypted, but nothing in it */
}
