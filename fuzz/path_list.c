/* SPDX-License-Identifier: Apache-2.0 */
/* Hostile paths and continuations of listings: "operation byte, name, line feed", repeated over one
 * tree. After any changes, a listing in small pages equals one in large pages, each listed name
 * leads to a path, and a page that starts anywhere ends. */
#include <assert.h>
#include <stdlib.h>

#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "service/blob/list.h"
#include "service/blob/path/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { OPERATIONS_MAX = 40, PAGES_MAX = 2000 };
#define PARTITION STR("b/a/c")

struct world {
    struct arena arena;
    struct clock clock;
    struct engine *engine;
    struct str last; /* the name before */
};

static struct blob_request request_of(struct world *w, struct str name)
{
    return (struct blob_request){.arena = &w->arena, .name = name};
}

static struct err update(struct world *w, engine_fn *fn, void *args)
{
    return engine_update_wait(w->engine, PARTITION, fn, args);
}

static void put_name(void *sink, const struct blob_list_item *item)
{
    buf_put(sink, item->name);
    buf_putc(sink, '\n');
}

static void put_prefix(void *sink, struct str prefix)
{
    buf_put(sink, prefix);
    buf_putc(sink, '\n');
}

static void begin(void *sink)
{
    (void)sink;
}

static struct err list_all(struct world *w, struct blob_list_args args, struct buf *out)
{
    args.arena = &w->arena;
    args.sink = out;
    args.begin = begin;
    args.item = put_name;
    args.prefix_found = put_prefix;
    for (int pages = 0; pages < PAGES_MAX; pages++) {
        TRY(engine_view(w->engine, PARTITION, ENGINE_WAIT, blob_list_blobs, &args));
        if (!str_given(args.next))
            return OK;
        args.marker = args.next;
    }
    abort(); /* it never ends */
}

static void check_lists(struct world *w, struct str anywhere)
{
    struct buf whole = buf_in(&w->arena), pages = buf_in(&w->arena), some = buf_in(&w->arena);
    assert(!err_is(list_all(w, (struct blob_list_args){.max = 5000}, &whole)));
    assert(!err_is(list_all(w, (struct blob_list_args){.max = 1}, &pages)));
    assert(str_eq(buf_str(&whole), buf_str(&pages)));
    for (struct str rest = buf_str(&whole), name; rest.n > 0;) {
        name = str_cut(&rest, '\n');
        struct path_set_args get = {.request = request_of(w, name)};
        assert(!err_is(engine_view(w->engine, PARTITION, ENGINE_WAIT, path_get_status, &get)));
    }
    (void)list_all(w, (struct blob_list_args){.max = 2, .marker = anywhere}, &some);
    (void)list_all(w, (struct blob_list_args){.max = 2, .prefix = anywhere, .delimiter = STR("/")},
                   &some);
    (void)list_all(w, (struct blob_list_args){.max = 2, .start_from = anywhere}, &some);
    (void)list_all(w, (struct blob_list_args){.max = 2, .prefix = anywhere, .entries_only = true},
                   &some);
}

static void operate(struct world *w, char what, struct str name)
{
    struct path_create_args make = {.request = request_of(w, name)};
    struct path_rename_args move = {.source = request_of(w, w->last),
                                    .destination = request_of(w, name),
                                    .legacy = (what & 8) != 0};
    struct path_delete_args gone = {.request = request_of(w, name), .recursive = (what & 8) != 0};
    switch (what & 3) {
    case 0:
    case 1:
        make.request.path.directory = (what & 1) != 0;
        make.properties.http.content_type = STR("a/b");
        (void)update(w, path_create, &make);
        break;
    case 2:
        (void)update(w, path_rename, &move);
        break;
    default:
        (void)update(w, path_delete, &gone);
    }
    w->last = name;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct world w = {.last = STR("a")};
    struct str text = {(const char *)data, size};
    arena_init(&w.arena, 1 << 28);
    clock_init_system(&w.clock);
    w.engine = engine_mem_new(&w.clock);
    struct container_args container = {.request = {.arena = &w.arena}, .hierarchical = true};
    assert(!err_is(update(&w, blob_create_container, &container)));
    for (int i = 0; i < OPERATIONS_MAX && str_given(text) && text.n > 0; i++) {
        struct str line = str_cut(&text, '\n');
        struct str name = line.n > 1 ? str_from(line, 1) : STR("");
        /* What the front end lets through. */
        if (line.n > 1 && str_is_utf8(name) && name.n < 1024 && memchr(name.p, 0, name.n) == NULL)
            operate(&w, line.p[0], name);
    }
    check_lists(&w, w.last);
    engine_close(w.engine);
    arena_release(&w.arena);
    return 0;
}
