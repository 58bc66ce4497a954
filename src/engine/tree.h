/* SPDX-License-Identifier: Apache-2.0 */
/* A persistent ordered map of rows: a change copies the path to the changed node, so any number
 * of older states remain beside the newest and share what is equal. A state is a root pointer
 * with a reference count; taking one is one increment. The map is a treap: a binary tree by key
 * and a heap by random priority, which keeps it balanced with little code.
 *
 * One thread changes a tree at a time; any thread reads the states it holds. */
#ifndef ENGINE_TREE_H
#define ENGINE_TREE_H

#include <stdatomic.h>

#include "core/str.h"

struct row {
    atomic_uint refs;
    uint32_t key_n;
    uint32_t value_n;
    uint32_t body_n;
    uint32_t room; /* spare capacity behind them */
    bool deleted;  /* tombstone: hides the row below this tree */
    bool hot;      /* likely to be read soon */
    bool born;     /* no row of the key exists below this tree, so a delete needs no tombstone */
    char bytes[];  /* key, then value, then body */
};

static inline struct str row_key(const struct row *r)
{
    return (struct str){r->bytes, r->key_n};
}

static inline struct str row_value(const struct row *r)
{
    return (struct str){r->bytes + r->key_n, r->value_n};
}

static inline struct str row_body(const struct row *r)
{
    return r->body_n == 0 ? STR_NONE : (struct str){r->bytes + r->key_n + r->value_n, r->body_n};
}

/* True if this was the last reference. The only holder skips the atomic operation, which costs
 * as much as twenty plain ones. */
static inline bool ref_was_last(atomic_uint *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* With one reference. An absent value makes a tombstone. */
struct row *row_new(struct str key, struct str value);
struct row *row_new_with_body(struct str key, struct str value, struct str body);
/* The same with space for a value of this size, to be filled in before anyone else sees the row,
 * plus some spare capacity. */
struct row *row_new_sized(struct str key, size_t value_n);
struct row *row_new_roomy(struct str key, size_t value_n, size_t room);
/* Makes a tombstone. */
struct row *row_new_deleted(struct str key);
struct row *row_get(struct row *r);
void row_put(struct row *r);

struct tree_node;

struct tree {
    struct tree_node *root;
    uint64_t random; /* any seed but 0 */
};

/* Takes another reference to the same state. */
struct tree tree_get(const struct tree *t);
void tree_put(struct tree *t);

/* Takes over the reference to row; replaces the row of the same key. */
void tree_insert(struct tree *t, struct row *row);
/* The same; returns the replaced row with its reference, or NULL. */
struct row *tree_exchange(struct tree *t, struct row *row);
/* Fills an empty tree with rows in key order; takes over the references. Much faster than one by
 * one. */
void tree_fill(struct tree *t, struct row **rows, size_t n);
/* Absent is no error. */
void tree_remove(struct tree *t, struct str key);

/* Returns the link to the key's node, or NULL. The nodes on the path become the tree's own, as
 * for a change. Valid until the next change. */
struct tree_node **tree_link(struct tree *t, struct str key);
struct row *tree_link_row(struct tree_node *const *link);
/* Removes the node at the link. */
void tree_link_cut(struct tree_node **link);

/* Borrowed from the state; NULL if there is none. */
struct row *tree_find(const struct tree *t, struct str key);
/* The first at or after key. */
struct row *tree_at_or_after(const struct tree *t, struct str key);
/* The first after key. */
struct row *tree_after(const struct tree *t, struct str key);
/* The last before key. */
struct row *tree_before(const struct tree *t, struct str key);

/* Calls visit with the rows after this key in order, or with all if it is absent, until visit
 * returns false. */
void tree_each_after(const struct tree *t, struct str key,
                     bool (*visit)(void *arg, struct row *row), void *arg);
/* Calls visit with every row in order. */
void tree_each(const struct tree *t, void (*visit)(void *arg, struct row *row), void *arg);

#endif
