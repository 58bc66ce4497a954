/* SPDX-License-Identifier: Apache-2.0 */
/* Large messages, which other threads receive, store, check, protect and send; and clients and keys
 * that go away meanwhile. */
#include <unistd.h>

#include "smb/commands/io.h"
#include "smb/smb_fixture.h"

enum { LARGE = 512 << 10, CHARGE = LARGE / SMB_CREDIT_BYTES };

/* A server's default sizes. */
static const struct smb_options USUAL = {.encryption = SMB_ENCRYPTION_PREFERRED,
                                         .away_bytes_min = 64 << 10};

static struct str echo(void)
{
    return (struct str){"\4\0\0\0", 4};
}

static struct str pattern(struct smb_fixture *f, size_t n, unsigned seed)
{
    char *bytes = arena_bytes(&f->arena, n);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (char)(i * 31 + i / 251 + seed);
    return (struct str){bytes, n};
}

static struct buf message_of(struct smb_peer *p, uint16_t command, struct str body)
{
    struct buf message = buf_in(&p->f->arena);
    struct smb_header h = {.command = command,
                           .tree_id = SMB_TREE_DISK,
                           .credit_charge = CHARGE,
                           .credits = 4 * CHARGE};
    smb_peer_add(p, &message, &h, body);
    return message;
}

static void send_large(struct smb_peer *p, uint16_t command, struct str body)
{
    struct buf message = message_of(p, command, body);
    smb_peer_send(p, buf_str(&message));
}

static struct smb_answer ask_large(struct smb_peer *p, uint16_t command, struct str body)
{
    send_large(p, command, body);
    return smb_peer_receive(p);
}

/* This also gets credits for large messages. */
static struct smb_file_id prepare(struct smb_peer *p, const char *name)
{
    enum { CREDITS = 512 };
    struct buf message = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &(struct smb_header){.command = SMB_ECHO, .credits = CREDITS},
                 echo());
    smb_peer_send(p, buf_str(&message));
    CHECK_INT(smb_peer_receive(p).header.status, STATUS_SUCCESS);
    return smb_peer_open(p, name);
}

static void check_there_and_back(struct smb_peer *p, unsigned seed)
{
    struct smb_fixture *f = p->f;
    struct smb_file_id id = prepare(p, "large");
    struct str bytes = pattern(f, LARGE, seed);
    struct smb_answer a = ask_large(p, SMB_WRITE, smb_body_write(f, id, 0, bytes));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    a = ask_large(p, SMB_READ, smb_body_read(f, id, 0, LARGE));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(a.sealed == p->seals && (!p->signs || p->seals || smb_answer_verifies(p, &a)));
    CHECK(a.body.n >= 16 + LARGE && memcmp(a.body.p + 16, bytes.p, LARGE) == 0);
    /* A short read at the file's end. */
    a = ask_large(p, SMB_READ, smb_body_read(f, id, LARGE - 100, LARGE));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(memcmp(a.body.p + 16, bytes.p + LARGE - 100, 100) == 0);
    CHECK(!p->signs || p->seals || smb_answer_verifies(p, &a));
    CHECK_INT(ask_large(p, SMB_READ, smb_body_read(f, id, LARGE, LARGE)).header.status,
              STATUS_END_OF_FILE);
}

void test_smb_large_messages_in_plain(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &USUAL);
    struct smb_peer p = smb_peer_in_session(&f);
    check_there_and_back(&p, 1);
    smb_fixture_end(&f);
}

void test_smb_large_messages_signed_and_sealed(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &USUAL);
    for (unsigned how = 0; how < 7; how++) {
        struct smb_login l = {.signing = how < 3 ? (enum smb_signing)how : SMB_SIGN_AES_CMAC,
                              .signs_otherwise = true,
                              .cipher = how < 3 ? SMB_CIPHER_NONE : (enum smb_cipher)(how - 2)};
        struct smb_peer p = smb_peer_logged_in(&f, &l);
        p.seals = how >= 3;
        check_there_and_back(&p, how);
        smb_peer_cut(&p);
    }
    smb_fixture_end(&f);
}

void test_smb_large_messages_that_were_changed(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &USUAL);
    struct smb_login l = {
        .signing = SMB_SIGN_AES_CMAC, .signs_otherwise = true, .cipher = SMB_CIPHER_AES128_GCM};
    struct smb_peer p = smb_peer_logged_in(&f, &l);
    struct smb_file_id id = prepare(&p, "large");
    struct str first = pattern(&f, LARGE, 1);
    CHECK_INT(ask_large(&p, SMB_WRITE, smb_body_write(&f, id, 0, first)).header.status,
              STATUS_SUCCESS);
    /* A wrong signature: refused, and the data stored early is gone. */
    p.signs = false;
    struct buf message =
        message_of(&p, SMB_WRITE, smb_body_write(&f, id, 0, pattern(&f, LARGE, 2)));
    message.p[16] = (char)(message.p[16] | SMB_FLAG_SIGNED);
    smb_peer_send(&p, buf_str(&message));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_ACCESS_DENIED);
    p.signs = true;
    struct smb_answer a = ask_large(&p, SMB_READ, smb_body_read(&f, id, 0, LARGE));
    CHECK(memcmp(a.body.p + 16, first.p, LARGE) == 0);
    /* Wrong encryption: the connection ends. */
    struct buf framed = buf_in(&f.arena), sealed = buf_in(&f.arena);
    message = message_of(&p, SMB_WRITE, smb_body_write(&f, id, 0, pattern(&f, LARGE, 3)));
    smb_user_seal(p.user, p.session, buf_str(&message), &sealed);
    sealed.p[sealed.n - 1] ^= 1;
    buf_put_be32(&framed, (uint32_t)sealed.n);
    buf_put(&framed, buf_str(&sealed));
    smb_peer_send_raw(&p, buf_str(&framed));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

/* Answers that are not read, half a write, and both at once. */
static void be_busy(struct smb_peer *p, struct smb_file_id id, unsigned how)
{
    struct smb_fixture *f = p->f;
    for (unsigned i = 0; how != 1 && i < 6; i++)
        send_large(p, SMB_READ, smb_body_read(f, id, 0, LARGE));
    if (how == 0)
        return;
    struct buf framed = buf_in(&f->arena);
    struct buf message = message_of(p, SMB_WRITE, smb_body_write(f, id, 0, pattern(f, LARGE, how)));
    buf_put_be32(&framed, (uint32_t)message.n);
    buf_put(&framed, buf_str(&message));
    smb_peer_send_raw(p, str_head(buf_str(&framed), how == 2 ? framed.n : LARGE / 2));
}

static struct smb_peer busy_peer(struct smb_fixture *f, unsigned round)
{
    struct smb_login l = {.signing = round % 2 == 0 ? SMB_SIGN_AES_CMAC : SMB_SIGN_AES_GMAC,
                          .signs_otherwise = true,
                          .cipher = SMB_CIPHER_AES128_GCM};
    struct smb_peer p = smb_peer_logged_in(f, &l);
    p.seals = round % 3 == 0;
    struct smb_file_id id = prepare(&p, "large");
    (void)ask_large(&p, SMB_WRITE, smb_body_write(f, id, 0, pattern(f, LARGE, round)));
    be_busy(&p, id, round % 4);
    return p;
}

/* The server may have cut the connection already. */
static void leave(struct smb_peer *p)
{
    CHECK(close(p->fd) == 0);
    p->fd = -1;
    WAIT_UNTIL(smb_server_connections(p->f->server) == 0);
}

void test_smb_leaving_with_large_messages_under_way(void)
{
    enum { ROUNDS = 16 };
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &USUAL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct smb_peer p = busy_peer(&f, round);
        (void)usleep(round * 100);
        leave(&p);
    }
    struct smb_peer last = smb_peer_in_session(&f);
    check_there_and_back(&last, 9);
    smb_fixture_end(&f);
}

/* Keys and accounts are removed, and other commands run, during large messages. */
void test_smb_sessions_that_end_with_large_messages_under_way(void)
{
    enum { ROUNDS = 16 };
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &USUAL);
    for (unsigned round = 0; round < ROUNDS; round++) {
        struct smb_peer p = busy_peer(&f, round);
        if (round % 2 == 0)
            CHECK_OK(accounts_put(f.accounts, STR("acct"), STR("YW5vdGhlciBrZXk="),
                                  STR(SMB_FIXTURE_KEY2)));
        else if (round % 4 != 3)
            send_large(&p, round % 3 == 0 ? SMB_LOGOFF : SMB_TREE_DISCONNECT, echo());
        (void)usleep(round * 50);
        leave(&p);
        CHECK_OK(
            accounts_put(f.accounts, STR("acct"), STR(SMB_FIXTURE_KEY1), STR(SMB_FIXTURE_KEY2)));
    }
    smb_fixture_end(&f);
}
