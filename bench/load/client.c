/* SPDX-License-Identifier: Apache-2.0 */
#include "load/client.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/mem.h"
#include "http/chunked.h"
#include "load/wire.h"

enum { BUFFER_BYTES = 256 << 10, EVENTS_MAX = 256, HEAD_BYTES_MAX = 16 << 10 };

struct answer {
    bool bodiless; /* it is HEAD's */
    bool head_done;
    bool bad;
    bool chunked;
    bool close;
    uint64_t left; /* of a body with a length */
    struct http_chunked chunks;
};

struct connection {
    struct load *load;
    struct wire wire;
    int64_t began_ns;
    struct str request; /* still to be sent: its head */
    struct str body;    /* and its body */
    struct buf scratch; /* holds a request that is rendered for this once */
    struct buf head;    /* an answer's head that came in parts */
    struct answer answer;
    int64_t due_ns; /* with a rate: when its next request is due */
    bool waits;     /* for that time */
    uint64_t key;   /* with in_turn: the key, and which operation comes next */
    size_t next_op;
};

struct load {
    const struct load_plan *plan;
    struct load_result *result;
    int epoll_fd;
    uint64_t random;
    uint64_t next_key;
    uint64_t started; /* requests */
    int64_t gap_ns;   /* with a rate: between two requests of a connection */
    unsigned open;
    bool counting;
    bool complained;
    char *buffer;
    struct connection *connections;
};

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static uint64_t next_random(struct load *l)
{
    l->random ^= l->random << 13;
    l->random ^= l->random >> 7;
    l->random ^= l->random << 17;
    return l->random;
}

/* ---- connections ---- */

static void connection_close(struct connection *c)
{
    if (c->wire.fd < 0)
        return;
    wire_end(&c->wire);
    c->load->open--;
}

/* Blocking, because it is rare: at the start, and after the server has closed the connection. */
static bool connection_open(struct connection *c)
{
    const struct load_plan *plan = c->load->plan;
    int on = 1;
    int fd = socket(plan->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    c->load->open++;
    c->wire = (struct wire){.fd = fd};
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET, .data.ptr = c};
    if (connect(fd, (const struct sockaddr *)&plan->address, plan->address_length) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        !wire_begin(&c->wire, fd, plan->tls) || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 ||
        epoll_ctl(c->load->epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0) {
        connection_close(c);
        return false;
    }
    return true;
}

/* ---- sending ---- */

static void connection_send(struct connection *c)
{
    while (c->request.n + c->body.n > 0) {
        size_t sent = wire_send(&c->wire, c->request, c->body);
        if (sent == 0)
            return; /* wait for an edge; a broken connection shows when it is read */
        size_t of_head = sent < c->request.n ? sent : c->request.n;
        c->request = str_from(c->request, of_head);
        c->body = str_from(c->body, sent - of_head);
        c->load->result->sent += c->load->counting ? sent : 0;
    }
}

/* The key and the operation of the next request. */
static size_t choose(struct connection *c)
{
    struct load *l = c->load;
    struct op_set *set = l->plan->ops;
    uint64_t random = next_random(l);
    bool same_key = l->plan->in_turn && c->next_op > 0;
    if (!same_key)
        c->key = (l->plan->in_order ? l->next_key++ : random >> 16) % set->key_count;
    if (!l->plan->in_turn)
        return op_pick(set, random & 0xFFFF);
    size_t op = c->next_op;
    c->next_op = (op + 1) % set->count;
    return op;
}

/* Starts a request; its time counts from began_ns. */
static void connection_start_at(struct connection *c, int64_t began_ns)
{
    struct load *l = c->load;
    struct op_set *set = l->plan->ops;
    if (l->plan->requests_max > 0 && l->started >= l->plan->requests_max) {
        connection_close(c);
        return;
    }
    l->started++;
    size_t op = choose(c);
    c->request = op_request(set, op, c->key, &c->scratch);
    c->body = set->ops[op].body_is_template ? STR("") : set->ops[op].body;
    c->answer = (struct answer){.bodiless = str_eq(set->ops[op].method, STR("HEAD"))};
    buf_clear(&c->head);
    c->began_ns = began_ns;
    connection_send(c);
}

/* Starts the next request, or lets the connection wait until it is due. The time of one that the
 * answer before it has delayed counts from when it was due. */
static void connection_start(struct connection *c)
{
    int64_t now = now_ns();
    if (c->load->plan->rate == 0) {
        connection_start_at(c, now);
        return;
    }
    c->waits = now < c->due_ns;
    if (!c->waits) {
        int64_t due = c->due_ns;
        c->due_ns += c->load->gap_ns;
        connection_start_at(c, due);
    }
}

/* Starts the requests of waiting connections that are due. Returns the nanoseconds until the next
 * one is, at most most_ns. */
static int64_t start_due(struct load *l, int64_t most_ns)
{
    if (l->gap_ns == 0)
        return most_ns;
    int64_t now = now_ns();
    int64_t next = now + most_ns;
    for (unsigned i = 0; i < l->plan->connections; i++) {
        struct connection *c = &l->connections[i];
        if (!c->waits || c->wire.fd < 0)
            continue;
        if (c->due_ns <= now) {
            c->waits = false;
            c->due_ns += l->gap_ns;
            connection_start_at(c, now);
        } else if (c->due_ns < next) {
            next = c->due_ns;
        }
    }
    return next - now;
}

static void count_error(struct connection *c, struct str what)
{
    struct load *l = c->load;
    if (l->counting)
        l->result->errors++;
    if (!l->complained)
        (void)fprintf(stderr, "load: %.*s\n", STR_ARG(what));
    l->complained = true;
}

/* ---- reading ---- */

static void read_head_line(struct answer *answer, struct str line)
{
    struct str value = line.n > 0 && line.p[line.n - 1] == '\r' ? str_head(line, line.n - 1) : line;
    struct str name = str_cut(&value, ':');
    value = str_trim(value);
    if (str_ieq(name, STR("Content-Length")))
        (void)str_to_u64(value, &answer->left);
    else if (str_ieq(name, STR("Transfer-Encoding")))
        answer->chunked = str_ieq(value, STR("chunked"));
    else if (str_ieq(name, STR("Connection")))
        answer->close = str_ieq(value, STR("close"));
}

/* The head is whole: "HTTP/1.1 200 …" and its lines. */
static void read_head(struct connection *c, struct str head)
{
    struct answer *answer = &c->answer;
    struct str rest = head;
    struct str status = str_from(str_cut(&rest, '\n'), sizeof "HTTP/1.1 " - 1);
    answer->bodiless =
        answer->bodiless || str_starts(status, STR("204")) || str_starts(status, STR("304"));
    while (str_given(rest))
        read_head_line(answer, str_cut(&rest, '\n'));
    answer->head_done = true;
    if (answer->bodiless) {
        answer->left = 0;
        answer->chunked = false;
    }
    http_chunked_init(&answer->chunks);
    answer->bad = status.n == 0 || status.p[0] != '2';
}

/* Removes the head from the input once it is complete. */
static bool take_head(struct connection *c, struct str *input)
{
    if (c->head.n == 0) {
        size_t end = str_find_str(*input, STR("\r\n\r\n"));
        if (end < input->n) {
            read_head(c, str_head(*input, end));
            if (c->answer.bad)
                count_error(c, *input);
            *input = str_from(*input, end + 4);
            return true;
        }
    }
    buf_put(&c->head, *input);
    size_t end = str_find_str(buf_str(&c->head), STR("\r\n\r\n"));
    if (end == c->head.n) {
        *input = STR("");
        return false;
    }
    read_head(c, str_head(buf_str(&c->head), end));
    if (c->answer.bad)
        count_error(c, buf_str(&c->head));
    *input = str_from(*input, input->n - (c->head.n - end - 4));
    return true;
}

/* True at the end of the answer. */
static bool take_answer(struct connection *c, struct str *input)
{
    struct answer *answer = &c->answer;
    if (!answer->head_done && !take_head(c, input))
        return false;
    if (answer->chunked) {
        struct str data;
        while (input->n > 0 && !http_chunked_ended(&answer->chunks))
            if (err_is(http_chunked_next(&answer->chunks, input, &data)))
                return answer->close = true;
        return http_chunked_ended(&answer->chunks);
    }
    size_t part = answer->left < input->n ? (size_t)answer->left : input->n;
    *input = str_from(*input, part);
    answer->left -= part;
    return answer->left == 0;
}

static void finish(struct connection *c)
{
    struct load *l = c->load;
    if (l->counting) {
        l->result->requests++;
        histogram_add(&l->result->times, (uint64_t)(now_ns() - c->began_ns));
    }
    if (c->answer.close) {
        connection_close(c);
        if (!connection_open(c))
            return;
    }
    connection_start(c);
}

static void broken(struct connection *c)
{
    count_error(c, STR("the connection broke"));
    connection_close(c);
    if (connection_open(c))
        connection_start(c);
}

static bool may_drop(const struct connection *c)
{
    const struct answer *answer = &c->answer;
    return c->load->plan->drop && c->wire.tls == NULL && answer->head_done && !answer->chunked &&
           answer->left > 0;
}

static void connection_read(struct connection *c)
{
    struct load *l = c->load;
    for (;;) {
        bool drops = may_drop(c);
        ssize_t got = drops ? wire_drop(&c->wire, (size_t)c->answer.left)
                            : wire_receive(&c->wire, l->buffer, BUFFER_BYTES);
        if (got == 0)
            return;
        if (got < 0) {
            broken(c);
            return;
        }
        if (l->counting)
            l->result->received += (uint64_t)got;
        struct str input = {l->buffer, drops ? 0 : (size_t)got};
        c->answer.left -= drops ? (uint64_t)got : 0;
        if (take_answer(c, &input)) {
            finish(c);
            return;
        }
        if (c->head.n > HEAD_BYTES_MAX) {
            broken(c);
            return;
        }
        if (c->wire.tls == NULL && (size_t)got < BUFFER_BYTES)
            return;
    }
}

/* ---- the run ---- */

static void load_turn(struct load *l, int64_t wait_ms)
{
    struct epoll_event events[EVENTS_MAX];
    int64_t wait_ns = start_due(l, wait_ms * 1000000);
    struct timespec wait = {.tv_sec = wait_ns / 1000000000, .tv_nsec = wait_ns % 1000000000};
    int count = epoll_pwait2(l->epoll_fd, events, EVENTS_MAX, &wait, NULL);
    for (int i = 0; i < count; i++) {
        struct connection *c = events[i].data.ptr;
        if (events[i].events & EPOLLOUT)
            connection_send(c);
        if (c->wire.fd >= 0 && events[i].events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))
            connection_read(c);
    }
}

static void load_until(struct load *l, int64_t end_ms)
{
    for (int64_t left; l->open > 0 && (left = end_ms - clock_mono_ms()) > 0;)
        load_turn(l, left);
}

static void load_open(struct load *l)
{
    l->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    l->buffer = mem_alloc(BUFFER_BYTES);
    l->connections = mem_calloc(l->plan->connections, sizeof *l->connections);
    if (l->plan->rate > 0)
        l->gap_ns = (int64_t)(1000000000 * l->plan->connections / l->plan->rate);
    int64_t now = now_ns();
    for (unsigned i = 0; i < l->plan->connections; i++) {
        struct connection *c = &l->connections[i];
        *c = (struct connection){
            .load = l, .wire = {.fd = -1}, .scratch = buf_heap(), .head = buf_heap()};
        c->due_ns = now + l->gap_ns * i / l->plan->connections;
        if (connection_open(c))
            connection_start(c);
        else
            count_error(c, STR("cannot connect"));
    }
}

/* Also counts the wait of requests that are unanswered when the time is up. */
static void count_unanswered(struct load *l)
{
    int64_t now = now_ns();
    for (unsigned i = 0; i < l->plan->connections; i++) {
        const struct connection *c = &l->connections[i];
        if (c->wire.fd >= 0 && !c->waits && now - c->began_ns > (int64_t)l->result->times.longest)
            l->result->times.longest = (uint64_t)(now - c->began_ns);
    }
}

static void load_close(struct load *l)
{
    for (unsigned i = 0; i < l->plan->connections; i++) {
        connection_close(&l->connections[i]);
        buf_release(&l->connections[i].scratch);
        buf_release(&l->connections[i].head);
    }
    free(l->connections);
    free(l->buffer);
    (void)close(l->epoll_fd);
}

void load_run(const struct load_plan *plan, int64_t warm_up_ms, int64_t run_ms,
              void (*started)(void *arg), void *arg, struct load_result *out)
{
    struct load l = {.plan = plan, .result = out, .random = plan->seed};
    *out = (struct load_result){0};
    l.counting = warm_up_ms == 0;
    load_open(&l);
    int64_t began_ms = clock_mono_ms();
    load_until(&l, began_ms + warm_up_ms);
    l.counting = true;
    started(arg);
    int64_t began_us = clock_mono_us();
    load_until(&l, began_ms + warm_up_ms + run_ms);
    out->took_us = clock_mono_us() - began_us;
    count_unanswered(&l);
    load_close(&l);
}
