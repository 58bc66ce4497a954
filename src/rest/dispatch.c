/* SPDX-License-Identifier: Apache-2.0 */
/* The phases of a request, in order:
 *   parse → match row → authenticate and permit → decode → stream the body → run the transaction →
 *   encode → log
 * A read runs on the loop at once, and in the pool when it would wait for the disk. A write is
 * queued to the engine and comes back when it is durable. Between on_end and the reply nothing but
 * the one who works on the call (loop, pool or engine thread) touches it. */
#include <assert.h>
#include <stdlib.h>

#include "core/guid.h"
#include "core/log.h"
#include "core/mem.h"
#include "rest/bulk.h"
#include "rest/call.h"
#include "rest/cors.h"
#include "rest/dfs/dialect.h"
#include "rest/digest.h"
#include "rest/match.h"
#include "rest/query.h"
#include "rest/reply.h"
#include "rest/second.h"
#include "rest/server.h"
#include "rest/structured_body.h"
#include "rest/target.h"
#include "rest/version.h"
#include "rest/watch/access_log.h"
#include "rest/watch/inspector.h"
#include "rest/watch/loop_memory.h"
#include "rest/watch/script.h"

struct dispatch {
    struct rest_call call;
    struct engine_update update;
    struct loop_task task;
    struct digest digest;
    struct bulk_body bulk; /* of a large streamed body */
    struct err outcome;
    struct buf small_body;
    bool replied;
    bool sink_open; /* take or end may still be called, drop is owed */
    bool body_ended;
    /* Test control. */
    struct script_stop stop;
    struct script_deed deed;
    enum script_point point;
    bool scripted; /* the point after the commit was passed */
};

enum { HEADERS_BYTES_USUAL = 1024 }; /* of an answer: room from the start, not by and by */

static struct dispatch *dispatch_of(struct http_exchange *x)
{
    return x->user;
}

/* ---- ends ---- */

static void give_back(struct dispatch *d)
{
    if (d->sink_open) {
        d->sink_open = false;
        d->call.sink->drop(d->call.sink);
    }
}

COLD static void fail(struct dispatch *d, struct err error)
{
    assert(!d->replied);
    give_back(d);
    d->replied = true;
    d->outcome = error;
    d->call.answered_us = clock_mono_us();
    script_ended(&d->stop);
    reply_error(&d->call, error);
}

static struct err encode(struct rest_call *call)
{
    TRY(call->op->encode(call));
    reply_success_headers(call);
    return OK;
}

static void meet_script(struct dispatch *d, enum script_point point);

static void finish(struct dispatch *d, struct err error)
{
    struct rest_call *call = &d->call;
    if (call->server->script != NULL && !d->scripted && !err_is(error)) {
        d->scripted = true;
        d->sink_open = false;
        meet_script(d, SCRIPT_AFTER_COMMIT);
        return;
    }
    if (!err_is(error)) {
        d->sink_open = false; /* what the sink stored belongs to the store now */
        error = encode(call);
    }
    /* It may belong to it: giving it back could take it from an update that was made. */
    if (error.code == ERR_UNKNOWN_OUTCOME)
        d->sink_open = false;
    if (!err_is(error) && call->arena->over_limit)
        log_line(LOG_WARN, "%s %s needed %zu bytes", call->op->name, call->request_id,
                 call->arena->used);
    if (err_is(error)) {
        if (call->op->explain != NULL)
            call->op->explain(call, error);
        fail(d, error);
        return;
    }
    d->replied = true;
    d->outcome = OK;
    call->answered_us = clock_mono_us();
    inspector_succeeded(call->server->inspector, call);
    script_ended(&d->stop);
    if (d->deed.act == SCRIPT_TRUNCATE)
        reply_cut(call, d->deed.after_bytes);
    else
        reply_success(call);
}

void rest_finish(struct rest_call *call, struct err error)
{
    finish(dispatch_of(call->x), error);
}

/* ---- run ---- */

static void come_back(struct loop_task *task)
{
    struct dispatch *d = (struct dispatch *)((char *)task - offsetof(struct dispatch, task));
    finish(d, d->outcome);
}

static void back_to_loop(struct dispatch *d)
{
    d->task.run = come_back;
    loop_post(d->call.x->loop, &d->task);
}

static void update_done(struct engine_update *u)
{
    struct dispatch *d = (struct dispatch *)((char *)u - offsetof(struct dispatch, update));
    d->outcome = u->result;
    back_to_loop(d);
}

static bool is_late(const struct rest_call *call, int64_t now)
{
    return call->deadline != 0 && now >= call->deadline;
}

void rest_update(struct rest_call *call, struct engine_update *update,
                 void (*done)(struct engine_update *))
{
    /* What waited in the queue for too long is not done. */
    bool timed = call->deadline != 0;
    call->timed = (struct timed_run){call->deadline, call->op->run, call->args};
    *update = (struct engine_update){
        .partition = call->partition,
        .fn = timed ? store_run_in_time : call->op->run,
        .arg = timed ? &call->timed : call->args,
        .ack = ENGINE_DURABLE,
        .done = done,
    };
    store_write(call->store, update);
}

static void read_in_pool(struct loop_task *task)
{
    struct dispatch *d = (struct dispatch *)((char *)task - offsetof(struct dispatch, task));
    struct rest_call *call = &d->call;
    d->outcome =
        is_late(call, store_now(call->store))
            ? err_new(ERR_OPERATION_TIMED_OUT)
            : store_read(call->store, call->partition, ENGINE_WAIT, call->op->run, call->args);
    back_to_loop(d);
}

static void run_read(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (call->wants_pin)
        call->pin = store_pin(call->store);
    struct err error =
        store_read(call->store, call->partition, ENGINE_NOWAIT, call->op->run, call->args);
    if (!store_wants_pool(error)) {
        finish(d, error);
        return;
    }
    d->task.run = read_in_pool;
    pool_post(call->server->pool, &d->task);
}

static void run(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    switch (call->op->mode) {
    case MODE_READ:
        run_read(d);
        return;
    case MODE_WRITE:
        rest_update(call, &d->update, update_done);
        return;
    case MODE_DIRECT:
        finish(d, OK);
        return;
    case MODE_START:
    case MODE_START_READ: {
        struct err error = call->op->start(call);
        if (err_is(error))
            fail(d, error);
        return;
    }
    }
}

/* ---- test control ---- */

static void go_on(struct dispatch *d)
{
    if (d->point == SCRIPT_BEFORE)
        run(d);
    else
        finish(d, OK);
}

/* The client gets no answer; what was committed stays. */
static void cut(struct dispatch *d)
{
    d->replied = true;
    d->outcome = err_new(ERR_CLIENT_GONE);
    d->call.status = 499;
    script_ended(&d->stop);
    http_abort(d->call.x);
}

static void do_deed(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    switch (d->deed.act) {
    case SCRIPT_NOTHING:
    case SCRIPT_TRUNCATE:
        go_on(d);
        return;
    case SCRIPT_ERROR:
        if (d->deed.retry_after_s > 0)
            http_put_header(&call->error_headers, STR("Retry-After"),
                            arena_printf(call->arena, "%u", d->deed.retry_after_s));
        fail(d, err_new(d->deed.error));
        return;
    case SCRIPT_RESET:
        cut(d);
        return;
    }
}

static void delay_over(struct loop_timer *timer)
{
    do_deed((struct dispatch *)((char *)timer - offsetof(struct dispatch, stop.timer)));
}

static void after_hold(struct script_stop *stop)
{
    struct dispatch *d = (struct dispatch *)((char *)stop - offsetof(struct dispatch, stop));
    struct rest_call *call = &d->call;
    d->deed = script_meets(call->server->script, call, d->point);
    if (d->deed.id[0] != '\0')
        call->x->reply_headers = arena_printf(call->arena, "%.*sx-lazuli-fault: %s\r\n",
                                              STR_ARG(call->x->reply_headers), d->deed.id);
    if (d->deed.delay_ms == 0) {
        do_deed(d);
        return;
    }
    d->stop.timer.fire = delay_over;
    loop_timer_set(call->x->loop, &d->stop.timer, d->deed.delay_ms);
}

/* Passes a point at which test control may stop the call, or have it fail. */
static void meet_script(struct dispatch *d, enum script_point point)
{
    d->point = point;
    d->stop.go = after_hold;
    if (!script_stops(d->call.server->script, &d->call, point, &d->stop))
        after_hold(&d->stop);
}

/* ---- parse ---- */

/* x-ms-version, else api-version, else the version of the SAS, else the newest. */
static struct err parse_version(struct rest_call *call)
{
    struct str header = call_header(call, STR("x-ms-version"));
    struct str query = call_query(call, STR("api-version"));
    struct str signed_version = call_query(call, STR("sv"));
    struct str text = str_given(header) ? header : str_given(query) ? query : signed_version;
    call->version = VERSION_NEWEST;
    call->version_text = STR(VERSION_NEWEST_TEXT);
    if (!str_given(text))
        return OK;
    if (version_parse(text, call->server->options.any_version, &call->version)) {
        call->version_text = text;
        return OK;
    }
    /* A version that a SAS was signed with may be older than all that are served, and when it is
     * none, authentication says so. */
    if (!str_given(header) && !str_given(query))
        return OK;
    return str_given(header) ? call_bad_header(call, STR("x-ms-version"))
                             : call_bad_query(call, STR("api-version"));
}

static struct err parse_target(struct rest_call *call, enum op_resource *resource)
{
    const struct http_request *request = &call->x->request;
    struct str restype = call_query(call, STR("restype"));
    struct target_request wanted = {
        .service = call->service,
        .host = request->host,
        .path = request->path,
        .product_style = call->server->options.product_style && !str_given(call->mount),
        .names_container = str_given(restype) || (call->dfs && dfs_names_filesystem(call)),
        .lost_account = dfs_lost_account(call),
        .rename_source = call_header(call, second_header(SECOND_RENAMED_FILE)),
        .dfs = call->dfs,
    };
    struct target target;
    TRY(target_parse(call->arena, &wanted, &target));
    *resource = target.resource;
    call->account = target.account;
    call->secondary = target.secondary;
    call->path_style = target.path_style;
    call->container = target.container;
    call->object = target.object;
    call->key_pk = target.key_pk;
    call->key_rk = target.key_rk;
    return OK;
}

/* ---- permit ---- */

/* version: 0 when the request names none. */
static struct err authenticate(struct rest_call *call, int version)
{
    const struct http_request *request = &call->x->request;
    struct auth_pair *headers =
        ARENA_ARRAY(call->arena, struct auth_pair, request->header_count + 1);
    for (size_t i = 0; i < request->header_count; i++)
        headers[i] = (struct auth_pair){request->headers[i].name, request->headers[i].value};
    struct auth_input input = {
        .service = call->service,
        .method = request->method_text,
        .path = request->path,
        .raw_query = request->query,
        .query = call->query,
        .query_count = call->query_count,
        .query_plus = call->query_plus,
        .headers = headers,
        .header_count = request->header_count,
        .content_length = request->content_length,
        .account = call->account,
        .container = call->container,
        .object = call->object,
        .peer = call->x->peer,
        .secure = call->x->secure,
        .version = version,
        .now = call->now,
    };
    struct auth_demand demand = op_demand(call->op);
    struct err error =
        auth_check(&call->server->auth, &input, &demand, call->arena, &call->who, &call->challenge);
    call->admitted = !err_is(error);
    if (call->admitted && call->who.plus_is_plus)
        query_use(call, call->query_plus, call->query_count);
    struct auth_resource what = {.service = call->service,
                                 .account = call->account,
                                 .container = call->container,
                                 .object = call->object};
    call->by_lists =
        call->admitted && auth_consults_lists(&call->server->auth, &call->who, &what, &demand);
    return error;
}

static struct err check_conditions(struct rest_call *call)
{
    static const struct {
        struct str name;
        unsigned bit;
    } conditions[] = {
        {STR_INIT("If-Match"), COND_M},          {STR_INIT("If-None-Match"), COND_N},
        {STR_INIT("If-Modified-Since"), COND_S}, {STR_INIT("If-Unmodified-Since"), COND_U},
        {STR_INIT("x-ms-if-tags"), COND_T},
    };
    /* Known when this is compiled: most requests have none, and one look tells. */
    uint64_t marks = http_name_mark(STR("If-Match")) | http_name_mark(STR("If-None-Match")) |
                     http_name_mark(STR("If-Modified-Since")) |
                     http_name_mark(STR("If-Unmodified-Since")) |
                     http_name_mark(STR("x-ms-if-tags"));
    uint64_t names = call->x->request.names;
    if ((call->op->conditions & COND_IGNORED) != 0 || (names != 0 && (names & marks) == 0))
        return OK;
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        if ((call->op->conditions & conditions[i].bit) == 0 &&
            str_given(call_header(call, conditions[i].name)))
            return call_error(call, ERR_CONDITION_HEADERS_NOT_SUPPORTED, "HeaderName",
                              conditions[i].name);
    }
    return OK;
}

/* Is this a promise about the content that is not kept here: encrypted with the client's own key?
 */
static bool promises_protection(struct str header)
{
    return header.n >= sizeof "x-ms-encryption-key" - 1 &&
           (str_istarts(header, STR("x-ms-encryption-key")) ||
            str_istarts(header, STR("x-ms-source-encryption-key")) ||
            str_ieq(header, STR("x-ms-encryption-algorithm")));
}

/* To pass over such a wish would be to store unprotected what was to be protected, so it is
 * refused, unless --loose asks for that. */
static struct err check_protection(struct rest_call *call)
{
    const struct http_request *request = &call->x->request;
    if (call->server->options.loose || call->service != SERVICE_BLOB)
        return OK;
    for (size_t i = 0; i < request->header_count; i++) {
        if (request->headers[i].value.n > 0 && promises_protection(request->headers[i].name))
            return call_error(call, ERR_NOT_IMPLEMENTED, "HeaderName", request->headers[i].name);
    }
    return OK;
}

/* Seconds, as many as the client likes: it is not held to less than it asks for. A website's query
 * is its own. */
static struct err read_timeout(struct rest_call *call)
{
    uint64_t seconds = 0;
    if (call->op->resource == R_WEBSITE)
        return OK;
    TRY(call_query_u64(call, STR("timeout"), 1, INT32_MAX, &seconds));
    if (seconds > 0)
        call->deadline = call->now + (int64_t)seconds * TICKS_PER_SECOND;
    return OK;
}

/* The account's, or a share as a whole: nothing that the permissions of files guard. The JavaScript
 * SDK leaves the intent out there. */
static bool is_of_share(const struct op *op)
{
    bool descriptor = op->comp != NULL && str_eq(str_of(op->comp), STR("filepermission"));
    bool share = op->restype != NULL && str_eq(str_of(op->restype), STR("share"));
    return op->resource == R_SERVICE || (op->resource == R_CONTAINER && share && !descriptor);
}

/* A token's holder passes over the permissions of files, as a backup does, and has to say so. */
struct err rest_check_intent(struct rest_call *call, enum service_kind service,
                             const struct auth_result *who, const struct op *op)
{
    const struct str name = STR("x-ms-file-request-intent");
    struct str intent = call_header(call, name);
    if (service != SERVICE_FILE || who->kind != AUTH_BEARER)
        return OK;
    if (!str_given(intent) && is_of_share(op))
        return OK;
    if (!str_given(intent))
        return call_missing_header(call, name);
    return str_ieq(intent, STR("backup")) ? OK : call_bad_header(call, name);
}

static struct err too_large(struct rest_call *call)
{
    unsigned long long limit = call->op->body_max;
    return err_detail(ERR_REQUEST_BODY_TOO_LARGE,
                      arena_printf(call->arena, "MaxLimit\t%llu", limit).p);
}

/* The length is what a Shared Key signature covers of the body. A request that was signed without
 * one must not be good for a body in chunks, so a body needs a length, whoever sends it, as in the
 * cloud. Tables sign no length, and take chunks. */
static bool lacks_length(const struct rest_call *call)
{
    const struct http_request *request = &call->x->request;
    bool chunks = request->chunked && call->service == SERVICE_TABLE;
    return request->content_length < 0 && !chunks;
}

static struct err check_body(struct rest_call *call)
{
    if (call->op->body == BODY_NONE)
        return OK;
    if (lacks_length(call))
        return call_error(call, ERR_MISSING_CONTENT_LENGTH_HEADER, "HeaderName",
                          STR("Content-Length"));
    if (call->body_length > 0 && (uint64_t)call->body_length > call->op->body_max)
        return too_large(call);
    return OK;
}

/* No operation can forget that somebody has no more rights than lists grant. */
static struct err decode(struct rest_call *call)
{
    TRY(call->op->decode(call));
    return call->by_lists && !call->lists_read ? err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH)
                                               : OK;
}

static struct err head_phases(struct rest_call *call, bool dfs_listens)
{
    enum op_resource resource = R_SERVICE;
    TRY(query_parse(call));
    call->dfs = dfs_is_spoken(call, dfs_listens);
    TRY(parse_version(call));
    TRY(parse_target(call, &resource));
    TRY(cors_prepare(call));
    TRY(match_op(call, resource));
    TRY(authenticate(call, str_given(call_header(call, STR("x-ms-version"))) ? call->version : 0));
    TRY(rest_check_intent(call, call->service, &call->who, call->op));
    /* The secondary endpoint serves reads; geo-replication's lag is none here. */
    if (call->secondary && (call->op->mode == MODE_WRITE || call->op->mode == MODE_START))
        return err_new(ERR_INSUFFICIENT_ACCOUNT_PERMISSIONS);
    if (call->op->version_min > call->version)
        return call_bad_header(call, STR("x-ms-version"));
    TRY(read_timeout(call));
    TRY(check_conditions(call));
    TRY(check_protection(call));
    TRY(structured_body_announced(call));
    TRY(check_body(call));
    if (call->op->body != BODY_STREAM)
        return OK;
    struct err decoded = decode(call);
    structured_body_unwrap(call);
    return decoded;
}

struct err rest_match_part(struct rest_call *part)
{
    enum op_resource resource = R_SERVICE;
    TRY(query_parse(part));
    TRY(parse_target(part, &resource));
    return match_op(part, resource);
}

struct err rest_check_part(struct rest_call *part)
{
    return check_conditions(part);
}

/* The part's version is the batch's. */
struct err rest_permit_part(struct rest_call *part)
{
    TRY(authenticate(part, part->version));
    return check_protection(part);
}

/* ---- large bodies ---- */

static void body_is_whole(struct dispatch *d);

/* A piece of a large body is stored. The connection goes on reading, which may end the call. */
static void piece_stored(struct bulk_body *b)
{
    struct dispatch *d = (struct dispatch *)((char *)b - offsetof(struct dispatch, bulk));
    if (err_is(b->error))
        fail(d, b->error);
    else if (d->body_ended)
        body_is_whole(d);
    else
        http_body_resume(d->call.x);
}

static void begin_bulk(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (!bulk_begin(call->server->bulk, &d->bulk, call->x->request.content_length))
        return;
    d->bulk.sink = call->sink;
    d->bulk.x = call->x;
    d->bulk.stored = piece_stored;
}

/* ---- what HTTP calls ---- */

/* Health, metrics and control have their place on every port. Not where the admin listener has
 * mounted a service: it has them itself, and its own rules for who may ask. */
static bool goes_aside(struct http_exchange *x, const struct rest_listener *listener)
{
    const struct rest_server *server = listener->server;
    if (server->side == NULL || str_given(listener->mount) ||
        !str_starts(x->request.path, STR(REST_SIDE_PATH)))
        return false;
    x->handler = server->side;
    x->listener_context = server->side_context;
    server->side->on_head(x);
    return true;
}

static void on_head(struct http_exchange *x)
{
    const struct rest_listener *listener = x->listener_context;
    if (goes_aside(x, listener))
        return;
    struct dispatch *d = ARENA_NEW(x->arena, struct dispatch);
    struct rest_call *call = &d->call;
    x->user = d;
    call->x = x;
    tally_add(&((struct rest_loop *)x->loop_memory)->stats.begun[listener->service], 1);
    call->server = listener->server;
    call->store = listener->server->store;
    call->service = listener->service;
    call->mount = listener->mount;
    call->arena = x->arena;
    call->now = store_now(call->store);
    call->headers = buf_in(x->arena);
    (void)buf_reserve(&call->headers, HEADERS_BYTES_USUAL);
    call->out = buf_in(x->arena);
    call->error_headers = buf_in(x->arena);
    call->content_length = -1;
    d->small_body = buf_in(x->arena);
    struct guid id = guid_random();
    guid_text(&id, call->request_id);
    struct err error = head_phases(call, listener->dfs);
    d->sink_open = call->sink != NULL;
    if (err_is(error))
        fail(d, error);
    else if (call->sink != NULL)
        begin_bulk(d);
}

static void on_body(struct http_exchange *x, struct str bytes)
{
    struct dispatch *d = dispatch_of(x);
    struct rest_call *call = &d->call;
    struct err error = OK;
    if (d->bulk.bulk != NULL) {
        if (bulk_add(&d->bulk, bytes))
            http_body_pause(x);
        return;
    }
    if (call->op->body == BODY_STREAM)
        error = call->sink == NULL ? OK : call->sink->take(call->sink, bytes);
    else if (call->op->body == BODY_SMALL && d->small_body.n + bytes.n > call->op->body_max)
        error = too_large(call);
    else if (call->op->body == BODY_SMALL)
        buf_put(&d->small_body, bytes);
    if (err_is(error))
        fail(d, error);
}

static struct err end_phases(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    if (call->op->body == BODY_STREAM)
        return call->sink == NULL ? OK : call->sink->end(call->sink);
    call->body = buf_str(&d->small_body);
    return decode(call);
}

static void end_body(struct dispatch *d)
{
    d->call.received_us = loop_now_us(d->call.x->loop);
    struct err error = end_phases(d);
    if (!err_is(error) && d->call.arena->over_limit)
        error = err_new(ERR_REQUEST_BODY_TOO_LARGE);
    if (!err_is(error) && d->call.deadline != 0 && is_late(&d->call, store_now(d->call.store)))
        error = err_new(ERR_OPERATION_TIMED_OUT);
    if (err_is(error))
        fail(d, error);
    else if (d->call.server->script != NULL)
        meet_script(d, SCRIPT_BEFORE);
    else
        run(d);
}

static void digest_ready(struct digest *digest)
{
    end_body((struct dispatch *)((char *)digest - offsetof(struct dispatch, digest)));
}

/* A small body waits for the others of this turn of the loop, to be summed up with them. */
static bool wait_for_digest(struct dispatch *d)
{
    struct rest_call *call = &d->call;
    struct rest_sink *sink = call->sink;
    if (call->server->digests == NULL || sink == NULL || sink->digest == NULL ||
        !sink->digest(sink, &d->digest.job))
        return false;
    d->digest.ready = digest_ready;
    digests_add(call->server->digests, call->x->loop, &d->digest);
    return true;
}

static void body_is_whole(struct dispatch *d)
{
    bulk_drop(&d->bulk);
    if (!wait_for_digest(d))
        end_body(d);
}

static void on_end(struct http_exchange *x)
{
    struct dispatch *d = dispatch_of(x);
    d->body_ended = true;
    if (d->bulk.bulk == NULL || !bulk_end(&d->bulk))
        body_is_whole(d);
}

static void on_done(struct http_exchange *x)
{
    struct dispatch *d = dispatch_of(x);
    struct rest_call *call = &d->call;
    bulk_drop(&d->bulk);
    give_back(d);
    store_release_state(call->store, call->state);
    store_end_loan(&call->loan);
    arena_release(&call->list_arena);
    store_unpin(call->store, call->pin);
    if (!d->replied) {
        d->outcome = err_new(ERR_CLIENT_GONE);
        call->status = 499;
    }
    /* Most answers go out in the turn in which they were made, whose time was read before that. */
    int64_t now_us = loop_now_us(x->loop);
    int64_t ended_us = now_us > call->answered_us ? now_us : call->answered_us;
    struct rest_stats *stats = &((struct rest_loop *)x->loop_memory)->stats;
    stats_add(stats, call, d->outcome, ended_us);
    int64_t slow_us = call->server->options.slow_us;
    if (slow_us != 0 && ended_us - x->started_us > slow_us) {
        tally_add(&stats->slow, 1);
        access_log_slow(call, ended_us - x->started_us);
    }
    if (line_log_wants(call->server->log))
        access_log_add(call->server->log, call, d->outcome);
    if (err_is(d->outcome) && log_wants(LOG_DEBUG))
        access_log_refusal(call, d->outcome);
}

static void *loop_memory_new(void)
{
    return MEM_NEW(struct rest_loop);
}

static void loop_memory_free(void *memory)
{
    free(memory);
}

const struct http_handler REST_HANDLER = {
    .on_head = on_head,
    .on_body = on_body,
    .on_end = on_end,
    .on_done = on_done,
    .on_bad = reply_bad,
    .loop_memory_new = loop_memory_new,
    .loop_memory_free = loop_memory_free,
};
