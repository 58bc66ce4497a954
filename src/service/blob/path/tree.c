/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/tree.h"

#include <assert.h>

#include "service/blob/keys.h"
#include "service/blob/protect.h"

enum { MODE_DIRECTORY = 0777, MODE_FILE = 0666, MODE_ROOT = 0750, ID_HEX_MAX = 16 };

static const struct blob_at BASE = {.item = BLOB_BASE};

/* ---- names ---- */

struct str path_tree_entry_name(struct arena *a, uint64_t directory, struct str last)
{
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, ID_HEX_MAX + 1 + last.n);
    blob_entry_name(&b, directory, last);
    return buf_str(&b);
}

/* The next name that is not empty; false at the end. */
static bool next_name(struct str *rest, struct str *name)
{
    while (str_given(*rest)) {
        *name = str_cut(rest, '/');
        if (name->n > 0)
            return true;
    }
    return false;
}

struct str path_tree_last_name(struct str path)
{
    struct str name, last = STR("");
    while (next_name(&path, &name))
        last = name;
    return last;
}

size_t path_tree_depth(struct str path)
{
    struct str name;
    size_t depth = 0;
    while (next_name(&path, &name))
        depth++;
    return depth;
}

/* Stamps are ticks, which take 56 bits until the year 2198; and a path has fewer than 256
 * directories. */
uint64_t path_tree_new_id(struct txn *t, unsigned n)
{
    uint64_t stamp = (uint64_t)txn_stamp(t);
    assert(stamp < 1ULL << 56 && n <= UINT8_MAX);
    return stamp << 8 | n;
}

/* ---- making ---- */

struct err path_tree_new_path(struct txn *t, const struct tree_request *request,
                              const struct blob_path *parent, struct blob_path *out)
{
    struct acl_birth birth = {.directory = request->directory,
                              .umask = request->has_umask ? request->umask : ACL_UMASK};
    birth.mode = request->has_mode    ? request->mode
                 : request->directory ? MODE_DIRECTORY
                                      : MODE_FILE;
    TRY(acl_inherit(txn_arena(t), parent, &birth, out));
    out->owner = request->owner;
    return OK;
}

static struct err put_directory(struct txn *t, uint64_t incarnation, struct str name,
                                const struct blob_path *path)
{
    struct buf row = buf_in(txn_arena(t));
    struct blob_head head = {.type = BLOB_BLOCK,
                             .committed = true,
                             .etag = txn_stamp(t),
                             .last_modified = txn_now(t),
                             .created = txn_now(t),
                             .http = {.content_type = STR("application/octet-stream")},
                             .path = *path};
    blob_head_encode(&row, &head);
    return txn_put(t, blob_key_head(txn_arena(t), incarnation, name, &BASE), buf_str(&row));
}

struct err path_tree_make_root(struct txn *t, const struct container *container, struct str owner)
{
    struct blob_path root = {
        .directory = true, .id = TREE_ROOT, .mode = MODE_ROOT, .owner = owner, .group = owner};
    return put_directory(t, container->incarnation, STR(""), &root);
}

/* ---- the way ---- */

/* Most walks only pass through, so a directory's rights are decoded only if they are needed. */
struct walk {
    struct txn *txn;
    const struct container *container;
    const struct tree_request *request;
    bool makes;
    struct tree_way *way;
    uint64_t directory; /* where the walk has come to */
    struct str row;     /* its row; absent: decoded into way->parent, or not needed */
    struct buf key;
};

static struct err load(struct walk *w, struct str key, struct str *row)
{
    struct engine_read read = {.key = key, .hints = HINT_SOON};
    TRY(txn_get_many(w->txn, &read, 1));
    *row = read.value;
    return OK;
}

/* Decodes the directory's row into way->parent. */
static struct err know_parent(struct walk *w)
{
    struct blob_head head;
    if (!str_given(w->row))
        return OK;
    TRY(blob_head_decode(w->row, &head));
    w->way->parent = head.path;
    w->row = STR_NONE;
    return OK;
}

static struct err check_passage(struct walk *w)
{
    if (w->request->caller == NULL)
        return OK;
    TRY(know_parent(w));
    return w->request->passes || acl_allows(&w->way->parent, w->request->caller, ACL_EXECUTE)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

static struct err make_directory(struct walk *w, struct str name)
{
    struct tree_request plain = {
        .directory = true, .owner = w->request->owner, .caller = w->request->caller};
    struct blob_path path;
    TRY(know_parent(w));
    if (!acl_allows(&w->way->parent, w->request->caller, ACL_WRITE | ACL_EXECUTE))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(path_tree_new_path(w->txn, &plain, &w->way->parent, &path));
    path.id = path_tree_new_id(w->txn, w->way->made++);
    struct str entry = path_tree_entry_name(txn_arena(w->txn), w->directory, name);
    w->directory = path.id;
    w->way->parent = path;
    return put_directory(w->txn, w->container->incarnation, entry, &path);
}

/* Enters the directory of that name. *on is false if there is none. */
static struct err enter(struct walk *w, struct str name, bool *on)
{
    struct str row;
    uint64_t id;
    if (w->way->depth == TREE_DEPTH_MAX - 1)
        return err_new(ERR_PATH_IS_TOO_DEEP);
    blob_key_entry(&w->key, w->container->incarnation, w->directory, name);
    TRY(load(w, buf_str(&w->key), &row));
    if (container_hides(w->container, buf_str(&w->key)))
        row = STR_NONE;
    *on = str_given(row) && blob_head_is_directory(row, &id);
    if (*on) {
        w->directory = id;
        w->row = row;
        TRY(check_passage(w));
    } else if (w->makes) {
        if (str_given(row))
            return err_new(ERR_PATH_CONFLICT);
        TRY(make_directory(w, name));
        *on = true;
    }
    w->way->directories[w->way->depth++] = w->directory;
    return OK;
}

/* The root's row is read only if it is needed. */
static struct err enter_root(struct walk *w)
{
    w->directory = TREE_ROOT;
    if (!w->makes && w->request->caller == NULL)
        return OK;
    TRY(load(w, blob_key_head(txn_arena(w->txn), w->container->incarnation, STR(""), &BASE),
             &w->row));
    return str_given(w->row) ? check_passage(w) : err_new(ERR_CORRUPT);
}

/* Sets *enough if the directory of this row already has that many levels. */
static struct err raise_one(struct txn *t, struct str key, unsigned levels, bool *enough)
{
    struct buf row = buf_in(txn_arena(t));
    struct blob_head head;
    struct str old;
    TRY(txn_get(t, key, &old));
    if (!str_given(old))
        return err_new(ERR_CORRUPT);
    TRY(blob_head_decode(old, &head));
    *enough = head.path.levels >= levels;
    if (*enough)
        return OK;
    assert(head.path.directory && !blob_head_has_body(&head));
    head.path.levels = levels;
    blob_head_encode(&row, &head);
    return txn_put(t, key, buf_str(&row));
}

struct err path_tree_raise(struct txn *t, const struct container *container, struct str path,
                           const struct tree_way *way, unsigned levels)
{
    struct str names[TREE_DEPTH_MAX];
    size_t count = 0;
    bool enough = false;
    if (way->made == 0 && way->parent.levels >= levels && way->parent.directory)
        return OK; /* as nearly always */
    while (count < way->depth && next_name(&path, &names[count]))
        count++;
    assert(count == way->depth);
    for (size_t i = count; i > 0 && !enough; i--, levels++) {
        uint64_t in = i > 1 ? way->directories[i - 2] : TREE_ROOT;
        struct buf key = buf_in(txn_arena(t));
        blob_key_entry(&key, container->incarnation, in, names[i - 1]);
        TRY(raise_one(t, buf_str(&key), levels, &enough));
        /* The directories above a new directory do not count it yet. */
        enough = enough && count - i >= way->made;
    }
    return OK;
}

struct err path_tree_resolve(struct txn *t, const struct container *container,
                             const struct tree_request *request, struct str path, bool makes,
                             struct tree_way *out)
{
    struct walk w = {.txn = t,
                     .container = container,
                     .request = request,
                     .makes = makes,
                     .way = out,
                     .key = buf_in(txn_arena(t))};
    struct str rest = path, name, next;
    bool on = true;
    out->name = STR("");
    out->parent = (struct blob_path){0};
    out->depth = 0;
    out->made = 0;
    TRY(enter_root(&w));
    if (!next_name(&rest, &name))
        return know_parent(&w);
    while (on && next_name(&rest, &next)) {
        TRY(enter(&w, name, &on));
        name = next;
    }
    out->name = on ? path_tree_entry_name(txn_arena(t), w.directory, name) : STR_NONE;
    TRY(know_parent(&w));
    return makes && (out->made > 0 || request->directory)
               ? path_tree_raise(t, container, path, out, request->directory ? 1 : 0)
               : OK;
}

enum { EXPIRED_MAX = 1000 }; /* expired files that are skipped until the sweeper removes them */

/* Returns true if there are only expired files. */
static struct err all_expired(struct txn *t, struct cursor *c, bool *out)
{
    struct blob_head head;
    *out = true;
    for (unsigned i = 0; *out && c->valid; i++) {
        TRY(blob_head_decode(c->value, &head));
        *out = i < EXPIRED_MAX && blob_is_expired(&head, txn_now(t));
        if (*out)
            TRY(cursor_next(c));
    }
    return OK;
}

struct err path_tree_is_empty(struct txn *t, uint64_t incarnation, uint64_t directory, bool *out)
{
    struct arena *a = txn_arena(t);
    struct str prefix = blob_key_heads(a, incarnation, path_tree_entry_name(a, directory, STR("")));
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    struct err e = all_expired(t, c, out);
    cursor_close(c);
    return e;
}
