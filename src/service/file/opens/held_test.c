/* SPDX-License-Identifier: Apache-2.0 */
/* Opens that are stored, and restored into an empty table. */
#include "service/file/opens/held.h"

#include "service/file/file_fixture.h"

enum { READ_WRITE_MASK = 0x3, FRONT_ID = 77 };

static void break_nothing(void *owner, const struct opens_notice *notice)
{
    (void)owner;
    (void)notice;
}

static void close_nothing(void *owner, uint64_t tag)
{
    (void)owner;
    (void)tag;
}

static const struct opens_owner NOBODY = {break_nothing, close_nothing};

static void never_done(struct opens_wait *wait)
{
    (void)wait;
}

static struct err try_open(struct opens *t, struct opens_key key, struct opens_request wish,
                           struct opens_handle **out)
{
    struct opens_wait wait = {.done = never_done};
    unsigned granted;
    wish.key = key;
    wish.calls = &NOBODY;
    wish.access_mask = READ_WRITE_MASK;
    struct err error = opens_open(t, &wish, &wait, out, &granted);
    if (error.code == ERR_OTHERS_FIRST)
        CHECK(opens_wait_cancel(t, &wait));
    return error;
}

static struct opens_key key_of(struct world *w, const char *path)
{
    struct file_look_args look = {
        .at = {.arena = &w->arena}, .by_path = true, .path = str_of(path)};
    struct file_share_args share = {.at = {.arena = &w->arena}};
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_look_share, &share));
    look.at.incarnation = share.incarnation;
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_look, &look));
    return (struct opens_key){share.incarnation, look.seen.id};
}

/* Stores the handle as the front end does. */
static void hold(struct world *w, struct opens_handle *h, uint64_t id)
{
    struct file_hold_args args = {.at = {.arena = &w->arena, .incarnation = opens_key_of(h).share},
                                  .opens = w->opens,
                                  .held = {.id = id, .front = STR("front")}};
    opens_keep(w->opens, h, &w->arena, &args.held.open);
    CHECK_OK(world_update(w, file_hold, &args));
}

static void mark(struct world *w, struct opens_key key)
{
    struct file_mark_args args = {
        .at = {.arena = &w->arena, .incarnation = key.share, .id = key.node}, .opens = w->opens};
    CHECK_OK(world_update(w, file_mark_held, &args));
}

struct found {
    struct opens *table;
    size_t count, stale;
    struct opens_handle *last;
};

static struct err restore(void *arg, struct str partition, const struct file_held *held,
                          const struct file_seen *seen)
{
    struct found *f = arg;
    struct opens_reclaim_as place = {
        .path = seen->path, .parent = seen->parent, .calls = &NOBODY, .persistent = true};
    CHECK(str_starts(partition, STR("f/")));
    CHECK_STR(held->front, STR("front"));
    f->stale += !seen->exists;
    if (seen->exists)
        f->last = opens_restore(f->table, &held->open, &place);
    f->count++;
    return OK;
}

void test_held_opens_come_back_with_sharing_locks_and_deletion(void)
{
    struct world w;
    struct opens_handle *h, *other;
    struct opens_lock range = {.offset = 10, .length = 5, .exclusive = true};
    struct opens_wait wait = {.done = never_done};
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    struct opens_key key = key_of(&w, "f");
    struct opens_request wish = {.access = OPENS_READ | OPENS_DELETE,
                                 .sharing = OPENS_READ,
                                 .persistent = true,
                                 .client = STR("10.0.0.1")};
    CHECK_OK(try_open(w.opens, key, wish, &h));
    CHECK_OK(opens_lock(w.opens, h, &range, false, &wait));
    CHECK_OK(opens_set_delete(w.opens, h, true));
    hold(&w, h, FRONT_ID);

    struct found found = {.table = opens_new()};
    CHECK_OK(file_held_walk(&w.store, restore, &found));
    opens_restored(found.table);
    CHECK_INT(found.count, 1);
    CHECK(opens_delete_pending(found.table, key));
    CHECK(opens_any_persistent(found.table, key));
    CHECK_OK(opens_set_delete(found.table, found.last, false));
    struct opens_request reads = {.access = OPENS_READ, .sharing = OPENS_ALL};
    struct opens_request writes = {.access = OPENS_WRITE, .sharing = OPENS_ALL};
    CHECK_OK(try_open(found.table, key, reads, &other));
    CHECK_ERR(opens_lock_check(found.table, other, 12, 1, false), ERR_FILE_LOCK_CONFLICT);
    CHECK_ERR(try_open(found.table, key, writes, &other), ERR_HANDLE_UNAVAILABLE);
    struct opens_return back = {.client = STR("10.0.0.2")};
    CHECK(opens_reconnect(found.table, found.last, &back));
    CHECK_ERR(try_open(found.table, key, writes, &other), ERR_SHARING_VIOLATION);
    opens_free(found.table);
    world_end(&w);
}

void test_held_caches_come_back_no_larger_than_they_can_stand_together(void)
{
    const unsigned all = OPENS_CACHE_R | OPENS_CACHE_W | OPENS_CACHE_H;
    struct world w;
    struct opens_handle *one, *two;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    struct opens_key key = key_of(&w, "f");
    struct opens_request wish = {.access = OPENS_READ,
                                 .sharing = OPENS_ALL,
                                 .persistent = true,
                                 .cache = all,
                                 .lease = true,
                                 .lease_key = {1}};
    CHECK_OK(try_open(w.opens, key, wish, &one));
    hold(&w, one, 1);
    wish.lease_key[0] = 2;
    CHECK_ERR(try_open(w.opens, key, wish, &two), ERR_OTHERS_FIRST);
    CHECK_OK(opens_cache_ack(w.opens, one, OPENS_CACHE_R | OPENS_CACHE_H));
    CHECK_OK(try_open(w.opens, key, wish, &two));
    hold(&w, two, 2);

    struct found found = {.table = opens_new()};
    CHECK_OK(file_held_walk(&w.store, restore, &found));
    opens_restored(found.table);
    CHECK_INT(found.count, 2);
    CHECK_INT(opens_cache_of(found.table, found.last), OPENS_CACHE_R | OPENS_CACHE_H);
    opens_free(found.table);
    world_end(&w);
}

void test_held_rows_end_with_the_open_and_with_the_file(void)
{
    struct world w;
    struct opens_handle *h;
    bool remove;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    struct opens_key key = key_of(&w, "f");
    struct opens_request wish = {
        .access = OPENS_DELETE, .sharing = OPENS_ALL, .persistent = true, .delete_on_close = true};
    CHECK_OK(try_open(w.opens, key, wish, &h));
    CHECK_OK(opens_set_delete(w.opens, h, true));
    hold(&w, h, 1);
    hold(&w, h, 2);

    struct file_let_go_args gone = {key.share, 1};
    CHECK_OK(world_update(&w, file_let_go, &gone));
    CHECK_OK(opens_set_delete(w.opens, h, false));
    mark(&w, key);
    opens_close(w.opens, h, &remove);
    opens_removed(w.opens, key);
    struct found found = {.table = opens_new()};
    CHECK_OK(file_held_walk(&w.store, restore, &found));
    CHECK_INT(found.count, 1);
    CHECK_INT(found.stale, 0);
    opens_close(found.table, found.last, &remove); /* deleted on close, not because it was marked */
    CHECK(remove);
    opens_free(found.table);

    CHECK_OK(delete_file(&w, "f"));
    found = (struct found){.table = opens_new()};
    CHECK_OK(file_held_walk(&w.store, restore, &found));
    CHECK_INT(found.stale, 1);
    opens_free(found.table);
    gone.id = 2;
    CHECK_OK(world_update(&w, file_let_go, &gone));
    world_end(&w);
}

/* A pending delete belongs to the file: set through one open, it applies to the file's surviving
 * opens and to no other file. */
void test_held_rows_remember_that_the_file_is_to_be_deleted(void)
{
    struct world w;
    struct opens_handle *h, *other, *deleter;
    bool remove;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    CHECK_OK(create_file(&w, "g", 100));
    struct opens_key key = key_of(&w, "f");
    struct opens_request wish = {.access = OPENS_READ, .sharing = OPENS_ALL, .persistent = true};
    CHECK_OK(try_open(w.opens, key_of(&w, "g"), wish, &other));
    hold(&w, other, 1);
    CHECK_OK(try_open(w.opens, key, wish, &h));
    hold(&w, h, 2);
    struct opens_request deleting = {.access = OPENS_DELETE, .sharing = OPENS_ALL};
    CHECK_OK(try_open(w.opens, key, deleting, &deleter));
    CHECK_OK(opens_set_delete(w.opens, deleter, true));
    mark(&w, key);
    struct found found = {.table = opens_new()};
    CHECK_OK(file_held_walk(&w.store, restore, &found));
    CHECK_INT(found.count, 2);
    CHECK(opens_delete_pending(found.table, key));
    CHECK(!opens_delete_pending(found.table, key_of(&w, "g")));
    opens_free(found.table);
    CHECK_OK(opens_set_delete(w.opens, deleter, false));
    opens_close(w.opens, deleter, &remove);
    opens_close(w.opens, h, &remove);
    opens_close(w.opens, other, &remove);
    for (uint64_t id = 1; id <= 2; id++) {
        struct file_let_go_args gone = {key.share, id};
        CHECK_OK(world_update(&w, file_let_go, &gone));
    }
    world_end(&w);
}

/* True if the file would be deleted after a restart. */
static bool comes_back_doomed(struct world *w, struct opens_key key)
{
    struct found found = {.table = opens_new()};
    CHECK_OK(file_held_walk(&w->store, restore, &found));
    CHECK_INT(found.count, 1);
    bool doomed = opens_is_doomed(found.table, key);
    opens_free(found.table);
    return doomed;
}

/* Between the description of an open and its row, another open may change the pending delete: that
 * change marks existing rows, and this row does not exist yet. */
void test_held_row_says_what_the_file_is_when_it_is_written(void)
{
    struct world w;
    struct opens_handle *h, *deleter;
    bool remove;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    struct opens_key key = key_of(&w, "f");
    struct opens_request deleting = {.access = OPENS_DELETE, .sharing = OPENS_ALL};
    struct opens_request wish = {.access = OPENS_READ, .sharing = OPENS_ALL, .persistent = true};
    CHECK_OK(try_open(w.opens, key, deleting, &deleter));
    CHECK_OK(try_open(w.opens, key, wish, &h));
    struct file_hold_args under_way = {.at = {.arena = &w.arena, .incarnation = key.share},
                                       .opens = w.opens,
                                       .held = {.id = FRONT_ID, .front = STR("front")}};
    opens_keep(w.opens, h, &w.arena, &under_way.held.open);
    CHECK_OK(opens_set_delete(w.opens, deleter, true));
    mark(&w, key);
    CHECK_OK(world_update(&w, file_hold, &under_way));
    CHECK(comes_back_doomed(&w, key));
    /* Said and taken back at one time: the rows hear of both in any order. */
    CHECK_OK(opens_set_delete(w.opens, deleter, false));
    mark(&w, key);
    mark(&w, key);
    CHECK(!comes_back_doomed(&w, key));
    opens_close(w.opens, deleter, &remove);
    opens_close(w.opens, h, &remove);
    world_end(&w);
}
