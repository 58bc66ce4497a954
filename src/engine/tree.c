/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/tree.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

struct tree_node {
    atomic_uint refs;
    uint32_t priority;
    struct row *row;
    struct tree_node *left;
    struct tree_node *right;
};

static struct row *row_with_room(struct str key, size_t value_n, size_t body_n, size_t room)
{
    assert(key.n <= UINT32_MAX && value_n + room <= UINT32_MAX && body_n <= UINT32_MAX);
    size_t used = sizeof(struct row) + key.n + value_n + body_n;
    size_t bytes = used + room;
    struct row *r = mem_alloc(bytes);
    atomic_init(&r->refs, 1);
    r->key_n = (uint32_t)key.n;
    r->value_n = (uint32_t)value_n;
    r->body_n = (uint32_t)body_n;
    r->room = (uint32_t)(bytes - used);
    r->deleted = false;
    r->hot = false;
    r->born = false;
    if (key.n > 0)
        memcpy(r->bytes, key.p, key.n);
    return r;
}

struct row *row_new_sized(struct str key, size_t value_n)
{
    return row_with_room(key, value_n, 0, 0);
}

struct row *row_new_roomy(struct str key, size_t value_n, size_t room)
{
    return row_with_room(key, value_n, 0, room);
}

struct row *row_new_deleted(struct str key)
{
    struct row *r = row_with_room(key, 0, 0, 0);
    r->deleted = true;
    return r;
}

struct row *row_new_with_body(struct str key, struct str value, struct str body)
{
    assert(str_given(value) || body.n == 0);
    struct row *r = row_with_room(key, value.n, body.n, 0);
    r->deleted = !str_given(value);
    if (value.n > 0)
        memcpy(r->bytes + key.n, value.p, value.n);
    if (body.n > 0)
        memcpy(r->bytes + key.n + value.n, body.p, body.n);
    return r;
}

struct row *row_new(struct str key, struct str value)
{
    return row_new_with_body(key, value, STR_NONE);
}

struct row *row_get(struct row *r)
{
    assert(atomic_load_explicit(&r->refs, memory_order_relaxed) > 0);
    atomic_fetch_add_explicit(&r->refs, 1, memory_order_relaxed);
    return r;
}

void row_put(struct row *r)
{
    assert(atomic_load_explicit(&r->refs, memory_order_relaxed) > 0);
    if (ref_was_last(&r->refs))
        free(r);
}

static struct tree_node *node_get(struct tree_node *n)
{
    if (n != NULL)
        atomic_fetch_add_explicit(&n->refs, 1, memory_order_relaxed);
    return n;
}

/* The recursion is as deep as the tree: a few times the logarithm of its size. */
static void node_put(struct tree_node *n)
{
    if (n == NULL || !ref_was_last(&n->refs))
        return;
    node_put(n->left);
    node_put(n->right);
    row_put(n->row);
    free(n);
}

static struct tree_node *node_alloc(void)
{
    return mem_alloc(sizeof(struct tree_node));
}

/* Exchanges a reference for one to a node that nobody else can see. Its parent is already such a
 * node, so a count of one means that no other state reaches it. */
static struct tree_node *node_own(struct tree_node *n)
{
    if (atomic_load_explicit(&n->refs, memory_order_acquire) == 1)
        return n;
    struct tree_node *own = node_alloc();
    atomic_init(&own->refs, 1);
    own->priority = n->priority;
    own->row = row_get(n->row);
    own->left = node_get(n->left);
    own->right = node_get(n->right);
    node_put(n);
    return own;
}

static struct tree_node *node_new(struct row *row, uint32_t priority)
{
    struct tree_node *n = node_alloc();
    atomic_init(&n->refs, 1);
    n->priority = priority;
    n->row = row;
    n->left = NULL;
    n->right = NULL;
    return n;
}

/* Read-only: no node on the path is copied. */
static struct tree_node *node_find(struct tree_node *n, struct str key)
{
    while (n != NULL) {
        int order = str_cmp(key, row_key(n->row));
        if (order == 0)
            return n;
        n = order < 0 ? n->left : n->right;
    }
    return NULL;
}

/* Splits a tree: keys greater than the key go to *greater, the others to *smaller. */
static void node_split(struct tree_node *n, struct str key, struct tree_node **smaller,
                       struct tree_node **greater)
{
    while (n != NULL) {
        n = node_own(n);
        if (str_cmp(key, row_key(n->row)) < 0) {
            *greater = n;
            greater = &n->left;
            n = n->left;
        } else {
            *smaller = n;
            smaller = &n->right;
            n = n->right;
        }
    }
    *smaller = NULL;
    *greater = NULL;
}

/* Returns the link to the key's node, or to the position of a new node with that priority: all
 * nodes above it have a greater one. Nodes on the path become owned. */
static struct tree_node **node_link(struct tree *t, struct str key, uint32_t priority, bool *found)
{
    struct tree_node **link = &t->root;
    bool known = false; /* the key exists further below */
    *found = false;
    while (*link != NULL) {
        struct tree_node *n = *link;
        if (!known && n->priority < priority) {
            if (node_find(n, key) == NULL)
                return link;
            known = true;
        }
        n = *link = node_own(n);
        int order = str_cmp(key, row_key(n->row));
        *found = order == 0;
        if (*found)
            return link;
        link = order < 0 ? &n->left : &n->right;
    }
    return link;
}

/* Joins two trees; all keys in a are smaller than those in b. */
static struct tree_node *node_join(struct tree_node *a, struct tree_node *b)
{
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (a->priority > b->priority) {
        a = node_own(a);
        a->right = node_join(a->right, b);
        return a;
    }
    b = node_own(b);
    b->left = node_join(a, b->left);
    return b;
}

struct tree tree_get(const struct tree *t)
{
    return (struct tree){.root = node_get(t->root), .random = t->random};
}

void tree_put(struct tree *t)
{
    node_put(t->root);
    t->root = NULL;
}

/* xorshift64: random enough for balance. */
static uint32_t tree_random(struct tree *t)
{
    uint64_t x = t->random;
    assert(x != 0);
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    t->random = x;
    return (uint32_t)(x >> 32);
}

struct row *tree_exchange(struct tree *t, struct row *row)
{
    assert(row != NULL);
    bool found;
    uint32_t priority = tree_random(t);
    struct tree_node **link = node_link(t, row_key(row), priority, &found);
    struct tree_node *n = *link;
    if (found) {
        struct row *replaced = n->row;
        n->row = row;
        return replaced;
    }
    *link = node_new(row, priority);
    node_split(n, row_key(row), &(*link)->left, &(*link)->right);
    return NULL;
}

void tree_insert(struct tree *t, struct row *row)
{
    struct row *replaced = tree_exchange(t, row);
    if (replaced != NULL)
        row_put(replaced);
}

/* Puts the middle row on top; priorities decrease as random ones would on average. */
static struct tree_node *node_fill(struct row **rows, size_t n, uint32_t priority)
{
    if (n == 0)
        return NULL;
    size_t middle = n / 2;
    struct tree_node *top = node_new(rows[middle], priority);
    top->left = node_fill(rows, middle, priority / 2);
    top->right = node_fill(rows + middle + 1, n - middle - 1, priority / 2);
    return top;
}

void tree_fill(struct tree *t, struct row **rows, size_t n)
{
    assert(t->root == NULL);
    t->root = node_fill(rows, n, UINT32_MAX);
}

struct tree_node **tree_link(struct tree *t, struct str key)
{
    bool found;
    struct tree_node **link = node_link(t, key, 0, &found);
    return found ? link : NULL;
}

struct row *tree_link_row(struct tree_node *const *link)
{
    assert(*link != NULL);
    return (*link)->row;
}

void tree_link_cut(struct tree_node **link)
{
    assert(*link != NULL);
    struct tree_node *n = *link;
    *link = node_join(n->left, n->right);
    n->left = NULL;
    n->right = NULL;
    node_put(n);
}

void tree_remove(struct tree *t, struct str key)
{
    if (node_find(t->root, key) != NULL)
        tree_link_cut(tree_link(t, key));
}

struct row *tree_find(const struct tree *t, struct str key)
{
    const struct tree_node *n = node_find(t->root, key);
    return n == NULL ? NULL : n->row;
}

struct row *tree_at_or_after(const struct tree *t, struct str key)
{
    const struct tree_node *n = t->root;
    struct row *best = NULL;
    while (n != NULL) {
        if (str_cmp(row_key(n->row), key) >= 0) {
            best = n->row;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct row *tree_after(const struct tree *t, struct str key)
{
    const struct tree_node *n = t->root;
    struct row *best = NULL;
    while (n != NULL) {
        if (str_cmp(row_key(n->row), key) > 0) {
            best = n->row;
            n = n->left;
        } else {
            n = n->right;
        }
    }
    return best;
}

struct row *tree_before(const struct tree *t, struct str key)
{
    const struct tree_node *n = t->root;
    struct row *best = NULL;
    while (n != NULL) {
        if (str_cmp(row_key(n->row), key) < 0) {
            best = n->row;
            n = n->right;
        } else {
            n = n->left;
        }
    }
    return best;
}

static void node_each(struct tree_node *n, void (*visit)(void *arg, struct row *row), void *arg)
{
    if (n == NULL)
        return;
    node_each(n->left, visit, arg);
    visit(arg, n->row);
    node_each(n->right, visit, arg);
}

void tree_each(const struct tree *t, void (*visit)(void *arg, struct row *row), void *arg)
{
    node_each(t->root, visit, arg);
}

/* Returns false if visit did. */
static bool node_each_after(struct tree_node *n, struct str key,
                            bool (*visit)(void *arg, struct row *row), void *arg)
{
    if (n == NULL)
        return true;
    if (str_given(key) && str_cmp(row_key(n->row), key) <= 0)
        return node_each_after(n->right, key, visit, arg);
    return node_each_after(n->left, key, visit, arg) && visit(arg, n->row) &&
           node_each_after(n->right, STR_NONE, visit, arg);
}

void tree_each_after(const struct tree *t, struct str key,
                     bool (*visit)(void *arg, struct row *row), void *arg)
{
    (void)node_each_after(t->root, key, visit, arg);
}
