/* SPDX-License-Identifier: Apache-2.0 */
/* The REST front end as main builds it: one handler for the HTTP server, a context per listener. */
#ifndef REST_SERVER_H
#define REST_SERVER_H

#include <stdatomic.h>

#include "auth/auth.h"
#include "http/exchange.h"
#include "http/server.h"
#include "net/pool.h"
#include "rest/head/match.h"
#include "service/common/store.h"

struct rest_options {
    bool product_style;      /* account.blob.localhost names an account */
    const char *server_name; /* the Server header's product and version */
    bool json_log;           /* --log-format json */
    int64_t slow_us;         /* requests that take longer are logged; 0: none */
    /* The following may change while the server runs. */
    atomic_bool any_version; /* --skipApiVersionCheck, --loose */
    atomic_bool loose;       /* --loose: ignore unsupported features */
    /* How long the name of a deleted resource stays blocked. */
    _Atomic uint64_t container_delete_seconds, queue_delete_seconds, share_delete_seconds,
        table_delete_seconds;
    _Atomic uint64_t rehydrate_seconds;        /* how long a blob takes to leave the archive tier */
    _Atomic uint64_t container_retention_days; /* how long a deleted container can be restored */
    _Atomic(const char *) blob_versioning;     /* "on", "off", or accounts, with commas between;
                                                  NULL: off. Lives as long as the server. */
};

struct cors_rules;
struct rest_listener;

struct rest_server {
    struct rest_options options;
    struct store *store;
    struct auth_server auth;
    /* Finds the cross-origin rules of an account's service; their texts live in the arena. NULL:
     * none. */
    struct err (*cors_rules)(struct store *store, const struct auth_container *place,
                             struct arena *arena, struct cors_rules *out);
    struct pool *pool;
    struct pool *content_pool; /* for reads of contents; NULL: `pool` */
    struct pool *fetch_pool;   /* for work that waits for another server, maybe for long */
    struct dialer *dialer;     /* connects to other servers; NULL: never */
    struct copier *copier;     /* continues unfinished copies */
    struct digests *digests;   /* NULL: each body is hashed alone */
    struct bulk *bulk;         /* stores large bodies; NULL: loops store them */
    struct line_log *log;
    struct script *script;       /* test control's faults and holds; NULL: none */
    struct inspector *inspector; /* NULL: nothing is recorded */
    struct match_index match[SERVICE_KIND_COUNT];
    struct match_index match_dfs;
    uint16_t ports[SERVICE_KIND_COUNT]; /* where this server answers; 0: nowhere */
    /* Answers requests below REST_SIDE_PATH on the services' ports, with a listener's context;
     * NULL: none. */
    const struct http_handler *side;
    void *side_context;
    /* NULL, or passes on a connection whose request another gateway has to serve, because the open
     * files of the share are there (service/common/home.h). On the loop's thread; the callee owns
     * the passed bytes and stream. */
    void (*hand_over)(void *arg, struct loop *loop, const struct rest_listener *from,
                      struct http_handed *handed);
    void *hand_over_arg;
};

/* Options of a listener. */
struct rest_listener {
    struct rest_server *server;
    enum service_kind service;
    bool dfs; /* ambiguous requests are of the Data Lake API */
    /* Absent on a service's own port. If another listener mounts the service under a path
     * ("/blob"): that path, which the caller has removed. Host names then contain no account, and
     * endpoints in bodies include the path. */
    struct str mount;
};

/* No account, container, queue, table or share has a '_' in its name, and a blob of the root
 * container has no '/': so these paths are never data. */
#define REST_SIDE_PATH "/_lazuli/"

/* For http_server_new. */
extern const struct http_handler REST_HANDLER;

#endif
