/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/forward.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "core/container.h"
#include "core/log.h"
#include "core/mem.h"
#include "http/server.h"
#include "net/listener.h"
#include "net/relay.h"
#include "net/tls.h"
#include "smb/server.h"

enum {
    GREETING_BYTES = 27,
    WELCOME = 1,
    RETRY_MS = 200,
    FLAG_SECURE = 1,
};

#define GREETING_MAGIC "LZHOP1"

struct forward_loop {
    struct listener listener; /* first: it is handed back */
    struct forward *forward;
    struct loop *loop;
    struct passage *passages;
    struct loop_task moved;
    atomic_bool moved_posted;
    bool listening;
};

struct forward {
    struct forward_ends ends;
    struct tls *tls;
    char address[HOME_ADDRESS_MAX];
    atomic_uint count;
    size_t loop_count;
    struct forward_loop loops[];
};

/* A connection that is being forwarded, to another gateway or from one. */
struct passage {
    struct forward_loop *at;
    struct passage *previous, *next;
    bool comes; /* from another gateway */
    unsigned kind;
    bool secure;
    struct sockaddr_storage peer; /* the client */
    struct stream client;         /* of one that goes */
    struct buf bytes;             /* the bytes read so far */
    /* The other gateway. */
    struct stream other;
    struct loop_watch watch;
    bool watched;
    bool connecting;
    char greeting[GREETING_BYTES];
    size_t greeting_have; /* sent, or received */
    uint64_t epoch;       /* the home that it was forwarded to */
    struct loop_timer timer;
    int64_t until_ms;
    struct relay *relay;
};

static void attempt(struct passage *p);

/* ---- passages ---- */

static struct passage *passage_new(struct forward_loop *at, unsigned kind)
{
    struct forward *h = at->forward;
    if (atomic_fetch_add(&h->count, 1) >= FORWARD_CONNECTIONS_MAX) {
        (void)atomic_fetch_sub(&h->count, 1);
        return NULL;
    }
    struct passage *p = MEM_NEW(struct passage);
    p->at = at;
    p->kind = kind;
    p->client.fd = p->other.fd = -1;
    p->bytes = buf_heap();
    p->next = at->passages;
    if (p->next != NULL)
        p->next->previous = p;
    at->passages = p;
    return p;
}

static void close_other(struct passage *p)
{
    if (p->watched)
        loop_watch_remove(p->at->loop, &p->watch);
    p->watched = false;
    stream_close(&p->other, true);
}

static void passage_free(struct passage *p)
{
    struct forward_loop *at = p->at;
    loop_timer_cancel(at->loop, &p->timer);
    close_other(p);
    stream_close(&p->client, false);
    buf_release(&p->bytes);
    if (p->previous != NULL)
        p->previous->next = p->next;
    else
        at->passages = p->next;
    if (p->next != NULL)
        p->next->previous = p->previous;
    (void)atomic_fetch_sub(&at->forward->count, 1);
    free(p);
}

static void relay_ended(void *arg, struct relay *r)
{
    struct passage *p = arg;
    (void)r;
    p->relay = NULL;
    passage_free(p);
}

static void join(struct passage *p, struct stream *near, struct stream *far)
{
    struct relay_ends ends = {.near = near, .far = far, .bytes = buf_str(&p->bytes)};
    loop_timer_cancel(p->at->loop, &p->timer);
    p->relay = relay_new(p->at->loop, &ends, relay_ended, p);
    buf_release(&p->bytes);
    p->bytes = buf_heap();
}

/* ---- to the front ends of this gateway ---- */

static bool is_served(const struct forward *h, unsigned kind)
{
    return kind == FORWARD_SMB ? h->ends.smb != NULL
                               : kind < FORWARD_SMB && h->ends.contexts[kind] != NULL;
}

/* Gives a front end its side of a pair of sockets; the other is *out. */
static bool open_front(struct passage *p, struct stream *out)
{
    struct forward *h = p->at->forward;
    int pair[2];
    if (!is_served(h, p->kind) ||
        socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) != 0)
        return false;
    stream_init(out, pair[0], NULL);
    if (p->kind == FORWARD_SMB) {
        smb_server_take(h->ends.smb, p->at->loop, pair[1], &p->peer);
        return true;
    }
    struct http_relayed from = {
        .peer = &p->peer, .secure = p->secure, .listener_context = h->ends.contexts[p->kind]};
    http_server_take(h->ends.http, p->at->loop, pair[1], &from);
    return true;
}

/* ---- greetings ---- */

static void greeting_put(struct passage *p)
{
    char *g = p->greeting;
    memset(g, 0, sizeof p->greeting);
    memcpy(g, GREETING_MAGIC, 6);
    g[6] = (char)p->kind;
    g[7] = p->secure ? FLAG_SECURE : 0;
    if (p->peer.ss_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&p->peer;
        g[8] = 6;
        memcpy(g + 9, &six->sin6_addr, 16);
        memcpy(g + 25, &six->sin6_port, 2);
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)&p->peer;
        g[8] = 4;
        memcpy(g + 9, &four->sin_addr, 4);
        memcpy(g + 25, &four->sin_port, 2);
    }
}

static bool greeting_read(struct passage *p)
{
    const char *g = p->greeting;
    if (memcmp(g, GREETING_MAGIC, 6) != 0 || (unsigned char)g[6] >= FORWARD_KINDS ||
        (g[8] != 4 && g[8] != 6))
        return false;
    p->kind = (unsigned char)g[6];
    p->secure = (g[7] & FLAG_SECURE) != 0;
    if (g[8] == 6) {
        struct sockaddr_in6 *six = (struct sockaddr_in6 *)&p->peer;
        six->sin6_family = AF_INET6;
        memcpy(&six->sin6_addr, g + 9, 16);
        memcpy(&six->sin6_port, g + 25, 2);
    } else {
        struct sockaddr_in *four = (struct sockaddr_in *)&p->peer;
        four->sin_family = AF_INET;
        memcpy(&four->sin_addr, g + 9, 4);
        memcpy(&four->sin_port, g + 25, 2);
    }
    return true;
}

/* ---- to another gateway ---- */

/* Gives up a gateway that cannot be reached: an HTTP client gets a 503, and the connection is
 * closed. */
static void give_up(struct passage *p)
{
    static const char BUSY[] = "HTTP/1.1 503 ServerBusy\r\nx-ms-error-code: ServerBusy\r\n"
                               "Content-Length: 0\r\nConnection: close\r\n\r\n";
    struct iovec part = {(void *)(uintptr_t)BUSY, sizeof BUSY - 1};
    if (p->kind != FORWARD_SMB && p->client.fd >= 0)
        (void)stream_send(&p->client, &part, 1, false);
    passage_free(p);
}

static void try_later(struct passage *p)
{
    close_other(p);
    loop_timer_set(p->at->loop, &p->timer, RETRY_MS);
}

static void on_timer(struct loop_timer *timer)
{
    struct passage *p = CONTAINER_OF(timer, struct passage, timer);
    close_other(p);
    if (p->comes)
        passage_free(p);
    else if (loop_now_ms(p->at->loop) >= p->until_ms)
        give_up(p);
    else
        attempt(p);
}

/* Sends the rest of the greeting, and receives its answer. */
static void greet(struct passage *p)
{
    while (p->greeting_have < GREETING_BYTES && p->other.may_send) {
        struct iovec part = {p->greeting + p->greeting_have, GREETING_BYTES - p->greeting_have};
        ssize_t sent = stream_send(&p->other, &part, 1, false);
        if (sent == STREAM_AGAIN)
            return;
        if (sent < 0) {
            try_later(p);
            return;
        }
        p->greeting_have += (size_t)sent;
    }
    char answer;
    ssize_t got = p->other.may_recv ? stream_recv(&p->other, &answer, 1) : STREAM_AGAIN;
    if (got == STREAM_AGAIN)
        return;
    if (got != 1 || answer != WELCOME) {
        try_later(p);
        return;
    }
    loop_watch_remove(p->at->loop, &p->watch);
    p->watched = false;
    join(p, &p->client, &p->other);
}

static void other_ready(struct loop_watch *watch, uint32_t events)
{
    struct passage *p = CONTAINER_OF(watch, struct passage, watch);
    int error = 0;
    socklen_t size = sizeof error;
    stream_note(&p->other, events);
    if (p->connecting) {
        if ((events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) == 0)
            return;
        p->connecting = false;
        if (getsockopt(p->other.fd, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error != 0) {
            try_later(p);
            return;
        }
    }
    greet(p);
}

/* "ADDRESS:PORT", numeric. */
static bool address_read(const char *text, struct sockaddr_storage *out, socklen_t *length)
{
    char host[HOME_ADDRESS_MAX];
    const char *colon = strrchr(text, ':');
    struct str all = str_of(text);
    uint64_t port;
    if (colon == NULL || !str_to_u64(str_of(colon + 1), &port) || port == 0 || port > 65535)
        return false;
    struct str name = str_head(all, (size_t)(colon - text));
    if (name.n >= 2 && name.p[0] == '[')
        name = str_head(str_from(name, 1), name.n - 2);
    if (name.n >= sizeof host)
        return false;
    memcpy(host, name.p, name.n);
    host[name.n] = '\0';
    *out = (struct sockaddr_storage){0};
    struct sockaddr_in *four = (struct sockaddr_in *)out;
    struct sockaddr_in6 *six = (struct sockaddr_in6 *)out;
    if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
        four->sin_family = AF_INET;
        four->sin_port = htons((uint16_t)port);
        *length = sizeof *four;
        return true;
    }
    six->sin6_family = AF_INET6;
    six->sin6_port = htons((uint16_t)port);
    *length = sizeof *six;
    return inet_pton(AF_INET6, host, &six->sin6_addr) == 1;
}

static bool connect_other(struct passage *p, const char *address)
{
    struct sockaddr_storage to;
    socklen_t length;
    int yes = 1;
    if (!address_read(address, &to, &length))
        return false;
    int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    bool begun = connect(fd, (const struct sockaddr *)&to, length) == 0 || errno == EINPROGRESS;
    if (!begun || !stream_init_secure(&p->other, fd, p->at->forward->tls)) {
        p->other.fd = fd;
        close_other(p);
        return false;
    }
    p->connecting = true;
    p->greeting_have = 0;
    p->watch = (struct loop_watch){.ready = other_ready, .fd = fd};
    p->watched =
        !err_is(loop_watch_add(p->at->loop, &p->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET));
    return p->watched;
}

static void attempt(struct passage *p)
{
    struct home_where where;
    struct stream front;
    home_where(p->at->forward->ends.home, &where);
    p->epoch = where.epoch;
    if (where.location == HOME_HERE && open_front(p, &front)) {
        join(p, &p->client, &front);
        return;
    }
    greeting_put(p);
    if (where.location == HOME_THERE && connect_other(p, where.address))
        loop_timer_set(p->at->loop, &p->timer, FORWARD_GREETING_MS);
    else
        try_later(p);
}

static struct forward_loop *at_loop(struct forward *h, const struct loop *loop)
{
    size_t i = 0;
    while (h->loops[i].loop != loop && i + 1 < h->loop_count)
        i++;
    return &h->loops[i];
}

static void send_on(struct passage *p)
{
    p->timer.fire = on_timer;
    p->until_ms = loop_now_ms(p->at->loop) + FORWARD_PATIENCE_MS;
    attempt(p);
}

bool forward_divert_smb(void *arg, struct loop *loop, int fd, const struct sockaddr_storage *peer)
{
    struct forward *h = arg;
    int yes = 1;
    if (home_holds(h->ends.home))
        return false;
    struct passage *p = passage_new(at_loop(h, loop), FORWARD_SMB);
    if (p == NULL) {
        (void)close(fd);
        return true;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    p->peer = *peer;
    stream_init(&p->client, fd, NULL);
    send_on(p);
    return true;
}

void forward_hand_over(void *arg, struct loop *loop, const struct rest_listener *from,
                       struct http_handed *handed)
{
    struct forward *h = arg;
    struct passage *p =
        passage_new(at_loop(h, loop), from->dfs ? FORWARD_DFS : (unsigned)from->service);
    if (p == NULL) {
        stream_close(&handed->stream, true);
        buf_release(&handed->bytes);
        return;
    }
    p->peer = handed->peer;
    p->secure = handed->secure;
    p->client = handed->stream;
    p->bytes = handed->bytes;
    send_on(p);
}

/* ---- from another gateway ---- */

/* The greeting is complete. A gateway that is not the home does not answer, so the other retries.
 */
static void welcome(struct passage *p)
{
    static const char YES[] = {WELCOME};
    struct iovec part = {(void *)(uintptr_t)YES, 1};
    struct stream front;
    if (!greeting_read(p) || !home_holds(p->at->forward->ends.home) ||
        stream_send(&p->other, &part, 1, false) != 1 || !open_front(p, &front)) {
        passage_free(p);
        return;
    }
    loop_watch_remove(p->at->loop, &p->watch);
    p->watched = false;
    join(p, &p->other, &front);
}

static void comer_ready(struct loop_watch *watch, uint32_t events)
{
    struct passage *p = CONTAINER_OF(watch, struct passage, watch);
    stream_note(&p->other, events);
    while (p->greeting_have < GREETING_BYTES && p->other.may_recv) {
        ssize_t got = stream_recv(&p->other, p->greeting + p->greeting_have,
                                  GREETING_BYTES - p->greeting_have);
        if (got == STREAM_AGAIN)
            return;
        /* A peer is served only after it has proved that it knows the key. */
        if (got <= 0 || !stream_is_secure(&p->other) || stream_in_handshake(&p->other)) {
            passage_free(p);
            return;
        }
        p->greeting_have += (size_t)got;
    }
    if (p->greeting_have == GREETING_BYTES)
        welcome(p);
}

static void take(struct listener *base, int fd, const struct sockaddr_storage *peer)
{
    struct forward_loop *at = (struct forward_loop *)base;
    struct passage *p = at->forward->tls == NULL ? NULL : passage_new(at, FORWARD_KINDS);
    int yes = 1;
    (void)peer;
    if (p == NULL) {
        (void)close(fd);
        return;
    }
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    p->comes = true;
    p->timer.fire = on_timer;
    stream_init(&p->other, fd, at->forward->tls);
    p->watch = (struct loop_watch){.ready = comer_ready, .fd = fd};
    p->watched =
        !err_is(loop_watch_add(at->loop, &p->watch, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET));
    if (p->watched)
        loop_timer_set(at->loop, &p->timer, FORWARD_GREETING_MS);
    else
        passage_free(p);
}

/* ---- the home is another ---- */

static void cut_stale(struct loop_task *task)
{
    struct forward_loop *at = CONTAINER_OF(task, struct forward_loop, moved);
    struct home_where where;
    atomic_store(&at->moved_posted, false);
    home_where(at->forward->ends.home, &where);
    for (struct passage *p = at->passages; p != NULL; p = p->next) {
        if (p->comes || p->epoch == where.epoch)
            continue;
        if (p->relay != NULL) {
            relay_cut(p->relay);
        } else {
            close_other(p);
            attempt(p);
        }
    }
}

void forward_moved(struct forward *h)
{
    for (size_t i = 0; i < h->loop_count; i++)
        if (!atomic_exchange(&h->loops[i].moved_posted, true))
            loop_post(h->loops[i].loop, &h->loops[i].moved);
}

/* ---- life ---- */

/* The first address of this machine that other machines can reach. */
static bool own_address(char *out, size_t size)
{
    struct ifaddrs *all = NULL;
    bool found = false;
    if (getifaddrs(&all) != 0)
        return false;
    for (struct ifaddrs *i = all; i != NULL && !found; i = i->ifa_next) {
        if (i->ifa_addr == NULL || i->ifa_addr->sa_family != AF_INET ||
            (i->ifa_flags & IFF_LOOPBACK) != 0 || (i->ifa_flags & IFF_UP) == 0)
            continue;
        const struct sockaddr_in *four = (const struct sockaddr_in *)i->ifa_addr;
        found = inet_ntop(AF_INET, &four->sin_addr, out, (socklen_t)size) != NULL;
    }
    freeifaddrs(all);
    return found;
}

static void name_address(struct forward *h, const struct listener_address *local)
{
    char host[INET6_ADDRSTRLEN] = "";
    const struct sockaddr_in *four = (const struct sockaddr_in *)&local->address;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&local->address;
    bool is_six = local->address.ss_family == AF_INET6;
    bool any = is_six ? IN6_IS_ADDR_UNSPECIFIED(&six->sin6_addr)
                      : four->sin_addr.s_addr == htonl(INADDR_ANY);
    if (!any)
        (void)inet_ntop(local->address.ss_family,
                        is_six ? (const void *)&six->sin6_addr : (const void *)&four->sin_addr,
                        host, sizeof host);
    else if (!own_address(host, sizeof host))
        (void)snprintf(host, sizeof host, "127.0.0.1");
    bool brackets = strchr(host, ':') != NULL;
    (void)snprintf(h->address, sizeof h->address, "%s%s%s:%u", brackets ? "[" : "", host,
                   brackets ? "]" : "", (unsigned)listener_port(local));
}

struct err forward_new(const struct forward_options *options, struct forward **out)
{
    assert(out != NULL);
    struct forward *h =
        mem_calloc(1, sizeof *h + options->loop_count * sizeof(struct forward_loop));
    struct listener_address local;
    h->loop_count = options->loop_count;
    struct err error = listener_resolve(options->host, options->port, &local);
    for (size_t i = 0; i < options->loop_count && !err_is(error); i++) {
        struct forward_loop *at = &h->loops[i];
        at->forward = h;
        at->loop = options->loops[i];
        at->moved.run = cut_stale;
        at->listener = (struct listener){.loop = at->loop, .take = take};
        error = listener_open(&at->listener, i == 0, &local);
        at->listening = !err_is(error);
    }
    if (err_is(error)) {
        forward_free(h);
        return error;
    }
    name_address(h, &local);
    *out = h;
    return OK;
}

const char *forward_address(const struct forward *h)
{
    return h->address;
}

struct err forward_open(struct forward *h, const struct forward_ends *ends)
{
    h->ends = *ends;
    return tls_new_secret(home_secret(ends->home), &h->tls);
}

void forward_free(struct forward *h)
{
    if (h == NULL)
        return;
    for (size_t i = 0; i < h->loop_count; i++) {
        struct forward_loop *at = &h->loops[i];
        if (at->listening)
            listener_close(&at->listener);
        while (at->passages != NULL) {
            struct passage *p = at->passages;
            if (p->relay != NULL)
                relay_free(p->relay);
            p->relay = NULL;
            passage_free(p);
        }
    }
    tls_free(h->tls);
    free(h);
}
