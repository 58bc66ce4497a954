/* SPDX-License-Identifier: Apache-2.0 */
/* The front end for people and tools: the console page, health, metrics, the inspector and test
 * control. It has its own listener; the part that container tools need is also below /_lazuli/ on
 * every service's port. docs/admin-api.md has the API. */
#ifndef ADMIN_ADMIN_H
#define ADMIN_ADMIN_H

#include "admin/control.h"
#include "http/server.h"
#include "rest/server.h"

struct admin_options {
    const char *version;          /* of the program */
    const char *commit;           /* of the build; "" if unknown */
    const char *bound_host;       /* the listener's configured address */
    const char *hosts;            /* --admin-hosts: further names allowed in a Host header; NULL */
    const char *metrics_token;    /* NULL: none */
    bool on_loopback;             /* only this machine can connect to the admin listener */
    bool services_on_loopback;    /* only this machine can connect to the services' ports */
    uint16_t smb_port;            /* 0: off */
    struct admin_control control; /* all zero: test control is off */
};

struct census;
struct pool;
struct smb_server;
struct sweep_job;
struct tls;

/* The parts that metrics and health read; owned by the caller. */
struct admin_watched {
    struct loop **loops;
    size_t loop_count;
    struct http_server *http, *admin_http; /* NULL: there is none */
    struct smb_server *smb;                /* the same */
    struct tls *tls;                       /* the same */
    struct pool *pool;
    struct census *census;
    const struct sweep_job *jobs; /* of the sweeper */
    size_t job_count;
};

enum admin_state { ADMIN_STARTING, ADMIN_SERVING, ADMIN_DRAINING };

struct admin;

/* Any thread. */
void admin_set_state(struct admin *a, enum admin_state state);
/* Call it before the loops run, after everything that is watched was created. */
void admin_watch(struct admin *a, const struct admin_watched *watched);

struct admin *admin_new(const struct admin_options *options, struct rest_server *rest);
void admin_free(struct admin *a);

/* For http_server_new; passes requests for the storage services to REST_HANDLER. */
extern const struct http_handler ADMIN_HANDLER;
/* Options for the admin listener, and for the side paths of the services' ports (rest_server.side).
 */
void *admin_own_context(struct admin *a);
void *admin_side_context(struct admin *a);

#endif
