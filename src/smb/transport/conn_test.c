/* SPDX-License-Identifier: Apache-2.0 */
/* Framing: how bytes become messages, and which bytes end the connection. */
#include "smb/smb_fixture.h"

#include <semaphore.h>
#include <unistd.h>

#include "core/container.h"

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
    check_cuts(false, (struct str){"\0\1\0\1", 4});     /* 64 KiB plus one, before a session */
    check_cuts(true, (struct str){"\0\xFF\xFF\xFF", 4});
    check_cuts(true, (struct str){"\0\0\0\4abcd", 8}); /* neither SMB1 nor SMB2 */
    check_cuts(true, (struct str){"\0\0\0\4\xFESMB", 8});
    check_cuts(true, (struct str){"\0\0\0\4\xFDSMB", 8}); /* encrypted, but empty */
}

/* ---- clients without a proved key ---- */

/* Negotiated and half logged in: it has a session, but has not proved a key. */
static struct smb_peer half_logged_in(struct smb_fixture *f)
{
    struct smb_peer p = smb_peer_greeted(f, &(struct smb_login){0});
    struct buf token = buf_in(&f->arena), body = buf_in(&f->arena);
    smb_user_put_hello(&token);
    smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)}, &body);
    CHECK_INT(smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body)).header.status,
              STATUS_MORE_PROCESSING_REQUIRED);
    return p;
}

void test_smb_strangers_send_small_messages_until_a_key_is_proved(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = half_logged_in(&f);
    smb_peer_send_raw(&p, (struct str){"\0\1\0\1", 4}); /* 64 KiB and one */
    CHECK(smb_peer_is_cut(&p));
    struct smb_peer known = smb_peer_logged_in(&f, &(struct smb_login){0});
    smb_peer_send_raw(&known, (struct str){"\0\1\0\1", 4});
    struct smb_peer other = half_logged_in(&f); /* meanwhile */
    CHECK_INT(smb_server_connections(f.server), 2);
    (void)other;
    smb_fixture_end(&f);
}

void test_smb_strangers_begin_few_sessions(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = half_logged_in(&f);
    struct buf token = buf_in(&f.arena), body = buf_in(&f.arena);
    smb_user_put_hello(&token);
    smb_user_put_setup(&(struct smb_user_setup){0, SMB_SIGNING_ENABLED, 0, buf_str(&token)}, &body);
    for (unsigned i = 1; i <= SMB_EARLY_SESSIONS_MAX; i++)
        CHECK_INT(smb_peer_ask(&p, SMB_SESSION_SETUP, buf_str(&body)).header.status,
                  i < SMB_EARLY_SESSIONS_MAX ? STATUS_MORE_PROCESSING_REQUIRED
                                             : STATUS_INSUFFICIENT_RESOURCES);
    smb_fixture_end(&f);
}

/* If such a client does not read its answers, the server also stops reading. */
void test_smb_strangers_that_do_not_read_are_not_read(void)
{
    enum { MANY = 20000 };
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_greeted(&f, &(struct smb_login){0});
    size_t sent = 0;
    for (unsigned i = 0; i < MANY; i++) {
        struct buf message = buf_in(&f.arena), framed = buf_in(&f.arena);
        smb_peer_add(&p, &message, &(struct smb_header){.command = SMB_ECHO, .credits = 2}, echo());
        buf_put_be32(&framed, (uint32_t)message.n);
        buf_put(&framed, buf_str(&message));
        ssize_t n = send(p.fd, framed.p, framed.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        for (unsigned naps = 0; n < 0 && naps < 3; naps++) {
            test_nap(__FILE__, __LINE__, "the server reads", naps);
            n = send(p.fd, framed.p, framed.n, MSG_DONTWAIT | MSG_NOSIGNAL);
        }
        if (n < 0)
            break;
        sent++;
    }
    CHECK(sent < MANY);
    smb_fixture_end(&f);
}

/* The limit on all of them: the newest gets in, the oldest are cut, and clients with a proved key
 * always stay. */
void test_smb_strangers_together_have_a_bound(void)
{
    enum { MANY = 150, BOUND = 512 << 10 };
    struct smb_options options = {.encryption = SMB_ENCRYPTION_PREFERRED, .early_bytes_max = BOUND};
    struct smb_fixture f;
    smb_fixture_begin_with(&f, &options);
    struct smb_peer known = smb_peer_logged_in(&f, &(struct smb_login){0});
    for (unsigned i = 0; i < MANY; i++) {
        struct smb_peer p = smb_peer_new(&f);
        smb_peer_send_raw(&p, (struct str){"\0\0\xFF\xFF", 4}); /* the message is never sent */
    }
    struct smb_peer last = smb_peer_logged_in(&f, &(struct smb_login){0});
    WAIT_UNTIL(smb_server_connections(f.server) <= 2 + BOUND / 0xFFFF);
    CHECK_INT(smb_peer_ask(&known, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
    CHECK_INT(smb_peer_ask(&last, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
    smb_fixture_end(&f);
}

/* ---- clients that leave ---- */

struct pause {
    struct loop_task task;
    sem_t reached, go_on;
};

static void pause_here(struct loop_task *task)
{
    struct pause *p = CONTAINER_OF(task, struct pause, task);
    (void)sem_post(&p->reached);
    while (sem_wait(&p->go_on) != 0)
        ;
}

static void post_pause(struct smb_fixture *f, struct pause *pause)
{
    *pause = (struct pause){.task.run = pause_here};
    CHECK(sem_init(&pause->reached, 0, 0) == 0 && sem_init(&pause->go_on, 0, 0) == 0);
    loop_post(f->loop, &pause->task);
}

static void pause_loop(struct smb_fixture *f, struct pause *pause)
{
    post_pause(f, pause);
    CHECK(sem_wait(&pause->reached) == 0);
}

/* The peer left during the pause, so the answers cannot be sent. */
static void go_on_without(struct smb_peer *p, struct pause *pause)
{
    CHECK(close(p->fd) == 0);
    p->fd = -1;
    CHECK(sem_post(&pause->go_on) == 0);
    WAIT_UNTIL(smb_server_connections(p->f->server) == 1);
    CHECK(sem_destroy(&pause->reached) == 0 && sem_destroy(&pause->go_on) == 0);
}

/* The server reads the command after its client has closed the connection, so the interim answer
 * cannot be sent. */
static void ask_and_leave(struct smb_peer *p, uint16_t command, struct str body)
{
    struct pause pause;
    struct buf message = buf_in(&p->f->arena);
    pause_loop(p->f, &pause);
    smb_peer_add(p, &message, &(struct smb_header){.command = command, .tree_id = SMB_TREE_DISK},
                 body);
    smb_peer_send(p, buf_str(&message));
    go_on_without(p, &pause);
}

static struct str notify_body(struct smb_fixture *f, struct smb_file_id id)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 32);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 4096);
    smb_put_file_id(&b, id);
    buf_put_le32(&b, 0x17F); /* every kind of change */
    buf_put_le32(&b, 0);
    return buf_str(&b);
}

static struct smb_file_id open_root(struct smb_peer *p)
{
    struct smb_wanted root = {.name = "", .sharing = SMB_ALL_SHARED, .disposition = SMB_OPEN_IF};
    struct smb_answer a = smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &root));
    return smb_created(&a);
}

static void check_alive(struct smb_peer *p)
{
    CHECK_INT(smb_peer_ask(p, SMB_ECHO, echo()).header.status, STATUS_SUCCESS);
}

void test_smb_leaving_before_the_interim_answer_ends_a_notify(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f), stays = smb_peer_in_session(&f);
    ask_and_leave(&p, SMB_CHANGE_NOTIFY, notify_body(&f, open_root(&p)));
    check_alive(&stays);
    smb_fixture_end(&f);
}

/* Ending a handle answers the requests that wait for it, and these answers cannot be sent. */
void test_smb_leaving_while_a_tree_ends_with_a_notify(void)
{
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f), stays = smb_peer_in_session(&f);
    struct smb_answer a = smb_peer_ask(&p, SMB_CHANGE_NOTIFY, notify_body(&f, open_root(&p)));
    CHECK_INT(a.header.status, STATUS_PENDING);
    ask_and_leave(&p, SMB_TREE_DISCONNECT, echo());
    check_alive(&stays);
    smb_fixture_end(&f);
}

void test_smb_leaving_while_its_account_goes_ends_a_notify(void)
{
    struct smb_fixture f;
    struct pause first, second;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_logged_in(&f, &(struct smb_login){0});
    struct smb_peer stays = smb_peer_new(&f);
    struct smb_answer a = smb_peer_ask(&p, SMB_CHANGE_NOTIFY, notify_body(&f, open_root(&p)));
    CHECK_INT(a.header.status, STATUS_PENDING);
    /* The second pause and the end of the session run in one turn: in between, the loop does not
     * notice that the connection is closed. */
    pause_loop(&f, &first);
    post_pause(&f, &second);
    CHECK_OK(accounts_remove(f.accounts, STR("acct")));
    CHECK(sem_post(&first.go_on) == 0 && sem_wait(&second.reached) == 0);
    go_on_without(&p, &second);
    CHECK(sem_destroy(&first.reached) == 0 && sem_destroy(&first.go_on) == 0);
    smb_peer_cut(&stays);
    smb_fixture_end(&f);
}

void test_smb_leaving_before_the_interim_answer_ends_a_lock(void)
{
    enum { EXCLUSIVE = 2 };
    static const struct smb_range all = {0, 100, EXCLUSIVE};
    struct smb_fixture f;
    smb_fixture_begin(&f);
    struct smb_peer p = smb_peer_in_session(&f), stays = smb_peer_in_session(&f);
    struct smb_file_id id = smb_peer_open(&p, "file"), held = smb_peer_open(&stays, "file");
    CHECK_INT(smb_peer_ask(&stays, SMB_LOCK, smb_body_lock(&f, held, &all, 1)).header.status,
              STATUS_SUCCESS);
    ask_and_leave(&p, SMB_LOCK, smb_body_lock(&f, id, &all, 1));
    check_alive(&stays);
    smb_fixture_end(&f);
}
