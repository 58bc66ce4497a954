/* SPDX-License-Identifier: Apache-2.0 */
/* What a transaction changes in the tree, for those who watch it (watch.h): noted while it runs,
 * told after its commit. Where nobody watches nothing is noted; who begins to watch between the
 * transaction and its commit is told to look at it all anew. */
#ifndef SERVICE_FILE_OPENS_CHANGE_H
#define SERVICE_FILE_OPENS_CHANGE_H

#include "core/arena.h"
#include "service/file/opens/watch.h"

struct file_scope;
struct file_found;

/* Belongs to the front end's request, like the arena that the changes lie in. */
struct file_changes {
    struct watches *watches; /* NULL: there is nobody to tell */
    struct arena *arena;
    uint64_t share;
    bool noted;   /* somebody watched when the transaction ran */
    bool touched; /* something was changed */
    struct file_change *first, *last;
};

/* At the beginning of every run of a transaction function: c->watches is set or NULL. */
void file_changes_begin(struct file_changes *c, struct arena *a);
/* After the commit, on any thread; at most once for a run. */
void file_changes_tell(struct file_changes *c);

/* In a transaction that has s->changes: an entry that came or goes, is renamed, or has changed. */
struct err file_note_change(struct file_scope *s, const struct file_found *found,
                            enum change_action action);
/* It has another name: a file is told as changed as well, for that is what Windows does. */
struct err file_note_renamed(struct file_scope *s, const struct file_found *from,
                             const struct file_found *to);
/* What is different from before (the node as its row still has it); nothing is noted when all is
 * the same. */
struct err file_note_modified(struct file_scope *s, const struct file_found *found,
                              struct str before);

#endif
