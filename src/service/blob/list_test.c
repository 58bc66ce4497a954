/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob_fixture.h"

static void put_all(struct blob_fixture *f, const char *names)
{
    struct str rest = str_of(names);
    while (str_given(rest)) {
        char *name = arena_cstr(&f->arena, str_cut(&rest, ' '));
        CHECK_OK(bf_put(f, bf_blob(f, name), STR("x"), NULL));
    }
}

/* The same in pages of every size. */
static void check_list(struct blob_fixture *f, struct blob_list_args args, const char *want)
{
    static const size_t SIZES[] = {0, 1, 2, 3, 7};
    for (size_t i = 0; i < sizeof SIZES / sizeof SIZES[0]; i++) {
        args.max = SIZES[i];
        CHECK_STR(bf_list(f, args), str_of(want));
    }
}

void test_list_blobs_in_order(void)
{
    struct blob_fixture f;
    bf_init(&f);
    put_all(&f, "b a B A aa a/b a-b ab \xC3\xA4");
    check_list(&f, (struct blob_list_args){0}, "A B a a-b a/b aa ab b \xC3\xA4 ");
    check_list(&f, (struct blob_list_args){.prefix = STR("a")}, "a a-b a/b aa ab ");
    check_list(&f, (struct blob_list_args){.prefix = STR("ab")}, "ab ");
    check_list(&f, (struct blob_list_args){.prefix = STR("x")}, "");
    check_list(&f, (struct blob_list_args){.start_from = STR("a/")}, "a/b aa ab b \xC3\xA4 ");
    check_list(&f, (struct blob_list_args){.end_before = STR("aa")}, "A B a a-b a/b ");
    check_list(&f, (struct blob_list_args){.start_from = STR("a-"), .end_before = STR("ab")},
               "a-b a/b aa ");
    bf_release(&f);
}

/* U+1F600 sorts before U+FF5E by its UTF-16 units, though not by its bytes. */
void test_list_blobs_in_the_order_of_utf16(void)
{
    struct blob_fixture f;
    bf_init(&f);
    put_all(&f, "\xEF\xBD\x9E \xF0\x9F\x98\x80 z");
    check_list(&f, (struct blob_list_args){0}, "z \xF0\x9F\x98\x80 \xEF\xBD\x9E ");
    check_list(&f, (struct blob_list_args){.prefix = STR("\xF0\x9F\x98\x80")}, "\xF0\x9F\x98\x80 ");
    bf_release(&f);
}

void test_list_blobs_by_delimiter(void)
{
    struct blob_fixture f;
    bf_init(&f);
    put_all(&f, "a/1 a/2 a/b/3 a b/1 c d//e");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/")}, "a a/ b/ c d/ ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/"), .prefix = STR("a/")},
               "a/1 a/2 a/b/ ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/"), .prefix = STR("d/")}, "d// ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("//")}, "a a/1 a/2 a/b/3 b/1 c d// ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/b/")}, "a a/1 a/2 a/b/ b/1 c d//e ");
    bf_release(&f);
}

/* A group is skipped, not read: only the rows of the result are read. */
void test_list_blobs_by_delimiter_skips_a_group(void)
{
    struct blob_fixture f;
    bf_init(&f);
    for (unsigned i = 0; i < 2000; i++)
        CHECK_OK(bf_put(&f, bf_blob(&f, arena_printf(&f.arena, "group/%u", i).p), STR(""), NULL));
    put_all(&f, "after");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/")}, "after group/ ");
    bf_release(&f);
}

void test_list_blobs_with_snapshots_and_uncommitted(void)
{
    struct blob_fixture f;
    int64_t time;
    bf_init(&f);
    put_all(&f, "a b c");
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &time));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "ab"), "1", STR("x")));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "c"), "1", STR("x")));
    check_list(&f, (struct blob_list_args){0}, "a b c ");
    check_list(&f, (struct blob_list_args){.wants_snapshots = true}, "a b@ b@ b c ");
    check_list(&f, (struct blob_list_args){.wants_uncommitted = true}, "a ab? b c ");
    check_list(&f, (struct blob_list_args){.wants_snapshots = true, .wants_uncommitted = true},
               "a ab? b@ b@ b c ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("b")}, "a b c ");
    bf_release(&f);
}

void test_list_blobs_of_no_container(void)
{
    struct blob_fixture f;
    bf_init(&f);
    f.partition = blob_partition(&f.arena, STR("a"), STR("none"));
    struct blob_list_args args = {.arena = &f.arena, .max = 1};
    CHECK_ERR(bf_view(&f, blob_list_blobs, &args), ERR_CONTAINER_NOT_FOUND);
    bf_release(&f);
}

/* A listing during writes that move a blob from one name to another always shows it exactly once:
 * both changes are in one partition, and a listing is one view. */
void test_rule_F3_a_listing_never_shows_half_of_a_commit(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", STR("x")));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "2", STR("y")));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_uncommitted = true}), STR("b? "));
    CHECK_OK(bf_commit(&f, bf_blob(&f, "b"), "l1 l2", NULL));
    CHECK_STR(bf_list(&f, (struct blob_list_args){.wants_uncommitted = true}), STR("b "));
    CHECK_STR(bf_content(&f, "b"), STR("xy"));
    bf_release(&f);
}

/* "a" has two previous versions, "b" is gone but for one, "c" is soft-deleted with a snapshot, "d"
 * has a snapshot, "e" has only a soft-deleted version. */
static void put_kinds(struct blob_fixture *f)
{
    struct blob_head head;
    int64_t time;
    bf_init(f);
    bf_retain(f, 7, false);
    put_all(f, "c/c d");
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "c/c"), &time));
    CHECK_OK(bf_take_snapshot(f, bf_blob(f, "d"), &time));
    CHECK_OK(bf_delete(f, bf_blob(f, "c/c"), BLOB_SNAPSHOTS_INCLUDE));
    f->versioning = true;
    put_all(f, "a a a b/b");
    CHECK_OK(bf_delete(f, bf_blob(f, "b/b"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_put(f, bf_blob(f, "e"), STR("x"), &head));
    CHECK_OK(bf_delete(f, bf_blob(f, "e"), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(f, bf_version(f, "e", head.version), BLOB_SNAPSHOTS_KEEP));
}

void test_list_blobs_of_every_kind(void)
{
    struct blob_fixture f;
    put_kinds(&f);
    check_list(&f, (struct blob_list_args){0}, "a d ");
    check_list(&f, (struct blob_list_args){.wants_versions = true}, "a~ a~ a b/b~ d ");
    check_list(&f, (struct blob_list_args){.wants_deleted = true}, "a c/c! d ");
    check_list(&f, (struct blob_list_args){.wants_deleted = true, .wants_snapshots = true},
               "a c/c@! c/c! d@ d ");
    check_list(&f, (struct blob_list_args){.wants_deleted = true, .wants_versions = true},
               "a~ a~ a b/b~ c/c! d e~! ");
    check_list(&f, (struct blob_list_args){.wants_versions_only = true}, "a b/b% d e% ");
    check_list(&f,
               (struct blob_list_args){
                   .wants_versions_only = true, .wants_deleted = true, .wants_snapshots = true},
               "a b/b% c/c@! c/c! d@ d e% ");
    bf_release(&f);
}

void test_list_blobs_of_some_kinds_only(void)
{
    struct blob_fixture f;
    put_kinds(&f);
    struct blob_list_args all = {
        .wants_snapshots = true, .wants_versions = true, .wants_deleted = true};
    all.only = LIST_DELETED;
    check_list(&f, all, "c/c@! c/c! e~! ");
    all.delimiter = STR("/");
    all.only = LIST_ALL;
    check_list(&f, all, "a~ a~ a b/ c/ d@ d e~! ");
    all.only = LIST_FILES;
    check_list(&f, all, "a~ a~ a d@ d e~! ");
    all.only = LIST_DIRECTORIES;
    check_list(&f, all, "b/ c/ ");
    check_list(&f, (struct blob_list_args){.delimiter = STR("/"), .wants_versions_only = true},
               "a b/ d e% ");
    bf_release(&f);
}
