/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob_fixture.h"

static struct container_args args_for(struct blob_fixture *f)
{
    return (struct container_args){.request = {.arena = &f->arena}};
}

void test_create_container_once(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_args args = args_for(&f);
    struct str before = bf_dump(&f);
    CHECK_ERR(bf_update(&f, blob_create_container, &args), ERR_CONTAINER_ALREADY_EXISTS);
    CHECK_STR(bf_dump(&f), before);
    bf_release(&f);
}

void test_get_container_properties_and_metadata(void)
{
    struct blob_fixture f;
    bf_init(&f);
    f.partition = blob_partition(&f.arena, STR("a"), STR("other"));
    struct container_args args = args_for(&f);
    CHECK_ERR(bf_view(&f, blob_get_container, &args), ERR_CONTAINER_NOT_FOUND);
    args.metadata = STR("\1k\1v");
    args.public_access = BLOB_PUBLIC_BLOB;
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    struct container_args get = args_for(&f);
    CHECK_OK(bf_view(&f, blob_get_container, &get));
    CHECK_STR(get.container.metadata, STR("\1k\1v"));
    CHECK_INT(get.container.public_access, BLOB_PUBLIC_BLOB);
    bf_release(&f);
}

void test_set_container_metadata_and_acl(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_args args = args_for(&f);
    args.metadata = STR("\1k\1v");
    CHECK_OK(bf_update(&f, blob_set_container_metadata, &args));
    args = args_for(&f);
    args.acl = STR("policies");
    args.public_access = BLOB_PUBLIC_CONTAINER;
    CHECK_OK(bf_update(&f, blob_set_container_acl, &args));
    args = args_for(&f);
    CHECK_OK(bf_view(&f, blob_get_container, &args));
    CHECK_STR(args.container.metadata, STR("\1k\1v"));
    CHECK_STR(args.container.acl, STR("policies"));
    CHECK_INT(args.container.public_access, BLOB_PUBLIC_CONTAINER);
    bf_release(&f);
}

/* A recreated container shares nothing with the old one, before and after the sweep. */
void test_delete_container_and_make_it_again(void)
{
    struct blob_fixture f;
    struct str content;
    int64_t snapshot;
    bf_init(&f);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 100000, 1), NULL));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "b"), &snapshot));
    CHECK_OK(bf_stage(&f, bf_blob(&f, "b"), "1", bf_bytes(&f, 9000, 1)));
    struct container_args args = args_for(&f);
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_CONTAINER_NOT_FOUND);
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("new"), NULL));
    bf_sweep(&f);
    CHECK_STR(bf_content(&f, "b"), STR("new"));
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 2);
    bf_release(&f);
}

void test_delete_container_window(void)
{
    struct blob_fixture f;
    struct str content;
    bf_init(&f);
    struct container_args args = args_for(&f);
    args.delete_ticks = 30 * TICKS_PER_SECOND;
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    CHECK_ERR(bf_update(&f, blob_create_container, &args), ERR_CONTAINER_BEING_DELETED);
    CHECK_ERR(bf_get(&f, bf_blob(&f, "b"), &content), ERR_CONTAINER_NOT_FOUND);
    CHECK_ERR(bf_update(&f, blob_delete_container, &args), ERR_CONTAINER_NOT_FOUND);
    bf_seconds(&f, 29);
    bf_sweep(&f);
    CHECK_ERR(bf_update(&f, blob_create_container, &args), ERR_CONTAINER_BEING_DELETED);
    bf_seconds(&f, 1);
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    bf_seconds(&f, 30);
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 0);
    bf_release(&f);
}

void test_delete_container_with_many_blobs_is_swept_in_steps(void)
{
    struct blob_fixture f;
    bf_init(&f);
    for (unsigned i = 0; i < 3000; i++)
        CHECK_OK(bf_put(&f, bf_blob(&f, arena_printf(&f.arena, "blob%u", i).p), STR("x"), NULL));
    struct container_args args = args_for(&f);
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    struct blob_round round = {0};
    struct sweep_report report = {0};
    CHECK_OK(blob_sweep(&f.store, &round, &report));
    CHECK(report.more && report.removed > 0 && report.removed < 3000);
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 0);
    bf_release(&f);
}

void test_lease_container_left_seconds(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct container_args args = args_for(&f);
    args.lease = (struct lease_request){
        .action = LEASE_ACQUIRE, .proposed = bf_guid('A'), .seconds = LEASE_INFINITE};
    CHECK_OK(bf_update(&f, blob_lease_container, &args));
    args.lease = (struct lease_request){.action = LEASE_BREAK, .break_seconds = 20};
    CHECK_OK(bf_update(&f, blob_lease_container, &args));
    CHECK_INT(args.lease_left_seconds, 20);
    bf_release(&f);
}

/* ---- listing containers ---- */

static void begin(void *sink)
{
    buf_clear(sink);
}

static void item(void *sink, struct str name, const struct container *container)
{
    buf_put(sink, name);
    if (container->deleted != 0)
        buf_putc(sink, '!');
    buf_putc(sink, ' ');
}

static struct str list(struct blob_fixture *f, struct container_list_args args)
{
    struct buf page = buf_in(&f->arena), all = buf_in(&f->arena);
    args.arena = &f->arena;
    args.account = STR("a");
    args.sink = &page;
    args.begin = begin;
    args.item = item;
    if (args.max == 0)
        args.max = LIST_RESULTS_MAX;
    do {
        CHECK_OK(bf_view(f, blob_list_containers, &args));
        buf_put(&all, buf_str(&page));
        args.marker = args.next;
        args.marker_deleted = args.next_deleted;
    } while (str_given(args.next));
    return buf_str(&all);
}

void test_list_containers_pages_and_prefixes(void)
{
    static const char *const NAMES[] = {"ab", "abc", "b", "$logs", "$web"};
    struct blob_fixture f;
    struct container_args args = {.request = {.arena = &f.arena}};
    bf_init(&f);
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        f.partition = blob_partition(&f.arena, STR("a"), str_of(NAMES[i]));
        CHECK_OK(bf_update(&f, blob_create_container, &args));
        CHECK_OK(bf_put(&f, bf_blob(&f, "blob"), STR("x"), NULL));
        CHECK_OK(bf_stage(&f, bf_blob(&f, "staged"), "1", STR("x")));
        CHECK_OK(bf_delete(&f, bf_blob(&f, "staged"), BLOB_SNAPSHOTS_KEEP));
    }
    f.partition = blob_partition(&f.arena, STR("another"), STR("zzz"));
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_STR(list(&f, (struct container_list_args){0}), STR("$web ab abc b c "));
    CHECK_STR(list(&f, (struct container_list_args){.wants_system = true}),
              STR("$logs $web ab abc b c "));
    CHECK_STR(list(&f, (struct container_list_args){.max = 1}), STR("$web ab abc b c "));
    CHECK_STR(list(&f, (struct container_list_args){.prefix = STR("ab")}), STR("ab abc "));
    CHECK_STR(list(&f, (struct container_list_args){.prefix = STR("x")}), STR(""));
    f.partition = blob_partition(&f.arena, STR("a"), STR("ab"));
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    CHECK_STR(list(&f, (struct container_list_args){0}), STR("$web abc b c "));
    bf_release(&f);
}

/* ---- soft delete ---- */

static uint64_t version_of(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena}};
    CHECK_OK(bf_view(f, blob_get_container, &args));
    return args.container.incarnation;
}

static void delete_softly(struct blob_fixture *f, int64_t days)
{
    struct container_args args = {.request = {.arena = &f->arena},
                                  .retention_ticks = days * TICKS_PER_DAY};
    CHECK_OK(bf_update(f, blob_delete_container, &args));
    CHECK_ERR(bf_view(f, blob_get_container, &args), ERR_CONTAINER_NOT_FOUND);
}

/* A container with a blob that was deleted; the arguments name it for Restore. */
static struct container_args begin_deleted(struct blob_fixture *f, int64_t days)
{
    bf_init(f);
    struct container_args args = {.request = {.arena = &f->arena},
                                  .deleted_version = version_of(f)};
    CHECK_OK(bf_put(f, bf_blob(f, "b"), STR("first"), NULL));
    delete_softly(f, days);
    return args;
}

void test_restore_container(void)
{
    struct blob_fixture f;
    struct container_args args = begin_deleted(&f, 7);
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), STR("second"), NULL));
    uint64_t second = version_of(&f);
    CHECK_ERR(bf_update(&f, blob_restore_container, &args), ERR_CONTAINER_ALREADY_EXISTS);
    delete_softly(&f, 7);
    CHECK_STR(list(&f, (struct container_list_args){0}), STR(""));
    for (size_t max = 0; max < 3; max++)
        CHECK_STR(list(&f, (struct container_list_args){.wants_deleted = true, .max = max}),
                  STR("c! c! "));
    args.deleted_version++;
    CHECK_ERR(bf_update(&f, blob_restore_container, &args), ERR_CONTAINER_NOT_FOUND);
    args.deleted_version = second;
    CHECK_OK(bf_update(&f, blob_restore_container, &args));
    CHECK_STR(bf_content(&f, "b"), STR("second"));
    for (size_t max = 0; max < 3; max++)
        CHECK_STR(list(&f, (struct container_list_args){.wants_deleted = true, .max = max}),
                  STR("c! c "));
    bf_release(&f);
}

/* The retention of each expires separately, with or without a container of the same name. */
void test_restore_container_until_the_retention_ends(void)
{
    struct blob_fixture f;
    struct container_args args = begin_deleted(&f, 1);
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_OK(bf_put(&f, bf_blob(&f, "b"), bf_bytes(&f, 9000, 2), NULL));
    bf_seconds(&f, 2LL * 86400);
    bf_sweep(&f);
    CHECK_STR(list(&f, (struct container_list_args){.wants_deleted = true}), STR("c "));
    CHECK_STR(bf_content(&f, "b"), bf_bytes(&f, 9000, 2));
    delete_softly(&f, 1);
    CHECK_ERR(bf_update(&f, blob_restore_container, &args), ERR_CONTAINER_NOT_FOUND);
    bf_sweep(&f);
    CHECK_STR(list(&f, (struct container_list_args){.wants_deleted = true}), STR("c! "));
    bf_seconds(&f, 2LL * 86400);
    bf_sweep(&f);
    CHECK_INT(bf_rows(&f), 0);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

/* A permanently deleted container does not affect those that are kept. */
void test_delete_container_beside_a_soft_deleted_one(void)
{
    struct blob_fixture f;
    struct container_args args = begin_deleted(&f, 7);
    CHECK_OK(bf_update(&f, blob_create_container, &args));
    CHECK_OK(bf_update(&f, blob_delete_container, &args));
    bf_sweep(&f);
    CHECK_OK(bf_update(&f, blob_restore_container, &args));
    CHECK_STR(bf_content(&f, "b"), STR("first"));
    bf_release(&f);
}
