/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/tree.h"

#include <assert.h>

#include "service/blob/keys.h"

enum { MODE_DIRECTORY = 0777, MODE_FILE = 0666, MODE_ROOT = 0750, ID_HEX_MAX = 16 };

static const struct blob_at BASE = {.item = BLOB_BASE};

/* ---- names ---- */

struct str tree_entry_name(struct arena *a, uint64_t directory, struct str last)
{
    static const char DIGITS[] = "0123456789abcdef";
    struct buf b = buf_in(a);
    (void)buf_reserve(&b, ID_HEX_MAX + 1 + last.n);
    int shift = 60;
    while (shift >= 0 && directory >> shift == 0)
        shift -= 4;
    for (; shift >= 0; shift -= 4)
        buf_putc(&b, DIGITS[directory >> shift & 15]);
    buf_putc(&b, '/');
    buf_put(&b, last);
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

struct str tree_last_name(struct str path)
{
    struct str name, last = STR("");
    while (next_name(&path, &name))
        last = name;
    return last;
}

/* Stamps are ticks, which take 56 bits until the year 2198; and a path has fewer than 256
 * directories. */
uint64_t tree_new_id(struct txn *t, unsigned n)
{
    uint64_t stamp = (uint64_t)txn_stamp(t);
    assert(stamp < 1ULL << 56 && n <= UINT8_MAX);
    return stamp << 8 | n;
}

/* ---- making ---- */

struct err tree_new_path(struct txn *t, const struct tree_request *request,
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

struct err tree_make_root(struct txn *t, const struct container *container, struct str owner)
{
    struct blob_path root = {
        .directory = true, .id = TREE_ROOT, .mode = MODE_ROOT, .owner = owner, .group = owner};
    return put_directory(t, container->incarnation, STR(""), &root);
}

/* ---- the way ---- */

struct walk {
    struct txn *txn;
    uint64_t incarnation;
    const struct tree_request *request;
    bool makes;
    struct tree_way *way;
    uint64_t directory; /* where the walk has come to */
};

static struct err load(struct walk *w, struct str name, struct blob_head *out, bool *found)
{
    struct engine_read read = {.key = blob_key_head(txn_arena(w->txn), w->incarnation, name, &BASE),
                               .hints = HINT_SOON};
    TRY(txn_get_many(w->txn, &read, 1));
    *found = str_given(read.value);
    return *found ? blob_head_decode(read.value, out) : OK;
}

static struct err check_passage(const struct walk *w)
{
    return w->request->passes || acl_allows(&w->way->parent, w->request->caller, ACL_EXECUTE)
               ? OK
               : err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
}

static struct err make_directory(struct walk *w, struct str name)
{
    struct tree_request plain = {
        .directory = true, .owner = w->request->owner, .caller = w->request->caller};
    struct blob_path path;
    if (!acl_allows(&w->way->parent, w->request->caller, ACL_WRITE | ACL_EXECUTE))
        return err_new(ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    TRY(tree_new_path(w->txn, &plain, &w->way->parent, &path));
    path.id = tree_new_id(w->txn, w->way->made++);
    w->directory = path.id;
    w->way->parent = path;
    return put_directory(w->txn, w->incarnation, name, &path);
}

/* Into the directory of that name. *on is false when there is none. */
static struct err enter(struct walk *w, struct str name, bool *on)
{
    struct blob_head head;
    bool found;
    if (w->way->depth == TREE_DEPTH_MAX - 1)
        return err_new(ERR_PATH_IS_TOO_DEEP);
    TRY(load(w, name, &head, &found));
    *on = found && head.path.directory;
    if (*on) {
        w->directory = head.path.id;
        w->way->parent = head.path;
        TRY(check_passage(w));
    } else if (w->makes) {
        if (found)
            return err_new(ERR_PATH_CONFLICT);
        TRY(make_directory(w, name));
        *on = true;
    }
    w->way->directories[w->way->depth++] = w->directory;
    return OK;
}

/* The root's row is read only by those who need what it says. */
static struct err enter_root(struct walk *w)
{
    struct blob_head head;
    bool found;
    w->directory = TREE_ROOT;
    if (!w->makes && w->request->caller == NULL)
        return OK;
    TRY(load(w, STR(""), &head, &found));
    if (!found)
        return err_new(ERR_CORRUPT);
    w->way->parent = head.path;
    return check_passage(w);
}

struct err tree_resolve(struct txn *t, const struct container *container,
                        const struct tree_request *request, struct str path, bool makes,
                        struct tree_way *out)
{
    struct walk w = {t, container->incarnation, request, makes, out, TREE_ROOT};
    struct str rest = path, name, next;
    bool on = true;
    out->name = STR("");
    out->parent = (struct blob_path){0};
    out->depth = 0;
    out->made = 0;
    TRY(enter_root(&w));
    if (!next_name(&rest, &name))
        return OK;
    for (;;) {
        out->name = tree_entry_name(txn_arena(t), w.directory, name);
        if (!next_name(&rest, &next))
            return OK;
        TRY(enter(&w, out->name, &on));
        if (!on) {
            out->name = STR_NONE;
            return OK;
        }
        name = next;
    }
}

struct err tree_is_empty(struct txn *t, uint64_t incarnation, uint64_t directory, bool *out)
{
    struct arena *a = txn_arena(t);
    struct str prefix = blob_key_heads(a, incarnation, tree_entry_name(a, directory, STR("")));
    struct cursor *c;
    TRY(cursor_open(t, prefix, &c));
    *out = !c->valid;
    cursor_close(c);
    return OK;
}
