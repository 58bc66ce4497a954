/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/dirtree.h"

#include <assert.h>

struct str dirtree_key(const struct dirtree *t, struct arena *a, struct str name)
{
    return t->fold == NULL ? name : t->fold(a, name);
}

static struct arena *arena_of(const struct dirtree *t)
{
    return txn_arena(t->rows->txn);
}

static struct str id_key(const struct dirtree *t, struct str prefix, uint64_t id, struct str name)
{
    struct buf b = buf_in(arena_of(t));
    (void)buf_reserve(&b, prefix.n + 8 + name.n);
    buf_put(&b, prefix);
    buf_put_be64(&b, id);
    buf_put(&b, name);
    return buf_str(&b);
}

/* ---- rows ---- */

/* The name is not stored again if it equals its key. */
static void encode_entry(const struct dirtree_entry *e, struct buf *b)
{
    buf_put_varint(b, e->id << 1 | e->directory);
    buf_put_bytes(b, str_eq(e->name, e->key) ? STR("") : e->name);
    buf_put(b, e->data);
}

static bool decode_entry(struct dirtree_entry *e)
{
    struct reader r = reader_of(e->row.payload);
    uint64_t head = read_varint(&r);
    struct str name = read_bytes(&r);
    e->id = head >> 1;
    e->directory = (head & 1) != 0;
    e->name = name.n == 0 ? e->key : name;
    e->data = (struct str){r.p, r.n};
    return reader_ok(&r);
}

bool dirtree_read(const struct dirtree *t, struct str key, struct str value,
                  struct dirtree_entry *out)
{
    assert(out != NULL);
    struct reader r = reader_of(str_from(key, t->children.n));
    *out = (struct dirtree_entry){.parent = read_be64(&r)};
    out->key = (struct str){r.p, r.n};
    return reader_ok(&r) && vrow_split(value, &out->row) && decode_entry(out);
}

static struct err put_child(const struct dirtree *t, const struct dirtree_entry *e)
{
    struct buf b = buf_in(arena_of(t));
    bool past;
    assert(e->id <= UINT64_MAX >> 1 && e->key.n > 0);
    vrow_begin(t->rows, &b);
    encode_entry(e, &b);
    return vrow_put(t->rows, id_key(t, t->children, e->parent, e->key), &e->row, buf_str(&b),
                    &past);
}

static struct err put_parent(const struct dirtree *t, const struct dirtree_entry *e)
{
    struct str key = id_key(t, t->parents, e->id, STR(""));
    struct buf b = buf_in(arena_of(t));
    struct vrow old;
    bool past;
    TRY(vrow_get(t->rows, key, &old));
    vrow_begin(t->rows, &b);
    buf_put_varint(&b, e->parent);
    buf_put(&b, e->key);
    return vrow_put(t->rows, key, &old, buf_str(&b), &past);
}

/* ---- finding ---- */

/* By the name as keys have it. */
static struct err take_entry(struct dirtree_entry *out)
{
    return !dirtree_given(out) || decode_entry(out) ? OK : err_new(ERR_CORRUPT);
}

static struct err find_by_key(const struct dirtree *t, uint64_t directory, struct str key,
                              struct dirtree_entry *out)
{
    *out = (struct dirtree_entry){.parent = directory, .key = key};
    TRY(vrow_get(t->rows, id_key(t, t->children, directory, key), &out->row));
    return take_entry(out);
}

struct err dirtree_child(const struct dirtree *t, uint64_t directory, struct str name,
                         struct dirtree_entry *out)
{
    TRY(find_by_key(t, directory, dirtree_key(t, arena_of(t), name), out));
    if (!dirtree_given(out))
        out->name = name;
    return OK;
}

/* Finds a directory on the path. Many requests read the same ones, so it is worth keeping in
 * memory. */
static struct err find_on_way(const struct dirtree *t, uint64_t directory, struct str name,
                              struct dirtree_entry *out)
{
    struct str key = dirtree_key(t, arena_of(t), name);
    *out = (struct dirtree_entry){.parent = directory, .key = key};
    TRY(vrow_get_hot(t->rows, id_key(t, t->children, directory, key), &out->row));
    TRY(take_entry(out));
    return dirtree_given(out) && out->directory ? OK : err_new(ERR_PARENT_NOT_FOUND);
}

struct err dirtree_walk(const struct dirtree *t, struct str path, struct dirtree_entry *out)
{
    uint64_t directory = DIRTREE_ROOT;
    assert(path.n > 0);
    for (;;) {
        struct str name = str_cut(&path, '/');
        if (!str_given(path))
            return dirtree_child(t, directory, name, out);
        TRY(find_on_way(t, directory, name, out));
        directory = out->id;
    }
}

static struct err find_parent(const struct dirtree *t, uint64_t id, uint64_t *parent,
                              struct str *key, bool *found)
{
    struct vrow row;
    TRY(vrow_get_hot(t->rows, id_key(t, t->parents, id, STR("")), &row));
    struct reader r = reader_of(row.payload);
    *found = vrow_given(&row);
    if (!*found)
        return OK;
    *parent = read_varint(&r);
    *key = (struct str){r.p, r.n};
    return reader_ok(&r) ? OK : err_new(ERR_CORRUPT);
}

struct err dirtree_find(const struct dirtree *t, uint64_t id, struct dirtree_entry *out)
{
    assert(out != NULL);
    uint64_t parent;
    struct str key;
    bool found;
    *out = (struct dirtree_entry){0};
    TRY(find_parent(t, id, &parent, &key, &found));
    return found ? find_by_key(t, parent, key, out) : OK;
}

/* ---- changing ---- */

struct err dirtree_insert(const struct dirtree *t, struct dirtree_entry *e, bool by_id)
{
    assert(!dirtree_given(e));
    e->key = dirtree_key(t, arena_of(t), e->name);
    TRY(put_child(t, e));
    return by_id ? put_parent(t, e) : OK;
}

struct err dirtree_update(const struct dirtree *t, struct dirtree_entry *e)
{
    assert(dirtree_given(e));
    return put_child(t, e);
}

static struct err del_child(const struct dirtree *t, const struct dirtree_entry *e)
{
    bool past;
    return vrow_del(t->rows, id_key(t, t->children, e->parent, e->key), &e->row, &past);
}

struct err dirtree_drop_parent(const struct dirtree *t, const struct dirtree_entry *e)
{
    struct str key = id_key(t, t->parents, e->id, STR(""));
    struct vrow old;
    bool past;
    TRY(vrow_get(t->rows, key, &old));
    return vrow_del(t->rows, key, &old, &past);
}

struct err dirtree_remove(const struct dirtree *t, const struct dirtree_entry *e, bool by_id)
{
    assert(dirtree_given(e));
    TRY(del_child(t, e));
    return by_id ? dirtree_drop_parent(t, e) : OK;
}

struct err dirtree_move(const struct dirtree *t, const struct dirtree_entry *from,
                        struct dirtree_entry *to, bool by_id)
{
    assert(dirtree_given(from) && !dirtree_given(to));
    TRY(del_child(t, from));
    to->id = from->id;
    to->directory = from->directory;
    TRY(put_child(t, to));
    return by_id ? put_parent(t, to) : OK;
}

/* ---- the way up ---- */

struct err dirtree_ancestors(const struct dirtree *t, uint64_t id, struct arena *a, uint64_t **out,
                             size_t *count)
{
    assert(out != NULL);
    uint64_t *ids = ARENA_ARRAY(a, uint64_t, DIRTREE_DEPTH_MAX);
    *out = ids;
    *count = 0;
    for (;;) {
        uint64_t parent = DIRTREE_ROOT;
        struct str key;
        bool found;
        TRY(find_parent(t, id, &parent, &key, &found));
        if (!found || parent == DIRTREE_ROOT)
            return OK;
        if (*count == DIRTREE_DEPTH_MAX)
            return err_new(ERR_CORRUPT);
        ids[(*count)++] = parent;
        id = parent;
    }
}

struct err dirtree_within(const struct dirtree *t, uint64_t directory, uint64_t ancestor, bool *out)
{
    assert(out != NULL);
    uint64_t *ids;
    size_t count;
    *out = directory == ancestor || ancestor == DIRTREE_ROOT;
    if (*out)
        return OK;
    TRY(dirtree_ancestors(t, directory, arena_of(t), &ids, &count));
    for (size_t i = 0; i < count; i++)
        *out = *out || ids[i] == ancestor;
    return OK;
}

struct err dirtree_path(const struct dirtree *t, uint64_t id, struct arena *a, struct str *out)
{
    assert(out != NULL);
    struct str names[DIRTREE_DEPTH_MAX + 1];
    size_t count = 0;
    struct buf b = buf_in(a);
    for (; id != DIRTREE_ROOT; count++) {
        struct dirtree_entry e;
        TRY(dirtree_find(t, id, &e));
        if (!dirtree_given(&e) || count > DIRTREE_DEPTH_MAX)
            return err_new(ERR_CORRUPT);
        names[count] = e.name;
        id = e.parent;
    }
    for (size_t i = count; i > 0; i--) {
        buf_put(&b, names[i - 1]);
        if (i > 1)
            buf_putc(&b, '/');
    }
    *out = buf_str(&b);
    return OK;
}

/* ---- what is in a directory ---- */

struct err dirtree_is_empty(const struct dirtree *t, uint64_t directory, bool *out)
{
    assert(out != NULL);
    struct vrow_cursor *c;
    TRY(vrow_cursor_open(t->rows, id_key(t, t->children, directory, STR("")), &c));
    *out = !vrow_cursor_valid(c);
    vrow_cursor_close(c);
    return OK;
}

static struct err list_with(struct vrow_cursor *c, struct dirtree_entry *e, size_t head,
                            dirtree_visit *visit, void *arg)
{
    bool stop = false;
    while (vrow_cursor_valid(c)) {
        e->key = str_from(vrow_cursor_key(c), head);
        e->row = *vrow_cursor_row(c);
        if (!decode_entry(e))
            return err_new(ERR_CORRUPT);
        TRY(visit(arg, e, &stop));
        if (stop)
            return OK;
        TRY(vrow_cursor_next(c));
    }
    return OK;
}

struct err dirtree_list(const struct dirtree *t, uint64_t directory, struct str prefix,
                        struct str from, dirtree_visit *visit, void *arg)
{
    assert(visit != NULL);
    struct dirtree_entry e = {.parent = directory};
    struct vrow_cursor *c;
    bool goes_on = str_given(from) && str_cmp(from, prefix) > 0;
    if (goes_on)
        txn_hint(t->rows->txn, HINT_ONCE); /* a page in the middle of a long listing */
    TRY(vrow_cursor_open(t->rows, id_key(t, t->children, directory, prefix), &c));
    struct err error = OK;
    if (goes_on)
        error = vrow_cursor_seek(c, id_key(t, t->children, directory, from));
    if (!err_is(error))
        error = list_with(c, &e, t->children.n + 8, visit, arg);
    vrow_cursor_close(c);
    return error;
}
