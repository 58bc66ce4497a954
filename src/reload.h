/* SPDX-License-Identifier: Apache-2.0 */
/* SIGHUP: reads the configuration again and puts in force what can change while the server runs. */
#ifndef RELOAD_H
#define RELOAD_H

#include <stdatomic.h>

#include "account_sources.h"
#include "http/server.h"
#include "net/pool.h"
#include "rest/server.h"
#include "smb/server.h"

/* The parts that a reload changes; they outlive the reloader. */
struct reload_parts {
    struct rest_server *rest;
    struct http_server *http;
    struct smb_server *smb; /* NULL: there is none */
    struct tls *tls;        /* NULL: there is none */
    struct registry *registry;
    atomic_int_fast64_t *idle_ms; /* of each service */
    struct pool *pool; /* runs the reload, because the accounts in the store may be on disk */
};

struct reloader;

struct reloader *reloader_new(const struct config *config, const struct reload_parts *parts);
/* From the first loop. If a reload is in progress, another one follows it. */
void reloader_ask(struct reloader *r);
/* After the pool is gone. */
void reloader_free(struct reloader *r);

/* 0 asks for a day. */
int64_t reload_idle_ms(const struct config *config, size_t service);
/* The part of the REST front end's options that can change. */
void reload_set_options(struct rest_options *options, const struct config *config);

#endif
