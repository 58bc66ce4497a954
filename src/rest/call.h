/* SPDX-License-Identifier: Apache-2.0 */
/* One REST request in its phases, and the helpers of decode and encode functions. */
#ifndef REST_CALL_H
#define REST_CALL_H

#include "core/hash/md5_many.h"
#include "http/exchange.h"
#include "rest/op.h"
#include "run/run.h"
#include "service/common/verdict.h"

enum {
    REST_QUERY_MAX = 64,
    REST_ARENA_MAX = 32 << 20, /* the memory limit of one request, besides its streamed body */
};

struct rest_server;
struct rest_going;
struct cors_rules;

/* The consumer of a streamed body. `take` gets each piece, on the loop or on a bulk thread
 * (rest/body/bulk.h); `end` is called after the last, before run; an error of either ends the
 * request. `drop` is called if the request does not succeed (the client left, or an error in any
 * phase) and frees what was stored. */
struct rest_sink {
    struct err (*take)(struct rest_sink *sink, struct str bytes);
    struct err (*end)(struct rest_sink *sink);
    void (*drop)(struct rest_sink *sink);
    /* NULL, or returns the data to hash before `end` is called; false if there is none. */
    bool (*digest)(struct rest_sink *sink, struct md5_job *job);
    /* NULL, or returns the MD5 state for the body's bytes, so that the caller can hash several
     * bodies in parallel and then call take_summed instead of take. Returns NULL if there is
     * none. */
    struct md5 *(*md5)(struct rest_sink *sink);
    struct err (*take_summed)(struct rest_sink *sink, struct str bytes);
};

struct rest_call {
    struct http_exchange *x;
    struct rest_server *server;
    struct arena *arena;
    const struct op *op;
    struct store *store;
    int64_t now; /* ticks, when the request was dispatched */
    /* The request's driver. Its deadline is the query's `timeout`. */
    struct run run;
    struct rest_going *going; /* rest/around.h; NULL: nothing is around its transaction */

    /* The resource, decoded. */
    enum service_kind service;
    bool dfs; /* a Data Lake API request: another table, and errors in JSON */
    struct str account;
    bool secondary;
    bool path_style;           /* the account came from the path */
    struct str mount;          /* see struct rest_listener */
    struct str container;      /* container, queue, table, share; absent at service level */
    struct str object;         /* blob name, file path, message id; absent above it */
    struct str key_pk, key_rk; /* R_ENTITY */

    struct auth_pair *query; /* names and values decoded, '+' as a space */
    size_t query_count;
    struct auth_pair *query_plus; /* the same with '+' kept; NULL: no difference */
    uint64_t query_names;         /* the marks of their names, from http_name_mark; 0: unknown */
    int version;                  /* yyyymmdd, as served */
    struct str version_text;
    char request_id[37];
    bool admitted; /* authenticated and permitted; `who` is set */
    struct auth_result who;
    bool by_lists;   /* roles do not grant it: the path's lists have to (auth_consults_lists) */
    bool lists_read; /* decode applied them; otherwise the call is refused */
    struct cors_rules *cors; /* for a request that names an origin, else NULL */
    struct str challenge;    /* WWW-Authenticate of a refusal; absent if there is none */
    struct str error_prefix; /* of an error's message: the part of a batch, a query's fault */

    int64_t body_length;    /* of the request's body, or of its content if it is structured; -1:
                               unknown until its end */
    bool structured;        /* the body is segments with checksums: rest/body/structured_body.h */
    struct str body;        /* BODY_SMALL */
    struct rest_sink *sink; /* BODY_STREAM: set by decode */

    struct str partition; /* set by decode for MODE_READ and MODE_WRITE */
    void *args;           /* set by decode: run's argument */
    /* Set by decode when the response streams extents: the pin is taken before run, and released
     * when the response is sent. */
    bool wants_pin;
    struct engine_pin *pin;
    struct engine_loan loan; /* of the bytes that are sent; ends with them */
    /* For an answer that takes several views: the state that they read, and the result of the last
     * one. Both are released with the pin. */
    struct engine_state *state;
    struct arena list_arena;

    struct verdict verdict; /* why concurrency control refused the request */
    struct str holder;      /* of a file: the open handle that conflicted; absent: unknown */
    int64_t etag;           /* the stamp in the answer's ETag; 0: it has none */

    /* By the loop's clock, for statistics: when the request was complete, and when its answer was.
     */
    int64_t received_us, answered_us;

    int forced_status; /* status of an error that test control injected, instead of its own; 0: none
                        */

    /* The response, made by encode. */
    int status;
    struct buf headers;
    struct buf out;
    struct str content; /* sent instead of `out` if given: bytes that live elsewhere until sent */
    struct buf error_headers; /* additional details of an error's answer */
    struct http_source *source;
    int64_t content_length; /* -1: that of out */
};

/* ---- reading the request ---- */

/* Absent if not sent. Inline, because most headers asked for are absent, and the mark of a constant
 * name is computed at compile time. */
static inline struct str call_header(const struct rest_call *call, struct str name)
{
    return http_header_get(&call->x->request, name);
}
/* Returns the parameter's decoded value, by its name in any case; the first, as in auth/. A
 * parameter without a value is given and empty; match.c refuses that for those that select the
 * operation. */
struct str call_find_query(const struct rest_call *call, struct str name);
static inline struct str call_query(const struct rest_call *call, struct str name)
{
    bool wanting = call->query_names != 0 && (call->query_names & http_name_mark(name)) == 0;
    return wanting ? STR_NONE : call_find_query(call, name);
}
/* Returns true if the parameter occurs without a value. */
bool call_query_is_empty(const struct rest_call *call, struct str name);
/* "http://host:port/account/", for bodies that name it; in the call's arena. */
struct str call_endpoint(const struct rest_call *call);
/* Optional numbers and booleans: *out is kept if not sent. Malformed: ERR_INVALID_HEADER_VALUE,
 * ERR_INVALID_QUERY_PARAMETER_VALUE; out of range: ERR_OUT_OF_RANGE_QUERY_PARAMETER_VALUE; all with
 * their details. */
/* In the pool: reads a second file that the request names, with the check of its share's home
 * (service/common/home.h). */
struct err call_read_file(struct rest_call *call, struct str partition, engine_fn *fn, void *args);
struct err call_header_u64(struct rest_call *call, struct str name, uint64_t *out);
struct err call_header_bool(struct rest_call *call, struct str name, bool *out);
struct err call_query_u64(struct rest_call *call, struct str name, uint64_t min, uint64_t max,
                          uint64_t *out);
/* Errors that name the faulty header or parameter. */
COLD struct err call_bad_header(struct rest_call *call, struct str name);
COLD struct err call_missing_header(struct rest_call *call, struct str name);
COLD struct err call_bad_query(struct rest_call *call, struct str name);
COLD struct err call_missing_query(struct rest_call *call, struct str name);
/* One detail line in the format of struct err, in the call's arena. */
COLD struct err call_error(struct rest_call *call, enum err_code code, const char *element,
                           struct str value);

/* ---- writing the response ---- */

void call_put(struct rest_call *call, struct str name, struct str value);
/* See http_put_own_header. */
void call_put_own(struct rest_call *call, struct str name, struct str value);
/* Does nothing if the value is absent. */
void call_put_if(struct rest_call *call, struct str name, struct str value);
void call_put_u64(struct rest_call *call, struct str name, uint64_t value);
void call_put_bool(struct rest_call *call, struct str name, bool value);
/* RFC 1123. */
void call_put_time(struct rest_call *call, struct str name, int64_t ticks);
/* Sets Content-Type: application/xml, and starts call->out with the XML declaration. */
void call_begin_xml(struct rest_call *call);

/* The file service requires the purpose of a token: x-ms-file-request-intent, for the operation of
 * that row. ERR_MISSING_REQUIRED_HEADER, ERR_INVALID_HEADER_VALUE. */
struct err rest_check_intent(struct rest_call *call, enum service_kind service,
                             const struct auth_result *who, const struct op *op);

/* ---- parts of a batch ---- */

/* The first phases for a part of a batch, whose x has the request made from it: parses the resource
 * and the query, finds the row. The batch's credentials apply to it: see auth_permit. */
struct err rest_match_part(struct rest_call *part);
/* Checks that the row accepts the part's conditions. After rest_match_part. */
struct err rest_check_part(struct rest_call *part);
/* For a part with its own credentials: sets part->who from them. After rest_match_part. */
struct err rest_permit_part(struct rest_call *part);

/* ---- MODE_START ---- */

/* Returns the call whose step runs. */
static inline struct rest_call *rest_call_of(struct run *r)
{
    return CONTAINER_OF(r, struct rest_call, run);
}

/* Ends a started call, on its loop's thread: encodes if there is no error, else answers the
 * error. */
void rest_finish(struct rest_call *call, struct err error);

#endif
