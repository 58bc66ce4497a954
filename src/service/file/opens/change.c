/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/change.h"

#include "service/file/scope.h"

enum { DEPTH_MAX = 256 };

void file_changes_begin(struct file_changes *c, struct arena *a)
{
    *c = (struct file_changes){.watches = c->watches, .arena = a};
    c->noted = c->watches != NULL && watches_any(c->watches);
}

void file_changes_tell(struct file_changes *c)
{
    if (c->watches == NULL || !c->touched)
        return;
    if (c->noted)
        watches_tell(c->watches, c->share, c->first);
    else if (watches_any(c->watches))
        watches_tell_unknown(c->watches, c->share);
}

/* ---- where it is ---- */

/* Collects the directories from `id` up to the root, nearest first. */
static struct err climb(struct file_scope *s, uint64_t id, struct dirtree_entry *entries,
                        size_t *count)
{
    *count = 0;
    while (id != DIRTREE_ROOT) {
        struct dirtree_entry *e = &entries[*count];
        TRY(dirtree_find(&s->tree, id, e));
        if (!dirtree_given(e) || ++*count == DEPTH_MAX)
            return err_new(ERR_CORRUPT);
        id = e->parent;
    }
    return OK;
}

static struct err set_path(struct file_scope *s, const struct file_found *found,
                           struct file_change *change)
{
    struct dirtree_entry *above = ARENA_ARRAY(txn_arena(s->txn), struct dirtree_entry, DEPTH_MAX);
    struct arena *a = s->changes->arena;
    size_t count;
    TRY(climb(s, found->entry.parent, above, &count));
    struct buf path = buf_in(a);
    uint64_t *directories = ARENA_ARRAY(a, uint64_t, count + 1);
    size_t *starts = ARENA_ARRAY(a, size_t, count + 1);
    directories[0] = DIRTREE_ROOT;
    starts[0] = 0;
    for (size_t i = 1; i <= count; i++) {
        const struct dirtree_entry *e = &above[count - i];
        buf_put(&path, e->name);
        buf_putc(&path, '/');
        directories[i] = e->id;
        starts[i] = path.n;
    }
    buf_put(&path, found->entry.name);
    change->path = buf_str(&path);
    change->depth = count + 1;
    change->directories = directories;
    change->starts = starts;
    return OK;
}

static struct err note(struct file_scope *s, const struct file_found *found,
                       enum change_action action, unsigned what)
{
    struct file_changes *c = s->changes;
    if (c == NULL || found->root || s->share.protocol != SHARE_SMB)
        return OK;
    c->touched = true;
    c->share = s->share.incarnation;
    if (!c->noted)
        return OK;
    struct file_change *change = ARENA_NEW(c->arena, struct file_change);
    change->action = action;
    change->what = what;
    TRY(set_path(s, found, change));
    if (c->last == NULL)
        c->first = change;
    else
        c->last->next = change;
    c->last = change;
    return OK;
}

/* ---- what it is ---- */

struct err file_note_change(struct file_scope *s, const struct file_found *found,
                            enum change_action action)
{
    bool directory = found->node.kind == NODE_DIRECTORY;
    return note(s, found, action, directory ? CHANGE_DIRECTORY_NAME : CHANGE_FILE_NAME);
}

/* Within a directory this is a rename; between directories the entry disappears here and appears
 * there. */
struct err file_note_renamed(struct file_scope *s, const struct file_found *from,
                             const struct file_found *to)
{
    bool stays = from->entry.parent == to->entry.parent;
    TRY(file_note_change(s, from, stays ? CHANGE_RENAMED_FROM : CHANGE_REMOVED));
    TRY(file_note_change(s, to, stays ? CHANGE_RENAMED_TO : CHANGE_ADDED));
    if (from->node.kind == NODE_DIRECTORY)
        return OK;
    return note(s, to, CHANGE_MODIFIED, CHANGE_ATTRIBUTES | CHANGE_CREATION);
}

static bool same_permission(const struct permission_key *a, const struct permission_key *b)
{
    return memcmp(a->bytes, b->bytes, sizeof a->bytes) == 0;
}

static unsigned differences(const struct node *now, const struct node *before)
{
    unsigned what = 0;
    what |= now->attributes != before->attributes ? CHANGE_ATTRIBUTES : 0U;
    what |= now->size != before->size ? CHANGE_SIZE : 0U;
    what |= now->last_write != before->last_write ? CHANGE_LAST_WRITE : 0U;
    what |= now->accessed != before->accessed ? CHANGE_LAST_ACCESS : 0U;
    what |= now->created != before->created ? CHANGE_CREATION : 0U;
    what |= same_permission(&now->permission, &before->permission) ? 0U : CHANGE_SECURITY;
    what |= str_eq(now->eas, before->eas) ? 0U : CHANGE_EXTENDED_ATTRIBUTES;
    /* A copy has ended, so the content has changed. */
    if (before->copy.status == COPY_PENDING && now->copy.status != COPY_PENDING)
        what |= CHANGE_SIZE | CHANGE_LAST_WRITE;
    return what;
}

struct err file_note_modified(struct file_scope *s, const struct file_found *found,
                              struct str before)
{
    struct node node;
    /* If no client watches, the row is not even decoded. */
    if (s->changes == NULL || !s->changes->noted)
        return note(s, found, CHANGE_MODIFIED, 0);
    if (!node_decode(before, &node))
        return err_new(ERR_CORRUPT);
    unsigned what = differences(&found->node, &node);
    return what == 0 ? OK : note(s, found, CHANGE_MODIFIED, what);
}
