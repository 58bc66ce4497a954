/* SPDX-License-Identifier: Apache-2.0 */
/* Views: read-only REPEATABLE READ transactions. The first read begins one, in the same round trip;
 * its end is sent and not waited for. */
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

/* A connection whose transaction stays open. */
struct engine_state {
    pthread_mutex_t lock;
    struct conn *conn; /* NULL: it could not be kept */
};

static struct view *view_of(struct txn *t)
{
    return (struct view *)(void *)t;
}

/* ---- reading ---- */

struct err view_ready(struct view *v)
{
    if (v->conn == NULL)
        TRY(conn_pool_take(&v->engine->views, v->deadline, &v->conn));
    if (!v->begun)
        conn_send(v->conn, STMT_BEGIN_VIEW, NULL);
    v->sent = rowset_wants(&v->set);
    if (v->sent)
        rowset_send(&v->set, v->conn);
    return OK;
}

static void check_guess(void *arg, struct row *guessed)
{
    struct view *v = arg;
    const struct row *row = rowset_find(&v->set, row_key(guessed), false);
    v->wrong |= row != NULL && (row->deleted || !str_eq(row_value(row), row_value(guessed)));
}

struct err view_exchange(struct view *v)
{
    struct err error = conn_exchange(v->conn);
    v->begun = true;
    v->lost |= v->conn->fault == FAULT_LOST;
    if (!err_is(error) && v->sent) {
        error = rowset_receive(&v->set, v->conn);
        if (!v->sure)
            tree_each(&v->guessed, check_guess, v);
    }
    v->sent = false;
    if (!err_is(error) && v->wrong)
        error = err_new(ERR_WOULD_BLOCK);
    return error;
}

/* What is wanted in v->set. */
static struct err view_fetch(struct view *v)
{
    while (rowset_wants(&v->set)) {
        TRY(view_ready(v));
        TRY(view_exchange(v));
    }
    return OK;
}

static struct str name_of(struct view *v, const struct engine_read *r, struct buf *other)
{
    if (!str_given(r->partition))
        return rowkey_of(&v->name, r->key);
    buf_clear(other);
    rowkey_put_partition(other, r->partition);
    buf_put(other, r->key);
    return buf_str(other);
}

static void end_row_loan(void *row)
{
    row_put(row);
}

static void give(struct engine_read *r, struct row *row)
{
    if (row == NULL || row->deleted)
        return;
    r->value = row_value(row);
    r->body = r->with_body ? row_body(row) : STR_NONE;
    if (r->loan != NULL && str_given(r->body))
        *r->loan = (struct engine_loan){end_row_loan, row_get(row)};
}

/* A row to go on with, which is confirmed together with the next read. */
static bool guess(struct view *v, const struct engine_read *r, struct str name)
{
    if (v->sure || (r->hints & HINT_SOON) == 0 || r->with_body)
        return false;
    if (tree_find(&v->guessed, name) != NULL)
        return true;
    struct row *row = hot_find(&v->engine->hot, name);
    if (row == NULL)
        return false;
    tree_insert(&v->guessed, row);
    rowset_want(&v->set, name, false);
    return true;
}

static void give_known(struct view *v, struct engine_read *r, struct str name)
{
    struct row *row = rowset_find(&v->set, name, r->with_body);
    if (row != NULL && (r->hints & HINT_SOON) != 0)
        hot_put(&v->engine->hot, row);
    give(r, row != NULL ? row : tree_find(&v->guessed, name));
}

static struct err view_get_many(struct txn *t, struct engine_read *reads, size_t count)
{
    struct view *v = view_of(t);
    struct buf other = buf_in(&v->arena);
    bool missing = false;
    for (size_t i = 0; i < count; i++) {
        struct str name = name_of(v, &reads[i], &other);
        if (rowset_find(&v->set, name, reads[i].with_body) != NULL || guess(v, &reads[i], name))
            continue;
        rowset_want(&v->set, name, reads[i].with_body);
        missing = true;
    }
    if (missing)
        TRY(view_fetch(v));
    for (size_t i = 0; i < count; i++)
        give_known(v, &reads[i], name_of(v, &reads[i], &other));
    return OK;
}

/* ---- kept states ---- */

static void keep_none(struct engine_state *state)
{
    state->conn = NULL;
}

static void drop_kept(struct cluster_engine *e, struct engine_state *state)
{
    if (state->conn == NULL)
        return;
    conn_close(state->conn);
    state->conn = NULL;
    atomic_fetch_sub(&e->kept, 1);
}

static void view_keep_state(struct txn *t, struct engine_state **kept)
{
    struct view *v = view_of(t);
    if (*kept == NULL) {
        *kept = MEM_NEW(struct engine_state);
        pthread_mutex_init(&(*kept)->lock, NULL);
    }
    v->keeps = *kept;
    drop_kept(v->engine, *kept);
}

/* The function has ended: the connection becomes the state's, with its transaction. */
static void hand_over(struct view *v)
{
    struct engine_state *state = v->keeps;
    v->keeps = NULL;
    keep_none(state);
    if (atomic_fetch_add(&v->engine->kept, 1) >= CLUSTER_KEPT || err_is(view_ready(v))) {
        atomic_fetch_sub(&v->engine->kept, 1);
        return;
    }
    conn_send(v->conn, STMT_KEEP, NULL);
    if (err_is(view_exchange(v))) {
        atomic_fetch_sub(&v->engine->kept, 1);
        return;
    }
    state->conn = v->conn;
    v->conn = NULL;
    conn_pool_detach(&v->engine->views);
}

void cluster_state_release(struct engine *e, struct engine_state *state)
{
    drop_kept(cluster_of(e), state);
    pthread_mutex_destroy(&state->lock);
    free(state);
}

/* ---- running ---- */

static const struct txn_ops VIEW_OPS = {
    .get_many = view_get_many,
    .cursor_open = view_cursor_open,
    .cursor_open_across = view_cursor_open_across,
    .keep_state = view_keep_state,
};

static void view_init(struct view *v, struct cluster_engine *e, struct str partition)
{
    *v = (struct view){.engine = e, .deadline = clock_mono_ms() + CLUSTER_VIEW_MS};
    arena_init(&v->arena, TXN_ARENA_LIMIT);
    v->base = (struct txn){
        .ops = &VIEW_OPS, .arena = &v->arena, .now = cluster_now(e), .wait = ENGINE_WAIT};
    rowset_init(&v->set, partition, -1);
    rowkey_init(&v->name, &v->arena, partition);
    v->guessed.random = 1;
}

static void view_release(struct view *v)
{
    if (v->conn != NULL) {
        if (v->begun) {
            conn_send(v->conn, STMT_COMMIT, NULL);
            conn_leave(v->conn);
        }
        conn_pool_give(&v->engine->views, v->conn);
    }
    tree_put(&v->guessed);
    rowset_release(&v->set);
    arena_release(&v->arena);
}

static struct err run_once(struct cluster_engine *e, struct str partition, engine_fn *fn, void *arg,
                           bool *again)
{
    struct view v;
    view_init(&v, e, partition);
    struct err error = fn(&v.base, arg);
    txn_close_cursors(&v.base);
    struct err confirmed = v.wrong || v.lost ? OK : view_fetch(&v);
    if (v.wrong) { /* in the same snapshot, of which more is known now */
        v.wrong = false;
        v.sure = true;
        error = fn(&v.base, arg);
        txn_close_cursors(&v.base);
    } else if (err_is(confirmed)) {
        error = confirmed;
    }
    if (v.keeps != NULL)
        hand_over(&v);
    *again = v.lost && err_is(error);
    view_release(&v);
    return error;
}

struct err cluster_view(struct engine *e, struct str partition, enum engine_wait wait,
                        engine_fn *fn, void *arg)
{
    int64_t deadline = clock_mono_ms() + CLUSTER_VIEW_MS;
    bool again = true;
    struct err error = OK;
    if (wait == ENGINE_NOWAIT)
        return err_new(ERR_WOULD_BLOCK);
    while (again) {
        error = run_once(cluster_of(e), partition, fn, arg, &again);
        again = again && clock_mono_ms() < deadline;
    }
    return error;
}

struct err cluster_view_state(struct engine *e, struct engine_state *state, struct str partition,
                              engine_fn *fn, void *arg)
{
    struct view v;
    pthread_mutex_lock(&state->lock);
    if (state->conn == NULL) {
        pthread_mutex_unlock(&state->lock);
        return err_new(ERR_SERVER_BUSY);
    }
    view_init(&v, cluster_of(e), partition);
    v.conn = state->conn;
    v.begun = true;
    v.sure = true;
    struct err error = fn(&v.base, arg);
    txn_close_cursors(&v.base);
    if (v.lost)
        drop_kept(v.engine, state);
    v.conn = NULL; /* it stays the state's */
    view_release(&v);
    pthread_mutex_unlock(&state->lock);
    return error;
}

/* ---- partitions ---- */

static struct err walk_page(struct view *v, const struct partition_walk *walk, struct buf *from,
                            bool *more)
{
    enum { PAGE = 200 };
    char *past = arena_bytes(&v->arena, walk->prefix.n + 1);
    if (walk->prefix.n > 0)
        memcpy(past, walk->prefix.p, walk->prefix.n);
    size_t past_n = rowkey_past_prefix(past, walk->prefix.n);
    struct params p = params_in(&v->arena);
    param_bytes(&p, buf_str(from));
    param_bytes(&p, past_n == 0 ? largest_head(&v->arena) : (struct str){past, past_n});
    param_bool(&p, past_n == 0);
    param_bytes(&p, walk->key);
    param_number(&p, PAGE);
    TRY(view_ready(v));
    conn_send(v->conn, STMT_PARTITIONS, &p);
    TRY(view_exchange(v));
    unsigned statement = v->conn->count - 1;
    int rows = result_rows(v->conn, statement);
    *more = rows == PAGE;
    for (int i = 0; i < rows; i++) {
        struct str partition = result_field(v->conn, statement, i, 0);
        if (!walk->visit(partition, result_field(v->conn, statement, i, 1), walk->arg)) {
            *more = false;
            break;
        }
        buf_clear(from);
        buf_put(from, partition);
        buf_putc(from, '\0');
    }
    return OK;
}

struct err cluster_partitions(struct engine *e, const struct partition_walk *walk)
{
    struct view v;
    view_init(&v, cluster_of(e), STR(""));
    struct buf from = buf_in(&v.arena);
    buf_put(&from, walk->prefix);
    if (str_given(walk->after) && str_cmp(walk->after, walk->prefix) >= 0) {
        buf_clear(&from);
        buf_put(&from, walk->after);
        buf_putc(&from, '\0');
    }
    struct err error = OK;
    for (bool more = true; more && !err_is(error);)
        error = walk_page(&v, walk, &from, &more);
    view_release(&v);
    return error;
}
