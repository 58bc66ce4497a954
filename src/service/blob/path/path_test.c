/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/path/path_fixture.h"
#include "service/blob/path/path_trash.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the tree ---- */

void test_path_rename_of_a_directory_moves_one_row(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "a/b/one"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "a/b/c/two"), false));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "a/b"), bf_blob(&f, "z")));
    CHECK_STR(pf_all(&f), STR("a z z/c z/c/two z/one "));
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "z"), bf_blob(&f, "z/c/in")),
              ERR_INVALID_RENAME_SOURCE_PATH);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "z"), bf_blob(&f, "z")), ERR_INVALID_RENAME_SOURCE_PATH);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "none"), bf_blob(&f, "y")), ERR_SOURCE_PATH_NOT_FOUND);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "z"), bf_blob(&f, "no/y")),
              ERR_RENAME_DESTINATION_PARENT_PATH_NOT_FOUND);
    bf_end(&f);
}

void test_path_delete_leaves_nothing_behind(void)
{
    struct blob_fixture f;
    struct str content;
    pf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "d/x/big"), bf_bytes(&f, 100000, 1), NULL));
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/y"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "d/y"), 0, "never flushed", false));
    CHECK_ERR(pf_delete(&f, bf_blob(&f, "d"), false), ERR_DIRECTORY_NOT_EMPTY);
    CHECK_OK(pf_delete(&f, bf_blob(&f, "d"), true));
    CHECK_STR(pf_all(&f), STR(""));
    CHECK_ERR(bf_get(&f, bf_blob(&f, "d/x/big"), &content), ERR_BLOB_NOT_FOUND);
    bf_end(&f); /* sweeps, and looks that no row and no extent is left */
}

static void make_expired(struct blob_fixture *f, const char *path)
{
    struct blob_expiry_args args = {
        .request = bf_blob(f, path), .option = BLOB_EXPIRY_FROM_NOW, .ticks = TICKS_PER_SECOND};
    CHECK_OK(pf_make(f, bf_blob(f, path), false));
    CHECK_OK(bf_update(f, blob_set_blob_expiry, &args));
}

void test_path_expired_files_do_not_fill_a_directory(void)
{
    struct blob_fixture f;
    pf_init(&f);
    make_expired(&f, "d/f");
    make_expired(&f, "e/f");
    make_expired(&f, "full/a");
    CHECK_OK(pf_make(&f, bf_blob(&f, "full/z"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "s/f"), false));
    CHECK_ERR(pf_delete(&f, bf_blob(&f, "d"), false), ERR_DIRECTORY_NOT_EMPTY);
    bf_seconds(&f, 2);
    CHECK_OK(pf_delete(&f, bf_blob(&f, "d"), false));
    CHECK_ERR(pf_delete(&f, bf_blob(&f, "full"), false), ERR_DIRECTORY_NOT_EMPTY);
    struct path_rename_args onto = {
        .source = bf_blob(&f, "s"), .destination = bf_blob(&f, "e"), .legacy = true};
    CHECK_OK(bf_update(&f, path_rename, &onto));
    CHECK_STR(pf_all(&f), STR("e e/f full full/z "));
    bf_end(&f);
}

void test_path_directories_do_not_expire(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
    struct blob_expiry_args args = {
        .request = bf_blob(&f, "d"), .option = BLOB_EXPIRY_FROM_NOW, .ticks = TICKS_PER_SECOND};
    CHECK_ERR(bf_update(&f, blob_set_blob_expiry, &args), ERR_EXPIRY_NOT_SUPPORTED_FOR_DIRECTORY);
    bf_end(&f);
}

void test_path_create_refuses_the_other_kind(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "file"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "dir"), true));
    CHECK_ERR(pf_make(&f, bf_blob(&f, "file"), true), ERR_PATH_CONFLICT);
    CHECK_ERR(pf_make(&f, bf_blob(&f, "dir"), false), ERR_PATH_CONFLICT);
    CHECK_ERR(pf_make(&f, bf_blob(&f, "file/below"), false), ERR_PATH_CONFLICT);
    CHECK_ERR(bf_put(&f, bf_blob(&f, "dir"), STR("x"), NULL), ERR_PATH_CONFLICT);
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "dir"), "a", STR("x")), ERR_PATH_CONFLICT);
    CHECK_STR(pf_all(&f), STR("dir file "));
    bf_end(&f);
}

void test_path_depth_has_a_limit(void)
{
    struct blob_fixture f;
    pf_init(&f);
    char path[2 * TREE_DEPTH_MAX + 2];
    for (size_t i = 0; i < sizeof path; i++)
        path[i] = i % 2 == 0 ? 'd' : '/';
    path[2 * TREE_DEPTH_MAX - 1] = '\0';
    CHECK_OK(pf_make(&f, bf_blob(&f, path), true));
    path[2 * TREE_DEPTH_MAX - 1] = '/';
    path[2 * TREE_DEPTH_MAX + 1] = '\0';
    CHECK_ERR(pf_make(&f, bf_blob(&f, path), true), ERR_PATH_IS_TOO_DEEP);
    bf_end(&f);
}

/* "NAME/d/d…" of that depth, then `last`. */
static const char *chain(struct blob_fixture *f, unsigned name, size_t depth, const char *last)
{
    struct buf b = buf_in(&f->arena);
    buf_putc(&b, 't');
    buf_put_u64(&b, name);
    for (size_t i = 1; i < depth; i++)
        buf_put(&b, STR("/d"));
    buf_put(&b, str_of(last));
    buf_putc(&b, '\0');
    return buf_str(&b).p;
}

/* As earlier versions wrote it. */
static struct err forget_levels(struct txn *t, void *arg)
{
    struct blob_request *request = arg;
    struct blob blob;
    TRY(blob_open(t, request, BLOB_CHANGE, &blob));
    blob.head.path.levels = 0;
    return blob_save_unchanged(t, &blob);
}

void test_path_rename_makes_no_tree_too_deep(void)
{
    enum { TOWERS = 12 };
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, chain(&f, 0, TREE_DEPTH_MAX - 1, "")), true));
    for (unsigned i = 1; i < TOWERS; i++) {
        struct blob_request below = bf_blob(&f, chain(&f, i - 1, 1, ""));
        struct blob_request to = bf_blob(&f, chain(&f, i, TREE_DEPTH_MAX - 2, "/m"));
        CHECK_OK(pf_make(&f, bf_blob(&f, chain(&f, i, TREE_DEPTH_MAX - 2, "")), true));
        CHECK_ERR(pf_rename(&f, below, to), ERR_PATH_IS_TOO_DEEP);
        CHECK_OK(bf_update(&f, forget_levels, &below));
        CHECK_OK(pf_rename(&f, below, to));
    }
    /* The listing ends before the stack does. */
    CHECK_OK(bf_try_list(&f, (struct blob_list_args){.max = 5}));
    CHECK_ERR(bf_try_list(&f, (struct blob_list_args){.max = LIST_RESULTS_MAX}),
              ERR_PATH_IS_TOO_DEEP);
    bf_end(&f);
}

void test_path_entry_names_have_the_id_in_hex(void)
{
    struct arena a;
    arena_init(&a, SIZE_MAX);
    CHECK_STR(path_tree_entry_name(&a, 0, STR("x")), STR("/x"));
    for (unsigned shift = 0; shift < 64; shift++) {
        for (uint64_t low = 0; low < 17; low++) {
            uint64_t id = (UINT64_C(0x123456789ABCDEF) + low) << shift;
            struct str want = arena_printf(&a, "%llx/x", (unsigned long long)id);
            CHECK_STR(path_tree_entry_name(&a, id, STR("x")), id == 0 ? STR("/x") : want);
        }
        CHECK_STR(path_tree_entry_name(&a, UINT64_C(1) << shift, STR("")),
                  arena_printf(&a, "%llx/", 1ULL << shift));
    }
    arena_release(&a);
}

/* ---- appends ---- */

void test_path_flush_takes_what_is_without_a_gap(void)
{
    struct blob_fixture f;
    struct str content;
    pf_init(&f);
    struct blob_request file = bf_blob(&f, "d/f");
    CHECK_OK(pf_make(&f, file, false));
    CHECK_OK(pf_append(&f, file, 3, "def", false));
    CHECK_ERR(pf_flush(&f, file, 6), ERR_INVALID_FLUSH_POSITION);
    CHECK_OK(pf_append(&f, file, 0, "abc", false));
    CHECK_ERR(pf_flush(&f, file, 5), ERR_INVALID_FLUSH_POSITION);
    CHECK_OK(pf_flush(&f, file, 6));
    CHECK_OK(bf_get(&f, file, &content));
    CHECK_STR(content, STR("abcdef"));
    CHECK_OK(pf_append(&f, file, 1, "XY", false));
    CHECK_OK(pf_append(&f, file, 2, "Z", false));
    CHECK_OK(pf_flush(&f, file, 6));
    CHECK_OK(bf_get(&f, file, &content));
    CHECK_STR(content, STR("aXZdef"));
    CHECK_OK(pf_append(&f, file, 6, "!", true));
    CHECK_OK(bf_get(&f, file, &content));
    CHECK_STR(content, STR("aXZdef!"));
    bf_end(&f);
}

void test_path_appends_survive_a_rename(void)
{
    struct blob_fixture f;
    struct str content;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "d/f"), 0, "abc", false));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "d/f"), bf_blob(&f, "d/g")));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "d"), bf_blob(&f, "e")));
    CHECK_OK(pf_flush(&f, bf_blob(&f, "e/g"), 3));
    CHECK_OK(bf_get(&f, bf_blob(&f, "e/g"), &content));
    CHECK_STR(content, STR("abc"));
    /* The sweeper finds an abandoned set by the name that the file has now. */
    CHECK_OK(pf_append(&f, bf_blob(&f, "e/g"), 3, "lost", false));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "e/g"), bf_blob(&f, "e/h")));
    bf_end(&f);
}

void test_path_appends_and_blocks_do_not_mix(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "f"), false));
    CHECK_OK(pf_append(&f, bf_blob(&f, "f"), 0, "abc", false));
    CHECK_ERR(bf_stage(&f, bf_blob(&f, "f"), "a", STR("x")), ERR_BLOB_OPERATION_NOT_SUPPORTED);
    CHECK_OK(pf_flush(&f, bf_blob(&f, "f"), 3));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "f"), "a", STR("x")));
    CHECK_ERR(pf_append(&f, bf_blob(&f, "f"), 3, "d", false), ERR_INVALID_FLUSH_OPERATION);
    bf_end(&f);
}

/* ---- leases and conditions ---- */

void test_path_leases_guard_rename_and_delete(void)
{
    struct blob_fixture f;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/f"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "d/to"), false));
    CHECK_OK(bf_acquire(&f, "d/f", 'A', LEASE_INFINITE));
    CHECK_OK(bf_acquire(&f, "d", 'B', LEASE_INFINITE));
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "d/f"), bf_blob(&f, "d/g")), ERR_LEASE_ID_MISSING);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "d"), bf_blob(&f, "e")), ERR_LEASE_ID_MISSING);
    CHECK_ERR(pf_delete(&f, bf_blob(&f, "d"), true), ERR_LEASE_ID_MISSING);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "d/to"), bf_blob(&f, "d/f")), ERR_LEASE_ID_MISSING);
    CHECK_OK(pf_rename(&f, bf_with_lease(&f, "d", 'B'), bf_blob(&f, "e")));
    CHECK_ERR(pf_append(&f, bf_blob(&f, "e/f"), 0, "x", false), ERR_LEASE_ID_MISSING);
    CHECK_OK(pf_append(&f, bf_with_lease(&f, "e/f", 'A'), 0, "x", false));
    CHECK_OK(pf_delete(&f, bf_with_lease(&f, "e", 'B'), true));
    bf_end(&f);
}

void test_path_rename_conditions(void)
{
    struct blob_fixture f;
    struct blob_head head;
    pf_init(&f);
    CHECK_OK(pf_make(&f, bf_blob(&f, "a"), false));
    CHECK_OK(pf_make(&f, bf_blob(&f, "b"), false));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "a"), &head));
    CHECK_ERR(pf_rename(&f, bf_if_match(&f, "a", head.etag + 1), bf_blob(&f, "c")),
              ERR_SOURCE_CONDITION_NOT_MET);
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "a"), bf_if_match(&f, "b", head.etag)),
              ERR_CONDITION_NOT_MET);
    struct blob_request only_new = bf_blob(&f, "b");
    only_new.conditions.if_none_match = STR("*");
    CHECK_ERR(pf_rename(&f, bf_blob(&f, "a"), only_new), ERR_BLOB_ALREADY_EXISTS);
    CHECK_OK(pf_rename(&f, bf_if_match(&f, "a", head.etag), bf_blob(&f, "b")));
    struct blob_head moved;
    CHECK_OK(bf_properties(&f, bf_blob(&f, "b"), &moved));
    CHECK_INT(moved.etag, head.etag);
    bf_end(&f);
}

/* ---- soft delete ---- */

void test_path_soft_delete_restores_a_tree(void)
{
    struct blob_fixture f;
    struct str content;
    pf_init(&f);
    bf_retain(&f, 7, false);
    CHECK_OK(bf_put(&f, bf_blob(&f, "d/x/f"), STR("kept"), NULL));
    struct path_delete_args gone = {.request = bf_blob(&f, "d"), .recursive = true};
    CHECK_OK(bf_update(&f, path_delete, &gone));
    CHECK(gone.deletion_id != 0);
    CHECK_STR(pf_all(&f), STR(""));
    CHECK_OK(pf_make(&f, bf_blob(&f, "d"), true));
    struct path_undelete_args back = {.request = bf_blob(&f, "d"), .deletion_id = gone.deletion_id};
    CHECK_ERR(bf_update(&f, path_undelete, &back), ERR_BLOB_ALREADY_EXISTS);
    CHECK_OK(pf_rename(&f, bf_blob(&f, "d"), bf_blob(&f, "other")));
    CHECK_OK(bf_update(&f, path_undelete, &back));
    CHECK_OK(bf_get(&f, bf_blob(&f, "d/x/f"), &content));
    CHECK_STR(content, STR("kept"));
    CHECK_ERR(bf_update(&f, path_undelete, &back), ERR_BLOB_NOT_FOUND);
    bf_end(&f);
}

/* ---- recursive deletion by who has only what lists grant ---- */

static void grant(struct blob_fixture *f, const char *path, const char *list)
{
    struct path_set_args args = {.request = bf_blob(f, path), .has_acl = true};
    CHECK_OK(acl_parse(str_of(list), false, &args.acl));
    CHECK_OK(bf_update(f, path_set_access_control, &args));
}

static struct err delete_page(struct blob_fixture *f, struct path_delete_args *args)
{
    args->continuation = args->next;
    return bf_update(f, path_delete, args);
}

enum { SUBDIRECTORIES = 40 };

static void make_subdirectories(struct blob_fixture *f)
{
    grant(f, "",
          "user::rwx,user:u1:rwx,group::r-x,other::---,default:user::rwx,"
          "default:user:u1:rwx,default:group::r-x,default:other::---");
    for (int i = 0; i < SUBDIRECTORIES; i++) {
        char *path = NULL;
        CHECK(asprintf(&path, "d/s%02d/t/f", i) > 0);
        CHECK_OK(pf_make(f, bf_blob(f, path), false));
        free(path);
    }
}

/* The rights are checked page by page; after the last page everything is deleted at once. */
void test_path_delete_by_lists_goes_on_page_by_page(void)
{
    struct blob_fixture f;
    const struct acl_caller caller = {.id = STR("u1")};
    pf_init(&f);
    make_subdirectories(&f);
    struct str before = pf_all(&f);
    struct path_delete_args args = {.request = bf_blob(&f, "d"), .recursive = true, .check_max = 7};
    args.request.path.caller = &caller;
    int pages = 1;
    CHECK_OK(delete_page(&f, &args));
    for (; str_given(args.next); pages++) {
        CHECK_STR(pf_all(&f), before);
        CHECK_OK(delete_page(&f, &args));
    }
    CHECK(pages >= 3 * SUBDIRECTORIES / 7);
    CHECK_STR(pf_all(&f), STR(""));
    bf_end(&f);
}

void test_path_delete_by_lists_is_refused_by_any_directory(void)
{
    struct blob_fixture f;
    const struct acl_caller caller = {.id = STR("u1")};
    struct err error = OK;
    pf_init(&f);
    make_subdirectories(&f);
    grant(&f, "d/s39/t", "user::rwx,user:u1:r-x,group::r-x,other::---");
    struct str before = pf_all(&f);
    struct path_delete_args args = {.request = bf_blob(&f, "d"), .recursive = true, .check_max = 7};
    args.request.path.caller = &caller;
    do
        error = delete_page(&f, &args);
    while (!err_is(error) && str_given(args.next));
    CHECK_ERR(error, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    CHECK_STR(pf_all(&f), before);
    bf_end(&f);
}

/* A check of another directory with the same path does not apply to this one. */
void test_path_delete_by_lists_checks_another_directory_anew(void)
{
    struct blob_fixture f;
    const struct acl_caller caller = {.id = STR("u1")};
    struct err error = OK;
    pf_init(&f);
    make_subdirectories(&f);
    struct path_delete_args args = {.request = bf_blob(&f, "d"), .recursive = true, .check_max = 7};
    args.request.path.caller = &caller;
    for (int i = 0; i < 8; i++)
        CHECK_OK(delete_page(&f, &args));
    CHECK(str_given(args.next));
    CHECK_OK(pf_rename(&f, bf_blob(&f, "d"), bf_blob(&f, "old")));
    make_subdirectories(&f);
    grant(&f, "d/s00/t", "user::rwx,user:u1:r-x,group::r-x,other::---");
    do
        error = delete_page(&f, &args);
    while (!err_is(error) && str_given(args.next));
    CHECK_ERR(error, ERR_AUTHORIZATION_PERMISSION_MISMATCH);
    bf_end(&f);
}
