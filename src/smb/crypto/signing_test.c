/* SPDX-License-Identifier: Apache-2.0 */
/* Which clients get a signed answer; no two answers are signed with one nonce. */
#include "smb/commands/session.h"
#include "smb/smb_fixture.h"

static const struct smb_login GMAC = {0};

static struct str echo(void)
{
    return (struct str){"\4\0\0\0", 4};
}

/* A SESSION_SETUP that claims to be signed, but is not. */
static struct smb_answer ask_forged(struct smb_peer *p, uint64_t session, uint8_t flags)
{
    struct buf token = buf_in(&p->f->arena);
    struct buf body = buf_in(&p->f->arena);
    struct buf message = buf_in(&p->f->arena);
    smb_user_put_hello(&token);
    smb_user_put_setup(&(struct smb_user_setup){flags, SMB_SIGNING_ENABLED, 0, buf_str(&token)},
                       &body);
    p->session = session;
    smb_peer_add(p, &message,
                 &(struct smb_header){.command = SMB_SESSION_SETUP, .flags = SMB_FLAG_SIGNED},
                 buf_str(&body));
    smb_peer_send(p, buf_str(&message));
    return smb_peer_receive(p);
}

void test_smb_signing_of_a_strangers_session_setup(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_login others[] = {GMAC,
                                 {.signing = SMB_SIGN_AES_CMAC},
                                 {.dialect = SMB_DIALECT_302},
                                 {.dialect = SMB_DIALECT_210}};
    for (size_t i = 0; i < 4; i++) {
        for (uint8_t flags = 0; flags <= SMB_SESSION_BINDING; flags++) {
            struct smb_login l = others[i];
            l.guid = owner.guid;
            struct smb_peer stranger = smb_peer_greeted(&f, &l);
            struct smb_answer a = ask_forged(&stranger, owner.session, flags);
            CHECK(a.header.status != STATUS_SUCCESS &&
                  a.header.status != STATUS_MORE_PROCESSING_REQUIRED);
            CHECK(!smb_answer_verifies(&owner, &a));
            smb_peer_cut(&stranger);
        }
    }
    CHECK_INT(smb_peer_ask(&owner, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

/* The bytes of a request that its client has signed, which an attacker on the network can
 * replay. */
static struct str signed_setup(struct smb_peer *p, uint8_t flags)
{
    struct buf token = buf_in(&p->f->arena);
    struct buf body = buf_in(&p->f->arena);
    struct buf message = buf_in(&p->f->arena);
    smb_user_put_hello(&token);
    smb_user_put_setup(&(struct smb_user_setup){flags, SMB_SIGNING_ENABLED, 0, buf_str(&token)},
                       &body);
    smb_peer_add(p, &message, &(struct smb_header){.command = SMB_SESSION_SETUP}, buf_str(&body));
    smb_user_sign(p->user, message.p, message.n);
    return buf_str(&message);
}

void test_smb_signing_of_a_replayed_binding_happens_once(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_login l = {.guid = owner.guid};
    unsigned signed_answers = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct smb_peer p = smb_peer_greeted(&f, &l);
        p.session = owner.session;
        p.user->session_signer = owner.user->signer;
        smb_peer_send(&p, signed_setup(&p, SMB_SESSION_BINDING));
        struct smb_answer a = smb_peer_receive(&p);
        CHECK_INT(a.header.status, STATUS_MORE_PROCESSING_REQUIRED);
        signed_answers += smb_answer_verifies(&owner, &a) ? 1 : 0;
        CHECK_INT(smb_answer_verifies(&owner, &a), i == 0);
        smb_peer_cut(&p);
    }
    CHECK_INT(signed_answers, 1);
    smb_fixture_end(&f);
}

void test_smb_signing_of_a_replayed_setup_elsewhere(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_login l = {.guid = owner.guid};
    /* The session's first connection has answered this message id, signed. */
    CHECK_INT(owner.message_id, 5);
    for (unsigned i = 0; i < 2; i++) {
        struct smb_peer p = smb_peer_greeted(&f, &l);
        CHECK_INT(smb_peer_ask(&p, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
        p.session = owner.session;
        p.user->session_signer = owner.user->signer;
        smb_peer_send(&p, signed_setup(&p, 0));
        struct smb_answer a = smb_peer_receive(&p);
        CHECK_INT(a.header.status, STATUS_USER_SESSION_DELETED);
        CHECK(!smb_answer_verifies(&owner, &a));
        smb_peer_cut(&p);
    }
    smb_fixture_end(&f);
}

void test_smb_signing_of_a_bound_connection_has_its_own_key(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_peer second;
    struct smb_answer a = smb_peer_bind(&owner, &GMAC, &second);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(smb_answer_verifies(&second, &a) && !smb_answer_verifies(&owner, &a));
    struct smb_file_id id = smb_peer_open(&second, "file");
    a = smb_peer_ask(&second, SMB_CLOSE, smb_body_close(&f, id));
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    CHECK(smb_answer_verifies(&second, &a));
    smb_fixture_end(&f);
}

void test_smb_signing_of_a_binding_that_does_not_fit(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_login old = {.dialect = SMB_DIALECT_300}, cmac = {.signing = SMB_SIGN_AES_CMAC};
    struct smb_peer before = smb_peer_logged_in(&f, &old), owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_peer second;
    struct smb_answer a = smb_peer_bind(&before, &GMAC, &second);
    CHECK_INT(a.header.status, STATUS_NOT_SUPPORTED);
    CHECK(smb_answer_verifies(&before, &a)); /* it has CMAC's key, and needs no nonce */
    a = smb_peer_bind(&owner, &cmac, &second);
    CHECK_INT(a.header.status, STATUS_REQUEST_OUT_OF_SEQUENCE);
    CHECK(smb_answer_verifies(&owner, &a));
    a = smb_peer_bind(&owner, &cmac, &second); /* the nonce was used */
    CHECK_INT(a.header.status, STATUS_REQUEST_OUT_OF_SEQUENCE);
    CHECK(!smb_answer_verifies(&owner, &a));
    smb_fixture_end(&f);
}

void test_smb_signing_is_asked_for_in_both_steps_of_a_binding(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer owner = smb_peer_logged_in(&f, &GMAC);
    struct smb_login l = {.guid = owner.guid};
    struct smb_peer p = smb_peer_greeted(&f, &l);
    p.session = owner.session;
    p.user->session_signer = owner.user->signer;
    smb_peer_send(&p, signed_setup(&p, SMB_SESSION_BINDING));
    struct smb_answer a = smb_peer_receive(&p);
    CHECK_INT(a.header.status, STATUS_MORE_PROCESSING_REQUIRED);
    struct buf token = buf_in(&f.arena), body = buf_in(&f.arena);
    CHECK(smb_user_put_proof(p.user, str_from(a.body, 8), &token));
    smb_user_put_setup(
        &(struct smb_user_setup){SMB_SESSION_BINDING, SMB_SIGNING_ENABLED, 0, buf_str(&token)},
        &body);
    a = smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body));
    CHECK_INT(a.header.status, STATUS_INVALID_PARAMETER);
    CHECK(!smb_answer_verifies(&p, &a));
    smb_fixture_end(&f);
}

/* ---- on the session's first connection ---- */

static struct smb_answer ask_badly_signed(struct smb_peer *p, const struct smb_header *h,
                                          struct str body)
{
    struct buf message = buf_in(&p->f->arena);
    smb_peer_add(p, &message, h, body);
    smb_user_sign(p->user, message.p, message.n);
    message.p[50] ^= 1;
    bool signs = p->signs;
    p->signs = false;
    smb_peer_send(p, buf_str(&message));
    p->signs = signs;
    return smb_peer_receive(p);
}

void test_smb_signing_that_is_wrong_changes_nothing_and_is_answered_unsigned(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &GMAC);
    struct smb_file_id id = smb_peer_open(&p, "file");
    struct smb_wanted w = {.name = "new", .sharing = SMB_ALL_SHARED, .disposition = SMB_CREATE_NEW};
    struct {
        uint16_t command;
        uint32_t tree;
        struct str body;
    } asked[] = {
        {SMB_WRITE, SMB_TREE_DISK, smb_body_write(&f, id, 0, STR("x"))},
        {SMB_CREATE, SMB_TREE_DISK, smb_body_create(&f, &w)},
        {SMB_CLOSE, SMB_TREE_DISK, smb_body_close(&f, id)},
        {SMB_CLOSE, 77, smb_body_close(&f, id)}, /* no such tree */
        {SMB_LOGOFF, 0, {"\4\0\0\0", 4}},
        {SMB_TREE_DISCONNECT, SMB_TREE_DISK, {"\4\0\0\0", 4}},
        {SMB_ECHO, 0, echo()},
        {SMB_SESSION_SETUP, 0, str_from(signed_setup(&p, 0), SMB_HEADER_BYTES)},
    };
    for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
        struct smb_header h = {.command = asked[i].command, .tree_id = asked[i].tree};
        struct smb_answer a = ask_badly_signed(&p, &h, asked[i].body);
        CHECK_INT(a.header.status, STATUS_ACCESS_DENIED);
        CHECK(!smb_answer_verifies(&p, &a));
    }
    struct smb_answer a = smb_peer_ask(&p, SMB_READ, smb_body_read(&f, id, 0, 1));
    CHECK_INT(a.header.status, STATUS_END_OF_FILE);
    CHECK(smb_answer_verifies(&p, &a));
    CHECK_INT(smb_peer_ask(&p, SMB_CREATE, smb_body_create(&f, &w)).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

void test_smb_signing_of_refusals_in_a_compound(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &GMAC);
    struct smb_wanted w = {.name = "none", .sharing = SMB_ALL_SHARED, .disposition = SMB_OPEN};
    struct smb_header first = {.command = SMB_CREATE, .tree_id = SMB_TREE_DISK};
    struct smb_header next = {
        .command = SMB_CLOSE, .tree_id = SMB_TREE_DISK, .flags = SMB_FLAG_RELATED};
    for (unsigned forged = 0; forged < 2; forged++) {
        struct buf m = buf_in(&f.arena);
        smb_peer_add(&p, &m, &first, smb_body_create(&f, &w));
        smb_peer_add(&p, &m, &next, smb_body_close(&f, SMB_ID_OF_BEFORE));
        size_t half = m.n - SMB_HEADER_BYTES - 24;
        smb_user_sign(p.user, m.p, half);
        smb_user_sign(p.user, m.p + half, m.n - half);
        m.p[half + 50] ^= (char)forged;
        p.signs = false;
        smb_peer_send(&p, buf_str(&m));
        p.signs = true;
        struct smb_answer a = smb_peer_receive(&p);
        CHECK_INT(a.header.status, STATUS_OBJECT_NAME_NOT_FOUND);
        CHECK(smb_answer_verifies(&p, &a));
        a = smb_answer_next(&a);
        CHECK_INT(a.header.status, forged ? STATUS_ACCESS_DENIED : STATUS_OBJECT_NAME_NOT_FOUND);
        CHECK_INT(smb_answer_verifies(&p, &a), !forged);
    }
    smb_fixture_end(&f);
}

void test_smb_signing_of_interim_answers_does_not_happen(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &GMAC);
    struct smb_file_id id = smb_peer_open(&p, "file"), other = smb_peer_open(&p, "file");
    struct smb_range all = {0, 10, 2};
    CHECK_INT(smb_peer_ask(&p, SMB_LOCK, smb_body_lock(&f, id, &all, 1)).header.status,
              STATUS_SUCCESS);
    struct smb_answer interim = smb_peer_ask(&p, SMB_LOCK, smb_body_lock(&f, other, &all, 1));
    CHECK_INT(interim.header.status, STATUS_PENDING);
    CHECK_INT(interim.header.flags & SMB_FLAG_SIGNED, 0);

    /* Only a client that has proved the session's key can cancel it. */
    struct buf cancel = buf_in(&f.arena);
    uint64_t session = p.session, message_id = p.message_id;
    p.session = 0;
    p.signs = false;
    p.message_id = interim.header.message_id;
    smb_peer_add(&p, &cancel, &(struct smb_header){.command = SMB_CANCEL}, echo());
    smb_peer_send(&p, buf_str(&cancel));
    p.session = session;
    p.message_id = message_id;
    p.signs = true;
    CHECK_INT(smb_peer_ask(&p, SMB_ECHO, echo()).header.command, SMB_ECHO);

    CHECK_INT(smb_peer_ask(&p, SMB_CLOSE, smb_body_close(&f, id)).header.status, STATUS_SUCCESS);
    struct smb_answer last = smb_peer_receive(&p);
    CHECK_INT(last.header.message_id, interim.header.message_id);
    CHECK_INT(last.header.status, STATUS_SUCCESS);
    CHECK(smb_answer_verifies(&p, &last));
    smb_fixture_end(&f);
}

/* ---- ids ---- */

void test_smb_ids_cannot_be_guessed(void)
{
    enum { MANY = 16 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    uint64_t sessions[MANY], files[MANY];
    for (unsigned i = 0; i < MANY; i++) {
        struct smb_peer p = smb_peer_logged_in(&f, &GMAC);
        sessions[i] = p.session;
        files[i] = smb_peer_open(&p, "file").persistent;
        CHECK(sessions[i] != 0 && sessions[i] != UINT64_MAX);

        /* Random ids are not close to each other. */
        for (unsigned j = 0; j < i; j++) {
            uint64_t apart = sessions[i] - sessions[j], files_apart = files[i] - files[j];
            CHECK(apart + (1ULL << 32) > 1ULL << 33);
            CHECK(files_apart + (1ULL << 32) > 1ULL << 33);
        }
        smb_peer_cut(&p);
    }
    smb_fixture_end(&f);
}
