/* SPDX-License-Identifier: Apache-2.0 */
/* Records what a transaction changes in the directory tree, for change notification (watch.h), and
 * reports it after the commit. If no client watches, nothing is recorded. A client that starts to
 * watch between the transaction and its commit is told to scan everything again. */
#ifndef SERVICE_FILE_OPENS_CHANGE_H
#define SERVICE_FILE_OPENS_CHANGE_H

#include "core/arena.h"
#include "service/file/opens/watch.h"

struct file_scope;
struct file_found;

/* Owned by the front end's request, like the arena that holds the changes. */
struct file_changes {
    struct watches *watches; /* NULL: there is nobody to notify */
    struct arena *arena;
    uint64_t share;
    bool noted;   /* somebody watched when the transaction ran */
    bool touched; /* something was changed */
    struct file_change *first, *last;
};

/* Call at the start of every run of a transaction function, with c->watches set or NULL. */
void file_changes_begin(struct file_changes *c, struct arena *a);
/* Call after the commit, on any thread; at most once per run. */
void file_changes_tell(struct file_changes *c);

/* In a transaction with s->changes: records an entry that was created, removed, renamed or
 * modified. */
struct err file_note_change(struct file_scope *s, const struct file_found *found,
                            enum change_action action);
/* Records a rename: a file is also reported as modified, as Windows does. */
struct err file_note_renamed(struct file_scope *s, const struct file_found *from,
                             const struct file_found *to);
/* Records the differences to `before` (the node as stored in its row); nothing if all is equal. */
struct err file_note_modified(struct file_scope *s, const struct file_found *found,
                              struct str before);

#endif
