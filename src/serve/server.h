/* SPDX-License-Identifier: Apache-2.0 */
/* The whole server: its parts, in the order in which they start. serve.c starts, runs and stops
 * them. */
#ifndef SERVE_SERVER_H
#define SERVE_SERVER_H

#include <pthread.h>

#include "announce.h"
#include "config.h"
#include "jobs.h"
#include "reload.h"
#include "rest/server.h"
#include "seed.h"
#include "serve/forward.h"
#include "serve/trim.h"

enum { LOOPS_MAX = 256 };

struct server {
    const struct config *config;
    struct clock clock;
    struct store store;
    struct accounts *accounts;
    struct registry registry;
    struct registry_follower follower; /* of the cluster engine */
    struct control *control;
    struct oauth *oauth;
    struct loop *loops[LOOPS_MAX];
    pthread_t threads[LOOPS_MAX];
    size_t loop_count;
    struct pool *pool;
    struct pool *content_pool; /* of the cluster engine */
    struct pool *fetch_pool;
    struct bulk *bulk;
    struct pool *senders;
    struct pool *storers; /* of what SMB clients write */
    struct dialer *dialer;
    struct copier *copier;
    struct rest_server rest;
    struct rest_listener listeners[SERVICE_KIND_COUNT];
    struct rest_listener dfs_listener;
    struct http_server *http;
    struct admin *admin;
    struct saved *saved;                 /* states that test control has saved; may be NULL */
    struct script *script;               /* test control's; NULL: it is off */
    struct clock_control *clock_control; /* the same */
    struct seed_target seed;
    pthread_t seeder;
    bool seeding;
    atomic_bool seed_failed; /* the server ends because of this, and its exit status is an error */
    struct http_server *admin_http; /* NULL: off */
    struct smb_server *smb;
    struct forward *forward; /* to and from other gateways; NULL: the store is not shared */
    struct address_counts *addresses; /* of both */
    struct tls *tls;
    struct jobs jobs;
    struct memory_trim trim;
    struct sweeper *sweeper;
    struct census *census;
    struct loop_watch signals;
    struct loop_timer log_timer;
    bool draining;
    struct announce_ports ports;
    atomic_bool listening; /* the ports are known */
    struct reloader *reloader;
    atomic_int_fast64_t idle_ms[SERVICE_KIND_COUNT];
};

/* For the services, as the flags give them. */
extern const char *const SERVE_NAMES[SERVICE_KIND_COUNT];

/* Each returns an exit status. */

/* ---- serve/parts.c ---- */

int serve_start_clock(struct server *s);
int serve_start_engine(struct server *s);
int serve_start_accounts(struct server *s);
int serve_start_control(struct server *s);
int serve_start_oauth(struct server *s);
int serve_start_loops(struct server *s);
int serve_start_copies(struct server *s);
void serve_stop_copies(struct server *s);
void serve_start_rest(struct server *s, const char *server_name);
int serve_start_tls(struct server *s);
int serve_start_reloader(struct server *s);
int serve_start_sweeper(struct server *s);

/* ---- serve/listeners.c ---- */

int serve_start_listeners(struct server *s);
int serve_start_dfs_listener(struct server *s);
int serve_start_seeding(struct server *s);
int serve_start_admin(struct server *s, const char *version);
int serve_start_admin_listener(struct server *s);
int serve_start_smb(struct server *s);
int serve_start_watching(struct server *s);

/* ---- serve/share_home.c: nothing for a store that is not shared ---- */

/* Before SMB: creates the parts of the store that SMB needs. */
int serve_start_forward(struct server *s);
/* After all listeners: makes the first attempt to become the home, so that a single gateway serves
 * shares at once. */
int serve_start_home(struct server *s);

#endif
