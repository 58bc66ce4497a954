/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/conn.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/mem.h"

/* ---- failures ---- */

static const struct {
    const char *state; /* the beginning of an SQLSTATE */
    enum conn_fault fault;
} FAULTS[] = {
    {"40001", FAULT_RETRY},   {"40P01", FAULT_RETRY},
    {"22012", FAULT_REQUIRE}, {"23505", FAULT_REQUIRE},
    {"22003", FAULT_MOVED},   {"57014", FAULT_LATE},
    {"55P03", FAULT_LATE},    {"53100", FAULT_SPACE},
    {"25006", FAULT_LOST}, /* this server has become a standby */
    {"57P0", FAULT_LOST},     {"25P03", FAULT_LOST},
    {"08", FAULT_LOST},       {"53300", FAULT_LOST},
};

static enum conn_fault fault_of(const char *state)
{
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++)
        if (strncmp(state, FAULTS[i].state, strlen(FAULTS[i].state)) == 0)
            return FAULTS[i].fault;
    return FAULT_OTHER;
}

static struct err err_of(enum conn_fault fault)
{
    switch (fault) {
    case FAULT_NONE:
        return OK;
    case FAULT_REQUIRE:
        return err_new(ERR_CORRUPT);
    case FAULT_SPACE:
        return err_cause(ERR_NO_SPACE, ENOSPC);
    case FAULT_RETRY:
    case FAULT_MOVED:
    case FAULT_LATE:
    case FAULT_LOST:
        return err_new(ERR_SERVER_BUSY);
    case FAULT_OTHER:
        break;
    }
    return err_new(ERR_IO);
}

/* Only the first failure counts: PostgreSQL does not run the statements behind it. */
static void note_fault(struct conn *c, enum conn_fault fault, const char *state)
{
    if (c->fault == FAULT_NONE || (fault == FAULT_LOST && c->fault != FAULT_LOST)) {
        c->fault = fault;
        c->failed = c->count;
        (void)snprintf(c->sqlstate, sizeof c->sqlstate, "%s", state);
    }
}

static void lose(struct conn *c)
{
    note_fault(c, FAULT_LOST, "08006");
}

static void note_result(struct conn *c, const struct pg_result *r)
{
    const char *state = c->pq->result_error_field(r, PQ_DIAG_SQLSTATE);
    const char *message = c->pq->result_error_field(r, PQ_DIAG_MESSAGE_PRIMARY);
    enum conn_fault fault = state == NULL ? FAULT_LOST : fault_of(state);
    note_fault(c, fault, state == NULL ? "08006" : state);
    if (fault == FAULT_OTHER)
        log_line(LOG_ERROR, "rows: PostgreSQL says %s: %s", state == NULL ? "" : state,
                 message == NULL ? "" : message);
}

/* ---- sending ---- */

static void clear_results(struct conn *c)
{
    for (unsigned i = 0; i < c->count; i++)
        c->pq->clear(c->results[i]);
    c->count = 0;
}

/* Makes the next statement the first of an exchange. */
static void begin_sending(struct conn *c)
{
    if (c->count > 0)
        clear_results(c);
    assert(c->queued < CONN_RESULTS_MAX);
    c->queued++;
}

void conn_send(struct conn *c, enum stmt stmt, const struct params *params)
{
    assert(stmt < STMT_COUNT);
    assert(params == NULL || params->count <= PARAMS_MAX);
    char name[8];
    int formats[PARAMS_MAX];
    int count = params == NULL ? 0 : params->count;
    begin_sending(c);
    for (int i = 0; i < count; i++)
        formats[i] = 1;
    (void)snprintf(name, sizeof name, "s%d", (int)stmt);
    if (c->pq->send_query_prepared(c->pg, name, count, params == NULL ? NULL : params->values,
                                   params == NULL ? NULL : params->lengths, formats, 1) != 1)
        lose(c);
}

void conn_send_text(struct conn *c, const char *sql)
{
    begin_sending(c);
    if (c->pq->send_query_params(c->pg, sql, 0, NULL, NULL, NULL, NULL, 1) != 1)
        lose(c);
}

void conn_send_params(struct conn *c, const char *sql, const struct params *params)
{
    int formats[PARAMS_MAX];
    begin_sending(c);
    for (int i = 0; i < params->count; i++)
        formats[i] = 1;
    if (c->pq->send_query_params(c->pg, sql, params->count, NULL, params->values, params->lengths,
                                 formats, 1) != 1)
        lose(c);
}

/* ---- waiting ---- */

/* False at the time limit, or if the connection is lost. */
static bool wait_socket(struct conn *c, short events, int64_t deadline)
{
    struct pollfd p = {.fd = c->pq->socket(c->pg), .events = events};
    int64_t left = deadline - clock_mono_ms();
    int ready = left <= 0 ? 0 : poll(&p, 1, (int)left);
    if (ready < 0 && errno == EINTR)
        return true;
    if (ready <= 0) {
        lose(c);
        return false;
    }
    if ((p.revents & (POLLIN | POLLERR | POLLHUP)) != 0 && c->pq->consume_input(c->pg) != 1) {
        lose(c);
        return false;
    }
    return true;
}

/* Reads while it writes: PostgreSQL may stop reading until its results are read. */
static bool flush(struct conn *c, int64_t deadline)
{
    for (;;) {
        int left = c->pq->flush(c->pg);
        if (left == 0)
            return true;
        if (left < 0) {
            lose(c);
            return false;
        }
        if (!wait_socket(c, POLLIN | POLLOUT, deadline))
            return false;
    }
}

/* The next result, NULL between those of two statements. */
static bool next_result(struct conn *c, int64_t deadline, struct pg_result **out)
{
    while (c->pq->is_busy(c->pg) == 1)
        if (!wait_socket(c, POLLIN, deadline))
            return false;
    *out = c->pq->get_result(c->pg);
    return true;
}

/* Takes one result of one statement. Results and failures of statements that nobody waits for are
 * discarded, because their transaction was complete. */
static void take_result(struct conn *c, struct pg_result *r, unsigned *seen)
{
    int status = c->pq->result_status(r);
    bool good = status == PQ_COMMAND_OK || status == PQ_TUPLES_OK;
    bool wanted = *seen >= c->pending;
    ++*seen;
    if (!wanted) {
        c->pq->clear(r);
        return;
    }
    if (!good && status != PQ_PIPELINE_ABORTED)
        note_result(c, r);
    else if (!good && c->fault == FAULT_NONE)
        lose(c);
    assert(c->count < CONN_RESULTS_MAX);
    c->results[c->count++] = r;
}

static bool read_results(struct conn *c, int64_t deadline)
{
    unsigned seen = 0;
    while (c->syncs > 0) {
        struct pg_result *r;
        if (!next_result(c, deadline, &r))
            return false;
        if (r == NULL) {
            if (c->pq->status(c->pg) != PQ_CONNECTION_OK) {
                lose(c);
                return false;
            }
        } else if (c->pq->result_status(r) == PQ_PIPELINE_SYNC) {
            c->pq->clear(r);
            c->syncs--;
        } else {
            take_result(c, r, &seen);
        }
    }
    return true;
}

static void send_sync(struct conn *c)
{
    if (c->pq->pipeline_sync(c->pg) == 1)
        c->syncs++;
    else
        lose(c);
}

void conn_start(struct conn *c)
{
    c->fault = c->fault == FAULT_LOST ? FAULT_LOST : FAULT_NONE;
    c->started = true;
    if (c->target->trips != NULL && !c->quiet)
        atomic_fetch_add_explicit(c->target->trips, 1, memory_order_relaxed);
    if (c->fault == FAULT_NONE)
        send_sync(c);
    if (c->fault == FAULT_NONE && c->pq->flush(c->pg) < 0)
        lose(c);
}

struct err conn_exchange(struct conn *c)
{
    int64_t deadline = clock_mono_ms() + CONN_ANSWER_MS;
    if (!c->started)
        conn_start(c);
    c->started = false;
    if (c->fault == FAULT_NONE && flush(c, deadline))
        (void)read_results(c, deadline);
    c->queued = c->pending = 0;
    return err_of(c->fault);
}

void conn_leave(struct conn *c)
{
    if (c->fault != FAULT_LOST)
        send_sync(c);
    if (c->fault != FAULT_LOST && c->pq->flush(c->pg) < 0)
        lose(c);
    c->pending = c->queued;
}

/* ---- results ---- */

int result_rows(const struct conn *c, unsigned statement)
{
    assert(statement < c->count);
    return c->pq->tuples(c->results[statement]);
}

struct str result_field(const struct conn *c, unsigned statement, int row, int column)
{
    assert(statement < c->count);
    const struct pg_result *r = c->results[statement];
    if (c->pq->is_null(r, row, column) == 1)
        return STR_NONE;
    return (struct str){c->pq->value(r, row, column), (size_t)c->pq->length(r, row, column)};
}

int64_t result_number(const struct conn *c, unsigned statement, int row, int column)
{
    return number_of(result_field(c, statement, row, column));
}

/* ---- life ---- */

static struct pg_conn *dial(const struct conn_target *target)
{
    char timeout[8];
    (void)snprintf(timeout, sizeof timeout, "%d", CONN_CONNECT_S);
    /* Options after the URI override it; options before it do not. */
    const char *keywords[] = {"connect_timeout",      "keepalives_idle",  "keepalives_interval",
                              "keepalives_count",     "tcp_user_timeout", "application_name",
                              "target_session_attrs", "dbname",           NULL};
    const char *values[] = {timeout,  "5",          "2",         "3", "15000",
                            "lazuli", "read-write", target->uri, NULL};
    return target->pq->connect(keywords, values, 1);
}

static void prepare_all(struct conn *c)
{
    for (unsigned i = 0; i < STMT_COUNT; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "s%u", i);
        begin_sending(c);
        if (c->pq->send_prepare(c->pg, name, SQL_TEXT[i], 0, NULL) != 1)
            lose(c);
    }
}

static struct err set_up(struct conn *c, bool prepared)
{
    if (c->pq->set_nonblocking(c->pg, 1) != 0 || c->pq->enter_pipeline(c->pg) != 1)
        return err_new(ERR_SERVER_BUSY);
    for (size_t i = 0; i < SQL_SESSION_COUNT; i++)
        conn_send_text(c, SQL_SESSION[i]);
    if (c->target->schema != NULL) {
        char path[128];
        (void)snprintf(path, sizeof path, "SET search_path = %s", c->target->schema);
        conn_send_text(c, path);
    }
    if (prepared)
        prepare_all(c);
    c->quiet = true;
    struct err error = conn_exchange(c);
    c->quiet = false;
    clear_results(c);
    return error;
}

/* USER:PASSWORD of a URI; empty if it has none. */
static struct str user_of(struct str uri)
{
    const char *begin = memmem(uri.p, uri.n, "//", 2);
    struct str rest = begin == NULL ? uri : str_from(uri, (size_t)(begin - uri.p) + 2);
    const char *end = memrchr(rest.p, '@', rest.n);
    return str_head(rest, end == NULL ? 0 : (size_t)(end - rest.p));
}

static bool holds(struct str s, struct str part)
{
    return part.n > 0 && memmem(s.p, s.n, part.p, part.n) != NULL;
}

/* libpq quotes what it cannot parse, which may hold the password. Returns how much of the message
 * is left out, from this quotation mark on. */
static size_t hidden_length(struct str message, struct str user)
{
    const char *end = memchr(message.p + 1, '"', message.n - 1);
    if (end == NULL)
        return 0;
    struct str quoted = {message.p + 1, (size_t)(end - message.p) - 1};
    return holds(user, quoted) || holds(quoted, user) ? quoted.n + 2 : 0;
}

/* libpq's messages have several lines, and end with a newline. */
static void put_message(struct buf *text, struct str message, struct str uri)
{
    bool parsed = str_starts(message, STR("connection to "));
    while (message.n > 0 && message.p[message.n - 1] == '\n')
        message.n--;
    while (message.n > 0) {
        char c = message.p[0];
        size_t hidden = c == '"' && !parsed ? hidden_length(message, user_of(uri)) : 0;
        if (hidden > 0)
            buf_put(text, STR("\"...\""));
        else if (c != '\t')
            buf_putc(text, c == '\n' ? ' ' : c);
        message = str_from(message, hidden > 0 ? hidden : 1);
    }
}

struct err conn_open(const struct conn_target *target, bool prepared, struct buf *text,
                     struct conn **out)
{
    struct conn *c = MEM_NEW(struct conn);
    c->target = target;
    c->pq = target->pq;
    c->pg = dial(target);
    bool reached = c->pg != NULL && c->pq->status(c->pg) == PQ_CONNECTION_OK;
    struct err error = reached ? set_up(c, prepared) : err_new(ERR_SERVER_BUSY);
    if (err_is(error) && text != NULL) {
        if (reached)
            buf_printf(text, "PostgreSQL refuses the statements of this version (%s)", c->sqlstate);
        else
            put_message(text, str_of(c->pg == NULL ? "out of memory" : c->pq->error_message(c->pg)),
                        str_of(target->uri));
    }
    if (err_is(error)) {
        conn_close(c);
        return error;
    }
    *out = c;
    return OK;
}

void conn_close(struct conn *c)
{
    clear_results(c);
    if (c->pg != NULL)
        c->pq->finish(c->pg);
    free(c);
}
