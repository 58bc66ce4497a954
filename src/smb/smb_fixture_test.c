/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/smb_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"
#include "service/file/keys.h"
#include "service/file/share.h"
#include "smb/commands/session.h"

enum { PATIENCE_MS = 200 * 1000, GRANTED = 512, NAME_OFFSET = SMB_HEADER_BYTES + 56 };

const struct smb_file_id SMB_ID_OF_BEFORE = {UINT64_MAX, UINT64_MAX};

/* ---- the server ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void make_share(struct smb_fixture *f)
{
    struct share_args args = {.arena = &f->arena};
    f->partition = file_partition(&f->arena, STR("acct"), STR("share"));
    CHECK_OK(engine_update_wait(f->store.engine, f->partition, file_create_share, &args));
    f->incarnation = args.share.incarnation;
}

void smb_fixture_begin(struct smb_fixture *f)
{
    struct smb_options options = {.encryption = SMB_ENCRYPTION_PREFERRED};
    smb_fixture_begin_with(f, &options);
}

void smb_fixture_begin_with(struct smb_fixture *f, const struct smb_options *options)
{
    *f = (struct smb_fixture){0};
    clock_init_system(&f->clock);
    arena_init(&f->arena, SIZE_MAX);
    f->store = (struct store){.engine = engine_repeat_new(engine_mem_new(&f->clock)),
                              .clock = &f->clock,
                              .opens = opens_new()};
    f->accounts = accounts_new();
    CHECK_OK(accounts_put(f->accounts, STR("acct"), STR(SMB_FIXTURE_KEY1), STR(SMB_FIXTURE_KEY2)));
    CHECK_OK(loop_new(&f->loop));
    CHECK_OK(pool_new(1, &f->pool));
    CHECK_OK(pool_new(1, &f->senders));
    CHECK_OK(pool_new(1, &f->storers));
    struct smb_world world = {.loops = &f->loop,
                              .loop_count = 1,
                              .pool = f->pool,
                              .senders = f->senders,
                              .storers = f->storers,
                              .accounts = f->accounts,
                              .store = &f->store};
    /* Long enough that no test of closed connections passes because of a time-out. */
    enum { EARLY_MS = 3600 * 1000, AWAY_BYTES_MIN = 200 }; /* most tests' messages are short */
    struct smb_options patient = *options;
    if (patient.early_ms == 0)
        patient.early_ms = EARLY_MS;
    if (patient.away_bytes_min == 0)
        patient.away_bytes_min = AWAY_BYTES_MIN;
    CHECK_OK(smb_server_new(&world, &patient, &f->server));
    make_share(f);
    CHECK(pthread_create(&f->thread, NULL, run_loop, f->loop) == 0);
}

static void on_drained(void *arg)
{
    CHECK(sem_post(arg) == 0);
}

/* Senders may still be returning answers that they have sent. */
static void drain(struct smb_fixture *f)
{
    sem_t drained;
    CHECK(sem_init(&drained, 0, 0) == 0);
    smb_server_drain(f->server, on_drained, &drained);
    while (sem_wait(&drained) != 0)
        ;
    CHECK(sem_destroy(&drained) == 0);
}

void smb_fixture_end(struct smb_fixture *f)
{
    drain(f);
    loop_stop(f->loop);
    CHECK(pthread_join(f->thread, NULL) == 0);
    pool_free(f->pool);
    pool_free(f->senders);
    pool_free(f->storers);
    smb_server_free(f->server);
    engine_close(f->store.engine);
    opens_free(f->store.opens);
    loop_free(f->loop);
    accounts_free(f->accounts);
    for (unsigned i = 0; i < f->user_count; i++)
        smb_user_release(f->users[i]);
    arena_release(&f->arena);
}

/* ---- clients; a connection is made on its loop's thread ---- */

struct joining {
    struct loop_task task;
    sem_t done;
    struct smb_fixture *f;
    int fd;
    uint64_t session;
};

static void add_tree(struct smb_session *s, struct str partition, uint64_t incarnation)
{
    struct smb_tree *t = MEM_NEW(struct smb_tree);
    char *bytes = mem_alloc(partition.n + 1);
    memcpy(bytes, partition.p, partition.n);
    *t = (struct smb_tree){.next = s->trees,
                           .session = s,
                           .refs = 1,
                           .id = ++s->last_tree_id,
                           .pipe = incarnation == 0,
                           .partition = {bytes, partition.n},
                           .incarnation = incarnation};
    s->trees = t;
    s->tree_count++;
}

static void join(struct loop_task *task)
{
    struct joining *j = (struct joining *)task;
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    struct smb_conn *c = smb_conn_open(j->f->server, j->f->loop, j->fd, &peer);
    CHECK(c != NULL);
    if (j->session != 0) {
        struct smb_session *s = MEM_NEW(struct smb_session);
        *s = (struct smb_session){.server = j->f->server,
                                  .loop = j->f->loop,
                                  .id = j->session,
                                  .refs = 1,
                                  .established = true,
                                  .account = "acct"};
        struct account *account = accounts_get(j->f->accounts, STR("acct"));
        s->proof.of = account_proof_of(account, 0);
        account_put(account);
        smb_channel_new(c, s)->bound = true;
        c->dialect = SMB_DIALECT_302;
        smb_conn_proved(c);
        (void)smb_window_grant(&c->window, GRANTED);
        add_tree(s, j->f->partition, j->f->incarnation);
        add_tree(s, STR(""), 0);
    }
    (void)sem_post(&j->done);
}

static struct smb_peer connect_peer(struct smb_fixture *f, uint64_t session)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    struct joining j = {.task.run = join, .f = f, .fd = ends[0], .session = session};
    CHECK(sem_init(&j.done, 0, 0) == 0);
    loop_post(f->loop, &j.task);
    CHECK(sem_wait(&j.done) == 0 && sem_destroy(&j.done) == 0);
    return (struct smb_peer){.f = f, .fd = ends[1], .session = session};
}

struct smb_peer smb_peer_in_session(struct smb_fixture *f)
{
    return connect_peer(f, ++f->last_session);
}

struct smb_peer smb_peer_new(struct smb_fixture *f)
{
    return connect_peer(f, 0);
}

void smb_peer_cut(struct smb_peer *p)
{
    unsigned before = smb_server_connections(p->f->server);
    CHECK(close(p->fd) == 0);
    p->fd = -1;
    WAIT_UNTIL(smb_server_connections(p->f->server) < before);
}

static void wait_for_bytes(struct smb_peer *p)
{
    struct pollfd ready = {.fd = p->fd, .events = POLLIN};
    CHECK(poll(&ready, 1, PATIENCE_MS) == 1);
}

bool smb_peer_is_cut(struct smb_peer *p)
{
    char byte;
    wait_for_bytes(p);
    return recv(p->fd, &byte, 1, MSG_PEEK) <= 0;
}

void smb_peer_send_raw(struct smb_peer *p, struct str bytes)
{
    /* Some tests wait for the server to close the connection. */
    CHECK(send(p->fd, bytes.p, bytes.n, MSG_NOSIGNAL) == (ssize_t)bytes.n || errno == EPIPE);
}

/* Each command of a compound has its own signature. */
static void sign_all(struct smb_peer *p, char *message, size_t n)
{
    struct smb_header h;
    for (size_t at = 0; at < n; at += h.next) {
        CHECK(smb_header_read((struct str){message + at, n - at}, &h));
        smb_user_sign(p->user, message + at, h.next == 0 ? n - at : h.next);
        if (h.next == 0)
            break;
    }
}

void smb_peer_send(struct smb_peer *p, struct str message)
{
    struct buf out = buf_in(&p->f->arena);
    struct buf framed = buf_in(&p->f->arena);
    if (p->seals) {
        smb_user_seal(p->user, p->session, message, &out);
    } else {
        buf_put(&out, message);
        if (p->signs)
            sign_all(p, out.p, out.n);
    }
    buf_put_be32(&framed, (uint32_t)out.n);
    buf_put(&framed, buf_str(&out));
    smb_peer_send_raw(p, buf_str(&framed));
}

static void set_le32(char *at, uint32_t value)
{
    for (unsigned i = 0; i < 4; i++)
        at[i] = (char)(value >> (8 * i));
}

void smb_peer_add(struct smb_peer *p, struct buf *message, const struct smb_header *like,
                  struct str body)
{
    enum { NEXT_AT = 20 };
    struct smb_header h = *like;
    while (message->n % 8 != 0)
        buf_putc(message, 0);
    size_t begin = 0;
    for (struct smb_header last; message->n > 0; begin += last.next) {
        CHECK(smb_header_read(str_from(buf_str(message), begin), &last));
        if (last.next == 0) {
            set_le32(message->p + begin + NEXT_AT, (uint32_t)(message->n - begin));
            break;
        }
    }
    h.session_id = p->session;
    h.message_id = p->message_id;
    p->message_id += h.credit_charge == 0 ? 1 : h.credit_charge;
    if (h.credits == 0)
        h.credits = h.credit_charge == 0 ? 1 : h.credit_charge;
    smb_header_put(message, &h);
    buf_put(message, body);
}

static void read_fully(struct smb_peer *p, char *to, size_t n)
{
    for (size_t have = 0; have < n;) {
        wait_for_bytes(p);
        ssize_t got = recv(p->fd, to + have, n - have, 0);
        CHECK(got > 0);
        have += (size_t)got;
    }
}

static struct smb_answer take_apart(struct str message)
{
    struct smb_answer a = {0};
    CHECK(smb_header_read(message, &a.header));
    size_t end = a.header.next == 0 ? message.n : a.header.next;
    CHECK(end >= SMB_HEADER_BYTES && end <= message.n);
    a.packet = str_head(message, end);
    a.body = str_from(a.packet, SMB_HEADER_BYTES);
    a.rest = str_from(message, end);
    return a;
}

struct smb_answer smb_peer_receive(struct smb_peer *p)
{
    char length[4];
    read_fully(p, length, sizeof length);
    struct reader r = reader_of((struct str){length, sizeof length});
    uint32_t n = read_be32(&r);
    char *bytes = arena_bytes(&p->f->arena, n);
    read_fully(p, bytes, n);
    struct str plain = {bytes, n};
    bool sealed = smb_magic_of(plain) == SMB_MAGIC_ENCRYPTED;
    CHECK(!sealed || smb_user_unseal(p->user, bytes, n, &plain));
    struct smb_answer a = take_apart(plain);
    a.sealed = sealed;
    return a;
}

struct smb_answer smb_answer_next(const struct smb_answer *a)
{
    CHECK(a->rest.n > 0);
    return take_apart(a->rest);
}

struct smb_answer smb_peer_ask(struct smb_peer *p, uint16_t command, struct str body)
{
    struct buf message = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &(struct smb_header){.command = command, .tree_id = SMB_TREE_DISK},
                 body);
    smb_peer_send(p, buf_str(&message));
    return smb_peer_receive(p);
}

/* ---- logging in ---- */

bool smb_answer_verifies(const struct smb_peer *p, const struct smb_answer *a)
{
    return smb_user_verifies(p->user, a->packet);
}

static struct smb_user *new_user(struct smb_fixture *f, const struct smb_login *l)
{
    CHECK(f->user_count < SMB_FIXTURE_USERS);
    struct smb_user *u = ARENA_NEW(&f->arena, struct smb_user);
    f->users[f->user_count++] = u;
    *u = (struct smb_user){.account = "acct",
                           .key = l->key == NULL ? SMB_FIXTURE_KEY1 : l->key,
                           .dialect = l->dialect == 0 ? SMB_DIALECT_311 : l->dialect,
                           .signing = l->signing == 0 && !l->signs_otherwise ? SMB_SIGN_AES_GMAC
                                                                             : l->signing,
                           .cipher = l->cipher};
    return u;
}

/* Sends a message with one command, as smb_peer_ask does, and returns its answer. */
static struct smb_answer ask_hashed(struct smb_peer *p, uint16_t command, struct str body,
                                    unsigned char hash[SMB_PREAUTH_BYTES])
{
    struct buf message = buf_in(&p->f->arena);
    smb_peer_add(p, &message, &(struct smb_header){.command = command, .credits = GRANTED}, body);
    if (p->signs)
        sign_all(p, message.p, message.n);
    bool signs = p->signs;
    p->signs = false;
    smb_peer_send(p, buf_str(&message));
    p->signs = signs;
    smb_preauth_update(hash, buf_str(&message));
    struct smb_answer a = smb_peer_receive(p);
    if (command == SMB_NEGOTIATE || a.header.status == STATUS_MORE_PROCESSING_REQUIRED)
        smb_preauth_update(hash, a.packet);
    return a;
}

struct smb_peer smb_peer_greeted(struct smb_fixture *f, const struct smb_login *l)
{
    struct smb_peer p = smb_peer_new(f);
    struct buf body = buf_in(&f->arena);
    p.user = new_user(f, l);
    p.mode = l->mode == 0 ? SMB_SIGNING_ENABLED : l->mode;
    p.guid[0] = (unsigned char)f->user_count;
    if (l->guid != NULL)
        memcpy(p.guid, l->guid, sizeof p.guid);
    smb_user_put_negotiate(p.user, p.guid, p.mode, &body);
    CHECK_INT(ask_hashed(&p, SMB_NEGOTIATE, buf_str(&body), p.user->greeting).header.status,
              STATUS_SUCCESS);
    return p;
}

static struct smb_answer set_up(struct smb_peer *p, const struct smb_user_setup *s)
{
    struct buf body = buf_in(&p->f->arena);
    smb_user_put_setup(s, &body);
    return ask_hashed(p, SMB_SESSION_SETUP, buf_str(&body), p->user->preauth);
}

struct smb_answer smb_peer_log_in(struct smb_peer *p, uint8_t flags, uint64_t previous)
{
    struct buf token = buf_in(&p->f->arena);
    memcpy(p->user->preauth, p->user->greeting, SMB_PREAUTH_BYTES);
    smb_user_put_hello(&token);
    struct smb_user_setup s = {flags, p->mode, previous, buf_str(&token)};
    struct smb_answer a = set_up(p, &s);
    if (a.header.status != STATUS_MORE_PROCESSING_REQUIRED)
        return a;
    p->session = a.header.session_id;
    buf_clear(&token);
    CHECK(smb_user_put_proof(p->user, str_from(a.body, 8), &token));
    s.token = buf_str(&token);
    a = set_up(p, &s);
    if (a.header.status == STATUS_SUCCESS)
        smb_user_make_keys(p->user);
    return a;
}

static struct str connect_body(struct smb_fixture *f, const char *path)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 9);
    buf_put_le16(&b, 0);
    buf_put_le16(&b, SMB_HEADER_BYTES + 8);
    buf_put_le16(&b, (uint16_t)(2 * strlen(path)));
    for (const char *c = path; *c != 0; c++)
        buf_put_le16(&b, (uint16_t)(unsigned char)*c);
    return buf_str(&b);
}

struct smb_peer smb_peer_logged_in(struct smb_fixture *f, const struct smb_login *l)
{
    struct smb_peer p = smb_peer_greeted(f, l);
    struct smb_answer a = smb_peer_log_in(&p, 0, 0);
    CHECK_INT(a.header.status, STATUS_SUCCESS);
    p.signs = true;
    a = smb_peer_ask(&p, SMB_TREE_CONNECT, connect_body(f, "\\\\h\\share"));
    CHECK_INT(a.header.tree_id, SMB_TREE_DISK);
    a = smb_peer_ask(&p, SMB_TREE_CONNECT, connect_body(f, "\\\\h\\IPC$"));
    CHECK_INT(a.header.tree_id, SMB_TREE_IPC);
    return p;
}

struct smb_answer smb_peer_bind(const struct smb_peer *p, const struct smb_login *login,
                                struct smb_peer *out)
{
    struct smb_login l = *login;
    l.guid = p->guid;
    *out = smb_peer_greeted(p->f, &l);
    /* Signed with the session's key until the connection has its own key. */
    out->user->session_signer = p->user->signer;
    out->session = p->session;
    out->signs = true;
    return smb_peer_log_in(out, SMB_SESSION_BINDING, 0);
}

/* ---- bodies ---- */

static void put_id(struct buf *b, struct smb_file_id id)
{
    buf_put_le64(b, id.persistent);
    buf_put_le64(b, id.fleeting);
}

struct str smb_body_create(struct smb_fixture *f, const struct smb_wanted *w)
{
    struct buf b = buf_in(&f->arena);
    size_t name = strlen(w->name) * 2;
    size_t contexts = (NAME_OFFSET + name + 7) / 8 * 8;
    buf_put_le16(&b, 57);
    buf_put_u8(&b, 0);
    buf_put_u8(&b, w->oplock);
    buf_put_le32(&b, 2);
    buf_put_le64(&b, 0);
    buf_put_le64(&b, 0);
    buf_put_le32(&b, w->access == 0 ? (uint32_t)SMB_ACCESS_ALL : w->access);
    buf_put_le32(&b, 0);
    buf_put_le32(&b, w->sharing);
    buf_put_le32(&b, w->disposition);
    buf_put_le32(&b, w->options);
    buf_put_le16(&b, NAME_OFFSET);
    buf_put_le16(&b, (uint16_t)name);
    buf_put_le32(&b, w->contexts.n == 0 ? 0 : (uint32_t)contexts);
    buf_put_le32(&b, (uint32_t)w->contexts.n);
    for (const char *c = w->name; *c != 0; c++)
        buf_put_le16(&b, (uint16_t)(unsigned char)*c);
    while (b.n < contexts - SMB_HEADER_BYTES)
        buf_put_u8(&b, 0);
    buf_put(&b, w->contexts.n == 0 ? STR("") : w->contexts);
    return buf_str(&b);
}

struct str smb_body_query(struct smb_fixture *f, struct smb_file_id id, const struct smb_asked *w)
{
    enum { INPUT_OFFSET = SMB_HEADER_BYTES + 40, OF_FILE = 1 };
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 41);
    buf_put_u8(&b, OF_FILE);
    buf_put_u8(&b, w->class);
    buf_put_le32(&b, w->room);
    buf_put_le16(&b, INPUT_OFFSET);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, (uint32_t)w->input.n);
    buf_put_le32(&b, w->parts);
    buf_put_le32(&b, w->flags);
    put_id(&b, id);
    buf_put(&b, str_given(w->input) ? w->input : STR("\0"));
    return buf_str(&b);
}

struct str smb_body_set(struct smb_fixture *f, struct smb_file_id id, uint8_t class,
                        struct str data)
{
    enum { DATA_OFFSET = SMB_HEADER_BYTES + 32, OF_FILE = 1 };
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 33);
    buf_put_u8(&b, OF_FILE);
    buf_put_u8(&b, class);
    buf_put_le32(&b, (uint32_t)data.n);
    buf_put_le16(&b, DATA_OFFSET);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 0);
    put_id(&b, id);
    buf_put(&b, data);
    return buf_str(&b);
}

struct str smb_body_context(struct smb_fixture *f, const char *name, struct str data)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le32(&b, 0);
    buf_put_le16(&b, 16);
    buf_put_le16(&b, 4);
    buf_put_le16(&b, 0);
    buf_put_le16(&b, 24);
    buf_put_le32(&b, (uint32_t)data.n);
    buf_put(&b, str_of(name));
    buf_put_le32(&b, 0);
    buf_put(&b, data);
    return buf_str(&b);
}

struct str smb_body_close(struct smb_fixture *f, struct smb_file_id id)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 24);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, 0);
    put_id(&b, id);
    return buf_str(&b);
}

struct str smb_body_read(struct smb_fixture *f, struct smb_file_id id, uint64_t offset,
                         uint32_t length)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 49);
    buf_put_le16(&b, 0);
    buf_put_le32(&b, length);
    buf_put_le64(&b, offset);
    put_id(&b, id);
    for (unsigned i = 0; i < 17; i++)
        buf_put_u8(&b, 0);
    return buf_str(&b);
}

struct str smb_body_write(struct smb_fixture *f, struct smb_file_id id, uint64_t offset,
                          struct str bytes)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 49);
    buf_put_le16(&b, SMB_HEADER_BYTES + 48);
    buf_put_le32(&b, (uint32_t)bytes.n);
    buf_put_le64(&b, offset);
    put_id(&b, id);
    for (unsigned i = 0; i < 16; i++)
        buf_put_u8(&b, 0);
    buf_put(&b, bytes);
    return buf_str(&b);
}

struct str smb_body_lock(struct smb_fixture *f, struct smb_file_id id, const struct smb_range *list,
                         uint16_t count)
{
    struct buf b = buf_in(&f->arena);
    buf_put_le16(&b, 48);
    buf_put_le16(&b, count);
    buf_put_le32(&b, 0);
    put_id(&b, id);
    for (uint16_t i = 0; i < count; i++) {
        buf_put_le64(&b, list[i].offset);
        buf_put_le64(&b, list[i].length);
        buf_put_le32(&b, list[i].flags);
        buf_put_le32(&b, 0);
    }
    return buf_str(&b);
}

struct smb_file_id smb_created(const struct smb_answer *a)
{
    enum { ID_AT = 64 };
    CHECK_INT(a->header.status, STATUS_SUCCESS);
    struct reader r = reader_of(str_from(a->body, ID_AT));
    struct smb_file_id id = {.persistent = read_le64(&r)};
    id.fleeting = read_le64(&r);
    CHECK(reader_ok(&r));
    return id;
}

struct smb_file_id smb_peer_open(struct smb_peer *p, const char *name)
{
    struct smb_wanted w = {.name = name, .sharing = SMB_ALL_SHARED, .disposition = SMB_OPEN_IF};
    struct smb_answer a = smb_peer_ask(p, SMB_CREATE, smb_body_create(p->f, &w));
    return smb_created(&a);
}
