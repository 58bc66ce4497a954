/* SPDX-License-Identifier: Apache-2.0 */
/* Sends any bytes as an SMB client to a whole server in memory.
 *
 * First byte even: before authentication, the bytes go to the socket as they are. Odd: in a session
 * that has a share and IPC$ connected, the bytes are records of commands (command, flags, length,
 * body), from which the driver makes well-formed compounds, so that the fuzzer reaches the bodies.
 * Related commands use the file of the preceding CREATE. */
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/mem.h"
#include "service/file/keys.h"
#include "smb/commands/session.h"
#include "smb/message.h"
#include "smb_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { TURNS_MAX = 20000, COMMANDS_MAX = 16, SESSION_ID = 7, CREDITS = 4096, ZEROS_MAX = 1 << 20 };

static const char ZEROS[4096];

struct world {
    struct loop_task task; /* first: checks at every turn of the loop */
    struct smb_fuzz_world on;
    struct smb_conn *conn;
    int client;
    unsigned turns;
    bool shut;
};

static void begin(struct world *w)
{
    *w = (struct world){0};
    smb_fuzz_begin(&w->on);
    int ends[2];
    struct sockaddr_storage peer = {.ss_family = AF_INET};
    require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    w->client = ends[1];
    w->conn = smb_conn_open(w->on.server, w->on.loop, ends[0], &peer);
    require(w->conn != NULL);
}

static void end(struct world *w)
{
    (void)close(w->client);
    smb_fuzz_end(&w->on);
}

/* ---- a session without a key ---- */

static struct smb_tree *add_tree(struct smb_session *s, bool pipe)
{
    struct smb_tree *t = MEM_NEW(struct smb_tree);
    t->session = s;
    t->refs = 1;
    t->id = ++s->last_tree_id;
    t->pipe = pipe;
    t->next = s->trees;
    s->trees = t;
    s->tree_count++;
    return t;
}

static void authenticate(struct world *w)
{
    struct arena a;
    arena_init(&a, 1 << 20);
    struct str partition = file_partition(&a, STR("acct"), STR("share"));
    struct smb_session *s = MEM_NEW(struct smb_session);
    s->server = w->on.server;
    s->loop = w->on.loop;
    s->id = SESSION_ID;
    s->refs = 1;
    s->established = true;
    memcpy(s->account, "acct", 5);
    smb_channel_new(w->conn, s)->bound = true;
    w->conn->dialect = SMB_DIALECT_302;
    smb_conn_proved(w->conn);
    (void)smb_window_grant(&w->conn->window, CREDITS);
    struct smb_tree *disk = add_tree(s, false);
    char *bytes = mem_alloc(partition.n);
    memcpy(bytes, partition.p, partition.n);
    disk->partition = (struct str){bytes, partition.n};
    disk->incarnation = w->on.incarnation;
    (void)add_tree(s, true);
    arena_release(&a);
}

/* ---- what is sent ---- */

static void send_framed(struct world *w, struct str message)
{
    unsigned char head[4] = {0, (unsigned char)(message.n >> 16), (unsigned char)(message.n >> 8),
                             (unsigned char)message.n};
    (void)!write(w->client, head, sizeof head);
    (void)!write(w->client, message.p, message.n);
}

/* Record: command, flags (1: related, 2: ends the message, 4: the pipe's tree, 8: a great many
 * zeros behind it, as much as the socket takes), length, body. */
static void send_records(struct world *w, struct str input)
{
    struct reader r = reader_of(input);
    struct buf message = buf_heap();
    uint64_t id = 0;
    size_t last = 0;
    while (r.n > 0 && id < COMMANDS_MAX) {
        struct smb_header h = {.credit_charge = 1, .credits = 1, .message_id = id++};
        h.command = read_u8(&r) % SMB_COMMAND_COUNT;
        uint8_t flags = read_u8(&r);
        struct str body = read_raw(&r, read_le16(&r) % 512);
        bool first = message.n == 0;
        h.flags = !first && (flags & 1) != 0 ? SMB_FLAG_RELATED : 0;
        h.tree_id = (flags & 4) != 0 ? 2 : 1;
        h.session_id = SESSION_ID;
        last = message.n;
        smb_header_put(&message, &h);
        buf_put_le16(&message, SMB_COMMANDS[h.command].body_bytes);
        buf_put(&message, body);
        for (unsigned i = 0; (flags & 8) != 0 && i < ZEROS_MAX / sizeof ZEROS; i++)
            buf_put(&message, (struct str){ZEROS, sizeof ZEROS});
        while (message.n % 8 != 0)
            buf_putc(&message, 0);
        bool ends = (flags & 2) != 0 || r.n == 0 || id == COMMANDS_MAX;
        uint32_t next = ends ? 0 : (uint32_t)(message.n - last);
        for (unsigned i = 0; i < 4; i++)
            message.p[last + 20 + i] = (char)(next >> (8 * i));
        if (ends) {
            send_framed(w, buf_str(&message));
            buf_clear(&message);
        }
    }
    buf_release(&message);
}

/* ---- running until nothing is left ---- */

static void look(struct loop_task *task)
{
    struct world *w = (struct world *)task;
    char answers[4096];
    while (recv(w->client, answers, sizeof answers, MSG_DONTWAIT) > 0)
        ;
    if (smb_server_connections(w->on.server) == 0) {
        loop_stop(w->on.loop);
        return;
    }
    /* The connection lives while it is counted. Requests that wait for ever end when it is cut. */
    bool idle = w->conn->under_way == 0;
    if (!w->shut && ++w->turns > 4 && (idle || w->turns > TURNS_MAX)) {
        (void)shutdown(w->client, SHUT_WR);
        w->shut = true;
    }
    loop_post(w->on.loop, &w->task);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w;
    struct str input = {(const char *)data, size};
    if (size < 2)
        return 0;
    begin(&w);
    if (data[0] % 2 == 0) {
        (void)!write(w.client, data + 1, size - 1);
    } else {
        authenticate(&w);
        send_records(&w, str_from(input, 1));
    }
    w.task.run = look;
    loop_post(w.on.loop, &w.task);
    loop_run(w.on.loop);
    end(&w);
    return 0;
}
