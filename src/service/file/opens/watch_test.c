/* SPDX-License-Identifier: Apache-2.0 */
/* Watches over directories, fed by the transactions. */
#include "service/file/opens/watch.h"

#include <stdio.h>

#include "service/file/file_fixture.h"

struct watcher {
    struct world world;
    struct watch *watch;
    int told;
    struct buf news; /* "+name " and so on */
};

static void on_ready(void *owner, uint64_t id)
{
    struct watcher *w = owner;
    CHECK_INT(id, 77);
    w->told++;
}

static uint64_t node_of(struct world *w, const char *path, uint64_t *share)
{
    struct directory_args args = {.request = request_of(w, path)};
    CHECK_OK(world_read(w, file_get_directory, &args));
    *share = args.outcome.incarnation;
    return args.outcome.id;
}

static void begin(struct watcher *w, const char *path, bool recursive, unsigned what)
{
    *w = (struct watcher){0};
    world_begin(&w->world);
    CHECK_OK(create_directory(&w->world, "a"));
    CHECK_OK(create_directory(&w->world, "a/b"));
    struct watch_request request = {
        .recursive = recursive, .what = what, .ready = on_ready, .owner = w, .id = 77};
    request.directory.node = node_of(&w->world, path, &request.directory.share);
    w->watch = watch_new(opens_watches(w->world.opens), &request);
    w->news = buf_in(&w->world.arena);
    CHECK(w->watch != NULL);
}

static void finish(struct watcher *w)
{
    watch_free(opens_watches(w->world.opens), w->watch);
    world_end(&w->world);
}

static void visit(void *arg, enum change_action action, struct str path)
{
    struct watcher *w = arg;
    static const char SIGNS[] = " +-*<>";
    buf_putc(&w->news, SIGNS[action]);
    buf_put(&w->news, path);
    buf_putc(&w->news, ' ');
}

static struct str take(struct watcher *w, enum watch_news want)
{
    buf_clear(&w->news);
    CHECK_INT(watch_take(opens_watches(w->world.opens), w->watch, visit, w), want);
    return buf_str(&w->news);
}

static struct err rename_file(struct world *w, const char *from, const char *to)
{
    struct rename_args args = {
        .request = request_of(w, to), .kind = FILE_FILE, .source = str_of(from)};
    return world_write(w, file_rename, &args);
}

enum { NAMES = CHANGE_FILE_NAME | CHANGE_DIRECTORY_NAME };

void test_watch_names_in_a_directory(void)
{
    struct watcher w;
    begin(&w, "a", false, NAMES);
    CHECK_INT(w.told, 0);
    CHECK_OK(create_file(&w.world, "a/one", 0));
    CHECK_OK(create_file(&w.world, "a/b/deeper", 0));
    CHECK_OK(create_file(&w.world, "elsewhere", 0));
    CHECK_OK(rename_file(&w.world, "a/one", "a/two"));
    CHECK_OK(rename_file(&w.world, "elsewhere", "a/three"));
    CHECK_OK(rename_file(&w.world, "a/two", "a/b/two"));
    CHECK_OK(delete_file(&w.world, "a/three"));
    CHECK_OK(create_directory(&w.world, "a/c"));
    CHECK_INT(w.told, 7);
    CHECK_STR(take(&w, WATCH_CHANGES), STR("+one <one >two +three -two -three +c "));
    CHECK_STR(take(&w, WATCH_NOTHING), STR(""));
    CHECK_ERR(delete_file(&w.world, "a/none"), ERR_RESOURCE_NOT_FOUND);
    CHECK_STR(take(&w, WATCH_NOTHING), STR(""));
    finish(&w);
}

void test_watch_a_whole_tree(void)
{
    struct watcher w;
    begin(&w, "", true, NAMES);
    CHECK_OK(create_file(&w.world, "a/b/deep", 0));
    CHECK_OK(rename_file(&w.world, "a/b/deep", "a/b/deeper"));
    CHECK_STR(take(&w, WATCH_CHANGES), STR("+a/b/deep <a/b/deep >a/b/deeper "));
    finish(&w);
}

void test_watch_only_what_was_asked_for(void)
{
    struct watcher w;
    begin(&w, "a", false, CHANGE_SIZE);
    CHECK_OK(create_file(&w.world, "a/file", 512));
    CHECK_OK(put_range(&w.world, "a/file", 0, STR("x")));
    CHECK_STR(take(&w, WATCH_NOTHING), STR(""));
    struct file_args args = {
        .request = request_of(&w.world, "a/file"), .has_size = true, .size = 1024};
    CHECK_OK(world_write(&w.world, file_set_file_properties, &args));
    CHECK_STR(take(&w, WATCH_CHANGES), STR("*file "));
    finish(&w);
}

void test_watch_writes_in_a_row_are_one(void)
{
    struct watcher w;
    begin(&w, "a", false, CHANGE_LAST_WRITE);
    CHECK_OK(create_file(&w.world, "a/file", 512));
    for (int i = 0; i < 3; i++) {
        clock_advance(&w.world.clock, TICKS_PER_SECOND);
        CHECK_OK(put_range(&w.world, "a/file", 0, STR("x")));
    }
    CHECK_STR(take(&w, WATCH_CHANGES), STR("*file "));
    finish(&w);
}

void test_watch_keeps_a_bounded_past(void)
{
    struct watcher w;
    char path[64];
    begin(&w, "a", false, NAMES);
    for (int i = 0; i < WATCH_BYTES_MAX / 16; i++) {
        (void)snprintf(path, sizeof path, "a/a-rather-long-name-%d", i);
        CHECK_OK(create_file(&w.world, path, 0));
    }
    CHECK_STR(take(&w, WATCH_LOOK_ANEW), STR(""));
    CHECK_OK(create_file(&w.world, "a/after", 0));
    CHECK_STR(take(&w, WATCH_CHANGES), STR("+after "));
    finish(&w);
}

/* A watch begins between a transaction and its commit. */
void test_watch_that_came_late_looks_anew(void)
{
    struct watcher w;
    struct world world;
    struct watch_request request = {.what = NAMES, .ready = on_ready, .owner = &w, .id = 77};
    world_begin(&world);
    w = (struct watcher){.news = buf_in(&world.arena)};
    struct file_args args = {.request = request_of(&world, "file")};
    CHECK_OK(world_update(&world, file_create_file, &args));
    request.directory = (struct opens_key){args.outcome.incarnation, 0};
    w.watch = watch_new(opens_watches(world.opens), &request);
    file_pass_committed(&args.request.pass);
    w.world = world;
    CHECK_STR(take(&w, WATCH_LOOK_ANEW), STR(""));
    watches_doom(opens_watches(world.opens), request.directory);
    CHECK_STR(take(&w, WATCH_DOOMED), STR(""));
    watch_free(opens_watches(world.opens), w.watch);
    world_end(&world);
}
