/* SPDX-License-Identifier: Apache-2.0 */
/* Encrypted sessions: none of their messages in plain, no other session's messages in them, no
 * nonce used twice. */
#include "smb/commands/session.h"
#include "smb/smb_fixture.h"

static const enum smb_cipher CIPHERS[] = {SMB_CIPHER_AES128_CCM, SMB_CIPHER_AES128_GCM,
                                          SMB_CIPHER_AES256_CCM, SMB_CIPHER_AES256_GCM};
static const struct smb_options REQUIRED = {.encryption = SMB_ENCRYPTION_REQUIRED};
static const struct smb_login GCM = {.cipher = SMB_CIPHER_AES128_GCM};

static struct str echo(void)
{
    return (struct str){"\4\0\0\0", 4};
}

/* Logged in, with encryption from now on; the session has no trees yet. */
static struct smb_peer sealed_peer(struct smb_fixture *f, const struct smb_login *login)
{
    struct smb_peer p = smb_peer_greeted(f, login);
    struct smb_answer a = smb_peer_log_in(&p, 0, 0);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    p.seals = true;
    return p;
}

static uint32_t ask_status(struct smb_peer *p, uint16_t command, struct str body, bool sealed)
{
    struct smb_answer a = smb_peer_ask(p, command, body);
    CHECK_INT(a.sealed, sealed);
    return a.header.status;
}

void test_smb_sealing_with_every_cipher(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &REQUIRED);
    for (size_t i = 0; i < 4; i++) {
        struct smb_login l = {.cipher = CIPHERS[i]};
        struct smb_peer p = sealed_peer(&f, &l);
        CHECK_INT(ask_status(&p, SMB_ECHO, echo(), true), STATUS_SUCCESS);
    }
    struct smb_login old = {.dialect = SMB_DIALECT_302, .cipher = SMB_CIPHER_AES128_CCM};
    struct smb_peer p = sealed_peer(&f, &old);
    CHECK_INT(ask_status(&p, SMB_ECHO, echo(), true), STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_sealing_is_required_of_all_but_session_setup(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &REQUIRED);
    struct smb_peer p = sealed_peer(&f, &GCM);
    p.seals = false;
    for (unsigned signs = 0; signs < 2; signs++) {
        p.signs = signs != 0;
        CHECK_INT(ask_status(&p, SMB_ECHO, echo(), false), STATUS_ACCESS_DENIED);
        CHECK_INT(ask_status(&p, SMB_LOGOFF, echo(), false), STATUS_ACCESS_DENIED);
    }
    /* Its key can be proved again in plain with a signature; unsigned requests are refused. */
    p.signs = false;
    CHECK_INT(smb_peer_log_in(&p, 0, 0).header.status, STATUS_ACCESS_DENIED);
    p.seals = true;
    CHECK_INT(ask_status(&p, SMB_ECHO, echo(), true), STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_sealing_required_refuses_who_cannot(void)
{
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &REQUIRED);
    struct smb_login none[] = {{0}, {.dialect = SMB_DIALECT_302}, {.dialect = SMB_DIALECT_210}};
    for (size_t i = 0; i < 3; i++) {
        struct smb_peer p = smb_peer_greeted(&f, &none[i]);
        CHECK_INT(smb_peer_log_in(&p, 0, 0).header.status, STATUS_ACCESS_DENIED);
    }
    smb_fixture_end(&f);
}

/* A message encrypted with one session's key that names another session is refused, with the same
 * key. */
void test_smb_sealing_of_one_session_does_not_speak_for_another(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = sealed_peer(&f, &GCM);
    uint64_t first = p.session;
    struct smb_user *user = p.user;

    struct smb_peer other = p;
    struct smb_user second = *user;
    second.signer = NULL;
    second.sealer = second.unsealer = NULL;
    other.user = &second;
    other.seals = false;
    other.session = 0;
    CHECK_INT(smb_peer_log_in(&other, 0, 0).header.status, STATUS_SUCCESS);
    CHECK(other.session != first);
    p.message_id = other.message_id;

    uint64_t named[] = {other.session, 0, 77};
    for (size_t i = 0; i < 3; i++) {
        struct buf message = buf_in(&f.arena), sealed = buf_in(&f.arena), framed = buf_in(&f.arena);
        p.session = named[i];
        smb_peer_add(&p, &message, &(struct smb_header){.command = SMB_ECHO}, echo());
        p.session = first;
        smb_user_seal(user, first, buf_str(&message), &sealed);
        buf_put_be32(&framed, (uint32_t)sealed.n);
        buf_put(&framed, buf_str(&sealed));
        smb_peer_send_raw(&p, buf_str(&framed));
        struct smb_answer a = smb_peer_receive(&p); /* under the first session's key */
        CHECK(a.sealed);
        CHECK_INT(a.header.status, STATUS_ACCESS_DENIED);
    }
    smb_user_release(&second);
    smb_fixture_end(&f);
}

/* A compound whose commands name different sessions is encrypted with one key: only commands of
 * that session run, and all answers are encrypted with that key. */
void test_smb_sealing_of_a_compound_that_mixes_sessions(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = sealed_peer(&f, &GCM);
    uint64_t own = p.session;
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &(struct smb_header){.command = SMB_ECHO}, echo());
    p.session = 0;
    smb_peer_add(&p, &m, &(struct smb_header){.command = SMB_ECHO}, echo());
    p.session = own;
    smb_peer_add(&p, &m, &(struct smb_header){.command = SMB_ECHO}, echo());
    smb_peer_send(&p, buf_str(&m));
    struct smb_answer a = smb_peer_receive(&p);
    CHECK(a.sealed);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    a = smb_answer_next(&a);
    CHECK_INT(a.header.status, STATUS_ACCESS_DENIED);
    a = smb_answer_next(&a);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

/* ---- transform headers ---- */

enum { NONCE_AT = 20, SIZE_AT = 36, FLAGS_AT = 42, SESSION_AT = 44 };

static struct buf sealed_echo(struct smb_peer *p)
{
    struct buf message = buf_in(&p->f->arena), sealed = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &(struct smb_header){.command = SMB_ECHO}, echo());
    smb_user_seal(p->user, p->session, buf_str(&message), &sealed);
    return sealed;
}

static void send_framed(struct smb_peer *p, struct str bytes)
{
    struct buf framed = buf_in(&p->f->arena);
    buf_put_be32(&framed, (uint32_t)bytes.n);
    buf_put(&framed, bytes);
    smb_peer_send_raw(p, buf_str(&framed));
}

void test_smb_sealing_that_was_changed_ends_the_connection(void)
{
    static const size_t places[] = {4,        NONCE_AT,   SIZE_AT,        SIZE_AT + 3,
                                    FLAGS_AT, SESSION_AT, SESSION_AT + 7, SMB_TRANSFORM_BYTES};
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++) {
        struct smb_fixture f;
        smb_fixture_begin(&f);
        struct smb_peer p = sealed_peer(&f, &GCM);
        struct buf sealed = sealed_echo(&p);
        sealed.p[places[i]] ^= 1;
        send_framed(&p, buf_str(&sealed));
        CHECK(smb_peer_is_cut(&p));
        smb_fixture_end(&f);
    }
}

void test_smb_sealing_that_is_too_short_or_too_long_ends_the_connection(void)
{
    static const int differences[] = {-100, -68, -67, -1, 1, 100};
    for (size_t i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        struct smb_fixture f;
        smb_fixture_begin(&f);
        struct smb_peer p = sealed_peer(&f, &GCM);
        struct buf sealed = sealed_echo(&p);
        for (int n = 0; n < differences[i]; n++)
            buf_putc(&sealed, 0);
        size_t length = sealed.n;
        if (differences[i] < 0)
            length -= (size_t)-differences[i];
        send_framed(&p, str_head(buf_str(&sealed), length));
        CHECK(smb_peer_is_cut(&p));
        smb_fixture_end(&f);
    }
}

void test_smb_sealing_inside_sealing_ends_the_connection(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = sealed_peer(&f, &GCM);
    struct buf once = sealed_echo(&p), twice = buf_in(&f.arena);
    smb_user_seal(p.user, p.session, buf_str(&once), &twice);
    send_framed(&p, buf_str(&twice));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

void test_smb_sealing_that_is_sent_again_ends_the_connection(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = sealed_peer(&f, &GCM);
    struct buf sealed = sealed_echo(&p);
    send_framed(&p, buf_str(&sealed));
    CHECK_INT(smb_peer_receive(&p).header.status, STATUS_SUCCESS);
    send_framed(&p, buf_str(&sealed));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}

/* A connection that has not joined the session does not decrypt messages recorded elsewhere:
 * neither before a binding nor during one. */
void test_smb_sealing_counts_on_connections_of_the_session_alone(void)
{
    for (unsigned binding = 0; binding < 2; binding++) {
        struct smb_fixture f;
        smb_fixture_begin(&f);
        struct smb_peer owner = sealed_peer(&f, &GCM);
        struct smb_login l = {.cipher = GCM.cipher, .guid = owner.guid};
        struct smb_peer p = smb_peer_greeted(&f, &l);
        if (binding) {
            struct buf token = buf_in(&f.arena), body = buf_in(&f.arena);
            smb_user_put_hello(&token);
            smb_user_put_setup(&(struct smb_user_setup){SMB_SESSION_BINDING, SMB_SIGNING_ENABLED, 0,
                                                        buf_str(&token)},
                               &body);
            p.session = owner.session;
            p.user->session_signer = owner.user->signer;
            p.signs = true;
            CHECK_INT(smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body)).header.status,
                      STATUS_MORE_PROCESSING_REQUIRED);
        }
        owner.message_id = p.message_id;
        struct buf sealed = sealed_echo(&owner);
        send_framed(&p, buf_str(&sealed));
        CHECK(smb_peer_is_cut(&p));
        smb_fixture_end(&f);
    }
}

/* ---- nonces ---- */

static uint64_t next_nonce(struct smb_peer *p)
{
    struct buf sealed = sealed_echo(p);
    send_framed(p, buf_str(&sealed));
    char frame[4 + SMB_TRANSFORM_BYTES + SMB_HEADER_BYTES + 4];
    for (size_t have = 0; have < sizeof frame;) {
        ssize_t n = recv(p->fd, frame + have, sizeof frame - have, 0);
        CHECK(n > 0);
        have += (size_t)n;
    }
    struct smb_transform t;
    CHECK(smb_transform_read((struct str){frame + 4, sizeof frame - 4}, &t));
    uint64_t nonce;
    memcpy(&nonce, t.nonce, sizeof nonce);
    return nonce;
}

void test_smb_sealing_uses_no_nonce_twice_over_all_connections(void)
{
    enum { ROUNDS = 8 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_login cmac = {.cipher = GCM.cipher, .signing = SMB_SIGN_AES_CMAC};
    struct smb_peer p = sealed_peer(&f, &cmac), second;
    CHECK_INT(smb_peer_bind(&p, &cmac, &second).header.status, STATUS_SUCCESS);
    uint64_t last = 0;
    for (unsigned i = 0; i < ROUNDS; i++) {
        if (i == ROUNDS / 2) { /* proving the key again keeps the session's keys and nonces */
            p.seals = false;
            p.signs = true;
            struct smb_sealer *sealer = p.user->sealer, *unsealer = p.user->unsealer;
            struct smb_signer *signer = p.user->signer;
            struct buf token = buf_in(&f.arena), body = buf_in(&f.arena);
            smb_user_put_hello(&token);
            smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)},
                               &body);
            struct smb_answer a = smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body));
            buf_clear(&token);
            CHECK(smb_user_put_proof(p.user, str_from(a.body, 8), &token));
            buf_clear(&body);
            smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)},
                               &body);
            a = smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body));
            CHECK_INT(a.header.status, STATUS_SUCCESS);
            CHECK(p.user->sealer == sealer && p.user->unsealer == unsealer &&
                  p.user->signer == signer);
        }
        /* The session's keys seal on both connections. */
        struct smb_peer over = i % 2 == 0 ? p : second;
        over.user = p.user;
        uint64_t nonce = next_nonce(&over);
        CHECK(nonce > last);
        last = nonce;
        *(i % 2 == 0 ? &p.message_id : &second.message_id) = over.message_id;
    }
    smb_fixture_end(&f);
}

/* ---- downgrades ---- */

void test_smb_sealing_keys_follow_from_all_that_was_said(void)
{
    /* Any change to the negotiation on the way, such as a removed cipher or another dialect, is
     * detected: the two sides derive different keys, and the last answer's signature is invalid. */
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_greeted(&f, &GCM);
    p.user->greeting[0] ^= 1;
    struct smb_answer a = smb_peer_log_in(&p, 0, 0);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(!smb_answer_verifies(&p, &a));
    struct buf sealed = sealed_echo(&p);
    send_framed(&p, buf_str(&sealed));
    CHECK(smb_peer_is_cut(&p));
    smb_fixture_end(&f);
}
