/* SPDX-License-Identifier: Apache-2.0 */
/* Renames and links. */
#include "service/file/file_fixture.h"

static struct err rename_to(struct world *w, const char *from, const char *to, enum file_kind kind,
                            bool replace)
{
    struct rename_args args = {
        .request = request_of(w, to), .kind = kind, .source = str_of(from), .replace = replace};
    return world_write(w, file_rename, &args);
}

void test_rename_file(void)
{
    struct world w;
    struct file_outcome before, after;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "f", 5));
    CHECK_OK(put_range(&w, "f", 0, STR("hello")));
    CHECK_OK(get_properties(&w, "f", &before));
    CHECK_OK(rename_to(&w, "f", "d/G", FILE_FILE, false));
    CHECK_OK(get_properties(&w, "d/g", &after));
    CHECK_INT(after.id, before.id);
    CHECK_STR(read_file(&w, "d/g", 0), STR("hello"));
    CHECK_ERR(get_properties(&w, "f", &after), ERR_RESOURCE_NOT_FOUND);
    CHECK_ERR(rename_to(&w, "f", "x", FILE_FILE, false), ERR_RESOURCE_NOT_FOUND);
    CHECK_ERR(rename_to(&w, "d/g", "none/x", FILE_FILE, false), ERR_PARENT_NOT_FOUND);
    CHECK_ERR(rename_to(&w, "d", "x", FILE_FILE, false), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_ERR(rename_to(&w, "d/g", "d", FILE_FILE, true), ERR_RESOURCE_TYPE_MISMATCH);
    /* Another spelling. */
    CHECK_OK(rename_to(&w, "d/g", "d/g", FILE_FILE, false));
    CHECK_STR(list_directory(&w, "d", 0), STR("g "));
    world_end(&w);
}

/* A directory replaces a file only on request, and never a directory. */
void test_rename_directory_replaces_a_file(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "d/below", 3));
    CHECK_OK(create_directory(&w, "other"));
    CHECK_OK(create_file(&w, "f", 100000));
    CHECK_OK(put_range(&w, "f", 0, STR("goes")));
    CHECK_ERR(rename_to(&w, "d", "f", FILE_DIRECTORY, false), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_ERR(rename_to(&w, "d", "other", FILE_DIRECTORY, true), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_OK(rename_to(&w, "d", "f", FILE_DIRECTORY, true));
    CHECK_STR(list_directory(&w, "", 0), STR("f other "));
    CHECK_STR(list_directory(&w, "f", 0), STR("below "));
    world_end(&w);
}

/* Replacing must be requested, and respects leases and the read-only attribute. */
void test_rename_file_replaces(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100000));
    CHECK_OK(create_file(&w, "g", 7));
    CHECK_ERR(rename_to(&w, "f", "g", FILE_FILE, false), ERR_RESOURCE_ALREADY_EXISTS);
    struct file_args args = {
        .request = request_of(&w, "g"),
        .settings = {.has_attributes = true, .attributes = NODE_READ_ONLY},
        .lease = {.action = LEASE_ACQUIRE, .proposed = {.bytes = {1}}, .seconds = -1}};
    CHECK_OK(world_write(&w, file_set_file_properties, &args));
    CHECK_ERR(rename_to(&w, "f", "g", FILE_FILE, true), ERR_READ_ONLY_TARGET);
    CHECK_OK(world_write(&w, file_lease_file, &args));
    struct rename_args rename = {.request = request_of(&w, "g"),
                                 .kind = FILE_FILE,
                                 .source = STR("f"),
                                 .replace = true,
                                 .ignore_read_only = true};
    CHECK_ERR(world_write(&w, file_rename, &rename), ERR_LEASE_ID_MISSING);
    rename.request.lease = (struct lease_id){.given = true, .id = {.bytes = {1}}};
    CHECK_OK(world_write(&w, file_rename, &rename));
    CHECK_STR(list_directory(&w, "", 0), STR("g "));
    CHECK_INT(share_usage(&w), 100000);
    world_end(&w);
}

void test_rename_directory(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "a"));
    CHECK_OK(create_directory(&w, "a/b"));
    CHECK_OK(create_directory(&w, "a/b/c"));
    CHECK_OK(create_file(&w, "a/b/c/f", 0));
    CHECK_OK(create_directory(&w, "z"));
    CHECK_ERR(rename_to(&w, "a", "a/b/x", FILE_DIRECTORY, false), ERR_INVALID_INPUT);
    CHECK_ERR(rename_to(&w, "a", "z", FILE_DIRECTORY, true), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_OK(rename_to(&w, "a/b", "z/B", FILE_DIRECTORY, false));
    CHECK_OK(get_properties(&w, "z/b/c/f", &out));
    CHECK_STR(list_directory(&w, "a", 0), STR(""));
    CHECK_STR(list_directory(&w, "z", 0), STR("B "));
    CHECK_ERR(rename_to(&w, "", "x", FILE_DIRECTORY, false),
              ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    CHECK_ERR(rename_to(&w, "z", "", FILE_DIRECTORY, false),
              ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    world_end(&w);
}

static struct err link_to(struct world *w, engine_fn *fn, const char *path, const char *target)
{
    struct link_args args = {.request = request_of(w, path), .target = str_of(target)};
    return world_write(w, fn, &args);
}

/* A symbolic link has a text and no bytes. */
void test_symbolic_link_takes_no_bytes(void)
{
    struct world w;
    world_begin(&w);
    w.partition = world_share(&w, "nfs", SHARE_NFS);
    CHECK_OK(link_to(&w, file_create_symbolic_link, "l", "f"));
    struct file_args args = {.request = request_of(&w, "l"), .has_size = true, .size = 10};
    CHECK_ERR(world_write(&w, file_set_file_properties, &args), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_ERR(put_range(&w, "l", 0, STR("x")), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_INT(share_usage(&w), 0);
    world_end(&w);
}

void test_create_hard_link(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 0));
    CHECK_ERR(link_to(&w, file_create_hard_link, "g", "f"), ERR_INVALID_OPERATION);
    w.partition = world_share(&w, "nfs", SHARE_NFS);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "d/f", 100));
    CHECK_OK(put_range(&w, "d/f", 0, STR("hello")));
    CHECK_OK(link_to(&w, file_create_hard_link, "F", "d/f"));
    CHECK_OK(link_to(&w, file_create_hard_link, "third", "F"));
    CHECK_OK(get_properties(&w, "third", &out));
    CHECK_INT(out.node.links, 2);
    CHECK_ERR(get_properties(&w, "f", &out), ERR_RESOURCE_NOT_FOUND);
    CHECK_ERR(link_to(&w, file_create_hard_link, "F", "d/f"), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_ERR(link_to(&w, file_create_hard_link, "x", "d"), ERR_RESOURCE_TYPE_MISMATCH);
    CHECK_ERR(link_to(&w, file_create_hard_link, "x", "y"), ERR_RESOURCE_NOT_FOUND);
    int64_t snapshot = snapshot_share(&w);
    CHECK_OK(put_range(&w, "third", 0, STR("HELLO")));
    CHECK_STR(str_head(read_file(&w, "d/f", 0), 5), STR("HELLO"));
    CHECK_STR(str_head(read_file(&w, "d/f", snapshot), 5), STR("hello"));
    CHECK_OK(delete_file(&w, "d/f"));
    CHECK_INT(share_usage(&w), 100);
    struct rename_args rename = {
        .request = request_of(&w, "fourth"), .kind = FILE_FILE, .source = STR("third")};
    CHECK_OK(world_write(&w, file_rename, &rename));
    CHECK_OK(delete_file(&w, "F"));
    CHECK_STR(str_head(read_file(&w, "fourth", 0), 5), STR("HELLO"));
    CHECK_OK(delete_file(&w, "fourth"));
    CHECK_INT(share_usage(&w), 0);
    CHECK_STR(list_directory(&w, "", 0), STR("d "));
    world_end(&w);
}

void test_create_symbolic_link(void)
{
    struct world w;
    world_begin(&w);
    w.partition = world_share(&w, "nfs", SHARE_NFS);
    CHECK_OK(link_to(&w, file_create_symbolic_link, "l", "../some/where"));
    struct link_args args = {.request = request_of(&w, "l")};
    CHECK_OK(world_read(&w, file_get_symbolic_link, &args));
    CHECK_STR(args.outcome.node.target, STR("../some/where"));
    CHECK_OK(create_file(&w, "f", 0));
    args.request.path = STR("f");
    CHECK_ERR(world_read(&w, file_get_symbolic_link, &args), ERR_INVALID_OPERATION);
    CHECK_ERR(link_to(&w, file_create_symbolic_link, "l", "x"), ERR_RESOURCE_ALREADY_EXISTS);
    CHECK_OK(delete_file(&w, "l"));
    world_end(&w);
}
