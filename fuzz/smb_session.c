/* SPDX-License-Identifier: Apache-2.0 */
/* Authenticated SMB clients against a whole server in memory: several connections and sessions,
 * bindings, trees, handles, locks, leases, durable handles, compounds, signed, encrypted or
 * neither, and key changes, in any order.
 *
 * The input is a program of steps; each command is well-formed except for the bytes of the input,
 * so that the fuzzer reaches interactions of commands. Besides crashes, leaks and sanitizer
 * reports, it looks for:
 * - an answer that is signed with a session's key though its request did not prove that key;
 * - a nonce of GMAC, or of encryption, that is used twice under one key;
 * - sessions, connections or handles that are left when all clients are gone. */
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "engine/wait.h"
#include "smb/message.h"
#include "smb/open.h"
#include "smb/smb_user.h"
#include "smb_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    CLIENTS = 4,
    USERS = 16,
    FILES = 8,
    IDS = 1024,
    NONCES = 1 << 14,
    STEPS_MAX = 64,
    COMPOUND_MAX = 5,
    ANSWER_MS = 30,
    FRAME_MAX = 1 << 20,
};

static const char *const KEYS[] = {"Zmlyc3Qga2V5IG9mIHRoZSBmaXh0dXJl",
                                   "c2Vjb25kIGtleQ==", "dGhpcmQga2V5"};

/* The keys of one session, or of one channel to it. */
struct keys {
    struct smb_user user;
    uint64_t session;
    unsigned char signed_ids[IDS / 8];
    unsigned char nonces[NONCES / 8];
};

struct client {
    int fd; /* -1: none */
    uint64_t message_id;
    struct smb_user greeted; /* what was negotiated */
    unsigned char guid[SMB_GUID_BYTES];
    struct keys *keys;         /* NULL: no session yet */
    struct keys *session_keys; /* its first channel's, that encrypt; the same but for bindings */
    uint32_t tree;
    bool proved[IDS]; /* by message id: the request was signed or encrypted as it should be */
};

struct world {
    struct smb_fuzz_world on;
    pthread_t thread;
    struct reader program;
    struct client clients[CLIENTS];
    struct keys users[USERS];
    unsigned user_count;
    struct smb_file_id files[FILES];
    unsigned file_count;
    char *frame;
};

static uint8_t next(struct world *w)
{
    return w->program.n == 0 ? 0 : read_u8(&w->program);
}

static struct str take(struct world *w, size_t n)
{
    return read_raw(&w->program, n < w->program.n ? n : w->program.n);
}

/* ---- the server ---- */

static void *run_loop(void *arg)
{
    loop_run(arg);
    return NULL;
}

static void begin(struct world *w)
{
    log_set_level(LOG_ERROR);
    smb_fuzz_begin(&w->on);
    require(!err_is(accounts_put(w->on.accounts, STR("acct"), str_of(KEYS[0]), str_of(KEYS[1]))));
    w->frame = mem_alloc(FRAME_MAX);
    for (unsigned i = 0; i < CLIENTS; i++)
        w->clients[i].fd = -1;
    require(pthread_create(&w->thread, NULL, run_loop, w->on.loop) == 0);
}

struct task {
    struct loop_task task;
    sem_t done;
    struct world *w;
    int fd;
};

static void on_loop(struct world *w, void (*fn)(struct loop_task *task), int fd)
{
    struct task t = {.task.run = fn, .w = w, .fd = fd};
    require(sem_init(&t.done, 0, 0) == 0);
    loop_post(w->on.loop, &t.task);
    while (sem_wait(&t.done) != 0)
        ;
    (void)sem_destroy(&t.done);
}

static void join(struct loop_task *task)
{
    struct task *t = (struct task *)task;
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    (void)smb_conn_open(t->w->on.server, t->w->on.loop, t->fd, &peer);
    (void)sem_post(&t->done);
}

static void end_durable(struct loop_task *task)
{
    struct task *t = (struct task *)task;
    smb_durable_end(t->w->on.server);
    (void)sem_post(&t->done);
}

static void pass(struct loop_task *task)
{
    (void)sem_post(&((struct task *)task)->done);
}

static struct err do_nothing(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

static void end(struct world *w)
{
    struct smb_usage usage;
    for (unsigned i = 0; i < CLIENTS; i++)
        if (w->clients[i].fd >= 0)
            (void)close(w->clients[i].fd);
    for (unsigned naps = 0; smb_server_connections(w->on.server) > 0; naps++) {
        require(naps < 30000); /* half a minute: something holds a connection */
        (void)usleep(naps < 100 ? 50 : 1000);
    }
    on_loop(w, end_durable, -1);
    on_loop(w, pass, -1);
    smb_server_usage(w->on.server, &usage);
    require(usage.sessions == 0);
    require(smb_opens_count(smb_server_opens(w->on.server)) == 0);
    require(!err_is(engine_update_wait(w->on.store.engine, STR("-"), do_nothing, NULL)));
    loop_stop(w->on.loop);
    require(pthread_join(w->thread, NULL) == 0);
    smb_fuzz_end(&w->on);
    for (unsigned i = 0; i < w->user_count; i++)
        smb_user_release(&w->users[i].user);
    free(w->frame);
}

/* ---- answers ---- */

static bool read_fully(int fd, char *to, size_t n)
{
    for (size_t have = 0; have < n;) {
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        ssize_t got = poll(&ready, 1, ANSWER_MS) == 1 ? recv(fd, to + have, n - have, 0) : -1;
        if (got <= 0)
            return false;
        have += (size_t)got;
    }
    return true;
}

static bool note(unsigned char *bits, size_t count, uint64_t n)
{
    if (n >= count)
        return true;
    bool was = (bits[n / 8] >> (n % 8) & 1) != 0;
    bits[n / 8] = (unsigned char)(bits[n / 8] | 1U << (n % 8));
    return !was;
}

/* A signed answer is allowed only if the request proved knowledge of the key. */
static void check_signature(struct world *w, struct client *c, const struct smb_header *h,
                            struct str packet)
{
    for (unsigned i = 0; i < w->user_count; i++) {
        struct keys *k = &w->users[i];
        if (!smb_user_verifies(&k->user, packet))
            continue;
        bool logs_in = h->command == SMB_SESSION_SETUP && h->status == STATUS_SUCCESS;
        require(h->message_id < IDS);
        require(c->proved[h->message_id] || logs_in);
        require(k->user.signing != SMB_SIGN_AES_GMAC || k->user.dialect != SMB_DIALECT_311 ||
                note(k->signed_ids, IDS, h->message_id));
    }
}

static void learn(struct world *w, struct client *c, const struct smb_header *h, struct str packet)
{
    enum { ID_AT = SMB_HEADER_BYTES + 64 };
    if (h->status != STATUS_SUCCESS)
        return;
    if (h->command == SMB_TREE_CONNECT)
        c->tree = h->tree_id;
    if (h->command == SMB_CREATE && packet.n >= ID_AT + 16) {
        struct reader r = reader_of(str_from(packet, ID_AT));
        w->files[w->file_count++ % FILES] = smb_read_file_id(&r);
    }
}

/* The keys of a session's first connection, which are used for encryption. */
static struct keys *keys_of(struct world *w, uint64_t session)
{
    for (unsigned i = 0; i < w->user_count; i++)
        if (w->users[i].session == session)
            return &w->users[i];
    return NULL;
}

/* Reads one message with its answers; the last one's header is in *last. */
static bool take_answers(struct world *w, struct client *c, struct smb_header *last,
                         struct str *last_packet)
{
    unsigned char length[4];
    if (!read_fully(c->fd, (char *)length, sizeof length))
        return false;
    size_t n = (size_t)length[1] << 16 | (size_t)length[2] << 8 | length[3];
    require(n <= FRAME_MAX);
    if (!read_fully(c->fd, w->frame, n))
        return false;
    struct str rest = {w->frame, n};
    if (smb_magic_of(rest) == SMB_MAGIC_ENCRYPTED) {
        struct smb_transform t;
        uint64_t nonce;
        require(smb_transform_read(rest, &t));
        struct keys *k = keys_of(w, t.session_id);
        require(k != NULL && smb_user_unseal(&k->user, w->frame, n, &rest));
        memcpy(&nonce, t.nonce, sizeof nonce);
        require(note(k->nonces, NONCES, nonce));
    }
    while (rest.n > 0) {
        require(smb_header_read(rest, last));
        size_t end = last->next == 0 ? rest.n : last->next;
        require(end >= SMB_HEADER_BYTES && end <= rest.n);
        *last_packet = str_head(rest, end);
        check_signature(w, c, last, *last_packet);
        learn(w, c, last, *last_packet);
        rest = str_from(rest, end);
    }
    return true;
}

static void hang_up(struct client *c)
{
    if (c->fd >= 0)
        (void)close(c->fd);
    *c = (struct client){.fd = -1};
}

/* Waits for the answer to a message id, or the interim answer. False if there is none. */
static bool await(struct world *w, struct client *c, uint64_t id, struct str *packet)
{
    struct smb_header h;
    do {
        if (!take_answers(w, c, &h, packet))
            return false;
    } while (h.message_id != id);
    return true;
}

/* ---- messages ---- */

static void send_framed(struct client *c, struct str message)
{
    unsigned char head[4] = {0, (unsigned char)(message.n >> 16), (unsigned char)(message.n >> 8),
                             (unsigned char)message.n};
    (void)!send(c->fd, head, sizeof head, MSG_NOSIGNAL);
    (void)!send(c->fd, message.p, message.n, MSG_NOSIGNAL);
}

static struct smb_header header_of(struct client *c, uint16_t command)
{
    return (struct smb_header){.command = command,
                               .credit_charge = 1,
                               .credits = 64,
                               .message_id = c->message_id++,
                               .tree_id = c->tree,
                               .session_id = c->keys == NULL ? 0 : c->keys->session};
}

/* A message of one command, as SESSION_SETUP requires; it is also hashed. */
static bool ask(struct world *w, struct client *c, const struct smb_header *h, struct str body,
                struct smb_user *signs, unsigned char *hash, struct str *answer)
{
    struct buf message = buf_heap();
    smb_header_put(&message, h);
    buf_put(&message, body);
    if (signs != NULL) {
        smb_user_sign(signs, message.p, message.n);
        c->proved[h->message_id % IDS] = true;
    }
    send_framed(c, buf_str(&message));
    smb_preauth_update(hash, buf_str(&message));
    buf_release(&message);
    bool answered = await(w, c, h->message_id, answer);
    struct smb_header got;
    if (answered && smb_header_read(*answer, &got) &&
        (h->command == SMB_NEGOTIATE || got.status == STATUS_MORE_PROCESSING_REQUIRED))
        smb_preauth_update(hash, *answer);
    return answered;
}

/* ---- steps ---- */

static void step_connect(struct world *w, struct client *c)
{
    static const enum smb_dialect dialects[] = {SMB_DIALECT_311, SMB_DIALECT_302, SMB_DIALECT_300,
                                                SMB_DIALECT_210};
    uint8_t how = next(w);
    int ends[2];
    hang_up(c);
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    c->fd = ends[1];
    on_loop(w, join, ends[0]);
    c->greeted = (struct smb_user){.account = "acct",
                                   .dialect = dialects[how & 3],
                                   .signing = (enum smb_signing)((how >> 2 & 3) % 3),
                                   .cipher = (enum smb_cipher)((how >> 4 & 7) % 5)};
    c->guid[0] = (unsigned char)(1 + (how >> 7));
    struct buf body = buf_heap();
    struct smb_header h = header_of(c, SMB_NEGOTIATE);
    struct str answer;
    smb_user_put_negotiate(&c->greeted, c->guid, SMB_SIGNING_ENABLED, &body);
    if (!ask(w, c, &h, buf_str(&body), NULL, c->greeted.greeting, &answer))
        hang_up(c);
    buf_release(&body);
}

static bool set_up(struct world *w, struct client *c, const struct smb_user_setup *s,
                   struct keys *signs, struct smb_user *user, struct str *answer)
{
    struct buf body = buf_heap();
    struct smb_header h = header_of(c, SMB_SESSION_SETUP);
    h.tree_id = 0;
    if (signs != NULL)
        h.session_id = signs->session;
    else if (user->nonce != 0)
        h.session_id = user->nonce; /* the session in the making */
    smb_user_put_setup(s, &body);
    bool answered =
        ask(w, c, &h, buf_str(&body), signs == NULL ? NULL : &signs->user, user->preauth, answer);
    buf_release(&body);
    return answered;
}

/* Logs in, or reauthenticates an existing session; with `to`, binds to that client's session. */
static void step_log_in(struct world *w, struct client *c, struct client *to)
{
    uint8_t how = next(w);
    struct buf token = buf_heap();
    struct str answer;
    struct smb_header h;
    struct keys *signs = to != NULL ? to->session_keys : NULL;
    uint64_t previous = (how & 4) != 0 && w->user_count > 0 ? w->users[0].session : 0;
    if (c->fd < 0 || w->user_count == USERS || (to != NULL && signs == NULL))
        goto out;
    struct keys *k = &w->users[w->user_count];
    k->user = c->greeted;
    k->user.key = KEYS[how & 3 ? how % 3 : 0];
    memcpy(k->user.preauth, k->user.greeting, SMB_PREAUTH_BYTES);
    if (to == NULL && (how & 8) == 0) /* a new session */
        c->keys = NULL;
    else if (to == NULL)
        signs = c->keys;
    smb_user_put_hello(&token);
    struct smb_user_setup s = {to != NULL ? SMB_SESSION_BINDING : 0, (uint8_t)(1 + (how >> 4 & 1)),
                               previous, buf_str(&token)};
    if (!set_up(w, c, &s, signs, &k->user, &answer) || !smb_header_read(answer, &h) ||
        h.status != STATUS_MORE_PROCESSING_REQUIRED)
        goto out;
    uint64_t session = h.session_id;
    struct buf proof = buf_heap();
    k->user.nonce = session;
    if (smb_user_put_proof(&k->user, str_from(answer, SMB_HEADER_BYTES + 8), &proof)) {
        s.token = buf_str(&proof);
        /* The keys are derived before the answer is checked, because its signature needs them. */
        if (to != NULL || (how & 8) == 0)
            k->session = session;
        bool answered = set_up(w, c, &s, signs, &k->user, &answer);
        k->user.nonce = 0;
        if (answered && smb_header_read(answer, &h) && h.status == STATUS_SUCCESS &&
            (to != NULL || signs == NULL)) {
            smb_user_make_keys(&k->user);
            c->keys = k;
            c->session_keys = to != NULL ? to->session_keys : k;
            w->user_count++;
        }
    }
    buf_release(&proof);
out:
    buf_release(&token);
}

static void step_accounts(struct world *w)
{
    uint8_t how = next(w);
    if ((how & 1) != 0)
        (void)!err_is(accounts_remove(w->on.accounts, STR("acct")));
    if ((how & 2) != 0)
        (void)!err_is(accounts_put(w->on.accounts, STR("acct"), str_of(KEYS[how >> 2 & 1]),
                                   str_of(KEYS[1 + (how >> 3 & 1)])));
}

/* ---- commands ---- */

/* The offset of a command's file id, and the data after its fixed part. */
static const struct shape {
    uint8_t bytes;     /* of the fixed part */
    uint8_t id_at;     /* a file id; 0: none */
    uint8_t offset_at; /* of the variable part; 0: none */
    uint8_t length_at;
} SHAPES[SMB_COMMAND_COUNT] = {
    [SMB_LOGOFF] = {4, 0, 0, 0},
    [SMB_TREE_CONNECT] = {8, 0, 4, 6},
    [SMB_TREE_DISCONNECT] = {4, 0, 0, 0},
    [SMB_CREATE] = {56, 0, 44, 46},
    [SMB_CLOSE] = {24, 8, 0, 0},
    [SMB_FLUSH] = {24, 8, 0, 0},
    [SMB_READ] = {49, 16, 0, 0},
    [SMB_WRITE] = {48, 16, 2, 4},
    [SMB_LOCK] = {48, 8, 0, 0},
    [SMB_IOCTL] = {56, 8, 24, 28},
    [SMB_CANCEL] = {4, 0, 0, 0},
    [SMB_ECHO] = {4, 0, 0, 0},
    [SMB_QUERY_DIRECTORY] = {32, 8, 24, 26},
    [SMB_CHANGE_NOTIFY] = {32, 8, 0, 0},
    [SMB_QUERY_INFO] = {40, 24, 8, 12},
    [SMB_SET_INFO] = {32, 16, 8, 4},
    [SMB_OPLOCK_BREAK] = {24, 8, 0, 0},
    [SMB_SESSION_SETUP] = {24, 0, 12, 14},
    [SMB_NEGOTIATE] = {36, 0, 0, 0},
};

static void put_le16_at(struct buf *b, size_t at, size_t value)
{
    b->p[at] = (char)value;
    b->p[at + 1] = (char)(value >> 8);
}

static void put_wide(struct buf *b, const char *text)
{
    for (; *text != '\0'; text++)
        buf_put_le16(b, (uint16_t)(unsigned char)*text);
}

/* The variable part: names that a fuzzer would rarely find, or bytes of the input. */
static void put_tail(struct world *w, struct buf *b, uint16_t command)
{
    static const char *const names[] = {"a", "b", "dir", "dir\\a", "", "dir\\b", "*", "c"};
    static const char *const shares[] = {"\\\\h\\share", "\\\\h\\IPC$", "\\\\h\\none", "x"};
    uint8_t how = next(w);
    if (command == SMB_TREE_CONNECT)
        put_wide(b, shares[how & 3]);
    else if (command == SMB_CREATE || command == SMB_QUERY_DIRECTORY)
        put_wide(b, names[how & 7]);
    else
        buf_put(b, take(w, how));
}

/* Leases and durable handles. */
static void put_contexts(struct world *w, struct buf *b)
{
    static const struct {
        const char *name;
        uint8_t bytes;
    } kinds[] = {{"RqLs", 32}, {"RqLs", 52}, {"DHnQ", 16}, {"DHnC", 16},
                 {"DH2Q", 32}, {"DH2C", 36}, {"MxAc", 0},  {"QFid", 0}};
    uint8_t count = next(w) & 3;
    while (b->n % 8 != 0)
        buf_putc(b, 0);
    size_t begin = b->n, last = b->n;
    for (uint8_t i = 0; i < count; i++) {
        uint8_t which = next(w);
        struct str data = take(w, next(w) & 15);
        size_t bytes = kinds[which & 7].bytes;
        last = b->n;
        buf_put_le32(b, i + 1 < count ? (uint32_t)((24 + bytes + 7) / 8 * 8) : 0);
        buf_put_le32(b, 16 | 4U << 16);
        buf_put_le32(b, 24U << 16);
        buf_put_le32(b, (uint32_t)bytes);
        buf_put(b, str_of(kinds[which & 7].name));
        buf_put_le32(b, 0);
        size_t at = b->n;
        for (size_t n = 0; n < bytes; n++)
            buf_putc(b, n < data.n ? data.p[n] : 0);
        if ((which & 7) == 3 || (which & 7) == 5) /* reconnects to a handle that existed */
            memcpy(b->p + at, &w->files[which >> 3 & 7].persistent, 8);
        while (i + 1 < count && b->n % 8 != 0)
            buf_putc(b, 0);
    }
    (void)last;
    if (count > 0) {
        put_le16_at(b, 48, SMB_HEADER_BYTES + begin);
        put_le16_at(b, 50, 0);
        put_le16_at(b, 52, b->n - begin);
        put_le16_at(b, 54, 0);
    }
}

static void put_body(struct world *w, struct buf *b, uint16_t command)
{
    const struct shape *shape = &SHAPES[command];
    struct str fixed = take(w, shape->bytes < 4 ? 0 : next(w) % shape->bytes);
    buf_put_le16(b, SMB_COMMANDS[command].body_bytes);
    buf_put(b, fixed);
    while (b->n < shape->bytes)
        buf_putc(b, 0);
    b->n = shape->bytes;
    if (shape->id_at != 0) {
        uint8_t which = next(w);
        struct smb_file_id id =
            which == 255 ? (struct smb_file_id){UINT64_MAX, UINT64_MAX} : w->files[which % FILES];
        memcpy(b->p + shape->id_at, &id.persistent, 8);
        memcpy(b->p + shape->id_at + 8, &id.fleeting, 8);
    }
    if (shape->offset_at != 0) {
        size_t begin = b->n;
        put_le16_at(b, shape->offset_at, SMB_HEADER_BYTES + begin);
        put_tail(w, b, command);
        put_le16_at(b, shape->length_at, b->n - begin);
    }
    if (command == SMB_CREATE)
        put_contexts(w, b);
}

/* Flags of a command: 1 related, 2 another session's id, 4 another tree, 8 the signature is wrong.
 */
static void put_command(struct world *w, struct client *c, struct buf *message, uint8_t protect)
{
    uint16_t command = next(w) % SMB_COMMAND_COUNT;
    uint8_t flags = next(w);
    struct buf body = buf_heap();
    struct smb_header h = header_of(c, command);
    size_t begin = message->n;
    h.flags = (flags & 1) != 0 && begin > 0 ? SMB_FLAG_RELATED : 0;
    if ((flags & 2) != 0)
        h.session_id = w->user_count == 0 ? 7 : w->users[(flags >> 4) % w->user_count].session;
    h.tree_id = (flags & 4) != 0 ? flags >> 4 : c->tree;
    if (command == SMB_CANCEL && (flags & 0x40) != 0)
        h.message_id -= flags >> 4 & 3;
    put_body(w, &body, command);
    smb_header_put(message, &h);
    buf_put(message, buf_str(&body));
    buf_release(&body);
    bool own = c->keys != NULL && h.session_id == c->keys->session;
    if (protect == 2 && own && h.message_id < IDS)
        c->proved[h.message_id] = true;
}

/* Links the commands, then signs each: the padding is signed, too. */
static void sign_commands(struct client *c, struct buf *message, const size_t *begins,
                          unsigned count, uint8_t wrong)
{
    for (unsigned i = 0; i < count; i++) {
        char *packet = message->p + begins[i];
        size_t n = (i + 1 < count ? begins[i + 1] : message->n) - begins[i];
        struct smb_header h;
        require(smb_header_read((struct str){packet, n}, &h));
        smb_user_sign(&c->keys->user, packet, n);
        if ((wrong >> i & 1) != 0)
            packet[50] ^= 1;
        else if (h.message_id < IDS)
            c->proved[h.message_id] = true;
    }
}

/* protect: 0 plain, 1 signed, 2 encrypted, 3 encrypted with another session's key. */
static void step_commands(struct world *w, struct client *c)
{
    uint8_t how = next(w), protect = how & 3;
    uint8_t wrong = (how & 0x80) != 0 ? next(w) : 0;
    unsigned count = 1 + (how >> 2) % COMPOUND_MAX;
    struct buf message = buf_heap(), sealed = buf_heap();
    size_t begins[COMPOUND_MAX];
    if (c->fd < 0)
        return;
    if (c->keys == NULL || (protect >= 2 && c->session_keys->user.sealer == NULL))
        protect = 0;
    for (unsigned i = 0; i < count; i++) {
        while (message.n % 8 != 0)
            buf_putc(&message, 0);
        if (i > 0)
            put_le16_at(&message, begins[i - 1] + 20, message.n - begins[i - 1]);
        begins[i] = message.n;
        put_command(w, c, &message, protect);
    }
    if (protect == 1)
        sign_commands(c, &message, begins, count, wrong);
    if (protect >= 2) {
        struct keys *k = protect == 3 ? &w->users[how % w->user_count] : c->session_keys;
        bool can = k->user.sealer != NULL;
        smb_user_seal(can ? &k->user : &c->session_keys->user, k->session, buf_str(&message),
                      &sealed);
        if ((wrong & 1) != 0)
            sealed.p[wrong % sealed.n] ^= 4;
    }
    struct str answer;
    send_framed(c, buf_str(protect >= 2 ? &sealed : &message));
    if (!await(w, c, c->message_id - 1, &answer)) {
        struct pollfd state = {.fd = c->fd, .events = POLLIN};
        char byte;
        if (poll(&state, 1, 0) == 1 && recv(c->fd, &byte, 1, MSG_PEEK) <= 0)
            hang_up(c);
    }
    buf_release(&message);
    buf_release(&sealed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct world w; /* too large for the stack */
    memset(&w, 0, sizeof w);
    w.program = reader_of((struct str){(const char *)data, size});
    begin(&w);
    for (unsigned i = 0; i < STEPS_MAX && w.program.n > 0; i++) {
        uint8_t step = next(&w);
        struct client *c = &w.clients[step & 3];
        switch (step >> 2 & 7) {
        case 0:
            step_connect(&w, c);
            break;
        case 1:
            step_log_in(&w, c, NULL);
            break;
        case 2:
            step_log_in(&w, c, &w.clients[step >> 5 & 3]);
            break;
        case 3:
            hang_up(c);
            break;
        case 4:
            step_accounts(&w);
            break;
        default:
            step_commands(&w, c);
            break;
        }
    }
    end(&w);
    return 0;
}
