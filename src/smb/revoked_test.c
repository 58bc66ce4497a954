/* SPDX-License-Identifier: Apache-2.0 */
/* Keys that change and accounts that are removed while they have sessions. */
#include "smb/commands/session.h"
#include "smb/smb_fixture.h"

static const struct smb_login FIRST = {0};
static const struct smb_login SECOND = {.key = SMB_FIXTURE_KEY2};

#define NEW_KEY "YW5vdGhlciBrZXk="

static struct str echo(void)
{
    return (struct str){"\4\0\0\0", 4};
}

static void rotate_first(struct smb_fixture *f)
{
    CHECK_OK(accounts_put(f->accounts, STR("acct"), STR(NEW_KEY), STR(SMB_FIXTURE_KEY2)));
}

static struct smb_answer open_alone(struct smb_peer *p, uint8_t oplock, struct str contexts)
{
    struct smb_wanted w = {.name = "file",
                           .disposition = SMB_OPEN_IF,
                           .oplock = oplock,
                           .contexts = contexts,
                           .access = 3};
    return smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &w));
}

static uint32_t status_of(struct smb_peer *p)
{
    return open_alone(p, 0, STR("")).header.status;
}

void test_smb_revoked_key_ends_its_sessions_and_closes_their_handles(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &FIRST), other = smb_peer_logged_in(&f, &SECOND);
    (void)open_alone(&p, 0, STR(""));
    CHECK_INT(status_of(&other), STATUS_SHARING_VIOLATION);
    rotate_first(&f);
    WAIT_UNTIL(status_of(&other) == STATUS_SUCCESS); /* the first client sends nothing */
    CHECK_INT(smb_peer_ask(&p, SMB_TREE_DISCONNECT, echo()).header.status,
              STATUS_USER_SESSION_DELETED);
    CHECK_INT(smb_peer_ask(&other, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
    p.session = 0;
    p.signs = false;
    smb_user_release(p.user);
    CHECK_INT(smb_peer_log_in(&p, 0, 0).header.status, STATUS_LOGON_FAILURE);
    p.session = 0;
    p.user->key = NEW_KEY;
    CHECK_INT(smb_peer_log_in(&p, 0, 0).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_revoked_at_once_by_its_own_next_request(void)
{
    enum { ROUNDS = 8 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    for (unsigned i = 0; i < ROUNDS; i++) {
        struct smb_peer p = smb_peer_logged_in(&f, &FIRST);
        rotate_first(&f);
        /* No further request succeeds, whether or not the server has checked the sessions yet. */
        CHECK_INT(status_of(&p), STATUS_USER_SESSION_DELETED);
        CHECK_OK(
            accounts_put(f.accounts, STR("acct"), STR(SMB_FIXTURE_KEY1), STR(SMB_FIXTURE_KEY2)));
        smb_peer_cut(&p);
    }
    smb_fixture_end(&f);
}

void test_smb_revoked_with_the_account(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &FIRST), other = smb_peer_logged_in(&f, &SECOND);
    CHECK_OK(accounts_remove(f.accounts, STR("acct")));
    CHECK_INT(status_of(&p), STATUS_USER_SESSION_DELETED);
    CHECK_INT(status_of(&other), STATUS_USER_SESSION_DELETED);
    smb_fixture_end(&f);
}

void test_smb_revoked_not_when_another_key_was_proved_since(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &FIRST);
    struct smb_user *user = p.user;
    struct smb_user again = *user;
    again.key = SMB_FIXTURE_KEY2;
    struct buf token = buf_in(&f.arena), body = buf_in(&f.arena);
    smb_user_put_hello(&token);
    smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)}, &body);
    struct smb_answer a = smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body));
    buf_clear(&token);
    buf_clear(&body);
    CHECK(smb_user_put_proof(&again, str_from(a.body, 8), &token));
    smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)}, &body);
    CHECK_INT(smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body)).header.status, STATUS_SUCCESS);
    rotate_first(&f);
    CHECK_INT(status_of(&p), STATUS_SUCCESS);
    CHECK_OK(accounts_put(f.accounts, STR("acct"), STR(NEW_KEY), STR(NEW_KEY)));
    CHECK_INT(status_of(&p), STATUS_USER_SESSION_DELETED);
    smb_fixture_end(&f);
}

void test_smb_revoked_key_of_a_bound_connection(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_login cmac = {.signing = SMB_SIGN_AES_CMAC, .key = SMB_FIXTURE_KEY2};
    struct smb_login first = {.signing = SMB_SIGN_AES_CMAC};
    struct smb_peer p = smb_peer_logged_in(&f, &cmac), second;
    CHECK_INT(smb_peer_bind(&p, &first, &second).header.status, STATUS_SUCCESS);
    rotate_first(&f);
    CHECK_INT(status_of(&second), STATUS_USER_SESSION_DELETED);
    CHECK_INT(status_of(&p), STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_revoked_key_of_an_encrypted_session(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p =
        smb_peer_logged_in(&f, &(struct smb_login){.cipher = SMB_CIPHER_AES128_GCM});
    p.seals = true;
    CHECK_INT(status_of(&p), STATUS_SUCCESS);
    rotate_first(&f);
    /* If its request is the first to notice, the client gets a signed answer; else it is cut. */
    struct buf m = buf_in(&f.arena);
    smb_peer_add(&p, &m, &(struct smb_header){.command = SMB_TREE_DISCONNECT, .tree_id = 1},
                 echo());
    smb_peer_send(&p, buf_str(&m));
    if (!smb_peer_is_cut(&p)) {
        struct smb_answer a = smb_peer_receive(&p);
        CHECK(a.sealed);
        CHECK_INT(a.header.status, STATUS_USER_SESSION_DELETED);
    }
    smb_fixture_end(&f);
}

/* ---- durable handles ---- */

static struct str durable_context(struct smb_fixture *f)
{
    static const char none[16] = {0};
    return smb_body_context(f, "DHnQ", (struct str){none, sizeof none});
}

static struct str return_context(struct smb_fixture *f, struct smb_file_id id)
{
    struct buf b = buf_in(&f->arena);
    smb_put_file_id(&b, id);
    return smb_body_context(f, "DHnC", buf_str(&b));
}

void test_smb_revoked_key_closes_handles_that_wait_for_their_client(void)
{
    enum { BATCH = 9 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    for (unsigned revoked = 0; revoked < 2; revoked++) {
        struct smb_peer p = smb_peer_logged_in(&f, &FIRST);
        struct smb_answer a = open_alone(&p, BATCH, durable_context(&f));
        struct smb_file_id id = smb_created(&a);
        smb_peer_cut(&p);
        if (revoked)
            rotate_first(&f);
        struct smb_peer other = smb_peer_logged_in(&f, &SECOND);
        a = open_alone(&other, BATCH, return_context(&f, id));
        CHECK_INT(a.header.status, revoked ? STATUS_OBJECT_NAME_NOT_FOUND : STATUS_SUCCESS);
        smb_peer_cut(&other);
        CHECK_INT(accounts_count(f.accounts), 1);
        if (!revoked) { /* the handle of the second key is released */
            struct smb_peer last = smb_peer_logged_in(&f, &SECOND);
            a = open_alone(&last, BATCH, return_context(&f, id));
            if (a.header.status == STATUS_SUCCESS)
                CHECK_INT(smb_peer_ask(&last, SMB_CLOSE, smb_body_close(&f, smb_created(&a)))
                              .header.status,
                          STATUS_SUCCESS);
            smb_peer_cut(&last);
        }
    }
    smb_fixture_end(&f);
}

void test_smb_revoked_key_keeps_no_durable_handle(void)
{
    enum { BATCH = 9 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &FIRST), other = smb_peer_logged_in(&f, &SECOND);
    struct smb_answer a = open_alone(&p, BATCH, durable_context(&f));
    struct smb_file_id id = smb_created(&a);
    rotate_first(&f);
    CHECK_INT(status_of(&p), STATUS_USER_SESSION_DELETED);
    a = open_alone(&other, BATCH, return_context(&f, id));
    CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
    CHECK_INT(status_of(&other), STATUS_SUCCESS);
    smb_fixture_end(&f);
}
