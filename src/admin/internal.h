/* SPDX-License-Identifier: Apache-2.0 */
/* Shared inside admin/: the front end, a request in progress, and functions to answer it. */
#ifndef ADMIN_INTERNAL_H
#define ADMIN_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "admin/admin.h"
#include "core/hash/hmac.h"
#include "core/text/json.h"

enum {
    ADMIN_BODY_BYTES_MAX = 16 << 20, /* the maximum for any route */
    ADMIN_QUERY_MAX = 32,            /* parameters of a request */
    ADMIN_LOOPS_MAX = 256,
    ADMIN_WAITERS_MAX = 64, /* requests that may wait for events at one time */
};

/* Where a request arrived. */
struct admin_entry {
    struct admin *admin;
    bool own;      /* on the admin listener, not below /_lazuli/ of a service's port */
    bool loopback; /* only this machine can connect there */
};

struct admin {
    struct admin_options options;
    struct admin_control control;
    struct admin_watched watched;
    _Atomic enum admin_state state;
    pthread_mutex_t waiters_lock;
    char waiters[ADMIN_WAITERS_MAX][ACCOUNT_NAME_MAX + 1]; /* accounts that wait for events; "" */
    struct rest_server *rest;
    struct rest_listener mounts[SERVICE_KIND_COUNT]; /* the services below /blob, /queue, … */
    struct admin_entry own, side;
};

struct admin_call;

enum admin_need {
    NEED_NOTHING = 0,
    NEED_HOST = 1,      /* a Host that the guard accepts, or a valid token */
    NEED_KEY = 2,       /* signed with an account's key; sets call->account */
    NEED_INSPECTOR = 8, /* the inspector keeps refusals */
    NEED_CONTROL = 16,  /* test control is on, and the request may use it */
    NEED_METRICS = 4,   /* the metrics token, unless only this machine can connect */
};

struct admin_route {
    enum http_method method; /* HTTP_GET also answers HEAD */
    bool own_only;           /* not below /_lazuli/ of a service's port */
    const char *path;        /* a part "*" matches a name */
    unsigned needs;          /* of enum admin_need */
    size_t body_max;
    void (*run)(struct admin_call *call);
};

/* One request; in its arena. */
struct admin_call {
    struct http_exchange *x;
    struct admin *admin;
    const struct admin_entry *entry;
    const struct admin_route *route;
    struct str path;    /* without /_lazuli */
    struct str account; /* the account whose key signed it; absent if not signed */
    struct buf body;
    struct buf out;      /* buffer for the answer */
    struct str out_type; /* its Content-Type */
    int status;
    struct run run;
    void (*in_pool)(struct admin_call *call);
    bool replied;
};

/* ---- admin.c ---- */
/* The name in the request's path. */
struct str admin_path_name(const struct admin_call *call);
/* A decoded query parameter; absent if not sent. */
struct str admin_query(struct admin_call *call, struct str name);
/* Complete answers. `body` must live until it is sent. */
void admin_reply(struct admin_call *call, int status, struct str type, struct str body);
/* {"error": {"code": …, "message": …}} */
COLD void admin_fail(struct admin_call *call, int status, const char *code, struct str message);
COLD void admin_fail_err(struct admin_call *call, struct err error);
/* The same from admin_in_pool. */
COLD void admin_pool_failed(struct admin_call *call, struct err error);

/* For work that may wait for the disk: runs `make` on a pool thread. `make` fills call->out,
 * out_type and, unless it is 200, status; then the answer is sent. */
void admin_in_pool(struct admin_call *call, void (*make)(struct admin_call *call));
struct str admin_service_name(enum service_kind service);

/* ---- guard.c: access checks ---- */
/* Returns false if a page of another site may have sent the request: see guard.c. It has then
 * answered. */
bool admin_guard_browser(struct admin_call *call);
/* Checks the route's requirements. If it returns false, it has answered. */
bool admin_guard_route(struct admin_call *call);
/* Returns true if the text is a Host (with or without a port) that names this machine, or that the
 * operator has named. Exported for its test. */
bool admin_host_ok(const struct admin_options *options, struct str host, bool secure);

/* ---- page.c ---- */
/* Answers with the file of the console page, if one has that path. */
bool admin_page(struct admin_call *call);

/* ---- health.c, metrics.c ---- */
void admin_get_livez(struct admin_call *call);
void admin_get_readyz(struct admin_call *call);
void admin_get_metrics(struct admin_call *call);
void admin_get_metrics_json(struct admin_call *call);

/* ---- server_info.c ---- */
void admin_get_server(struct admin_call *call);
void admin_get_account(struct admin_call *call);

/* ---- metrics_store.c ---- */
struct metric_text;
/* The part of /metrics that is about the store. */
void admin_put_store_metrics(struct metric_text *m, const struct admin *a);

#endif
