/* SPDX-License-Identifier: Apache-2.0 */
/* A persistent ordered map of rows: changing it copies the path to the changed node, so that any
 * number of older states live on beside the newest at the cost of what differs. A state is a root
 * pointer with a count; taking one is one increment. It is a treap: a binary tree by key and a heap
 * by random priorities, which keeps it balanced with little code.
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
    uint32_t room; /* that is left behind them */
    bool deleted;  /* a mark that the row is gone from what lies below this tree */
    bool hot;      /* likely to be read soon */
    bool born;     /* what lies below this tree has no row of the key: when it is gone, all is */
    bool old;      /* was there when rows last went from this tree to what lies below */
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

/* Whether the reference that goes was the last. Who has the only one need not tell anybody: an
 * atomic change costs as much as twenty plain ones. */
static inline bool ref_was_last(atomic_uint *refs)
{
    return atomic_load_explicit(refs, memory_order_acquire) == 1 ||
           atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1;
}

/* With one reference. An absent value makes a deletion mark. */
struct row *row_new(struct str key, struct str value);
struct row *row_new_with_body(struct str key, struct str value, struct str body);
/* The same with room for a value of this size, to be filled in before anyone else sees the row, and
 * for some more when it grows. */
struct row *row_new_sized(struct str key, size_t value_n);
struct row *row_new_roomy(struct str key, size_t value_n, size_t room);
/* A deletion mark. */
struct row *row_new_deleted(struct str key);
struct row *row_get(struct row *r);
void row_put(struct row *r);

struct tree_node;

struct tree {
    struct tree_node *root;
    uint64_t random; /* any seed but 0 */
};

/* Another hold on the same state. */
struct tree tree_get(const struct tree *t);
void tree_put(struct tree *t);

/* Takes over the reference to row; replaces the row of the same key. */
void tree_insert(struct tree *t, struct row *row);
/* The same; the row that was replaced comes back with its reference, NULL when there was none. */
struct row *tree_exchange(struct tree *t, struct row *row);
/* An empty tree gets all of these rows, which are in the order of their keys; takes over the
 * references. Much faster than one by one. */
void tree_fill(struct tree *t, struct row **rows, size_t n);
/* Absent is no error. */
void tree_remove(struct tree *t, struct str key);

/* Where the tree has the row of the key; NULL when it has none. All on the way there is the tree's
 * own from now on, as when the row is changed. Until the tree is changed otherwise. */
struct tree_node **tree_link(struct tree *t, struct str key);
struct row *tree_link_row(struct tree_node *const *link);
/* Takes the row out that is there. */
void tree_link_cut(struct tree_node **link);

/* Borrowed from the state; NULL when there is none. */
struct row *tree_find(const struct tree *t, struct str key);
/* The first at or after key. */
struct row *tree_at_or_after(const struct tree *t, struct str key);
/* The first after key. */
struct row *tree_after(const struct tree *t, struct str key);
/* The last before key. */
struct row *tree_before(const struct tree *t, struct str key);

/* Takes the rows up to this key, and with it, out of the tree. */
struct tree tree_cut(struct tree *t, struct str key);
/* Takes over the rows of another tree; their keys come after all of this one's. */
void tree_join(struct tree *t, struct tree *after);

/* Calls visit with the rows after this key in order, with all when it is absent, until it says no.
 */
void tree_each_after(const struct tree *t, struct str key,
                     bool (*visit)(void *arg, struct row *row), void *arg);
/* Calls visit with every row in order. */
void tree_each(const struct tree *t, void (*visit)(void *arg, struct row *row), void *arg);

#endif
