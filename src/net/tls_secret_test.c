/* SPDX-License-Identifier: Apache-2.0 */
/* TLS between peers that share a secret; and relays between two streams. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/test.h"
#include "net/relay.h"
#include "net/stream.h"
#include "net/tls.h"

static void make_pair(int pair[2])
{
    CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
}

static struct tls *with_secret(char letter)
{
    unsigned char secret[TLS_SECRET_BYTES];
    struct tls *t = NULL;
    memset(secret, letter, sizeof secret);
    CHECK_OK(tls_new_secret(secret, &t));
    return t;
}

/* Runs both sides in turn, until one has received the other's word, or one has failed. */
static bool word_arrives(struct stream *from, struct stream *to)
{
    struct iovec word = {(void *)(uintptr_t) "hello", 5};
    char got[8];
    bool sent = false;
    for (unsigned n = 0; n < 50; n++) {
        from->may_send = from->may_recv = to->may_send = to->may_recv = true;
        ssize_t out = sent ? 5 : stream_send(from, &word, 1, false);
        sent = sent || out == 5;
        ssize_t in = stream_recv(to, got, sizeof got);
        if (out == STREAM_FAILED || in == STREAM_FAILED || in == 0)
            return false;
        if (in == 5)
            return stream_is_secure(to) && memcmp(got, "hello", 5) == 0;
    }
    return false;
}

static bool they_talk(struct tls *client, struct tls *server)
{
    struct stream near, far;
    int pair[2];
    make_pair(pair);
    CHECK(stream_init_secure(&near, pair[0], client));
    stream_init(&far, pair[1], server);
    bool talk = word_arrives(&near, &far);
    talk = talk && word_arrives(&far, &near);
    stream_close(&near, false);
    stream_close(&far, false);
    return talk;
}

void test_tls_secret_joins_those_who_know_it_and_nobody_else(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
    struct tls *one = with_secret('a');
    struct tls *same = with_secret('a');
    struct tls *other = with_secret('b');
    CHECK(they_talk(one, same));
    CHECK(they_talk(one, one));
    CHECK(!they_talk(one, other));
    CHECK(!they_talk(other, one));
    tls_free(one);
    tls_free(same);
    tls_free(other);
}

/* ---- relays ---- */

struct ending {
    struct loop *loop;
    unsigned ended;
};

static void on_ended(void *arg, struct relay *r)
{
    struct ending *e = arg;
    (void)r;
    e->ended++;
    loop_stop(e->loop);
}

static void stop(struct loop_timer *timer)
{
    (void)timer;
    abort();
}

void test_relay_carries_both_ways_and_ends_when_both_sides_have(void)
{
    struct ending e = {0};
    struct loop_timer too_long = {.fire = stop};
    struct stream near, far;
    int client[2], server[2];
    char got[16] = "";
    make_pair(client);
    make_pair(server);
    CHECK_OK(loop_new(&e.loop));
    stream_init(&near, client[1], NULL);
    stream_init(&far, server[1], NULL);
    CHECK_INT(write(client[0], "ask", 3), 3);
    CHECK_INT(write(server[0], "answer", 6), 6);
    (void)shutdown(client[0], SHUT_WR);
    (void)shutdown(server[0], SHUT_WR);
    struct relay_ends ends = {.near = &near, .far = &far, .bytes = STR("first ")};
    (void)relay_new(e.loop, &ends, on_ended, &e);
    loop_timer_set(e.loop, &too_long, 20000);
    loop_run(e.loop);
    loop_timer_cancel(e.loop, &too_long);
    CHECK_INT(e.ended, 1);
    CHECK_INT(read(server[0], got, sizeof got), 9);
    CHECK(memcmp(got, "first ask", 9) == 0);
    CHECK_INT(read(client[0], got, sizeof got), 6);
    CHECK(memcmp(got, "answer", 6) == 0);
    CHECK_INT(read(client[0], got, sizeof got), 0);
    (void)close(client[0]);
    (void)close(server[0]);
    loop_free(e.loop);
}

void test_relay_that_is_cut_ends_both_sides(void)
{
    struct ending e = {0};
    struct stream near, far;
    int client[2], server[2];
    char got[16];
    make_pair(client);
    make_pair(server);
    CHECK_OK(loop_new(&e.loop));
    stream_init(&near, client[1], NULL);
    stream_init(&far, server[1], NULL);
    struct relay_ends ends = {.near = &near, .far = &far};
    struct relay *r = relay_new(e.loop, &ends, on_ended, &e);
    relay_cut(r);
    loop_run(e.loop);
    CHECK_INT(e.ended, 1);
    CHECK_INT(read(client[0], got, sizeof got), 0);
    CHECK_INT(read(server[0], got, sizeof got), 0);
    (void)close(client[0]);
    (void)close(server[0]);
    loop_free(e.loop);
}
