/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/negotiate.h"

#include "smb/smb_fixture.h"

enum { CONTEXTS_AT = 112, PREAUTH = 1, CIPHERS = 2, SIGNINGS = 8 };

#define STATUS_NO_PREAUTH_OVERLAP 0xC05D0000U

static void put_context(struct buf *b, uint16_t type, const char *data, uint16_t n)
{
    while (b->n % 8 != 0)
        buf_put_u8(b, 0);
    buf_put_le16(b, type);
    buf_put_le16(b, n);
    buf_put_le32(b, 0);
    buf_put(b, (struct str){data, n});
}

/* Contexts begin after the space for a body of up to six dialects. */
static struct str body_of(struct smb_fixture *f, const uint16_t *dialects, uint16_t count,
                          const struct buf *contexts, uint16_t context_count)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 36);
    buf_put_le16(&b, count);
    buf_put_le16(&b, SMB_SIGNING_ENABLED);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, SMB_CAP_ENCRYPTION);
    buf_put(&b, STR("0123456789abcdef"));
    buf_put_le32(&b, contexts == NULL ? 0 : CONTEXTS_AT);
    buf_put_le16(&b, context_count);
    buf_put_le16(&b, 0);
    for (uint16_t i = 0; i < count; i++)
        buf_put_le16(&b, dialects[i]);
    while (contexts != NULL && b.n + SMB_HEADER_BYTES < CONTEXTS_AT)
        buf_put_u8(&b, 0);
    if (contexts != NULL)
        buf_put(&b, buf_str(contexts));
    return buf_str(&b);
}

static uint16_t dialect_of(const struct smb_answer *a)
{
    CHECK_INT(a->header.status, STATUS_SUCCESS);
    struct reader r = reader_of(str_from(a->body, 4));
    return read_le16(&r);
}

static struct smb_answer negotiate(struct smb_fixture *f, struct str body)
{
    struct smb_peer p = smb_peer_new(f);
    return smb_peer_ask(&p, SMB_NEGOTIATE, body);
}

void test_smb_negotiate_takes_the_highest_dialect(void)
{
    static const uint16_t all[] = {0x0202, 0x0210, 0x0300, 0x0302};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_answer a = negotiate(&f, body_of(&f, all, 4, NULL, 0));
    CHECK_INT(dialect_of(&a), 0x0302);
    a = negotiate(&f, body_of(&f, all, 3, NULL, 0));
    CHECK_INT(dialect_of(&a), 0x0300);
    a = negotiate(&f, body_of(&f, all, 2, NULL, 0));
    CHECK_INT(dialect_of(&a), 0x0210);
    a = negotiate(&f, body_of(&f, all, 1, NULL, 0)); /* 2.0.2 alone */
    CHECK_INT(a.header.status, STATUS_NOT_SUPPORTED);
    a = negotiate(&f, body_of(&f, all, 0, NULL, 0));
    CHECK_INT(a.header.status, STATUS_INVALID_PARAMETER);
    smb_fixture_end(&f);
}

void test_smb_negotiate_3_1_1_answers_contexts(void)
{
    static const uint16_t dialect[] = {0x0311};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct buf contexts = buf_in(&f.arena);
    put_context(&contexts, PREAUTH, "\1\0\4\0\1\0salt", 10);
    put_context(&contexts, CIPHERS, "\2\0\4\0\1\0", 6);  /* AES-256-GCM rather than 128-CCM */
    put_context(&contexts, SIGNINGS, "\2\0\1\0\2\0", 6); /* CMAC, GMAC */
    put_context(&contexts, 0x7777, "unknown", 7);
    struct smb_answer a = negotiate(&f, body_of(&f, dialect, 1, &contexts, 4));
    CHECK_INT(dialect_of(&a), 0x0311);
    struct reader r = reader_of(str_from(a.body, 6));
    CHECK_INT(read_le16(&r), 3); /* those it knows */
    r = reader_of(str_from(a.body, 60));
    uint32_t at = read_le32(&r);
    CHECK(at % 8 == 0 && at > SMB_HEADER_BYTES);
    struct str list = str_from(a.body, at - SMB_HEADER_BYTES);
    CHECK(str_find_str(list, (struct str){"\2\0\4\0\0\0\0\0\1\0\4\0", 12}) < list.n);
    CHECK(str_find_str(list, (struct str){"\10\0\4\0\0\0\0\0\1\0\2\0", 12}) < list.n);
    smb_fixture_end(&f);
}

static void check_status(struct smb_fixture *f, const struct buf *contexts, uint16_t count,
                         uint32_t want)
{
    static const uint16_t dialect[] = {0x0311};
    struct smb_answer a = negotiate(f, body_of(f, dialect, 1, contexts, count));
    CHECK_INT(a.header.status, want);
}

void test_smb_negotiate_3_1_1_refuses_broken_contexts(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct buf good = buf_in(&f.arena);
    put_context(&good, PREAUTH, "\1\0\0\0\1\0", 6);
    check_status(&f, &good, 1, STATUS_SUCCESS);
    check_status(&f, &good, 2, STATUS_INVALID_PARAMETER); /* fewer than announced */
    check_status(&f, &good, 0, STATUS_INVALID_PARAMETER);
    check_status(&f, &good, 0xFFFF, STATUS_INVALID_PARAMETER);
    check_status(&f, NULL, 1, STATUS_INVALID_PARAMETER);
    struct buf twice = buf_in(&f.arena);
    put_context(&twice, PREAUTH, "\1\0\0\0\1\0", 6);
    put_context(&twice, PREAUTH, "\1\0\0\0\1\0", 6);
    check_status(&f, &twice, 2, STATUS_INVALID_PARAMETER);
    struct buf other = buf_in(&f.arena);
    put_context(&other, PREAUTH, "\1\0\0\0\7\0", 6); /* an unknown hash */
    check_status(&f, &other, 1, STATUS_NO_PREAUTH_OVERLAP);
    struct buf salty = buf_in(&f.arena);
    put_context(&salty, PREAUTH, "\1\0\xFF\xFF\1\0", 6); /* a salt longer than the data */
    check_status(&f, &salty, 1, STATUS_INVALID_PARAMETER);
    struct buf many = buf_in(&f.arena);
    put_context(&many, PREAUTH, "\xFF\xFF\0\0\1\0", 6);
    check_status(&f, &many, 1, STATUS_INVALID_PARAMETER);
    smb_fixture_end(&f);
}

void test_smb_negotiate_twice_ends_the_connection(void)
{
    static const uint16_t dialect[] = {0x0302};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_new(&f);
    struct str body = body_of(&f, dialect, 1, NULL, 0);
    CHECK_INT(smb_peer_ask(&p, SMB_NEGOTIATE, body).header.status, STATUS_SUCCESS);
    struct buf again = buf_in(&f.arena);
    smb_peer_add(&p, &again, &(struct smb_header){.command = SMB_NEGOTIATE}, body);
    smb_peer_send(&p, buf_str(&again));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

void test_smb_negotiate_from_smb1(void)
{
    static const char message[] = "\xFFSMBr................................"
                                  "\2NT LM 0.12\0\2SMB 2.???\0";
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_new(&f);
    smb_peer_send(&p, (struct str){message, sizeof message - 1});
    struct smb_answer a = smb_peer_receive(&p);
    CHECK_INT(dialect_of(&a), SMB_DIALECT_WILDCARD);
    static const uint16_t dialect[] = {0x0210};
    p.message_id = 1;
    a = smb_peer_ask(&p, SMB_NEGOTIATE, body_of(&f, dialect, 1, NULL, 0));
    CHECK_INT(dialect_of(&a), 0x0210);
    struct smb_peer old = smb_peer_new(&f); /* supports nothing newer */
    smb_peer_send(&old, (struct str){message, sizeof message - 12});
    CHECK(smb_peer_is_cut(&old));
    smb_fixture_end(&f);
}

void test_smb_commands_before_negotiate_are_refused(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_new(&f);
    struct smb_answer a = smb_peer_ask(&p, SMB_ECHO, (struct str){"\4\0\0\0", 4});
    CHECK_INT(a.header.status, STATUS_ACCESS_DENIED);
    smb_fixture_end(&f);
}

/* ---- FSCTL_VALIDATE_NEGOTIATE_INFO ---- */

/* What a 3.0.2 client repeats once it can sign. `changed` is a byte that differs from what the
 * server received, as if a man in the middle had changed it. */
static struct str validate_body(const struct smb_peer *p, size_t changed)
{
    enum { VALIDATE = 0x00140204, INPUT_AT = SMB_HEADER_BYTES + 56, CAPABILITIES = 0x3F };
    struct buf input = buf_in(&p->f->arena), b = buf_in(&p->f->arena);
    buf_put_le32(&input, CAPABILITIES);
    buf_put(&input, (struct str){(const char *)p->guid, SMB_GUID_BYTES});
    buf_put_le16(&input, SMB_SIGNING_ENABLED);
    buf_put_le16(&input, 1);
    buf_put_le16(&input, SMB_DIALECT_302);
    if (changed < input.n)
        input.p[changed] ^= 0x10;
    buf_put_le32(&b, 57);
    buf_put_le32(&b, VALIDATE);
    buf_put_le64(&b, UINT64_MAX);
    buf_put_le64(&b, UINT64_MAX);
    buf_put_le32(&b, INPUT_AT);
    buf_put_le32(&b, (uint32_t)input.n);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, 24);
    buf_put_le32(&b, 1);
    buf_put_le32(&b, 0);
    buf_put(&b, buf_str(&input));
    return buf_str(&b);
}

void test_smb_negotiate_is_validated(void)
{
    static const size_t unchanged = 1000, places[] = {0, 4, 20, 22, 24};
    struct smb_login old = {.dialect = SMB_DIALECT_302};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &old);
    struct smb_answer a = smb_peer_ask(&p, SMB_IOCTL, validate_body(&p, unchanged));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(smb_answer_verifies(&p, &a));
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        p = smb_peer_logged_in(&f, &old);
        struct buf m = buf_in(&f.arena);
        smb_peer_add(&p, &m, &(struct smb_header){.command = SMB_IOCTL, .tree_id = SMB_TREE_DISK},
                     validate_body(&p, places[i]));
        smb_peer_send(&p, buf_str(&m));
        CHECK(smb_peer_is_cut(&p));
    }
    smb_fixture_end(&f);
}
