/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/server.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/container.h"
#include "core/log.h"
#include "core/mem.h"
#include "net/address_count.h"
#include "net/listener.h"
#include "smb/bind.h"
#include "smb/commands/session.h"
#include "smb/drive.h"
#include "smb/open.h"
#include "smb/persist.h"
#include "smb/transport/away.h"
#include "smb/transport/clients.h"
#include "smb/transport/conn.h"
#include "smb/tunnel.h"

enum { CONNECTIONS_MAX = 4096 };

/* The server's state for one loop. */
struct smb_worker {
    struct listener listener; /* first, because it is passed back */
    struct smb_server *server;
    struct loop *loop;
    struct smb_conn *conns;
    struct smb_blocks blocks;
    atomic_uint calls; /* posted to handles of this loop and not run yet (open.c) */
    bool listening;
    bool draining;
    struct loop_task drain;
    struct loop_task look; /* checks that the sessions' keys still belong to the accounts */
    atomic_bool looks;     /* it is posted */
    struct loop_task move_out;
    atomic_bool moves_out; /* it is posted */
};

struct smb_server {
    struct smb_world world;
    struct smb_options options;
    struct smb_opens *opens;
    struct smb_cards *cards;
    struct smb_clients *clients;
    struct smb_tunnel *tunnel;
    struct guid guid;
    atomic_uint connections_max;
    atomic_uint connections_per_address;
    atomic_uint connection_count;
    atomic_uint session_count;
    _Atomic uint64_t requests[SMB_USAGE_COMMANDS];
    _Atomic uint64_t failures[SMB_USAGE_COMMANDS];
    _Atomic uint64_t bytes_in, bytes_out, logons_refused, breaks;
    atomic_size_t early_bytes;
    atomic_size_t undrained;
    void (*drained)(void *arg);
    void *drained_arg;
    struct loop_task drained_task;
    struct accounts_listener listener;
    struct smb_worker workers[];
};

void smb_server_limit(struct smb_server *s, unsigned connections_max,
                      unsigned connections_per_address)
{
    atomic_store(&s->connections_max, connections_max);
    atomic_store(&s->connections_per_address, connections_per_address);
}

/* ---- keys that the account no longer has ---- */

/* Ending a session may end connections, so the search restarts after each one. */
static bool end_one(struct smb_worker *w)
{
    for (const struct smb_conn *c = w->conns; c != NULL; c = c->next)
        for (struct smb_channel *one = c->channels; one != NULL; one = one->next)
            if (!smb_channel_stands(one))
                return true;
    return false;
}

static void look_at_keys(struct loop_task *task)
{
    struct smb_worker *w = CONTAINER_OF(task, struct smb_worker, look);
    atomic_store(&w->looks, false);
    while (end_one(w))
        ;
    if (w->loop == w->server->world.loops[0])
        smb_durable_look(w->server);
}

/* On any thread. Requests check for themselves (smb_channel_stands); this covers handles of idle
 * clients. */
static void accounts_changed(struct accounts_listener *listener)
{
    struct smb_server *s = CONTAINER_OF(listener, struct smb_server, listener);
    for (size_t i = 0; i < s->world.loop_count; i++) {
        struct smb_worker *w = &s->workers[i];
        if (!atomic_exchange(&w->looks, true))
            loop_post(w->loop, &w->look);
    }
}

struct err smb_server_new(const struct smb_world *world, const struct smb_options *options,
                          struct smb_server **out)
{
    struct smb_server *s = mem_calloc(1, sizeof *s + world->loop_count * sizeof(struct smb_worker));
    s->world = *world;
    s->options = *options;
    if (s->options.connections_max == 0)
        s->options.connections_max = CONNECTIONS_MAX;
    smb_server_limit(s, s->options.connections_max, s->options.connections_per_address);
    if (s->options.early_bytes_max == 0)
        s->options.early_bytes_max = SMB_EARLY_BYTES_MAX;
    if (s->options.away_bytes_min == 0)
        s->options.away_bytes_min = SMB_AWAY_BYTES_MIN;
    if (s->options.early_ms == 0)
        s->options.early_ms = SMB_EARLY_MS;
    s->opens = smb_opens_new(s);
    s->cards = smb_cards_new();
    s->clients = smb_clients_new();
    s->tunnel = smb_tunnel_new();
    s->guid = guid_random();
    for (size_t i = 0; i < world->loop_count; i++) {
        s->workers[i].server = s;
        s->workers[i].loop = world->loops[i];
        s->workers[i].look.run = look_at_keys;
    }
    *out = s;
    s->listener.changed = accounts_changed;
    accounts_listen(world->accounts, &s->listener);
    return options->waits_for_home ? OK : smb_persist_restore(s);
}

const struct smb_options *smb_server_options(const struct smb_server *s)
{
    return &s->options;
}

const struct smb_world *smb_server_world(const struct smb_server *s)
{
    return &s->world;
}

struct smb_cards *smb_server_cards(const struct smb_server *s)
{
    return s->cards;
}

struct smb_clients *smb_server_clients(const struct smb_server *s)
{
    return s->clients;
}

struct smb_tunnel *smb_server_tunnel(const struct smb_server *s)
{
    return s->tunnel;
}

struct smb_opens *smb_server_opens(const struct smb_server *s)
{
    return s->opens;
}

const struct guid *smb_server_guid(const struct smb_server *s)
{
    return &s->guid;
}

int64_t smb_server_now(const struct smb_server *s)
{
    return store_now(s->world.store);
}

/* ---- connections ---- */

static void close_all(struct smb_worker *w)
{
    for (struct smb_conn *c = w->conns, *next; c != NULL; c = next) {
        next = c->next; /* closing may free c */
        smb_conn_close(c);
    }
}

static void tell_drained(struct loop_task *task)
{
    struct smb_server *s = CONTAINER_OF(task, struct smb_server, drained_task);
    s->drained(s->drained_arg);
}

/* A cut connection lives until its work is done. */
static void check_drained(struct smb_worker *w)
{
    struct smb_server *s = w->server;
    if (!w->draining || w->conns != NULL)
        return;
    w->draining = false;
    if (atomic_fetch_sub(&s->undrained, 1) == 1) {
        s->drained_task.run = tell_drained;
        loop_post(s->world.loops[0], &s->drained_task);
    }
}

/* The loop must be one of the server's. */
static struct smb_worker *worker_of(struct smb_server *s, const struct loop *loop)
{
    size_t i = 0;
    while (s->workers[i].loop != loop) {
        i++;
        assert(i < s->world.loop_count);
    }
    return &s->workers[i];
}

struct smb_blocks *smb_server_blocks(struct smb_server *s, const struct loop *loop)
{
    return &worker_of(s, loop)->blocks;
}

atomic_uint *smb_server_calls(struct smb_server *s, const struct loop *loop)
{
    return &worker_of(s, loop)->calls;
}

unsigned smb_server_connections(struct smb_server *s)
{
    return atomic_load(&s->connection_count);
}

static void add(_Atomic uint64_t *to, uint64_t n)
{
    (void)atomic_fetch_add_explicit(to, n, memory_order_relaxed);
}

void smb_server_count_break(struct smb_server *s)
{
    add(&s->breaks, 1);
}

void smb_server_count(struct smb_server *s, const struct smb_request *q, bool failed)
{
    unsigned command = q->header.command;
    add(&s->bytes_in, q->packet.n);
    add(&s->bytes_out, q->out.n);
    if (q->status == STATUS_LOGON_FAILURE)
        add(&s->logons_refused, 1);
    if (command >= SMB_USAGE_COMMANDS)
        return;
    add(&s->requests[command], 1);
    if (failed)
        add(&s->failures[command], 1);
}

void smb_server_count_session(struct smb_server *s, bool began)
{
    if (began)
        (void)atomic_fetch_add_explicit(&s->session_count, 1, memory_order_relaxed);
    else
        (void)atomic_fetch_sub_explicit(&s->session_count, 1, memory_order_relaxed);
}

void smb_server_usage(struct smb_server *s, struct smb_usage *out)
{
    out->connections = atomic_load(&s->connection_count);
    out->sessions = atomic_load(&s->session_count);
    out->bytes_in = atomic_load(&s->bytes_in);
    out->bytes_out = atomic_load(&s->bytes_out);
    out->logons_refused = atomic_load(&s->logons_refused);
    out->breaks = atomic_load(&s->breaks);
    for (unsigned i = 0; i < SMB_USAGE_COMMANDS; i++) {
        out->requests[i] = atomic_load_explicit(&s->requests[i], memory_order_relaxed);
        out->failures[i] = atomic_load_explicit(&s->failures[i], memory_order_relaxed);
    }
}

bool smb_server_count_early(struct smb_server *s, size_t now, size_t before)
{
    return atomic_fetch_add(&s->early_bytes, now - before) + now - before <=
           s->options.early_bytes_max;
}

unsigned smb_server_early_ms(const struct smb_server *s)
{
    return s->options.early_ms;
}

/* The list begins with the newest. */
struct smb_conn *smb_server_oldest_stranger(struct smb_server *s, const struct loop *loop)
{
    struct smb_conn *oldest = NULL;
    for (struct smb_conn *c = worker_of(s, loop)->conns; c != NULL; c = c->next)
        if (!c->proved && !c->closed && c->moving == NULL)
            oldest = c;
    assert(oldest != NULL);
    return oldest;
}

void smb_server_remember(struct smb_server *s, struct smb_conn *c)
{
    struct smb_worker *w = worker_of(s, c->loop);
    c->next = w->conns;
    if (w->conns != NULL)
        w->conns->previous = c;
    w->conns = c;
    (void)atomic_fetch_add(&s->connection_count, 1);
}

void smb_server_forget(struct smb_server *s, struct smb_conn *c)
{
    struct smb_worker *w = worker_of(s, c->loop);
    if (c->previous != NULL)
        c->previous->next = c->next;
    else
        w->conns = c->next;
    if (c->next != NULL)
        c->next->previous = c->previous;
    (void)atomic_fetch_sub(&s->connection_count, 1);
    check_drained(w);
}

/* A session may be on any loop: each loop searches its sessions, and the last one reports. */
struct end_session {
    struct smb_request *q; /* that waits for it */
    uint64_t id;
    const char *account; /* of the request's session */
    atomic_size_t left;
    struct end_here {
        struct loop_task task;
        struct smb_worker *worker;
        struct end_session *all;
    } here[];
};

static struct smb_session *session_of(const struct smb_worker *w, uint64_t id)
{
    struct smb_session *found = NULL;
    for (const struct smb_conn *c = w->conns; c != NULL && found == NULL; c = c->next)
        found = smb_session_find(c, id);
    return found != NULL && found->established ? found : NULL;
}

struct smb_session *smb_server_session_on(struct smb_server *s, const struct loop *loop,
                                          uint64_t id)
{
    return session_of(worker_of(s, loop), id);
}

static void ended_everywhere(struct smb_request *q, struct err outcome)
{
    (void)outcome.code; /* all loops are done, even if the client has gone */
    smb_complete(q, STATUS_SUCCESS);
}

/* False, because all loops will call back. */
static bool cannot_take_back(struct smb_request *q)
{
    (void)q;
    return false;
}

static void end_session_here(struct loop_task *task)
{
    struct end_here *here = (struct end_here *)task;
    struct end_session *e = here->all;
    struct smb_session *session = session_of(here->worker, e->id);
    if (session != NULL && strcmp(session->account, e->account) == 0)
        smb_session_end(session);
    if (atomic_fetch_sub(&e->left, 1) > 1)
        return;
    run_wake(&e->q->run);
    free(e);
}

void smb_server_end_session(struct smb_request *q, uint64_t id)
{
    struct smb_server *s = q->conn->server;
    size_t count = s->world.loop_count;
    struct end_session *e = mem_calloc(1, sizeof *e + count * sizeof e->here[0]);
    e->q = q;
    e->id = id;
    e->account = q->session->account;
    atomic_init(&e->left, count);
    for (size_t i = 0; i < count; i++) {
        e->here[i] =
            (struct end_here){.task.run = end_session_here, .worker = &s->workers[i], .all = e};
        loop_post(s->workers[i].loop, &e->here[i].task);
    }
    static const struct smb_wait ALL_LOOPS = {.quiet = true, .take_back = cannot_take_back};
    smb_wait_for(q, &ALL_LOOPS, ended_everywhere);
}

/* ---- listening ---- */

static void worker_take(struct smb_worker *w, int fd, const struct sockaddr_storage *peer)
{
    if (atomic_load(&w->server->connection_count) >= atomic_load(&w->server->connections_max)) {
        (void)close(fd);
        return;
    }
    struct address_counts *addresses = w->server->world.addresses;
    if (addresses != NULL &&
        !address_counts_add(addresses, peer, atomic_load(&w->server->connections_per_address))) {
        (void)close(fd);
        return;
    }
    struct smb_conn *c = smb_conn_open(w->server, w->loop, fd, peer);
    if (c != NULL)
        c->counted = addresses != NULL;
    else if (addresses != NULL)
        address_counts_drop(addresses, peer);
}

static void listener_take(struct listener *base, int fd, const struct sockaddr_storage *peer)
{
    struct smb_worker *w = (struct smb_worker *)base;
    const struct smb_world *world = &w->server->world;
    if (world->diverts == NULL || !world->diverts(world->diverts_arg, w->loop, fd, peer))
        worker_take(w, fd, peer);
}

void smb_server_take(struct smb_server *s, struct loop *loop, int fd,
                     const struct sockaddr_storage *peer)
{
    worker_take(worker_of(s, loop), fd, peer);
}

struct err smb_server_listen(struct smb_server *s, const char *host, uint16_t port,
                             uint16_t *port_out)
{
    struct listener_address place;
    TRY(listener_resolve(host, port, &place));
    for (size_t i = 0; i < s->world.loop_count; i++) {
        struct smb_worker *w = &s->workers[i];
        w->listener = (struct listener){.loop = w->loop, .take = listener_take};
        TRY(listener_open(&w->listener, i == 0, &place));
        w->listening = true;
    }
    *port_out = listener_port(&place);
    return OK;
}

/* ---- gaining and losing the open files ---- */

struct err smb_server_move_in(struct smb_server *s)
{
    return smb_persist_restore(s);
}

static void move_out_here(struct loop_task *task)
{
    struct smb_worker *w = CONTAINER_OF(task, struct smb_worker, move_out);
    atomic_store(&w->moves_out, false);
    close_all(w);
    if (w->loop == w->server->world.loops[0])
        smb_durable_abandon(w->server);
}

void smb_server_move_out(struct smb_server *s)
{
    for (size_t i = 0; i < s->world.loop_count; i++) {
        struct smb_worker *w = &s->workers[i];
        if (atomic_exchange(&w->moves_out, true))
            continue;
        w->move_out.run = move_out_here;
        loop_post(w->loop, &w->move_out);
    }
}

/* ---- the end ---- */

static void drain_here(struct loop_task *task)
{
    struct smb_worker *w = CONTAINER_OF(task, struct smb_worker, drain);
    if (w->listening) {
        listener_close(&w->listener);
        w->listening = false;
    }
    w->draining = true;
    close_all(w);
    check_drained(w);
}

void smb_server_drain(struct smb_server *s, void (*drained)(void *arg), void *arg)
{
    s->drained = drained;
    s->drained_arg = arg;
    atomic_store(&s->undrained, s->world.loop_count);
    smb_durable_end(s);
    for (size_t i = 0; i < s->world.loop_count; i++) {
        s->workers[i].drain.run = drain_here;
        loop_post(s->workers[i].loop, &s->workers[i].drain);
    }
}

void smb_server_free(struct smb_server *s)
{
    accounts_unlisten(s->world.accounts, &s->listener);
    smb_durable_end(s);
    for (size_t i = 0; i < s->world.loop_count; i++) {
        close_all(&s->workers[i]);
        if (s->workers[i].listening)
            listener_close(&s->workers[i].listener);
        smb_blocks_release(&s->workers[i].blocks);
    }
    smb_opens_free(s->opens);
    smb_cards_free(s->cards);
    smb_tunnel_free(s->tunnel);
    smb_clients_free(s->clients);
    free(s);
}
