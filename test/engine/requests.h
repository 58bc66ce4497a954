/* SPDX-License-Identifier: Apache-2.0 */
/* A REST server over an engine of the test's choice, and the requests of budget_table.h to it over
 * real connections: every operation. */
#ifndef TEST_ENGINE_REQUESTS_H
#define TEST_ENGINE_REQUESTS_H

#include <pthread.h>

#include "budget_table.h"
#include "core/hash/hmac.h"
#include "net/pool.h"
#include "rest/server.h"

enum { REQUESTS_ANSWER_BYTES_MAX = 256 << 10, REQUESTS_CAPTURES = 4 };

struct requests_fixture {
    struct arena arena;
    struct clock clock;
    struct store store;
    struct loop *loop;
    struct pool *pool;
    struct pool *fetch_pool;
    struct dialer *dialer;
    struct copier *copier;
    struct http_server *http;
    struct rest_server rest;
    struct rest_listener listeners[SERVICE_KIND_COUNT];
    pthread_t thread;
    struct hmac_key key;
    int fds[SERVICE_KIND_COUNT];
    struct str captured[REQUESTS_CAPTURES];
    char answer[REQUESTS_ANSWER_BYTES_MAX];
};

/* Before the engine is made, which needs the fixture's clock. */
void requests_init(struct requests_fixture *f);
/* Takes ownership of the engine. */
void requests_begin(struct requests_fixture *f, struct engine *engine);
void requests_end(struct requests_fixture *f);

void requests_connect(struct requests_fixture *f, enum service_kind service);
void requests_send(struct requests_fixture *f, const struct budget *b);
/* The whole answer, in f->answer. */
struct str requests_answer(struct requests_fixture *f, const struct budget *b);
unsigned requests_status(struct str answer);
/* Saves the part of the answer that later requests need. False if it is missing. */
bool requests_capture(struct requests_fixture *f, const struct budget *b, struct str answer);

#endif
