/* SPDX-License-Identifier: Apache-2.0 */
/* Every write of paths with every engine call failing in turn: a failed operation changes nothing,
 * and the same operation succeeds when the fault is gone. */
#include "engine/fault.h"
#include "service/blob/path/path_append.h"
#include "service/blob/path/path_fixture.h"
#include "service/blob/path/path_merge.h"
#include "service/blob/path/path_trash.h"

enum { LARGE = 20000 };

static const char *text_of(struct blob_fixture *f, size_t n)
{
    char *bytes = arena_bytes(&f->arena, n + 1);
    memset(bytes, 'x', n);
    bytes[n] = '\0';
    return bytes;
}

/* A tree with a bit of everything. */
static void furnish(struct blob_fixture *f)
{
    bf_init_fault(f);
    pf_make_hierarchical(f);
    CHECK_OK(pf_make(f, bf_blob(f, "d/e/f"), false));
    CHECK_OK(pf_append(f, bf_blob(f, "d/e/f"), 0, "small", true));
    CHECK_OK(pf_append(f, bf_blob(f, "d/e/f"), 5, "waits", false));
    CHECK_OK(pf_make(f, bf_blob(f, "d/large"), false));
    CHECK_OK(pf_append(f, bf_blob(f, "d/large"), 0, text_of(f, LARGE), true));
    CHECK_OK(pf_append(f, bf_blob(f, "d/large"), LARGE, text_of(f, LARGE), false));
    CHECK_OK(pf_append(f, bf_blob(f, "d/large"), 2 * LARGE, "tail", false));
    CHECK_OK(bf_put(f, bf_blob(f, "d/blob"), bf_bytes(f, 100000, 1), NULL));
    CHECK_OK(pf_make(f, bf_blob(f, "empty"), true));
    CHECK_OK(pf_make(f, bf_blob(f, "leased"), false));
    CHECK_OK(bf_acquire(f, "leased", 'A', 60));
}

static void fail_each_call(bf_operation *run)
{
    struct blob_fixture f;
    furnish(&f);
    bf_fail_and_end(&f, run);
}

static struct err make_deep(struct blob_fixture *f)
{
    return pf_make(f, bf_blob(f, "new/a/b/c"), false);
}

void test_faults_create_path_with_its_directories(void)
{
    fail_each_call(make_deep);
}

static struct err make_over(struct blob_fixture *f)
{
    return pf_make(f, bf_blob(f, "d/large"), false);
}

void test_faults_create_path_over_content_and_appends(void)
{
    fail_each_call(make_over);
}

static struct err append_small(struct blob_fixture *f)
{
    return pf_append(f, bf_blob(f, "d/e/f"), 10, "more", false);
}

void test_faults_append_path_small(void)
{
    fail_each_call(append_small);
}

static struct err append_large(struct blob_fixture *f)
{
    return pf_append(f, bf_blob(f, "d/e/f"), 10, text_of(f, LARGE), false);
}

void test_faults_append_path_large(void)
{
    fail_each_call(append_large);
}

static struct err append_and_flush(struct blob_fixture *f)
{
    return pf_append(f, bf_blob(f, "d/e/f"), 10, "more", true);
}

void test_faults_append_path_that_flushes(void)
{
    fail_each_call(append_and_flush);
}

static struct err flush_small(struct blob_fixture *f)
{
    return pf_flush(f, bf_blob(f, "d/e/f"), 10);
}

void test_faults_flush_path_small(void)
{
    fail_each_call(flush_small);
}

static struct err flush_large(struct blob_fixture *f)
{
    return pf_flush(f, bf_blob(f, "d/large"), 2 * LARGE + 4);
}

void test_faults_flush_path_large(void)
{
    fail_each_call(flush_large);
}

enum {
    MERGED = 8000
}; /* too large for the row of the set, and small enough for rows of their own */

static struct err merge_appends(struct blob_fixture *f)
{
    struct path_write_args args = {.request = bf_blob(f, "d/e/f"), .position = 10 + 3 * MERGED};
    return path_merge_appends(&f->store, f->partition, &args);
}

void test_faults_merge_appends(void)
{
    struct blob_fixture f;
    furnish(&f);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_OK(pf_append(&f, bf_blob(&f, "d/e/f"), 10 + i * MERGED, text_of(&f, MERGED), false));
    bf_fail_and_end(&f, merge_appends);
}

static struct err write_over(struct blob_fixture *f)
{
    return pf_append(f, bf_blob(f, "d/large"), 100, text_of(f, LARGE - 100), true);
}

void test_faults_flush_path_that_writes_over(void)
{
    fail_each_call(write_over);
}

static struct err rename_directory(struct blob_fixture *f)
{
    return pf_rename(f, bf_blob(f, "d"), bf_blob(f, "empty"));
}

void test_faults_rename_path_of_a_directory_onto_an_empty_one(void)
{
    fail_each_call(rename_directory);
}

static struct err rename_file(struct blob_fixture *f)
{
    return pf_rename(f, bf_blob(f, "d/e/f"), bf_blob(f, "d/large"));
}

void test_faults_rename_path_of_a_file_onto_another(void)
{
    fail_each_call(rename_file);
}

static struct err delete_tree(struct blob_fixture *f)
{
    return pf_delete(f, bf_blob(f, "d"), true);
}

void test_faults_delete_path_of_a_tree(void)
{
    fail_each_call(delete_tree);
}

static struct err sweep_tree(struct blob_fixture *f)
{
    struct blob_round round = {0};
    struct sweep_report report = {0};
    return blob_sweep(&f->store, &round, &report);
}

/* Each of the sweeper's steps on a deleted tree is done completely or not at all. */
void test_faults_sweep_of_a_deleted_tree(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    CHECK_OK(delete_tree(f));
    CHECK(bf_fail_each_call(f, sweep_tree) > 2);
    bf_end(f);
}

static int64_t deletion;

static struct err bring_back(struct blob_fixture *f)
{
    struct path_undelete_args args = {.request = bf_blob(f, "d"), .deletion_id = deletion};
    return bf_update(f, path_undelete, &args);
}

static struct err soft_delete(struct blob_fixture *f)
{
    struct path_delete_args args = {.request = bf_blob(f, "d"), .recursive = true};
    struct err error = bf_update(f, path_delete, &args);
    deletion = args.deletion_id;
    return error;
}

/* A tree is soft-deleted and restored. */
void test_faults_undelete_path(void)
{
    struct blob_fixture fixture, *f = &fixture;
    furnish(f);
    bf_retain(f, 7, false);
    CHECK(bf_fail_each_call(f, soft_delete) > 2);
    CHECK(deletion != 0);
    CHECK(bf_fail_each_call(f, bring_back) > 2);
    CHECK_STR(pf_all(f), STR("d d/blob d/e d/e/f d/large empty leased "));
    bf_retain(f, 0, false);
    bf_end(f);
}

static struct err set_acl(struct blob_fixture *f)
{
    struct path_set_args args = {.request = bf_blob(f, "d/e/f"), .has_acl = true};
    CHECK_OK(acl_parse(STR("user::rwx,user:u1:rwx,group::r--,other::---"), false, &args.acl));
    return bf_update(f, path_set_access_control, &args);
}

void test_faults_set_path_access_control(void)
{
    fail_each_call(set_acl);
}

static struct err set_acl_below(struct blob_fixture *f)
{
    struct path_failure failures[100];
    struct path_recursive_args args = {
        .request = bf_blob(f, "d"), .how = ACL_MODIFY, .max = 100, .failures = failures};
    CHECK_OK(acl_parse(STR("user:u1:rwx,default:user:u1:r-x"), false, &args.acl));
    struct err error = bf_update(f, path_set_access_control_recursive, &args);
    CHECK(err_is(error) || args.files + args.directories == 5);
    return error;
}

void test_faults_set_path_access_control_recursive(void)
{
    fail_each_call(set_acl_below);
}

static struct err set_properties(struct blob_fixture *f)
{
    struct path_set_args args = {.request = bf_blob(f, "d/e/f"),
                                 .http = {.content_type = STR("text/plain")}};
    return bf_update(f, path_set_properties, &args);
}

void test_faults_set_path_properties(void)
{
    fail_each_call(set_properties);
}
