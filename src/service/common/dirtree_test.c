/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/dirtree.h"

#include <stdio.h>

#include "core/test.h"
#include "core/text/casefold.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"

struct world {
    struct clock clock;
    struct engine *engine;
    int64_t kept[2];
    size_t kept_count;
    int64_t at;
    void (*body)(const struct dirtree *t, struct world *w);
};

static struct err run_body(struct txn *t, void *arg)
{
    struct world *w = arg;
    struct vrow_scope s = {
        .txn = t, .at = w->at, .kept = w->kept, .kept_count = w->kept_count, .history = STR("h")};
    struct dirtree tree = {
        .rows = &s, .children = STR("c"), .parents = STR("i"), .fold = casefold_utf8};
    w->body(&tree, w);
    if (txn_writable(t))
        w->kept[w->kept_count] = txn_stamp(t);
    return OK;
}

static void update(struct world *w, void (*body)(const struct dirtree *, struct world *))
{
    w->body = body;
    w->at = VROW_LIVE;
    CHECK_OK(engine_update_wait(w->engine, STR("p"), run_body, w));
}

static void view(struct world *w, int64_t at, void (*body)(const struct dirtree *, struct world *))
{
    w->body = body;
    w->at = at;
    CHECK_OK(engine_view(w->engine, STR("p"), ENGINE_WAIT, run_body, w));
}

static void begin(struct world *w)
{
    *w = (struct world){0};
    clock_init_manual(&w->clock, 1000);
    w->engine = engine_mem_new(&w->clock);
}

static void make(const struct dirtree *t, const char *path, uint64_t id, bool directory)
{
    struct dirtree_entry e;
    CHECK_OK(dirtree_walk(t, str_of(path), &e));
    CHECK(!dirtree_given(&e));
    e.id = id;
    e.directory = directory;
    e.data = STR("data");
    CHECK_OK(dirtree_insert(t, &e, true));
}

static void make_some(const struct dirtree *t, struct world *w)
{
    (void)w;
    make(t, "Docs", 1, true);
    make(t, "docs/Älter", 2, true);
    make(t, "docs/ÄLTER/file.txt", 3, false);
    make(t, "DOCS/b", 4, false);
    make(t, "other", 5, true);
}

static void check_entry(const struct dirtree *t, const char *path, uint64_t id, const char *name)
{
    struct dirtree_entry e;
    CHECK_OK(dirtree_walk(t, str_of(path), &e));
    CHECK(dirtree_given(&e));
    CHECK_INT(e.id, id);
    CHECK_STR(e.name, str_of(name));
    CHECK_STR(e.data, STR("data"));
}

static struct err collect(void *arg, const struct dirtree_entry *e, bool *stop)
{
    struct buf *b = arg;
    buf_put(b, e->name);
    buf_putc(b, ' ');
    *stop = b->n > 1000;
    return OK;
}

static void check_list(const struct dirtree *t, uint64_t dir, struct str prefix, const char *want)
{
    struct buf b = buf_in(txn_arena(t->rows->txn));
    CHECK_OK(dirtree_list(t, dir, prefix, STR_NONE, collect, &b));
    CHECK_STR(buf_str(&b), str_of(want));
}

static void look_at_first(const struct dirtree *t, struct world *w)
{
    struct str path;
    struct dirtree_entry e;
    bool yes;
    (void)w;
    check_entry(t, "docs", 1, "Docs");
    check_entry(t, "dOCs/älter/FILE.TXT", 3, "file.txt");
    CHECK_ERR(dirtree_walk(t, STR("docs/b/c"), &e), ERR_PARENT_NOT_FOUND);
    CHECK_ERR(dirtree_walk(t, STR("nowhere/c"), &e), ERR_PARENT_NOT_FOUND);
    CHECK_OK(dirtree_path(t, 3, txn_arena(t->rows->txn), &path));
    CHECK_STR(path, STR("Docs/Älter/file.txt"));
    check_list(t, 0, STR(""), "Docs other ");
    check_list(t, 1, STR("b"), "b ");
    check_list(t, 5, STR(""), "");
    CHECK_OK(dirtree_is_empty(t, 5, &yes));
    CHECK(yes);
    CHECK_OK(dirtree_is_empty(t, 1, &yes));
    CHECK(!yes);
    CHECK_OK(dirtree_within(t, 2, 1, &yes));
    CHECK(yes);
    CHECK_OK(dirtree_within(t, 5, 1, &yes));
    CHECK(!yes);
}

static void move_some(const struct dirtree *t, struct world *w)
{
    struct dirtree_entry from, to;
    (void)w;
    CHECK_OK(dirtree_walk(t, STR("docs"), &from));
    CHECK_OK(dirtree_walk(t, STR("other/Moved"), &to));
    to.data = STR("data");
    CHECK_OK(dirtree_move(t, &from, &to, true));
    CHECK_OK(dirtree_walk(t, STR("other/moved/b"), &from));
    CHECK_OK(dirtree_remove(t, &from, true));
    make(t, "other/moved/a", 6, false);
}

static void look_at_second(const struct dirtree *t, struct world *w)
{
    struct dirtree_entry e;
    struct str path;
    (void)w;
    check_entry(t, "other/moved/älter/file.txt", 3, "file.txt");
    CHECK_OK(dirtree_walk(t, STR("docs"), &e));
    CHECK(!dirtree_given(&e));
    CHECK_OK(dirtree_find(t, 4, &e));
    CHECK(!dirtree_given(&e));
    CHECK_OK(dirtree_path(t, 3, txn_arena(t->rows->txn), &path));
    CHECK_STR(path, STR("other/Moved/Älter/file.txt"));
    check_list(t, 0, STR(""), "other ");
    check_list(t, 1, STR(""), "a Älter ");
}

/* Case-insensitive names, by path and by id, a move of a directory with everything below it, and
 * the tree as seen by a snapshot. */
void test_dirtree_names_moves_and_snapshots(void)
{
    struct world w;
    begin(&w);
    update(&w, make_some);
    w.kept_count = 1;
    view(&w, VROW_LIVE, look_at_first);
    update(&w, move_some);
    view(&w, VROW_LIVE, look_at_second);
    view(&w, w.kept[0], look_at_first);
    engine_close(w.engine);
}

static void make_thousands(const struct dirtree *t, struct world *w)
{
    (void)w;
    for (int i = 0; i < 3000; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "N%06d", i);
        make(t, name, (uint64_t)i + 1, false);
    }
}

static void delete_odd_ones(const struct dirtree *t, struct world *w)
{
    (void)w;
    for (int i = 1; i < 3000; i += 2) {
        struct dirtree_entry e;
        char name[16];
        (void)snprintf(name, sizeof name, "n%06d", i);
        CHECK_OK(dirtree_walk(t, str_of(name), &e));
        CHECK_OK(dirtree_remove(t, &e, true));
    }
}

struct count {
    size_t seen;
    size_t limit;
    uint64_t last;
};

static struct err count_one(void *arg, const struct dirtree_entry *e, bool *stop)
{
    struct count *c = arg;
    CHECK(e->id > c->last);
    c->last = e->id;
    *stop = ++c->seen == c->limit;
    return OK;
}

static void count_live(const struct dirtree *t, struct world *w)
{
    struct count c = {0};
    (void)w;
    CHECK_OK(dirtree_list(t, 0, STR(""), STR_NONE, count_one, &c));
    CHECK_INT(c.seen, 1500);
    c = (struct count){.limit = 10};
    CHECK_OK(dirtree_list(t, 0, STR("n"), STR("n002000"), count_one, &c));
    CHECK_INT(c.seen, 10);
    CHECK_INT(c.last, 2019);
}

static void count_past(const struct dirtree *t, struct world *w)
{
    struct count c = {0};
    (void)w;
    CHECK_OK(dirtree_list(t, 0, STR(""), STR_NONE, count_one, &c));
    CHECK_INT(c.seen, 3000);
    c = (struct count){.limit = 10};
    CHECK_OK(dirtree_list(t, 0, STR("n"), STR("n002000"), count_one, &c));
    CHECK_INT(c.last, 2010);
}

void test_dirtree_lists_live_and_past(void)
{
    struct world w;
    begin(&w);
    update(&w, make_thousands);
    w.kept_count = 1;
    update(&w, delete_odd_ones);
    view(&w, VROW_LIVE, count_live);
    view(&w, w.kept[0], count_past);
    engine_close(w.engine);
}
