/* SPDX-License-Identifier: Apache-2.0 */
/* An operation is one row: how a request is matched to it, its requirements, and its functions.
 * Matching, permissions, documentation and statistics all read this row. */
#ifndef REST_OP_H
#define REST_OP_H

#include "auth/auth.h"
#include "http/exchange.h"
#include "service/common/store.h"

struct rest_call;

/* Bits, so that one row can serve GET and HEAD. */
enum op_method {
    M_GET = 1 << HTTP_GET,
    M_HEAD = 1 << HTTP_HEAD,
    M_PUT = 1 << HTTP_PUT,
    M_POST = 1 << HTTP_POST,
    M_DELETE = 1 << HTTP_DELETE,
    M_OPTIONS = 1 << HTTP_OPTIONS,
    M_MERGE = 1 << HTTP_MERGE,
    M_PATCH = 1 << HTTP_PATCH,
};

enum op_resource {
    R_SERVICE,   /* /account */
    R_CONTAINER, /* /account/container, queue, share */
    R_OBJECT,    /* /account/container/blob, path of a file or directory */
    R_MESSAGES,  /* /account/queue/messages */
    R_MESSAGE,   /* /account/queue/messages/id */
    R_TABLES,    /* /account/Tables */
    R_TABLE,     /* /account/Tables('name') */
    R_ENTITIES,  /* /account/name or /account/name() */
    R_ENTITY,    /* /account/name(PartitionKey='…',RowKey='…') */
    R_BATCH,     /* /account/$batch */
    R_WEBSITE,   /* a path of the account's web endpoint */
    R_ANY,       /* any path: account information, preflight */
};

enum op_body {
    BODY_NONE,   /* ignored when sent */
    BODY_SMALL,  /* collected up to body_max, complete when decode runs */
    BODY_STREAM, /* decode runs first, then the body goes into call->sink as it arrives */
};

enum op_mode {
    MODE_READ,   /* run: a read transaction on the loop, or in the pool if it must wait */
    MODE_WRITE,  /* run: a write transaction; after the commit, encode makes the answer from the
                    results in args */
    MODE_DIRECT, /* no transaction: decode, then encode */
    MODE_START,  /* start() begins its own steps (run/run.h, rest/around.h), the last of which calls
                    rest_finish; start defines what `run` is used for */
    MODE_START_READ, /* the same for operations that change nothing */
};

/* The condition headers that the row accepts; others are refused. docs/protocol/facts.md §1.1. */
enum op_conditions {
    COND_M = 1,  /* If-Match */
    COND_N = 2,  /* If-None-Match */
    COND_S = 4,  /* If-Modified-Since */
    COND_U = 8,  /* If-Unmodified-Since */
    COND_T = 16, /* x-ms-if-tags */
    COND_ALL = COND_M | COND_N | COND_S | COND_U | COND_T,
    COND_IGNORED = 32, /* the dispatcher does not read it: the operation does */
};

/* A resource that the request names besides that of its path. second.c defines its use, and so the
 * permission that it needs. */
enum op_second {
    SECOND_NONE,
    SECOND_COPY_SOURCE,
    SECOND_RENAMED_FILE,
    SECOND_RENAMED_DIRECTORY,
    SECOND_LINKED_FILE,
    SECOND_RENAMED_PATH,
    SECOND_COUNT
};

struct op {
    const char *name; /* as in the Azure documentation: PutBlockList */
    bool unserved;    /* always refused, with a specific code; not in the documentation */
    unsigned methods;
    enum op_resource resource;
    const char *restype;    /* NULL: must be absent */
    const char *comp;       /* NULL: must be absent */
    const char *header;     /* "name" must be present, "name=value" must have that value (any case);
                               NULL: ignored. Rows with one come before those without. */
    const char *header_too; /* one more, for rows that one header does not distinguish */
    const char *query;      /* the same for one more query parameter: "snapshot", "peekonly=true" */
    const char *account_sas;
    char account_sas_type;
    const char *service_sas;
    enum auth_anonymous anonymous;
    enum op_second second;
    bool tree;            /* see auth_demand; applies to both resources */
    bool lists;           /* see auth_demand; all rows of R_OBJECT have it */
    bool lists_directory; /* the parameter `directory` names the resource: a SAS for that directory
                             applies */
    unsigned conditions;
    enum op_body body;
    uint64_t body_max;
    enum op_mode mode;
    int version_min; /* yyyymmdd; 0: any */
    struct err (*decode)(struct rest_call *call);
    engine_fn *run; /* arg is call->args */
    struct err (*start)(struct rest_call *call);
    struct err (*encode)(struct rest_call *call);
    /* Optional: adds the headers that only this operation can add to an error of `run`, to
     * call->error_headers. */
    void (*explain)(struct rest_call *call, struct err error);
};

/* The row's demand on the caller's credentials. */
struct auth_demand op_demand(const struct op *op);

/* The table of one service, defined in ops_blob.c and the like. */
struct op_table {
    const struct op *rows;
    size_t count;
};
extern const struct op_table OPS_BLOB;
extern const struct op_table OPS_QUEUE;
extern const struct op_table OPS_TABLE;
extern const struct op_table OPS_FILE;
extern const struct op_table OPS_DFS;

#endif
