/* SPDX-License-Identifier: Apache-2.0 */
/* Files and directories: one test per operation, with its refusals. */
#include "service/file/file_fixture.h"

#include <stdio.h>

void test_create_file(void)
{
    struct world w;
    struct file_outcome first, second;
    world_begin(&w);
    CHECK_OK(create_file(&w, "a.txt", 1000));
    CHECK_OK(get_properties(&w, "A.TXT", &first));
    CHECK_INT(first.node.size, 1000);
    CHECK_INT(first.node.attributes, NODE_ARCHIVE);
    CHECK_INT(first.parent, 0);
    CHECK_OK(put_range(&w, "a.txt", 0, STR("hello")));
    CHECK_OK(create_file(&w, "a.txt", 5));
    CHECK_OK(get_properties(&w, "a.txt", &second));
    CHECK_INT(second.id, first.id);
    CHECK(second.node.etag > first.node.etag);
    CHECK_STR(read_file(&w, "a.txt", 0), STR("\0\0\0\0\0"));
    CHECK_INT(share_usage(&w), 5);
    CHECK_ERR(create_file(&w, "none/a.txt", 5), ERR_PARENT_NOT_FOUND);
    CHECK_ERR(create_file(&w, "a.txt/b", 5), ERR_PARENT_NOT_FOUND);
    CHECK_ERR(create_file(&w, "a:b", 5), ERR_INVALID_RESOURCE_NAME);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_ERR(create_file(&w, "D", 5), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_INT(share_usage(&w), 5);
    world_end(&w);
}

void test_get_file(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 10));
    CHECK_OK(put_range(&w, "f", 2, STR("hello")));
    struct file_read_args args = {
        .request = request_of(&w, "f"), .has_range = true, .range_offset = 3, .range_length = 100};
    CHECK_OK(world_read(&w, file_get_file, &args));
    CHECK_INT(args.offset, 3);
    CHECK_INT(args.length, 7);
    CHECK_INT(args.pieces.count, 2);
    CHECK_STR(((struct str){args.pieces.items[0].bytes, 4}), STR("ello"));
    args.range_offset = 10;
    CHECK_ERR(world_read(&w, file_get_file, &args), ERR_INVALID_RANGE);
    CHECK_INT(args.outcome.node.size, 10);
    args.request.path = STR("g");
    CHECK_ERR(world_read(&w, file_get_file, &args), ERR_RESOURCE_NOT_FOUND);
    args.request.path = STR("");
    CHECK_ERR(world_read(&w, file_get_file, &args), ERR_RESOURCE_NOT_FOUND);
    world_end(&w);
}

/* A read that needs more pieces than one view gathers continues where it stopped, in the same
 * state: later writes and deletes are not visible. */
void test_get_file_more(void)
{
    struct world w;
    world_begin(&w);
    enum { COUNT = 5000 };
    CHECK_OK(create_file(&w, "f", (uint64_t)COUNT * 8192));
    for (uint64_t i = 0; i < COUNT; i++)
        CHECK_OK(put_range(&w, "f", i * 8192, STR("x")));
    struct engine_state *kept = NULL;
    struct engine_pin *pin = engine_pin(w.store.engine);
    struct file_read_args args = {.request = request_of(&w, "f"), .kept = &kept};
    struct file_read_more more;
    struct share_args share = {.arena = &w.arena};
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &share));
    CHECK_OK(world_read(&w, file_get_file, &args));
    CHECK(args.until < args.length && kept != NULL);
    file_read_more_init(&more, &args, share.share.incarnation);
    more.arena = &w.arena;
    uint64_t seen = pieces_length(&args.pieces);
    CHECK_OK(put_range(&w, "f", (COUNT - 1) * 8192, STR("y")));
    while (more.from < more.to) {
        CHECK_OK(engine_view_state(w.store.engine, kept, w.partition, file_get_file_more, &more));
        seen += pieces_length(&more.pieces);
        more.from = more.until;
        CHECK(delete_file(&w, "f").code != ERR_IO);
    }
    CHECK_INT(seen, (uint64_t)COUNT * 8192);
    CHECK_INT(more.pieces.items[more.pieces.count - 2].bytes[0], 'x');
    engine_state_release(w.store.engine, kept);
    engine_unpin(w.store.engine, pin);
    world_end(&w);
}

void test_get_file_properties(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_ERR(get_properties(&w, "f", &out), ERR_RESOURCE_NOT_FOUND);
    CHECK_ERR(get_properties(&w, "d/f", &out), ERR_PARENT_NOT_FOUND);
    CHECK_OK(create_file(&w, "f", 1));
    CHECK_OK(get_properties(&w, "f", &out));
    CHECK_INT(out.node.created, clock_now(&w.clock));
    struct file_args args = {.request = request_of(&w, "f")};
    args.request.lease = (struct lease_id){.given = true};
    CHECK_ERR(world_read(&w, file_get_file_properties, &args),
              ERR_LEASE_NOT_PRESENT_WITH_FILE_OPERATION);
    world_end(&w);
}

void test_set_file_properties(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100));
    CHECK_OK(put_range(&w, "f", 90, STR("0123456789")));
    struct file_args args = {
        .request = request_of(&w, "f"),
        .has_size = true,
        .size = 95,
        .has_http = true,
        .http = {.content_type = STR("text/plain")},
        .settings = {.has_attributes = true,
                     .attributes = NODE_READ_ONLY | NODE_HIDDEN,
                     .created = {FILE_TIME_GIVEN, 12345}},
    };
    CHECK_OK(world_write(&w, file_set_file_properties, &args));
    CHECK_OK(get_properties(&w, "f", &out));
    CHECK_INT(out.node.size, 95);
    CHECK_INT(out.node.created, 12345);
    CHECK_STR(out.node.http.content_type, STR("text/plain"));
    CHECK_INT(share_usage(&w), 95);
    /* Read-only: no writes, until the attribute is taken away. */
    args.settings = (struct file_settings){0};
    args.size = 100;
    CHECK_ERR(world_write(&w, file_set_file_properties, &args), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_ERR(put_range(&w, "f", 0, STR("x")), ERR_READ_ONLY_ATTRIBUTE);
    CHECK_ERR(create_file(&w, "f", 1), ERR_READ_ONLY_ATTRIBUTE);
    args.settings.has_attributes = true;
    CHECK_OK(world_write(&w, file_set_file_properties, &args));
    /* What was cut off does not come back. */
    CHECK_STR(str_from(read_file(&w, "f", 0), 90), STR("01234\0\0\0\0\0"));
    CHECK_ERR(world_write(&w, file_set_directory_properties,
                          &(struct directory_args){.request = request_of(&w, "f")}),
              ERR_RESOURCE_TYPE_MISMATCH);
    world_end(&w);
}

void test_set_file_metadata(void)
{
    struct world w;
    struct file_outcome before, after;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 1));
    CHECK_OK(get_properties(&w, "f", &before));
    struct file_args args = {.request = request_of(&w, "f"), .metadata = STR("\1a\1b")};
    CHECK_OK(world_write(&w, file_set_file_metadata, &args));
    CHECK_OK(get_properties(&w, "f", &after));
    CHECK_STR(after.node.metadata, STR("\1a\1b"));
    CHECK(after.node.etag > before.node.etag);
    world_end(&w);
}

void test_delete_file(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 1 << 20));
    CHECK_OK(put_range(&w, "f", 0, (struct str){arena_alloc(&w.arena, 100000), 100000}));
    CHECK_INT(share_usage(&w), 1 << 20);
    CHECK_OK(delete_file(&w, "F"));
    CHECK_INT(share_usage(&w), 0);
    CHECK_ERR(get_properties(&w, "f", &out), ERR_RESOURCE_NOT_FOUND);
    CHECK_ERR(delete_file(&w, "f"), ERR_RESOURCE_NOT_FOUND);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_ERR(delete_file(&w, "d"), ERR_RESOURCE_TYPE_MISMATCH);
    world_end(&w);
}

static struct err lease(struct world *w, const char *path, struct lease_request request)
{
    struct file_args args = {.request = request_of(w, path), .lease = request};
    return world_write(w, file_lease_file, &args);
}

void test_lease_file(void)
{
    struct world w;
    struct file_outcome before, after;
    const struct guid a = {.bytes = {1}}, b = {.bytes = {2}};
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 10));
    CHECK_OK(get_properties(&w, "f", &before));
    struct lease_request acquire = {
        .action = LEASE_ACQUIRE, .proposed = a, .seconds = LEASE_INFINITE};
    CHECK_OK(lease(&w, "f", acquire));
    CHECK_OK(get_properties(&w, "f", &after));
    CHECK_INT(after.node.etag, before.node.etag);
    acquire.proposed = b;
    CHECK_ERR(lease(&w, "f", acquire), ERR_LEASE_ALREADY_PRESENT);
    CHECK_ERR(put_range(&w, "f", 0, STR("x")), ERR_LEASE_ID_MISSING);
    CHECK_ERR(create_file(&w, "f", 0), ERR_LEASE_ID_MISSING);
    CHECK_ERR(delete_file(&w, "f"), ERR_LEASE_ID_MISSING);
    struct file_args args = {.request = request_of(&w, "f"), .metadata = STR("\1a\1b")};
    args.request.lease = (struct lease_id){.given = true, .id = b};
    CHECK_ERR(world_write(&w, file_set_file_metadata, &args),
              ERR_LEASE_ID_MISMATCH_WITH_FILE_OPERATION);
    args.request.lease.id = a;
    CHECK_OK(world_write(&w, file_set_file_metadata, &args));
    struct lease_request change = {.action = LEASE_CHANGE, .id = a, .proposed = b};
    CHECK_OK(lease(&w, "f", change));
    CHECK_ERR(lease(&w, "f", (struct lease_request){.action = LEASE_RELEASE, .id = a}),
              ERR_LEASE_ID_MISMATCH_WITH_LEASE_OPERATION);
    CHECK_OK(lease(&w, "f", (struct lease_request){.action = LEASE_BREAK, .break_seconds = -1}));
    CHECK_OK(put_range(&w, "f", 0, STR("x")));
    world_end(&w);
}

void test_create_directory(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "a"));
    CHECK_OK(create_directory(&w, "a/b"));
    CHECK_ERR(create_directory(&w, "A"), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_ERR(create_directory(&w, "x/y"), ERR_PARENT_NOT_FOUND);
    CHECK_ERR(create_directory(&w, "nul"), ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    CHECK_ERR(create_directory(&w, "a//b"), ERR_INVALID_RESOURCE_NAME);
    CHECK_OK(create_file(&w, "f", 0));
    CHECK_ERR(create_directory(&w, "f"), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_ERR(create_directory(&w, "f/g"), ERR_PARENT_NOT_FOUND);
    CHECK_STR(list_directory(&w, "", 0), STR("a f "));
    world_end(&w);
}

/* Trailing dots of a name are ignored, unless the client asks to keep them. */
void test_trailing_dots(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "dots..", 1));
    CHECK_OK(get_properties(&w, "dots", &out));
    struct file_args args = {.request = request_of(&w, "dots..")};
    args.request.keep_dots = true;
    CHECK_ERR(world_read(&w, file_get_file_properties, &args), ERR_RESOURCE_NOT_FOUND);
    CHECK_OK(world_write(&w, file_create_file, &args));
    CHECK_STR(list_directory(&w, "", 0), STR("dots dots.. "));
    world_end(&w);
}

void test_get_directory_properties(void)
{
    struct world w;
    world_begin(&w);
    struct directory_args args = {.request = request_of(&w, "")};
    CHECK_OK(world_read(&w, file_get_directory, &args));
    CHECK_INT(args.outcome.id, 0);
    args.request.path = STR("none");
    CHECK_ERR(world_read(&w, file_get_directory, &args), ERR_RESOURCE_NOT_FOUND);
    world_end(&w);
}

void test_set_directory_properties(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    struct directory_args args = {
        .request = request_of(&w, "d"),
        .settings = {.has_attributes = true, .attributes = NODE_READ_ONLY | NODE_DIRECTORY_BIT},
        .metadata = STR("\1a\1b")};
    CHECK_OK(world_write(&w, file_set_directory_properties, &args));
    CHECK_INT(args.outcome.node.attributes, NODE_READ_ONLY);
    CHECK_OK(world_write(&w, file_set_directory_metadata, &args));
    args.request.path = STR("");
    CHECK_OK(world_write(&w, file_set_directory_metadata, &args));
    CHECK_OK(world_read(&w, file_get_directory, &args));
    CHECK_STR(args.outcome.node.metadata, STR("\1a\1b"));
    args.settings = (struct file_settings){.has_mode = true};
    CHECK_ERR(world_write(&w, file_set_directory_properties, &args), ERR_INVALID_INPUT);
    world_end(&w);
}

void test_delete_directory(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "d/f", 0));
    struct directory_args args = {.request = request_of(&w, "d")};
    CHECK_ERR(world_write(&w, file_delete_directory, &args), ERR_DIRECTORY_NOT_EMPTY);
    CHECK_OK(delete_file(&w, "d/f"));
    CHECK_OK(world_write(&w, file_delete_directory, &args));
    CHECK_ERR(world_write(&w, file_delete_directory, &args), ERR_RESOURCE_NOT_FOUND);
    args.request.path = STR("");
    CHECK_ERR(world_write(&w, file_delete_directory, &args), ERR_CANNOT_DELETE_FILE_OR_DIRECTORY);
    world_end(&w);
}

struct page {
    char before[16]; /* the last of the pages before this one */
    char last[16];
    size_t count, total;
};

static void begin_page(void *sink, const struct file_found *directory, struct str path)
{
    struct page *page = sink;
    CHECK(directory->root);
    CHECK_STR(path, STR(""));
    memcpy(page->last, page->before, sizeof page->last);
    page->count = 0;
}

static void put_item(void *sink, const struct file_found *found)
{
    struct page *page = sink;
    char name[16];
    CHECK(found->entry.key.n < sizeof name);
    memcpy(name, found->entry.key.p, found->entry.key.n);
    name[found->entry.key.n] = '\0';
    CHECK(strcmp(page->last, name) < 0);
    memcpy(page->last, name, sizeof name);
    page->count++;
}

static size_t list_pages(struct world *w, const char *prefix, size_t max)
{
    struct page page = {.last = ""};
    struct directory_list_args args = {.request = request_of(w, ""),
                                       .prefix = str_of(prefix),
                                       .max = max,
                                       .sink = &page,
                                       .begin = begin_page,
                                       .item = put_item};
    do {
        args.marker = args.next;
        CHECK_OK(world_read(w, file_list_directory, &args));
        CHECK(page.count <= max && (page.count == max || !str_given(args.next)));
        memcpy(page.before, page.last, sizeof page.before);
        page.total += page.count;
    } while (str_given(args.next));
    return page.total;
}

/* Page by page with the marker, with and without a prefix, in any letter case. */
void test_list_directories_and_files(void)
{
    struct world w;
    world_begin(&w);
    for (int i = 0; i < 25; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "%c%02d", i % 2 ? 'F' : 'd', i);
        CHECK_OK(i % 2 ? create_file(&w, name, 0) : create_directory(&w, name));
    }
    CHECK_INT(list_pages(&w, "", 7), 25);
    CHECK_INT(list_pages(&w, "", 1), 25);
    CHECK_INT(list_pages(&w, "f", 5), 12);
    CHECK_INT(list_pages(&w, "D1", 5), 5);
    CHECK_INT(list_pages(&w, "x", 5), 0);
    world_end(&w);
}
