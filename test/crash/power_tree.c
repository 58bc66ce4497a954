/* SPDX-License-Identifier: Apache-2.0 */
#include "power_tree.h"

#include <stdio.h>

#include "core/test.h"
#include "engine/wait.h"
#include "power_run.h"
#include "service/blob/list.h"
#include "service/blob/path/path.h"
#include "service/blob/path/path_across.h"
#include "service/blob/path/path_append.h"

enum { NAMES = 3, DEPTH = 3, SIZE_MAX_SMALL = 3000, SIZE_MAX_LARGE = 30000 };

static void make_container(struct engine *e, struct str partition)
{
    struct arena arena = {0};
    struct container_args args = {.request = {.arena = &arena}, .hierarchical = true};
    CHECK_OK(engine_update_wait(e, partition, blob_create_container, &args));
    arena_release(&arena);
}

void tree_begin(struct engine *e)
{
    make_container(e, TREE_PARTITION);
}

static struct blob_request draw_path(struct arena *a, uint32_t *random)
{
    struct buf path = buf_in(a);
    uint32_t depth = 1 + draw(random, DEPTH);
    for (uint32_t i = 0; i < depth; i++) {
        if (i > 0)
            buf_putc(&path, '/');
        buf_putc(&path, (char)('a' + draw(random, NAMES)));
    }
    return (struct blob_request){.arena = a, .name = buf_str(&path)};
}

static struct err make(struct txn *t, struct blob_request request, bool directory)
{
    struct path_create_args args = {.request = request};
    args.request.path.directory = directory;
    args.properties.http.content_type = STR("application/octet-stream");
    return path_create(t, &args);
}

/* A file and its content in one update: flushed data, and data that waits for a flush. */
static struct err write_file(struct txn *t, struct blob_request request, uint32_t *random)
{
    uint32_t size = 1 + draw(random, draw(random, 2) == 0 ? SIZE_MAX_SMALL : SIZE_MAX_LARGE);
    char *bytes = arena_bytes(txn_arena(t), size);
    memset(bytes, (char)('a' + draw(random, 26)), size);
    struct piece piece = {.kind = PIECE_INLINE, .length = size, .bytes = bytes};
    struct pieces pieces = {0};
    pieces_add(&pieces, txn_arena(t), &piece);
    struct path_write_args args = {.request = request, .pieces = &pieces, .size = size};
    TRY(make(t, request, false));
    args.flush = draw(random, 3) > 0;
    return path_append(t, &args);
}

static struct err move(struct txn *t, uint32_t *random)
{
    struct path_rename_args args = {.legacy = true};
    args.source = draw_path(txn_arena(t), random);
    args.destination = draw_path(txn_arena(t), random);
    return path_rename(t, &args);
}

static struct err take_away(struct txn *t, uint32_t *random)
{
    struct path_delete_args args = {.request = draw_path(txn_arena(t), random), .recursive = true};
    return path_delete(t, &args);
}

struct err tree_change(struct txn *t, uint32_t seed, uint32_t number)
{
    uint32_t random = seed * 2654435761U + number * 40503U;
    (void)draw(&random, 1);
    switch (draw(&random, 8)) {
    case 0:
        return make(t, draw_path(txn_arena(t), &random), true);
    case 1:
    case 2:
    case 3:
        return write_file(t, draw_path(txn_arena(t), &random), &random);
    case 4:
        return take_away(t, &random);
    default:
        return move(t, &random);
    }
}

/* ---- what there is ---- */

struct text {
    struct buf out;
};

static void begin(void *sink)
{
    struct text *text = sink;
    buf_clear(&text->out);
}

static void put_item(void *sink, const struct blob_list_item *item)
{
    struct text *text = sink;
    char line[32];
    int n = snprintf(line, sizeof line, "%s %llu\n", item->head.path.directory ? "/" : "",
                     (unsigned long long)item->head.size);
    buf_put(&text->out, item->name);
    buf_put(&text->out, (struct str){line, (size_t)n});
}

static struct str text_of(struct engine *e, struct str partition, struct arena *a)
{
    struct text text = {buf_in(a)};
    struct blob_list_args args = {
        .arena = a, .max = LIST_RESULTS_MAX, .sink = &text, .begin = begin, .item = put_item};
    CHECK_OK(engine_view(e, partition, ENGINE_WAIT, blob_list_blobs, &args));
    CHECK(!str_given(args.next));
    return buf_str(&text.out);
}

struct str tree_text(struct engine *e, struct arena *a)
{
    return text_of(e, TREE_PARTITION, a);
}

/* ---- two trees ---- */

static struct str one_of_two(bool other)
{
    return other ? STR("b/a/d") : TREE_PARTITION;
}

void trees_begin(struct engine *e)
{
    make_container(e, one_of_two(false));
    make_container(e, one_of_two(true));
}

struct one_change {
    uint32_t seed, number;
};

static struct err change_one(struct txn *t, void *arg)
{
    const struct one_change *change = arg;
    return tree_change(t, change->seed, change->number);
}

/* The state of the tree may cause a refusal. */
void trees_change(struct store *store, uint32_t seed, uint32_t number)
{
    uint32_t random = seed * 2246822519U + number * 40503U;
    struct one_change change = {seed, number};
    struct arena arena = {0};
    (void)draw(&random, 1);
    bool other = draw(&random, 2) == 0;
    struct err e;
    if (draw(&random, 2) == 0) {
        e = engine_update_wait(store->engine, one_of_two(other), change_one, &change);
    } else {
        struct path_rename_args args = {.source = draw_path(&arena, &random),
                                        .source_partition = one_of_two(other),
                                        .destination = draw_path(&arena, &random),
                                        .legacy = true};
        e = path_rename_across(store, one_of_two(!other), &args);
    }
    CHECK(e.code != ERR_CORRUPT && e.code != ERR_IO && e.code != ERR_SERVER_BUSY);
    arena_release(&arena);
}

static struct err settle(struct txn *t, void *arg)
{
    struct container container;
    (void)arg;
    return container_load(t, &container);
}

void trees_settle(struct store *store)
{
    for (int other = 0; other < 2; other++) {
        CHECK_OK(path_across_rescue(store, one_of_two(other == 1)));
        CHECK_OK(engine_update_wait(store->engine, one_of_two(other == 1), settle, NULL));
    }
}

struct str trees_text(struct engine *e, struct arena *a)
{
    struct buf all = buf_in(a);
    buf_put(&all, text_of(e, one_of_two(false), a));
    buf_put(&all, STR("and\n"));
    buf_put(&all, text_of(e, one_of_two(true), a));
    return buf_str(&all);
}
