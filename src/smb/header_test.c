/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/header.h"

#include "core/test.h"

void test_smb_header_round_trip(void)
{
    struct smb_header h = {.credit_charge = 3,
                           .status = STATUS_PENDING,
                           .command = SMB_READ,
                           .credits = 9,
                           .flags = SMB_FLAG_ASYNC,
                           .next = 128,
                           .message_id = 0x0102030405060708,
                           .process_id = 11,
                           .tree_id = 12,
                           .session_id = 0xFFEEDDCCBBAA9988,
                           .signature = "0123456789abcde"};
    struct smb_header back = {0};
    struct buf b = buf_heap();
    smb_header_put(&b, &h);
    CHECK_INT(b.n, SMB_HEADER_BYTES);
    CHECK(smb_header_read(buf_str(&b), &back));
    CHECK(back.command == SMB_READ && back.message_id == h.message_id && back.next == 128);
    CHECK(back.session_id == h.session_id && back.credits == 9 && back.credit_charge == 3);
    CHECK(memcmp(back.signature, h.signature, sizeof h.signature) == 0);
    CHECK(smb_async_id(&back) == (12ULL << 32 | 11));
    for (size_t n = 0; n < SMB_HEADER_BYTES; n++)
        CHECK(!smb_header_read(str_head(buf_str(&b), n), &back));
    b.p[4] = 63; /* its own size */
    CHECK(!smb_header_read(buf_str(&b), &back));
    buf_release(&b);
}

void test_smb_transform_round_trip(void)
{
    struct smb_transform t = {.original_size = 77, .flags = 1, .session_id = 5, .nonce = "nonce"};
    struct smb_transform back;
    struct buf b = buf_heap();
    smb_transform_put(&b, &t);
    CHECK_INT(b.n, SMB_TRANSFORM_BYTES);
    CHECK(smb_transform_read(buf_str(&b), &back));
    CHECK(back.original_size == 77 && back.flags == 1 && back.session_id == 5);
    CHECK(memcmp(back.nonce, t.nonce, sizeof t.nonce) == 0);
    for (size_t n = 0; n < SMB_TRANSFORM_BYTES; n++)
        CHECK(!smb_transform_read(str_head(buf_str(&b), n), &back));
    buf_release(&b);
}

void test_smb_magic_of_messages(void)
{
    CHECK_INT(smb_magic_of(STR("\xFESMB")), SMB_MAGIC_SMB2);
    CHECK_INT(smb_magic_of(STR("\xFDSMB")), SMB_MAGIC_ENCRYPTED);
    CHECK_INT(smb_magic_of(STR("\xFFSMBr")), SMB_MAGIC_SMB1);
    CHECK_INT(smb_magic_of(STR("\xFESM")), SMB_MAGIC_OTHER);
    CHECK_INT(smb_magic_of(STR("")), SMB_MAGIC_OTHER);
}
