/* SPDX-License-Identifier: Apache-2.0 */
/* Names that form a tree: the files and directories of a share, the paths of a hierarchical
 * container. A directory is known by its id, and an entry by its directory's id and its name; so
 * moving a directory touches its own entry and nothing below it.
 *
 *     children + directory (be64) + key of the name → id, name as given, the service's data
 *     parents + id (be64)                           → directory, key of the name
 *
 * The second row finds an entry by its id. Both are versioned (vrow.h), so a snapshot has its own
 * tree. The root is id 0 and has no entry. */
#ifndef SERVICE_COMMON_DIRTREE_H
#define SERVICE_COMMON_DIRTREE_H

#include "service/common/vrow.h"

enum { DIRTREE_DEPTH_MAX = 254, DIRTREE_ROOT = 0 };

struct dirtree {
    const struct vrow_scope *rows;
    struct str children; /* key prefixes */
    struct str parents;
    /* Maps a name to the key that tells entries apart; NULL: the name itself. */
    struct str (*fold)(struct arena *a, struct str name);
};

struct dirtree_entry {
    uint64_t parent;
    uint64_t id;
    bool directory;
    struct str name; /* as given */
    struct str data; /* opaque; the service's */
    struct str key;  /* the folded name */
    struct vrow row; /* as found; an absent payload means that there is no such entry */
};

static inline bool dirtree_given(const struct dirtree_entry *e)
{
    return vrow_given(&e->row);
}

/* Finds the entry of that name in the directory. If there is none, parent, name and key are
 * still set, so that it can be created. Borrowed as with txn_get. ERR_CORRUPT. */
struct err dirtree_child(const struct dirtree *t, uint64_t directory, struct str name,
                         struct dirtree_entry *out);
/* The same for "a/b/c" from the root; the path is not empty and contains no empty names.
 * ERR_PARENT_NOT_FOUND if a name before the last does not exist or is no directory. */
struct err dirtree_walk(const struct dirtree *t, struct str path, struct dirtree_entry *out);
/* The entry with that id, not the root. */
struct err dirtree_find(const struct dirtree *t, uint64_t id, struct dirtree_entry *out);

/* Decodes a row of `children`, current or of a snapshot; `key` is the current row's. False if it
 * is malformed. */
bool dirtree_read(const struct dirtree *t, struct str key, struct str value,
                  struct dirtree_entry *out);

/* Creates an entry: parent, id, directory, name and data are given. `by_id`: it can be found by
 * its id. (If several entries share an id, the service finds them itself.) */
struct err dirtree_insert(const struct dirtree *t, struct dirtree_entry *e, bool by_id);
/* Rewrites an entry that was found, with new data. */
struct err dirtree_update(const struct dirtree *t, struct dirtree_entry *e);
struct err dirtree_remove(const struct dirtree *t, const struct dirtree_entry *e, bool by_id);
/* Removes the row that finds the entry by its id. */
struct err dirtree_drop_parent(const struct dirtree *t, const struct dirtree_entry *e);
/* Moves an entry that was found to `to` (looked up and absent), with new data. The caller has
 * checked with dirtree_within that a directory is not moved into itself. */
struct err dirtree_move(const struct dirtree *t, const struct dirtree_entry *from,
                        struct dirtree_entry *to, bool by_id);

/* Sets the result to true if `directory` is `ancestor` or below it. */
struct err dirtree_within(const struct dirtree *t, uint64_t directory, uint64_t ancestor,
                          bool *out);
/* The ids from the parent of `id` up to and without the root, nearest first; in the arena. */
struct err dirtree_ancestors(const struct dirtree *t, uint64_t id, struct arena *a, uint64_t **out,
                             size_t *count);
/* Returns the path of the entry with that id, without a leading slash, in the arena; empty for
 * the root. */
struct err dirtree_path(const struct dirtree *t, uint64_t id, struct arena *a, struct str *out);
struct err dirtree_is_empty(const struct dirtree *t, uint64_t directory, bool *out);

/* Visits the entries of a directory in key order whose keys start with prefix and are >= from
 * (both folded with dirtree_key; absent: all). Each is borrowed for the call. */
typedef struct err dirtree_visit(void *arg, const struct dirtree_entry *e, bool *stop);
struct err dirtree_list(const struct dirtree *t, uint64_t directory, struct str prefix,
                        struct str from, dirtree_visit *visit, void *arg);

/* Returns the folded name. */
struct str dirtree_key(const struct dirtree *t, struct arena *a, struct str name);

#endif
