/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/rowset.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "engine/cluster/shards.h"

/* Any number but 0: it only balances the trees. */
#define ROWSET_SEED 0x9E3779B97F4A7C15ULL

void rowset_init(struct rowset *s, struct str partition, int64_t body_max)
{
    memset(s, 0, offsetof(struct rowset, scans));
    s->partition = partition;
    s->body_max = body_max;
    arena_init(&s->arena, SIZE_MAX);
    arena_init(&s->wire, SIZE_MAX);
    s->known.random = s->reads.random = ROWSET_SEED;
    s->kept = buf_heap();
}

static void forget_wants(struct rowset *s)
{
    tree_put(&s->reads);
    s->reads.root = NULL;
    s->read_count = s->scan_count = 0;
    arena_reset(&s->wire);
}

void rowset_settle(struct rowset *s)
{
    for (size_t i = 0; i < s->kept.n; i += sizeof(struct row *)) {
        struct row *row;
        memcpy(&row, s->kept.p + i, sizeof row);
        row_put(row);
    }
    buf_clear(&s->kept);
}

static void keep_row(void *arg, struct row *row)
{
    struct rowset *s = arg;
    struct row *kept = row_get(row);
    buf_put(&s->kept, (struct str){(const char *)&kept, sizeof(struct row *)});
}

void rowset_forget(struct rowset *s)
{
    tree_each(&s->known, keep_row, s);
    tree_put(&s->known);
    s->known.root = NULL;
    s->known_bytes = 0;
    s->range_count = 0;
}

void rowset_reset(struct rowset *s)
{
    forget_wants(s);
    rowset_forget(s);
    rowset_settle(s);
    s->range_capacity = 0;
    s->ranges = NULL;
    arena_reset(&s->arena);
}

void rowset_release(struct rowset *s)
{
    rowset_reset(s);
    buf_release(&s->kept);
    arena_release(&s->arena);
    arena_release(&s->wire);
}

/* ---- what is known ---- */

struct row *rowset_find(const struct rowset *s, struct str name, bool with_body)
{
    struct row *row = tree_find(&s->known, name);
    return row != NULL && (row->deleted || row->hot || !with_body) ? row : NULL;
}

const struct rowset_range *rowset_at(const struct rowset *s, struct str name)
{
    for (size_t i = 0; i < s->range_count; i++)
        if (str_cmp(s->ranges[i].from, name) <= 0 && str_cmp(name, s->ranges[i].to) < 0)
            return &s->ranges[i];
    return NULL;
}

const struct rowset_range *rowset_before(const struct rowset *s, struct str name)
{
    for (size_t i = 0; i < s->range_count; i++)
        if (str_cmp(s->ranges[i].from, name) < 0 && str_cmp(name, s->ranges[i].to) <= 0)
            return &s->ranges[i];
    return NULL;
}

/* Takes over the reference. Keeps a row that is already known, because it may be borrowed. */
static void know(struct rowset *s, struct row *row)
{
    const struct row *had = tree_find(&s->known, row_key(row));
    if (had != NULL && (had->hot || !row->hot)) {
        row_put(row);
        return;
    }
    rowset_note(s, row);
}

void rowset_note(struct rowset *s, struct row *row)
{
    enum { ROW_OVERHEAD = 96 };
    s->known_bytes += row->key_n + row->value_n + row->body_n + (size_t)ROW_OVERHEAD;
    struct row *replaced = tree_exchange(&s->known, row);
    if (replaced != NULL)
        buf_put(&s->kept, (struct str){(const char *)&replaced, sizeof(struct row *)});
}

static void add_range(struct rowset *s, struct str from, struct str to)
{
    for (size_t i = 0; i < s->range_count; i++) {
        if (str_eq(s->ranges[i].to, from)) { /* a scan continues */
            s->ranges[i].to = arena_copy(&s->arena, to);
            return;
        }
    }
    if (s->range_count == s->range_capacity) {
        size_t capacity = s->range_capacity * 2 + 8;
        struct rowset_range *grown = ARENA_ARRAY(&s->arena, struct rowset_range, capacity);
        if (s->range_count > 0)
            memcpy(grown, s->ranges, s->range_count * sizeof *grown);
        s->ranges = grown;
        s->range_capacity = capacity;
    }
    s->ranges[s->range_count++] =
        (struct rowset_range){arena_copy(&s->arena, from), arena_copy(&s->arena, to)};
}

/* ---- what is wanted ---- */

void rowset_want(struct rowset *s, struct str name, bool with_body)
{
    assert(name.n > 0);
    const struct row *had = tree_find(&s->reads, name);
    if (had != NULL && (had->hot || !with_body))
        return;
    struct row *row = row_new_deleted(name);
    row->hot = with_body;
    s->read_count += had == NULL;
    tree_insert(&s->reads, row);
}

bool rowset_want_scan(struct rowset *s, struct rowset_scan scan)
{
    assert(scan.limit > 0);
    for (size_t i = 0; i < s->scan_count; i++)
        if (str_eq(s->scans[i].from, scan.from) && str_eq(s->scans[i].to, scan.to) &&
            s->scans[i].back == scan.back)
            return true;
    if (s->scan_count == ROWSET_SCANS_MAX)
        return false;
    scan.from = arena_copy(&s->wire, scan.from);
    scan.to = arena_copy(&s->wire, scan.to);
    s->scans[s->scan_count++] = scan;
    return true;
}

struct reads_out {
    struct rowset *set;
    struct array partitions, keys, bodies, buckets;
    int64_t last_bucket;
    struct buf scratch;
};

static void put_read(void *arg, struct row *row)
{
    struct reads_out *out = arg;
    struct str partition;
    struct str key;
    bool whole = rowkey_divide(row_key(row), &out->scratch, &partition, &key);
    assert(whole);
    (void)whole;
    array_bytes(&out->partitions, str_given(partition) ? partition : STR(""));
    array_bytes(&out->keys, str_given(key) ? key : STR(""));
    array_number(&out->bodies, row->hot ? ENGINE_VALUE_MAX : out->set->body_max);
    int64_t bucket = shard_bucket(str_given(partition) ? partition : STR(""));
    if (bucket != out->last_bucket)
        array_number(&out->buckets, bucket);
    out->last_bucket = bucket;
}

/* In the first set's arena, which lives until the results are taken. */
void rowset_send_together(struct rowset **sets, size_t count, struct conn *c)
{
    assert(count > 0);
    struct arena *wire = &sets[0]->wire;
    struct reads_out out = {.partitions = array_begin(wire, ARRAY_BYTES),
                            .keys = array_begin(wire, ARRAY_BYTES),
                            .bodies = array_begin(wire, ARRAY_NUMBERS),
                            .buckets = array_begin(wire, ARRAY_NUMBERS),
                            .last_bucket = -1,
                            .scratch = buf_in(wire)};
    for (size_t i = 0; i < count; i++) {
        out.set = sets[i];
        sets[i]->read_statement = conn_next(c);
        tree_each(&sets[i]->reads, put_read, &out);
    }
    struct params p = params_in(wire);
    param_array(&p, &out.partitions);
    param_array(&p, &out.keys);
    param_array(&p, &out.bodies);
    param_array(&p, &out.buckets);
    conn_send(c, STMT_GET, &p);
}

static void send_scan(struct rowset *s, struct rowset_scan *scan, struct conn *c)
{
    static const enum stmt stmts[2][2] = {{STMT_SCAN, STMT_SCAN_LONG},
                                          {STMT_SCAN_BACK, STMT_SCAN_BACK_LONG}};
    bool open = !str_given(scan->to);
    struct params p = params_in(&s->wire);
    param_bytes(&p, s->partition);
    param_bytes(&p, scan->from);
    param_bytes(&p, open ? largest_head(&s->wire) : scan->to);
    param_bool(&p, open);
    param_number(&p, scan->limit);
    param_number(&p, shard_bucket(s->partition));
    scan->statement = conn_next(c);
    conn_send(c, stmts[scan->back][scan->names_long], &p);
}

void rowset_send(struct rowset *s, struct conn *c)
{
    if (s->read_count > 0)
        rowset_send_together(&s, 1, c);
    for (size_t i = 0; i < s->scan_count; i++)
        send_scan(s, &s->scans[i], c);
}

struct doubt {
    struct rowset *set;
    struct tree *told;
};

static void doubt_row(void *arg, struct row *row)
{
    struct doubt *d = arg;
    rowset_want(d->set, row_key(row), row->hot);
    tree_insert(d->told, row_get(row));
}

void rowset_doubt(struct rowset *s, struct tree *told)
{
    struct doubt d = {s, told};
    tree_each(&s->known, doubt_row, &d);
    rowset_forget(s);
}

static void renew_row(void *arg, struct row *row)
{
    rowset_want(arg, row_key(row), row->hot);
}

void rowset_renew(struct rowset *s)
{
    tree_each(&s->known, renew_row, s);
    rowset_forget(s);
    rowset_settle(s);
}

/* ---- what has come ---- */

struct reads_in {
    struct rowset *set;
    struct conn *conn;
    int row;    /* of the result */
    int64_t at; /* the ordinal of the row that is visited */
};

/* The results have the order of the request, without absent rows. */
static void take_read(void *arg, struct row *asked)
{
    struct reads_in *in = arg;
    unsigned statement = in->set->read_statement;
    in->at++;
    if (in->row >= result_rows(in->conn, statement) ||
        result_number(in->conn, statement, in->row, 0) != in->at) {
        know(in->set, row_new_deleted(row_key(asked)));
        return;
    }
    struct str body = result_field(in->conn, statement, in->row, 2);
    struct str whole = result_field(in->conn, statement, in->row, 3);
    struct row *row =
        row_new_with_body(row_key(asked), result_field(in->conn, statement, in->row, 1), body);
    row->hot = whole.n == 1 && whole.p[0] != 0;
    know(in->set, row);
    in->row++;
}

static bool scan_met_long_name(const struct rowset_scan *scan, const struct conn *c)
{
    if (scan->names_long)
        return false;
    for (int i = 0; i < result_rows(c, scan->statement); i++)
        if (result_field(c, scan->statement, i, 0).n > SQL_KEY_HEAD)
            return true;
    return false;
}

static void take_scan(struct rowset *s, const struct rowset_scan *scan, const struct conn *c)
{
    struct rowkey name;
    int rows = result_rows(c, scan->statement);
    bool all = rows < (int)scan->limit;
    rowkey_init(&name, &s->wire, s->partition);
    struct str from = arena_copy(&s->wire, rowkey_of(&name, scan->from));
    struct str to = arena_copy(&s->wire, str_given(scan->to) ? rowkey_of(&name, scan->to)
                                                             : rowkey_past(&name, STR("")));
    for (int i = 0; i < rows; i++) {
        struct str at = rowkey_of(&name, result_field(c, scan->statement, i, 0));
        know(s, row_new(at, result_field(c, scan->statement, i, 1)));
        if (i == rows - 1 && !all && scan->back) {
            from = arena_copy(&s->wire, at);
        } else if (i == rows - 1 && !all) {
            struct buf next = buf_in(&s->wire);
            buf_put(&next, at);
            buf_putc(&next, '\0');
            to = buf_str(&next);
        }
    }
    add_range(s, from, to);
}

struct err rowset_receive_together(struct rowset **sets, size_t count, struct conn *c)
{
    assert(count > 0);
    struct reads_in in = {.conn = c};
    unsigned statement = sets[0]->read_statement;
    for (size_t i = 0; i < count; i++) {
        in.set = sets[i];
        tree_each(&sets[i]->reads, take_read, &in);
        forget_wants(sets[i]);
    }
    return in.row == result_rows(c, statement) ? OK : err_new(ERR_CORRUPT);
}

struct err rowset_receive(struct rowset *s, struct conn *c)
{
    struct reads_in in = {.set = s, .conn = c};
    struct rowset_scan again[ROWSET_SCANS_MAX];
    size_t again_count = 0;
    if (s->read_count > 0) {
        tree_each(&s->reads, take_read, &in);
        if (in.row != result_rows(c, s->read_statement))
            return err_new(ERR_CORRUPT); /* a duplicate name, or a wrong order */
    }
    for (size_t i = 0; i < s->scan_count; i++) {
        if (scan_met_long_name(&s->scans[i], c)) {
            again[again_count] = s->scans[i];
            again[again_count++].names_long = true;
        } else {
            take_scan(s, &s->scans[i], c);
        }
    }
    if (again_count == 0) {
        forget_wants(s);
        return OK;
    }
    tree_put(&s->reads);
    s->reads.root = NULL;
    s->read_count = 0;
    memcpy(s->scans, again, again_count * sizeof again[0]);
    s->scan_count = again_count;
    return OK;
}
