/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/scope.h"

#include <assert.h>

#include "core/text/casefold.h"
#include "service/file/keys.h"
#include "service/file/sweep.h"

/* ---- the share ---- */

struct err file_scope_enter(struct txn *t, int64_t snapshot, struct file_scope *s)
{
    struct arena *a = txn_arena(t);
    uint64_t incarnation = s->share.incarnation;
    if (snapshot != 0 && !share_has_snapshot(&s->share, snapshot))
        return err_new(ERR_SHARE_SNAPSHOT_NOT_FOUND);
    s->txn = t;
    s->share_changed = false;
    s->changes = NULL;
    s->rows = (struct vrow_scope){.txn = t,
                                  .at = snapshot == 0 ? VROW_LIVE : snapshot,
                                  .kept = s->share.snapshots,
                                  .kept_count = s->share.snapshot_count,
                                  .history = FILE_HISTORY};
    s->tree = (struct dirtree){.rows = &s->rows,
                               .children = file_key_kind(a, 'e', incarnation),
                               .parents = file_key_kind(a, 'i', incarnation),
                               .fold = s->share.protocol == SHARE_SMB ? casefold_utf8 : NULL};
    return OK;
}

struct err file_scope_open(struct txn *t, int64_t snapshot, struct file_scope *out)
{
    TRY(share_load(t, &out->share));
    return file_scope_enter(t, snapshot, out);
}

struct err file_scope_open_incarnation(struct txn *t, uint64_t incarnation, int64_t snapshot,
                                       struct file_scope *out)
{
    TRY(share_load(t, &out->share));
    if (out->share.incarnation != incarnation)
        return err_new(ERR_SHARE_NOT_FOUND);
    return file_scope_enter(t, snapshot, out);
}

struct err file_scope_close(struct file_scope *s)
{
    return s->share_changed ? share_save(s->txn, &s->share) : OK;
}

/* ---- finding ---- */

static struct str own_key(const struct file_scope *s, uint64_t id)
{
    return file_key_id(txn_arena(s->txn), 'n', s->share.incarnation, id);
}

static struct err load_own(struct file_scope *s, struct file_found *out)
{
    TRY(vrow_get(&s->rows, own_key(s, out->id), &out->own));
    if (!vrow_given(&out->own) || !node_decode(out->own.payload, &out->node))
        return err_new(ERR_CORRUPT);
    return OK;
}

static struct err find_root(struct file_scope *s, struct file_found *out)
{
    *out = (struct file_found){.exists = true, .root = true, .id = DIRTREE_ROOT};
    return load_own(s, out);
}

/* out->entry is filled in. */
static struct err take_entry(struct file_scope *s, struct file_found *out)
{
    out->exists = dirtree_given(&out->entry);
    out->parent = out->entry.parent;
    if (!out->exists)
        return OK;
    out->id = out->entry.id;
    out->linked = out->entry.data.n == 0;
    if (out->linked)
        return load_own(s, out);
    return node_decode(out->entry.data, &out->node) ? OK : err_new(ERR_CORRUPT);
}

struct err file_of_entry(struct file_scope *s, const struct dirtree_entry *entry,
                         struct file_found *out)
{
    assert(out != NULL);
    *out = (struct file_found){.entry = *entry};
    return take_entry(s, out);
}

struct err file_find(struct file_scope *s, struct str path, struct file_found *out)
{
    assert(out != NULL);
    if (path.n == 0)
        return find_root(s, out);
    *out = (struct file_found){0};
    TRY(dirtree_walk(&s->tree, path, &out->entry));
    return take_entry(s, out);
}

struct err file_find_child(struct file_scope *s, uint64_t directory, struct str name,
                           struct file_found *out)
{
    assert(out != NULL);
    *out = (struct file_found){0};
    TRY(dirtree_child(&s->tree, directory, name, &out->entry));
    return take_entry(s, out);
}

/* A file with several names is not in the tree, but in a separate row. */
static struct err find_linked(struct file_scope *s, uint64_t id, struct file_found *out)
{
    TRY(vrow_get(&s->rows, own_key(s, id), &out->own));
    out->exists = vrow_given(&out->own);
    out->linked = out->exists;
    out->id = id;
    return !out->exists || node_decode(out->own.payload, &out->node) ? OK : err_new(ERR_CORRUPT);
}

struct err file_find_id(struct file_scope *s, uint64_t id, struct file_found *out)
{
    assert(out != NULL);
    if (id == DIRTREE_ROOT)
        return find_root(s, out);
    *out = (struct file_found){0};
    TRY(dirtree_find(&s->tree, id, &out->entry));
    if (!dirtree_given(&out->entry) && s->share.protocol == SHARE_NFS)
        return find_linked(s, id, out);
    return take_entry(s, out);
}

struct err file_path(struct file_scope *s, const struct file_found *found, struct arena *a,
                     struct str *out)
{
    assert(out != NULL);
    struct str directory;
    *out = STR("");
    if (found->root)
        return OK;
    TRY(dirtree_path(&s->tree, found->parent, a, &directory));
    struct buf b = buf_in(a);
    buf_put(&b, directory);
    if (directory.n > 0)
        buf_putc(&b, '/');
    buf_put(&b, found->entry.name);
    *out = buf_str(&b);
    return OK;
}

struct opens_key file_key(const struct file_scope *s, const struct file_found *found)
{
    return (struct opens_key){.share = s->share.incarnation, .node = found->id};
}

/* ---- changing ---- */

static struct str encode(struct file_scope *s, const struct node *n)
{
    struct buf b = buf_in(txn_arena(s->txn));
    (void)buf_reserve(&b, 128);
    node_encode(&b, n);
    return buf_str(&b);
}

static struct err put_own(struct file_scope *s, const struct file_found *found)
{
    struct buf b = buf_in(txn_arena(s->txn));
    bool past;
    vrow_begin(&s->rows, &b);
    node_encode(&b, &found->node);
    return vrow_put(&s->rows, own_key(s, found->id), &found->own, buf_str(&b), &past);
}

struct err file_add(struct file_scope *s, struct file_found *found)
{
    assert(!found->exists && !found->root);
    found->id = (uint64_t)txn_stamp(s->txn);
    found->entry.id = found->id;
    found->entry.directory = found->node.kind == NODE_DIRECTORY;
    found->entry.data = encode(s, &found->node);
    TRY(dirtree_insert(&s->tree, &found->entry, true));
    found->exists = true;
    return file_note_change(s, found, CHANGE_ADDED);
}

struct err file_put(struct file_scope *s, struct file_found *found)
{
    assert(found->exists);
    if (found->root || found->linked)
        return put_own(s, found);
    TRY(file_note_modified(s, found, found->entry.data));
    found->entry.data = encode(s, &found->node);
    return dirtree_update(&s->tree, &found->entry);
}

static struct err remove_own(struct file_scope *s, const struct file_found *found)
{
    bool past;
    return vrow_del(&s->rows, own_key(s, found->id), &found->own, &past);
}

struct err file_remove(struct file_scope *s, struct file_found *found)
{
    assert(found->exists && !found->root);
    TRY(file_note_change(s, found, CHANGE_REMOVED));
    if (found->linked && found->node.links > 0) {
        found->node.links--;
        file_touch(s, &found->node);
        TRY(dirtree_remove(&s->tree, &found->entry, false));
        return put_own(s, found);
    }
    TRY(file_drop_content(s, &found->node));
    if (found->linked)
        TRY(remove_own(s, found));
    return dirtree_remove(&s->tree, &found->entry, !found->linked);
}

void file_touch(struct file_scope *s, struct node *n)
{
    n->etag = txn_stamp(s->txn);
    n->last_modified = txn_now(s->txn);
    lease_after_write(&n->lease, txn_now(s->txn));
}

struct err file_new_node(struct file_scope *s, enum node_kind kind, uint64_t parent,
                         struct node *out)
{
    assert(txn_writable(s->txn));
    enum { MODE_FILE = 0664, MODE_DIRECTORY = 0775, MODE_LINK = 0777 };
    struct file_found directory;
    int64_t now = txn_now(s->txn);
    *out = (struct node){.kind = kind, .created = now, .last_write = now, .changed = now};
    out->accessed = now;
    file_touch(s, out);
    if (s->share.protocol == SHARE_NFS)
        out->mode = kind == NODE_DIRECTORY ? MODE_DIRECTORY
                    : kind == NODE_FILE    ? MODE_FILE
                                           : MODE_LINK;
    TRY(file_find_id(s, parent, &directory));
    if (!directory.exists)
        return err_new(ERR_CORRUPT);
    return permission_inherit(s->txn, s->share.incarnation, &directory.node.permission,
                              kind == NODE_DIRECTORY, &out->permission);
}

/* ---- bytes ---- */

struct interval_map file_map(const struct file_scope *s, const struct node *n)
{
    struct interval_map m = {
        .rows = &s->rows, .has_chunks = n->has_chunks, .has_blocks = n->has_blocks};
    m.prefix = file_key_id(txn_arena(s->txn), 'm', s->share.incarnation, n->content);
    if (!interval_voids_decode(n->voids, &m))
        m.void_count = 0;
    return m;
}

struct err file_keep_map(struct file_scope *s, struct file_found *found,
                         const struct interval_map *m)
{
    assert(txn_writable(s->txn));
    struct node *n = &found->node;
    struct sweep_note note = {.incarnation = s->share.incarnation, .id = found->id};
    struct buf voids = buf_in(txn_arena(s->txn));
    n->has_chunks = m->has_chunks;
    n->has_blocks = m->has_blocks;
    interval_voids_encode(&voids, m);
    n->voids = buf_str(&voids);
    if (m->void_count > 0) {
        note.kind = FILE_SWEEP_VOIDS;
        TRY(file_sweep_note(s->txn, &note));
    }
    if (!m->fold_wanted)
        return OK;
    note.kind = m->fold_soon ? FILE_SWEEP_FOLD : FILE_SWEEP_FOLD_QUIET;
    note.more = m->fold_chunk;
    return file_sweep_note(s->txn, &note);
}

static struct err charge(struct file_scope *s, uint64_t before, uint64_t after)
{
    if (before == after)
        return OK;
    s->share_changed = true;
    return share_charge(&s->share, before, after);
}

struct err file_resize(struct file_scope *s, struct file_found *found, uint64_t size)
{
    assert(txn_writable(s->txn));
    struct node *n = &found->node;
    uint64_t before = n->size;
    TRY(charge(s, before, size));
    n->size = size;
    if (size >= before || (!n->has_chunks && !n->has_blocks))
        return OK;
    struct interval_map m = file_map(s, n);
    TRY(interval_cut(&m, size, INTERVAL_SIZE_MAX));
    return file_keep_map(s, found, &m);
}

/* Small contents are removed at once; the sweep removes the rest of large ones. */
struct err file_drop_content(struct file_scope *s, struct node *n)
{
    assert(txn_writable(s->txn));
    enum { ROWS_AT_ONCE = 64 };
    struct sweep_note note = {
        .kind = FILE_SWEEP_CONTENT, .incarnation = s->share.incarnation, .id = n->content};
    struct interval_map m = file_map(s, n);
    bool done = true;
    TRY(charge(s, n->size, 0));
    if (n->has_chunks || n->has_blocks)
        TRY(interval_remove(&m, ROWS_AT_ONCE, &done));
    n->size = 0;
    n->content = 0;
    n->has_chunks = false;
    n->has_blocks = false;
    n->voids = STR_NONE;
    return done ? OK : file_sweep_note(s->txn, &note);
}
