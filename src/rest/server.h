/* SPDX-License-Identifier: Apache-2.0 */
/* The REST front end as main builds it: one handler for the HTTP server, a context per listener. */
#ifndef REST_SERVER_H
#define REST_SERVER_H

#include <stdatomic.h>

#include "auth/auth.h"
#include "http/exchange.h"
#include "http/server.h"
#include "net/pool.h"
#include "rest/match.h"
#include "service/common/store.h"

struct rest_options {
    bool product_style;      /* account.blob.localhost names an account */
    const char *server_name; /* the Server header's product and version */
    bool json_log;           /* --log-format json */
    int64_t slow_us;         /* requests that take longer are logged; 0: none */
    /* What follows may change while the server runs. */
    atomic_bool any_version; /* --skipApiVersionCheck, --loose */
    atomic_bool loose;       /* --loose: what is not supported is passed over */
    /* How long the name of what was deleted cannot be taken. */
    _Atomic uint64_t container_delete_seconds, queue_delete_seconds, share_delete_seconds,
        table_delete_seconds;
    _Atomic uint64_t rehydrate_seconds;        /* how long a blob takes to leave the archive tier */
    _Atomic uint64_t container_retention_days; /* how long a deleted container can be restored */
    _Atomic(const char *) blob_versioning;     /* "on", "off", or accounts, with commas between;
                                                  NULL: off. Lives as long as the server. */
};

struct cors_rules;

struct rest_server {
    struct rest_options options;
    struct store *store;
    struct auth_server auth;
    /* The cross-origin rules of an account's service; what they point to lives in the arena. NULL:
     * there are none. */
    struct err (*cors_rules)(struct store *store, const struct auth_container *place,
                             struct arena *arena, struct cors_rules *out);
    struct pool *pool;
    struct pool *fetch_pool; /* for what waits for another server, which may be long */
    struct dialer *dialer;   /* to those; NULL: none is asked */
    struct copier *copier;   /* carries on with copies that were not done at once */
    struct digests *digests; /* NULL: each body is summed up by itself */
    struct bulk *bulk;       /* stores large bodies; NULL: loops store them */
    struct line_log *log;
    struct script *script;       /* test control's faults and holds; NULL: there is none */
    struct inspector *inspector; /* NULL: nothing is kept for it */
    struct match_index match[SERVICE_KIND_COUNT];
    struct match_index match_dfs;
    uint16_t ports[SERVICE_KIND_COUNT]; /* where this server answers; 0: not at all */
    /* Who answers requests below REST_SIDE_PATH on the services' ports, and with what for a
     * listener's context; NULL: nobody. */
    const struct http_handler *side;
    void *side_context;
};

/* What a listener is opened with. */
struct rest_listener {
    struct rest_server *server;
    enum service_kind service;
    bool dfs; /* requests that do not tell are of the Data Lake API */
    /* Absent on a service's own port. Where the service is reached under a path of another listener
     * ("/blob"): that path, which whoever hands a request over has taken off. Hosts name no account
     * there, and the endpoints that bodies name have the path in them. */
    struct str mount;
};

/* No account, container, queue, table or share has a '_' in its name, and a blob of the root
 * container has no '/': so these paths are never data. */
#define REST_SIDE_PATH "/_lazuli/"

/* For http_server_new. */
extern const struct http_handler REST_HANDLER;

#endif
