/* SPDX-License-Identifier: Apache-2.0 */
/* Views over many partitions: a cursor or a walk in each shard, merged in order. The shards' states
 * need not be of the same moment, but each was committed after the view began. */
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/cluster_internal.h"

/* ---- which shard reads which bucket ---- */

static struct err begin_legs(struct view *v)
{
    unsigned count = v->engine->shards.count;
    for (unsigned i = 0; i < count; i++) {
        struct view_leg *leg = view_leg_at(v, i);
        TRY(view_ready(v, leg));
        conn_send(leg->conn, STMT_BUCKETS, NULL);
    }
    for (unsigned i = 0; i < count; i++)
        conn_start(v->legs[i]->conn);
    struct err error = OK;
    for (unsigned i = 0; i < count; i++) {
        struct err got = view_exchange(v, v->legs[i]);
        error = err_is(error) ? error : got;
    }
    return error;
}

/* If a bucket moves during the view, both shards may have it: one was read before it left, the
 * other after it arrived. It is read in the first of them. */
static void take_buckets(struct view *v, struct view_leg *leg, bool *found)
{
    const struct conn *c = leg->conn;
    unsigned statement = c->count - 1;
    leg->reads = arena_alloc(&v->arena, BUCKETS * sizeof(bool));
    memset(leg->reads, 0, BUCKETS * sizeof(bool));
    for (int i = 0; i < result_rows(c, statement); i++) {
        uint64_t bucket = (uint64_t)result_number(c, statement, i, 0) % BUCKETS;
        if (!found[bucket] && bucket_is_here(result_number(c, statement, i, 1)))
            found[bucket] = leg->reads[bucket] = true;
    }
}

struct err view_spread(struct view *v)
{
    bool found[BUCKETS] = {false};
    if (v->spread)
        return OK;
    v->spread = true;
    if (v->engine->shards.count == 1) { /* which has them all */
        (void)view_leg_at(v, 0);
        return OK;
    }
    TRY(begin_legs(v));
    for (unsigned i = 0; i < v->engine->shards.count; i++)
        take_buckets(v, v->legs[i], found);
    for (unsigned b = 0; b < BUCKETS; b++)
        v->moved |= !found[b]; /* it is on its way */
    return v->moved ? err_new(ERR_SERVER_BUSY) : OK;
}

/* ---- cursors ---- */

struct merged_cursor {
    struct cursor base;
    struct view *view;
    unsigned count;
    struct cursor *legs[SHARDS_MAX];
    struct cursor *at; /* the leg that stands first */
};

static struct merged_cursor *merged_of(struct cursor *c)
{
    return (struct merged_cursor *)(void *)c;
}

static bool stands_before(const struct cursor *a, const struct cursor *b)
{
    int order = str_cmp(a->partition, b->partition);
    return order != 0 ? order < 0 : str_cmp(a->key, b->key) < 0;
}

static struct err choose(struct merged_cursor *m)
{
    m->at = NULL;
    for (unsigned i = 0; i < m->count; i++)
        if (m->legs[i]->valid && (m->at == NULL || stands_before(m->legs[i], m->at)))
            m->at = m->legs[i];
    m->base.valid = m->at != NULL;
    if (m->base.valid) {
        m->base.partition = m->at->partition;
        m->base.key = m->at->key;
        m->base.value = m->at->value;
    }
    return OK;
}

static struct err merged_seek(struct cursor *c, struct str partition, struct str key)
{
    struct merged_cursor *m = merged_of(c);
    /* The arguments may be slices of the cursor's own row. */
    struct str to = arena_copy(&m->view->arena, partition);
    struct str at = arena_copy(&m->view->arena, key);
    for (unsigned i = 0; i < m->count; i++)
        TRY(m->legs[i]->ops->seek_across(m->legs[i], str_given(to) ? to : STR(""),
                                         str_given(at) ? at : STR("")));
    return choose(m);
}

static struct err merged_next(struct cursor *c)
{
    struct merged_cursor *m = merged_of(c);
    if (m->at != NULL)
        TRY(m->at->ops->next(m->at));
    return choose(m);
}

static void merged_close(struct cursor *c)
{
    struct merged_cursor *m = merged_of(c);
    for (unsigned i = 0; i < m->count; i++)
        m->legs[i]->ops->close(m->legs[i]);
    free(m);
}

static const struct cursor_ops MERGED_OPS = {
    .seek_across = merged_seek,
    .next = merged_next,
    .close = merged_close,
};

/* The first string past all that start with the prefix; absent: there is none. */
static struct str past_prefix(struct arena *arena, struct str prefix)
{
    char *past = arena_bytes(arena, prefix.n + 1);
    if (prefix.n > 0)
        memcpy(past, prefix.p, prefix.n);
    size_t n = rowkey_past_prefix(past, prefix.n);
    return n == 0 ? STR_NONE : (struct str){past, n};
}

struct err view_cursor_open_across(struct txn *t, struct str prefix, struct cursor **out)
{
    struct view *v = (struct view *)(void *)t;
    if (v->puts_off)
        return view_refuse(v);
    TRY(view_spread(v));
    struct str past = past_prefix(&v->arena, prefix);
    if (v->engine->shards.count == 1) {
        *out = leg_cursor_new(v, v->legs[0], prefix, past);
        return OK;
    }
    struct merged_cursor *m = MEM_NEW(struct merged_cursor);
    m->base.ops = &MERGED_OPS;
    m->view = v;
    for (; m->count < v->engine->shards.count; m->count++)
        m->legs[m->count] = leg_cursor_new(v, v->legs[m->count], prefix, past);
    *out = &m->base;
    return OK;
}

/* ---- partitions ---- */

struct walk_row {
    struct str partition;
    struct str value;
};

/* The walk in one shard, a page at a time. */
struct leg_walk {
    struct view_leg *leg;
    const struct partition_walk *walk;
    struct str past;
    struct arena arena; /* the page's */
    struct buf from;
    struct walk_row *rows;
    size_t count;
    size_t at;
    bool more;
};

static void take_walk_page(struct leg_walk *w)
{
    const struct conn *c = w->leg->conn;
    unsigned statement = c->count - 1;
    int rows = result_rows(c, statement);
    w->rows = ARENA_ARRAY(&w->arena, struct walk_row, (size_t)rows + 1);
    w->count = w->at = 0;
    for (int i = 0; i < rows; i++) {
        struct str partition = arena_copy(&w->arena, result_field(c, statement, i, 0));
        if (w->leg->reads == NULL || w->leg->reads[shard_bucket(partition)])
            w->rows[w->count++] = (struct walk_row){
                partition, arena_copy(&w->arena, result_field(c, statement, i, 1))};
        if (i == rows - 1) {
            buf_clear(&w->from);
            buf_put(&w->from, partition);
            buf_putc(&w->from, '\0');
        }
    }
}

/* Moves the walk to a row, unless it is at its end. */
static struct err fill_page(struct view *v, struct leg_walk *w)
{
    enum { PAGE = 200 };
    while (w->at == w->count && w->more) {
        arena_reset(&w->arena);
        struct params p = params_in(&w->arena);
        param_bytes(&p, arena_copy(&w->arena, buf_str(&w->from)));
        param_bytes(&p, str_given(w->past) ? w->past : largest_head(&w->arena));
        param_bool(&p, !str_given(w->past));
        param_bytes(&p, w->walk->key);
        param_number(&p, PAGE);
        TRY(view_ready(v, w->leg));
        conn_send(w->leg->conn, STMT_PARTITIONS, &p);
        TRY(view_exchange(v, w->leg));
        w->more = result_rows(w->leg->conn, w->leg->conn->count - 1) == PAGE;
        take_walk_page(w);
    }
    return OK;
}

static void walk_begin(struct leg_walk *w, struct view *v, struct view_leg *leg,
                       const struct partition_walk *walk)
{
    *w = (struct leg_walk){.leg = leg, .walk = walk, .more = true, .from = buf_heap()};
    arena_init(&w->arena, SIZE_MAX);
    w->past = past_prefix(&v->arena, walk->prefix);
    bool after = str_given(walk->after) && str_cmp(walk->after, walk->prefix) >= 0;
    buf_put(&w->from, after ? walk->after : walk->prefix);
    if (after)
        buf_putc(&w->from, '\0');
}

static struct err merge_walks(struct view *v, struct leg_walk *walks, unsigned count,
                              struct buf *visited)
{
    for (;;) {
        struct leg_walk *first = NULL;
        for (unsigned i = 0; i < count; i++) {
            struct leg_walk *w = &walks[i];
            TRY(fill_page(v, w));
            if (w->at < w->count &&
                (first == NULL ||
                 str_cmp(w->rows[w->at].partition, first->rows[first->at].partition) < 0))
                first = w;
        }
        if (first == NULL)
            return OK;
        struct walk_row row = first->rows[first->at++];
        buf_clear(visited);
        buf_put(visited, row.partition);
        if (!walks->walk->visit(row.partition, row.value, walks->walk->arg))
            return OK;
    }
}

/* `visited`: the last visited partition, from which a failed walk continues. */
static struct err walk_once(struct cluster_engine *e, const struct partition_walk *walk,
                            struct buf *visited, bool *again)
{
    struct view v;
    view_init(&v, e, STR(""));
    struct err error = view_spread(&v);
    unsigned count = err_is(error) ? 0 : e->shards.count;
    struct leg_walk *walks = mem_calloc(SHARDS_MAX, sizeof *walks);
    for (unsigned i = 0; i < count; i++)
        walk_begin(&walks[i], &v, v.legs[i], walk);
    if (count > 0)
        error = merge_walks(&v, walks, count, visited);
    for (unsigned i = 0; i < count; i++) {
        arena_release(&walks[i].arena);
        buf_release(&walks[i].from);
    }
    free(walks);
    *again = v.moved && clock_mono_ms() < v.deadline;
    view_release(&v);
    if (*again)
        view_follow(&v);
    return error;
}

struct err cluster_partitions(struct engine *engine, const struct partition_walk *walk)
{
    struct buf visited = buf_heap();
    struct err error = OK;
    for (bool again = true; again;) {
        struct partition_walk rest = *walk;
        if (visited.n > 0)
            rest.after = buf_str(&visited);
        struct buf last = buf_heap();
        buf_put(&last, buf_str(&visited));
        error = walk_once(cluster_of(engine), &rest, &last, &again);
        buf_release(&visited);
        visited = last;
    }
    buf_release(&visited);
    return error;
}
