/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of put, get and delete of a message on a running server, each alone, and the messages
 * per second of one queue: 64 connections, each waiting for its answer, that put, get and delete
 * one message after the other, and then 32 puts, a get of up to 32 and a delete of each of those. A
 * delete needs values from the reply to a get, which the templates of bench_load cannot pass on.
 *
 *     bench_queue_cycle PORT SERVER-PID MESSAGES-PER-CONNECTION [CONNECTIONS]
 *
 * With CONNECTIONS only the cycle of put, get and delete, as one line of JSON with the times of a
 * request. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/hash/hmac.h"
#include "core/text/base64.h"
#include "core/text/uri.h"
#include "load/histogram.h"
#include "service/account/account.h"

enum {
    CONNECTIONS = 64, /* unless told otherwise */
    CONNECTIONS_MAX = 1024,
    ANSWER_BYTES_MAX = 64 << 10,
    TEXT_BYTES = 1024,
    ID_BYTES = 36,
    GET_MAX = 32,
};

enum phase { PUT, GET, DELETE, CYCLE, CYCLE_32 };

struct message {
    char id[ID_BYTES];
    char receipt[64]; /* percent-encoded */
};

struct client {
    int fd;
    const struct bench *bench;
    struct message *messages;
    char answer[ANSWER_BYTES_MAX];
    size_t answer_n;
    uint64_t done;      /* requests of this phase, or messages in CYCLE_32 */
    uint64_t left;      /* in CYCLE_32: how many more times the current step is repeated */
    uint64_t got_count; /* messages that the last get brought */
    enum phase doing;
    struct message *at;
    int64_t sent_ns;
};

struct bench {
    uint16_t port;
    int pid;
    uint64_t each;
    int connections;
    struct histogram *times; /* of requests; NULL: not asked for */
    enum phase phase;
    struct str sas;
    char text[TEXT_BYTES + 1];
};

static void stop(const char *why)
{
    (void)fprintf(stderr, "bench_queue_cycle: %s\n", why);
    exit(1);
}

static void connect_client(struct client *c)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(c->bench->port)};
    int one = 1;
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (c->fd < 0 || connect(c->fd, (struct sockaddr *)&to, sizeof to) != 0)
        stop("cannot connect");
    (void)setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

static bool answer_whole(struct client *c)
{
    struct str all = {c->answer, c->answer_n};
    size_t head = str_find_str(all, STR("\r\n\r\n"));
    size_t at = str_find_str(str_head(all, head), STR("Content-Length: "));
    if (head == all.n)
        return false;
    if (at == head && str_find_str(str_head(all, head), STR("chunked")) < head)
        return str_ends(all, STR("\r\n0\r\n\r\n"));
    struct str rest = str_from(str_head(all, head), at + 16);
    uint64_t length = 0;
    (void)str_to_u64(str_cut(&rest, '\r'), &length);
    return all.n >= head + 4 + length;
}

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void send_request(struct client *c, const char *request, int n)
{
    c->answer_n = 0;
    c->sent_ns = c->bench->times != NULL ? now_ns() : 0;
    if (n <= 0 || write(c->fd, request, (size_t)n) != n)
        stop("short write");
}

/* Reads available bytes; returns the answer once it is complete, else absent. */
static struct str receive(struct client *c)
{
    ssize_t n = read(c->fd, c->answer + c->answer_n, sizeof c->answer - c->answer_n);
    if (n <= 0)
        stop("the server closed the connection");
    c->answer_n += (size_t)n;
    if (!answer_whole(c))
        return STR_NONE;
    if (c->answer[9] != '2')
        stop(c->answer);
    return (struct str){c->answer, c->answer_n};
}

static struct str element(struct str answer, struct str open)
{
    struct str rest = str_from(answer, str_find_str(answer, open) + open.n);
    return str_cut(&rest, '<');
}

static void put(struct client *c)
{
    char request[TEXT_BYTES + 1024];
    int n = snprintf(request, sizeof request,
                     "POST /devstoreaccount1/cycle/messages?%.*s HTTP/1.1\r\nHost: h\r\n"
                     "Content-Length: %d\r\n\r\n<QueueMessage><MessageText>%s</MessageText>"
                     "</QueueMessage>",
                     STR_ARG(c->bench->sas), TEXT_BYTES + 56, c->bench->text);
    send_request(c, request, n);
}

static void get(struct client *c)
{
    char request[1024];
    int n =
        snprintf(request, sizeof request,
                 "GET /devstoreaccount1/cycle/messages?visibilitytimeout=600&numofmessages=%d&%.*s "
                 "HTTP/1.1\r\nHost: h\r\n\r\n",
                 c->bench->phase == CYCLE_32 ? GET_MAX : 1, STR_ARG(c->bench->sas));
    send_request(c, request, n);
}

static void take_got(struct str answer, struct message *m)
{
    struct str id = element(answer, STR("<MessageId>"));
    struct str receipt = element(answer, STR("<PopReceipt>"));
    size_t used = 0;
    if (id.n != ID_BYTES)
        stop("a message without an id");
    memcpy(m->id, id.p, ID_BYTES);
    for (size_t i = 0; i < receipt.n && used + 4 < sizeof m->receipt; i++)
        used += (size_t)snprintf(m->receipt + used, 4,
                                 receipt.p[i] == '+' || receipt.p[i] == '/' ? "%%%02X" : "%c",
                                 receipt.p[i]);
}

static void delete_message(struct client *c, const struct message *m)
{
    char request[1024];
    int n = snprintf(request, sizeof request,
                     "DELETE /devstoreaccount1/cycle/messages/%.36s?popreceipt=%s&%.*s HTTP/1.1\r\n"
                     "Host: h\r\n\r\n",
                     m->id, m->receipt, STR_ARG(c->bench->sas));
    send_request(c, request, n);
}

/* All messages of an answer. */
static void take_answer(struct client *c, struct str answer)
{
    static const struct str open = STR_INIT("<QueueMessage>");
    size_t at = str_find_str(answer, open);
    c->got_count = 0;
    for (; at < answer.n && c->got_count < GET_MAX; c->got_count++) {
        answer = str_from(answer, at + open.n);
        take_got(answer, &c->at[c->got_count]);
        at = str_find_str(answer, open);
    }
    if (c->got_count == 0 && c->bench->phase == GET)
        stop("a get found nothing");
}

/* 32 puts, gets until messages arrive, a delete for each of them, and so on. False at the end of a
 * round in which the connection has reached its number of deletes. */
static bool next_of_32(struct client *c)
{
    if (c->left > 0) {
        c->left--;
    } else if (c->doing == PUT || (c->doing == GET && c->got_count == 0)) {
        c->doing = GET;
    } else if (c->doing == GET) {
        c->doing = DELETE;
        c->left = c->got_count - 1;
        c->done += c->got_count;
    } else {
        c->doing = PUT;
        c->left = GET_MAX - 1;
    }
    c->at = c->doing == DELETE ? &c->messages[c->left] : c->messages;
    return c->doing != PUT || c->done < c->bench->each;
}

static bool next_of_phase(struct client *c)
{
    bool cycle = c->bench->phase == CYCLE;
    if (cycle && c->doing == GET && c->got_count == 0)
        return true; /* another client has the message: get again */
    c->doing = !cycle ? c->bench->phase : c->done % 3 == 0 ? PUT : c->done % 3 == 1 ? GET : DELETE;
    c->at = &c->messages[cycle ? 0 : c->done];
    c->done++;
    return c->done <= (cycle ? 3 : 1) * c->bench->each;
}

/* Sends the connection's next request; false after its last one. */
static bool client_next(struct client *c)
{
    if (!(c->bench->phase == CYCLE_32 ? next_of_32(c) : next_of_phase(c)))
        return false;
    if (c->doing == PUT)
        put(c);
    else if (c->doing == GET)
        get(c);
    else
        delete_message(c, c->at);
    return true;
}

/* One thread for all connections, because waking a thread per answer would cost the server CPU
 * time. */
static void run_clients(struct client *clients, int connections)
{
    int poll = epoll_create1(EPOLL_CLOEXEC);
    int running = 0;
    for (int i = 0; i < connections; i++) {
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &clients[i]};
        if (poll < 0 || epoll_ctl(poll, EPOLL_CTL_ADD, clients[i].fd, &event) != 0)
            stop("epoll");
        clients[i].done = 0;
        clients[i].left = 0;
        clients[i].doing = DELETE; /* no step: a new round begins */
        running += client_next(&clients[i]);
    }
    while (running > 0) {
        struct epoll_event events[CONNECTIONS];
        int n = epoll_wait(poll, events, CONNECTIONS, -1);
        for (int i = 0; i < n; i++) {
            struct client *c = events[i].data.ptr;
            struct str answer = receive(c);
            if (!str_given(answer))
                continue;
            if (c->bench->times != NULL)
                histogram_add(c->bench->times, (uint64_t)(now_ns() - c->sent_ns));
            if (c->doing == GET)
                take_answer(c, answer);
            running -= !client_next(c);
        }
    }
    (void)close(poll);
}

/* User and system time of the server so far. */
static double server_us(int pid)
{
    char path[64];
    char line[1024];
    unsigned long user;
    unsigned long system;
    (void)snprintf(path, sizeof path, "/proc/%d/stat", pid);
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(line, sizeof line, file) == NULL)
        stop("no such process");
    (void)fclose(file);
    char *at = strrchr(line, ')') + 2;
    for (int i = 0; i < 11; i++)
        at = strchr(at, ' ') + 1;
    user = strtoul(at, &at, 10);
    system = strtoul(at, NULL, 10);
    return (double)(user + system) * 1e6 / (double)sysconf(_SC_CLK_TCK);
}

static void run_phase(struct bench *b, struct client *clients, enum phase phase, const char *title)
{
    double before = server_us(b->pid);
    int64_t from = clock_mono_us();
    b->phase = phase;
    run_clients(clients, b->connections);
    double n = 0;
    for (int i = 0; i < b->connections; i++)
        n += phase == CYCLE_32 ? (double)clients[i].done : (double)b->each;
    printf("| %s | %d | %.0f | %.0f | %.1f |\n", title, b->connections, n,
           n * 1e6 / (double)(clock_mono_us() - from), (server_us(b->pid) - before) / n);
    (void)fflush(stdout);
}

/* Put, get and delete of one message after the other: cycles a second, and the times of requests.
 */
static void run_cycle(struct bench *b, struct client *clients)
{
    static struct histogram times;
    double before = server_us(b->pid);
    int64_t from = now_ns();
    b->phase = CYCLE;
    b->times = &times;
    run_clients(clients, b->connections);
    double seconds = (double)(now_ns() - from) / 1e9;
    double cycles = (double)b->each * b->connections;
    printf("{\"requests\":%.0f,\"errors\":0,\"rate\":%.1f,\"p50Ms\":%.4f,\"p99Ms\":%.4f,"
           "\"p999Ms\":%.4f,\"cpuSeconds\":%.2f}\n",
           cycles, cycles / seconds, (double)histogram_at(&times, 50) / 1e6,
           (double)histogram_at(&times, 99) / 1e6, (double)histogram_at(&times, 99.9) / 1e6,
           (server_us(b->pid) - before) / 1e6);
}

/* An account SAS, so that the client does not sign each request. */
static struct str make_sas(struct arena *a)
{
    struct hmac_key key;
    struct str secret;
    unsigned char digest[32];
    if (!base64_decode(a, STR(ACCOUNT_WELL_KNOWN_KEY), &secret))
        stop("key");
    hmac_key_init(&key, secret);
    hmac_sign(&key,
              STR(ACCOUNT_WELL_KNOWN_NAME "\nrwdlacup\nq\nsco\n\n2099-01-01\n\n\n2020-12-06\n\n"),
              digest);
    struct str sig = base64_encode(a, (struct str){(const char *)digest, sizeof digest});
    struct buf out = buf_in(a);
    buf_put(&out, STR("sp=rwdlacup&ss=q&srt=sco&se=2099-01-01&sv=2020-12-06&sig="));
    uri_encode(&out, sig, URI_KEEP_NONE);
    return buf_str(&out);
}

static bool read_arguments(int argc, char **argv, struct bench *b)
{
    uint64_t port = 0;
    uint64_t pid = 0;
    uint64_t connections = CONNECTIONS;
    if (argc < 4 || !str_to_u64(str_of(argv[1]), &port) || !str_to_u64(str_of(argv[2]), &pid) ||
        !str_to_u64(str_of(argv[3]), &b->each) ||
        (argc > 4 && !str_to_u64(str_of(argv[4]), &connections)))
        return false;
    b->port = (uint16_t)port;
    b->pid = (int)pid;
    b->connections = (int)connections;
    memset(b->text, 'x', TEXT_BYTES);
    return connections > 0 && connections <= CONNECTIONS_MAX;
}

static void create_queue(struct arena *a, struct client *c)
{
    struct str create = arena_printf(
        a, "PUT /devstoreaccount1/cycle?%.*s HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
        STR_ARG(c->bench->sas));
    send_request(c, create.p, (int)create.n);
    while (!str_given(receive(c))) {
    }
}

int main(int argc, char **argv)
{
    static struct client clients[CONNECTIONS_MAX];
    static struct bench b;
    struct arena arena;
    if (!read_arguments(argc, argv, &b))
        stop("PORT SERVER-PID MESSAGES-PER-CONNECTION [CONNECTIONS]");
    arena_init(&arena, SIZE_MAX);
    b.sas = make_sas(&arena);
    for (int i = 0; i < b.connections; i++) {
        clients[i].bench = &b;
        clients[i].messages =
            ARENA_ARRAY(&arena, struct message, b.each > GET_MAX ? b.each : GET_MAX);
        connect_client(&clients[i]);
    }
    create_queue(&arena, &clients[0]);
    if (argc > 4) {
        run_cycle(&b, clients);
        return 0;
    }
    puts("| what | connections | messages | messages/s | server CPU µs |\n|---|---|---|---|---|");
    run_phase(&b, clients, PUT, "Put Message 1 KiB");
    run_phase(&b, clients, GET, "Get Messages, one each");
    run_phase(&b, clients, DELETE, "Delete Message");
    run_phase(&b, clients, CYCLE, "put, get and delete");
    run_phase(&b, clients, CYCLE_32, "the same, up to 32 messages a get");
    return 0;
}
