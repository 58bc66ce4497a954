/* SPDX-License-Identifier: Apache-2.0 */
/* Every operation with every engine call failing in turn: a failed one changes nothing, releases
 * its space and its claims in the open-file table, and succeeds when the fault is gone. */
#include "core/test.h"
#include "engine/fault.h"
#include "service/common/fault_fixture.h"
#include "service/file/file_fixture.h"
#include "service/file/security/permission_ops.h"

/* One operation of the loop. */
typedef struct err operation(struct world *w);

struct faulty {
    struct world world;
    operation *run;
    int64_t snapshot;     /* of the furnished share */
    uint64_t incarnation; /* of a deleted one */
    struct sweep_note note;
};

static struct faulty *faulty_of(struct world *w)
{
    return (struct faulty *)(void *)w;
}

static struct err run_faulty(void *arg)
{
    struct faulty *faulty = arg;
    struct err error = faulty->run(&faulty->world);
    CHECK(opens_quiet_since(faulty->world.opens, opens_epoch(faulty->world.opens)));
    return error;
}

static struct str bytes_of(struct world *w, size_t n, int seed)
{
    char *p = arena_bytes(&w->arena, n);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 7 + i / 251 + (size_t)seed);
    return (struct str){p, n};
}

/* A share with a bit of everything, some of it older than a snapshot. */
static void furnish(struct faulty *faulty)
{
    struct world *w = &faulty->world;
    world_begin_fault(w);
    CHECK_OK(create_directory(w, "d"));
    CHECK_OK(create_directory(w, "d/inner"));
    CHECK_OK(create_file(w, "small", 100));
    CHECK_OK(put_range(w, "small", 0, bytes_of(w, 100, 1)));
    CHECK_OK(create_file(w, "d/large", 300000));
    CHECK_OK(put_range(w, "d/large", 0, bytes_of(w, 200000, 2)));
    CHECK_OK(put_range(w, "d/large", 150000, bytes_of(w, 3000, 3)));
    faulty->snapshot = snapshot_share(w);
    CHECK_OK(put_range(w, "d/large", 4096, bytes_of(w, 50000, 4)));
    CHECK_OK(create_file(w, "empty", 0));
}

/* After the share is deleted nothing may remain: anything that the operation leaked shows here. */
static void clear_out(struct faulty *faulty)
{
    struct world *w = &faulty->world;
    struct share_args args = {.arena = &w->arena,
                              .delete_snapshots = SHARE_SNAPSHOTS_INCLUDE_LEASED};
    size_t rows;
    struct err error = world_update(w, file_delete_share, &args);
    CHECK(error.code == ERR_OK || error.code == ERR_SHARE_NOT_FOUND);
    world_sweep(w);
    CHECK_INT(fault_extent_bytes(w->store.engine), 0);
    (void)fault_dump(w->store.engine, &w->arena, &rows);
    CHECK_INT(rows, 0);
    world_end(w);
}

static void fail_writes(operation *run)
{
    struct faulty faulty = {.run = run};
    struct world *w = &faulty.world;
    furnish(&faulty);
    struct str before = fault_dump(w->store.engine, &w->arena, NULL);
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    CHECK(!str_eq(fault_dump(w->store.engine, &w->arena, NULL), before));
    clear_out(&faulty);
}

static void fail_reads(operation *run)
{
    struct faulty faulty = {.run = run};
    furnish(&faulty);
    (void)fault_each_call(faulty.world.store.engine, &faulty.world.arena, run_faulty, &faulty);
    clear_out(&faulty);
}

/* ---- directories ---- */

static struct err run_create_directory(struct world *w)
{
    return create_directory(w, "d/new");
}

void test_faults_create_directory(void)
{
    fail_writes(run_create_directory);
}

static struct err set_directory(struct world *w, engine_fn *fn)
{
    struct directory_args args = {.request = request_of(w, "d"),
                                  .settings = {.has_attributes = true, .attributes = NODE_HIDDEN},
                                  .metadata = STR("\1a\1b")};
    return world_write(w, fn, &args);
}

static struct err run_set_directory_properties(struct world *w)
{
    return set_directory(w, file_set_directory_properties);
}

void test_faults_set_directory_properties(void)
{
    fail_writes(run_set_directory_properties);
}

static struct err run_set_directory_metadata(struct world *w)
{
    return set_directory(w, file_set_directory_metadata);
}

void test_faults_set_directory_metadata(void)
{
    fail_writes(run_set_directory_metadata);
}

static struct err run_delete_directory(struct world *w)
{
    struct directory_args args = {.request = request_of(w, "d/inner")};
    return world_write(w, file_delete_directory, &args);
}

void test_faults_delete_directory(void)
{
    fail_writes(run_delete_directory);
}

static struct err run_get_directory(struct world *w)
{
    struct directory_args args = {.request = request_of(w, "d/inner")};
    return world_read(w, file_get_directory, &args);
}

void test_faults_get_directory(void)
{
    fail_reads(run_get_directory);
}

static void begin_list(void *sink, const struct file_found *directory, struct str path)
{
    (void)sink;
    (void)directory;
    (void)path;
}

static void list_item(void *sink, const struct file_found *found)
{
    (void)found;
    ++*(int *)sink;
}

static struct err run_list_directory(struct world *w)
{
    int count = 0;
    struct directory_list_args args = {.request = request_of(w, "d"),
                                       .max = FILE_LIST_MAX,
                                       .sink = &count,
                                       .begin = begin_list,
                                       .item = list_item};
    TRY(world_read(w, file_list_directory, &args));
    CHECK_INT(count, 2);
    return OK;
}

void test_faults_list_directory(void)
{
    fail_reads(run_list_directory);
}

/* ---- files ---- */

static struct err create_with_bytes(struct world *w, const char *path, size_t n)
{
    struct pieces pieces;
    TRY(make_pieces(w, 0, bytes_of(w, n, 9), &pieces));
    struct file_args args = {.request = request_of(w, path),
                             .has_size = true,
                             .size = n,
                             .pieces = &pieces,
                             .metadata = STR("\1a\1b")};
    struct err error = world_write(w, file_create_file, &args);
    if (err_is(error))
        discard_pieces(w, &pieces);
    return error;
}

static struct err run_create_file(struct world *w)
{
    return create_with_bytes(w, "d/new", 70000);
}

void test_faults_create_file(void)
{
    fail_writes(run_create_file);
}

static struct err run_overwrite(struct world *w)
{
    return create_with_bytes(w, "d/LARGE", 20);
}

void test_faults_create_file_over_one_that_a_snapshot_holds(void)
{
    fail_writes(run_overwrite);
}

static struct err set_properties(struct world *w, uint64_t size)
{
    struct file_args args = {.request = request_of(w, "d/large"),
                             .has_size = true,
                             .size = size,
                             .has_http = true,
                             .http = {.content_type = STR("text/plain")},
                             .settings = {.has_attributes = true, .attributes = NODE_SYSTEM}};
    return world_write(w, file_set_file_properties, &args);
}

static struct err run_grow(struct world *w)
{
    return set_properties(w, 1 << 20);
}

void test_faults_set_file_properties(void)
{
    fail_writes(run_grow);
}

static struct err run_shrink(struct world *w)
{
    return set_properties(w, 5000);
}

void test_faults_set_file_properties_smaller(void)
{
    fail_writes(run_shrink);
}

static struct err run_set_metadata(struct world *w)
{
    struct file_args args = {.request = request_of(w, "small"), .metadata = STR("\1a\1b")};
    return world_write(w, file_set_file_metadata, &args);
}

void test_faults_set_file_metadata(void)
{
    fail_writes(run_set_metadata);
}

static struct err run_delete(struct world *w)
{
    return delete_file(w, "d/large");
}

void test_faults_delete_file(void)
{
    fail_writes(run_delete);
}

static struct err run_lease(struct world *w)
{
    struct file_args args = {.request = request_of(w, "small")};
    args.lease = (struct lease_request){
        .action = LEASE_ACQUIRE, .proposed = {.bytes = {1}}, .seconds = LEASE_INFINITE};
    return world_write(w, file_lease_file, &args);
}

void test_faults_lease_file(void)
{
    fail_writes(run_lease);
}

static struct err run_get_properties(struct world *w)
{
    struct file_outcome outcome;
    return get_properties(w, "d/large", &outcome);
}

void test_faults_get_file_properties(void)
{
    fail_reads(run_get_properties);
}

/* ---- ranges ---- */

static struct err run_put_range(struct world *w)
{
    return put_range(w, "d/large", 10000, bytes_of(w, 120000, 5));
}

void test_faults_put_range(void)
{
    fail_writes(run_put_range);
}

static struct err run_put_small_range(struct world *w)
{
    return put_range(w, "small", 10, bytes_of(w, 20, 5));
}

void test_faults_put_small_range(void)
{
    fail_writes(run_put_small_range);
}

static struct err run_clear_range(struct world *w)
{
    return clear_range(w, "d/large", 100, 180000);
}

void test_faults_clear_range(void)
{
    fail_writes(run_clear_range);
}

static struct err run_get_file(struct world *w)
{
    struct file_read_args args = {.request = request_of(w, "d/large")};
    args.request.snapshot = faulty_of(w)->snapshot;
    return world_read(w, file_get_file, &args);
}

void test_faults_get_file_of_a_snapshot(void)
{
    fail_reads(run_get_file);
}

static struct err run_list_ranges(struct world *w)
{
    struct file_ranges_args args = {.request = request_of(w, "d/large"),
                                    .max = FILE_RANGES_MAX,
                                    .differences = true,
                                    .previous = faulty_of(w)->snapshot};
    return world_read(w, file_list_ranges, &args);
}

void test_faults_list_ranges(void)
{
    fail_reads(run_list_ranges);
}

/* ---- renaming and links ---- */

static struct err rename_to(struct world *w, const char *from, const char *to, enum file_kind kind)
{
    struct rename_args args = {
        .request = request_of(w, to), .kind = kind, .source = str_of(from), .replace = true};
    return world_write(w, file_rename, &args);
}

static struct err run_rename(struct world *w)
{
    return rename_to(w, "d/large", "moved", FILE_FILE);
}

void test_faults_rename_file(void)
{
    fail_writes(run_rename);
}

static struct err run_rename_over(struct world *w)
{
    return rename_to(w, "small", "d/large", FILE_FILE);
}

void test_faults_rename_file_over_another(void)
{
    fail_writes(run_rename_over);
}

static struct err run_rename_directory(struct world *w)
{
    return rename_to(w, "d", "e", FILE_DIRECTORY);
}

void test_faults_rename_directory(void)
{
    fail_writes(run_rename_directory);
}

static struct err link_to(struct world *w, engine_fn *fn, const char *path)
{
    struct link_args args = {.request = request_of(w, path), .target = STR("file")};
    return world_write(w, fn, &args);
}

static struct err run_symbolic_link(struct world *w)
{
    return link_to(w, file_create_symbolic_link, "link");
}

static struct err run_hard_link(struct world *w)
{
    return link_to(w, file_create_hard_link, "second");
}

static struct err run_delete_first_name(struct world *w)
{
    return delete_file(w, "file");
}

static struct err run_delete_last_name(struct world *w)
{
    return delete_file(w, "second");
}

/* The share's only links: one after the other in an NFS share. */
void test_faults_links(void)
{
    struct faulty faulty = {0};
    struct world *w = &faulty.world;
    operation *const steps[] = {run_symbolic_link, run_hard_link, run_delete_first_name,
                                run_delete_last_name};
    world_begin_fault(w);
    struct share_args args = {.arena = &w->arena};
    CHECK_OK(world_update(w, file_delete_share, &args));
    w->partition = world_share(w, "nfs", SHARE_NFS);
    CHECK_OK(create_file(w, "file", 100000));
    CHECK_OK(put_range(w, "file", 0, bytes_of(w, 90000, 1)));
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        faulty.run = steps[i];
        (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    }
    clear_out(&faulty);
}

/* ---- shares ---- */

static struct err update_share(struct world *w, engine_fn *fn, const struct share_args *given)
{
    struct share_args args = *given;
    args.arena = &w->arena;
    return world_update(w, fn, &args);
}

static struct err run_set_share_properties(struct world *w)
{
    return update_share(w, file_set_share_properties,
                        &(struct share_args){.set = SHARE_SET_QUOTA, .settings = {.quota_gib = 7}});
}

void test_faults_set_share_properties(void)
{
    fail_writes(run_set_share_properties);
}

static struct err run_set_share_metadata(struct world *w)
{
    return update_share(w, file_set_share_metadata,
                        &(struct share_args){.metadata = STR("\1a\1b")});
}

void test_faults_set_share_metadata(void)
{
    fail_writes(run_set_share_metadata);
}

static struct err run_set_share_acl(struct world *w)
{
    return update_share(w, file_set_share_acl, &(struct share_args){.acl = STR("policies")});
}

void test_faults_set_share_acl(void)
{
    fail_writes(run_set_share_acl);
}

static struct err run_lease_share(struct world *w)
{
    return update_share(
        w, file_lease_share,
        &(struct share_args){
            .lease_request = {.action = LEASE_ACQUIRE, .proposed = {.bytes = {1}}, .seconds = 15}});
}

static struct err run_break_share(struct world *w)
{
    return update_share(w, file_lease_share,
                        &(struct share_args){.lease_request = {.action = LEASE_BREAK}});
}

void test_faults_lease_share(void)
{
    struct faulty faulty = {.run = run_lease_share};
    struct world *w = &faulty.world;
    furnish(&faulty);
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    faulty.run = run_break_share;
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    clear_out(&faulty);
}

static struct err run_snapshot(struct world *w)
{
    return update_share(w, file_snapshot_share,
                        &(struct share_args){.has_metadata = true, .metadata = STR("\1a\1b")});
}

void test_faults_snapshot_share(void)
{
    fail_writes(run_snapshot);
}

static struct err run_delete_snapshot(struct world *w)
{
    return update_share(w, file_delete_share,
                        &(struct share_args){.snapshot = faulty_of(w)->snapshot});
}

void test_faults_delete_snapshot_of_a_share(void)
{
    fail_writes(run_delete_snapshot);
}

static struct err run_delete_share(struct world *w)
{
    return update_share(w, file_delete_share,
                        &(struct share_args){.delete_snapshots = SHARE_SNAPSHOTS_INCLUDE});
}

void test_faults_delete_share(void)
{
    fail_writes(run_delete_share);
}

static struct err run_keep_deleted(struct world *w)
{
    return update_share(w, file_delete_share,
                        &(struct share_args){.delete_snapshots = SHARE_SNAPSHOTS_INCLUDE,
                                             .retention_ticks = TICKS_PER_DAY});
}

static struct err run_restore(struct world *w)
{
    return update_share(w, file_restore_share,
                        &(struct share_args){.deleted_version = faulty_of(w)->incarnation});
}

void test_faults_restore_share(void)
{
    struct faulty faulty = {.run = run_keep_deleted};
    struct world *w = &faulty.world;
    struct share_args args = {.arena = &w->arena};
    furnish(&faulty);
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_get_share, &args));
    faulty.incarnation = args.share.incarnation;
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    faulty.run = run_restore;
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    CHECK_INT(share_usage(w), 300100);
    clear_out(&faulty);
}

static struct err run_create_share(struct world *w)
{
    return update_share(w, file_create_share, &(struct share_args){.metadata = STR("\1a\1b")});
}

void test_faults_create_share(void)
{
    struct faulty faulty = {.run = run_create_share};
    struct world *w = &faulty.world;
    struct share_args args = {.arena = &w->arena};
    world_begin_fault(w);
    CHECK_OK(world_update(w, file_delete_share, &args));
    world_sweep(w);
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    CHECK_OK(create_file(w, "f", 1));
    clear_out(&faulty);
}

static struct err run_create_permission(struct world *w)
{
    /* Owner and group are the system, the list is absent. */
    static const char SD[] = "\x01\x00\x00\x80\x14\x00\x00\x00\x20\x00\x00\x00\x00\x00\x00\x00"
                             "\x00\x00\x00\x00\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00"
                             "\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00";
    struct permission_args args = {.arena = &w->arena, .sd = {SD, sizeof SD - 1}};
    return world_update(w, file_create_permission, &args);
}

void test_faults_create_permission(void)
{
    fail_writes(run_create_permission);
}

/* ---- copies ---- */

static struct err begin_copy(struct world *w)
{
    struct copy_source source = {
        .arena = &w->arena, .partition = w->partition, .path = STR("d/large")};
    TRY(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_copy_find, &source));
    struct copy_args args = {.request = request_of(w, "copy"),
                             .source = &source,
                             .url = STR("http://x/share/d/large"),
                             .id = {.bytes = {7}},
                             .source_permission = true};
    TRY(world_write(w, file_copy_file, &args));
    faulty_of(w)->note = (struct sweep_note){
        .kind = FILE_SWEEP_COPY, .incarnation = args.outcome.incarnation, .id = args.outcome.id};
    return OK;
}

void test_faults_copy_file(void)
{
    fail_writes(begin_copy);
}

static struct err run_copy_step(struct world *w)
{
    return file_copy_step(&w->store, w->partition, &faulty_of(w)->note);
}

static struct err run_abort(struct world *w)
{
    struct copy_abort_args args = {.request = request_of(w, "copy"), .id = {.bytes = {7}}};
    return world_write(w, file_abort_copy, &args);
}

static void fail_after_copy(operation *run)
{
    struct faulty faulty = {.run = run};
    struct world *w = &faulty.world;
    furnish(&faulty);
    CHECK_OK(begin_copy(w));
    (void)fault_each_call(w->store.engine, &w->arena, run_faulty, &faulty);
    clear_out(&faulty);
}

void test_faults_copy_step(void)
{
    fail_after_copy(run_copy_step);
}

void test_faults_abort_copy(void)
{
    fail_after_copy(run_abort);
}

/* ---- the sweep ---- */

/* A sweep that fails half-way has done complete steps, and the next one continues. */
void test_faults_sweep_of_files(void)
{
    struct faulty faulty = {0};
    struct world *w = &faulty.world;
    struct share_args args = {.arena = &w->arena, .delete_snapshots = SHARE_SNAPSHOTS_INCLUDE};
    size_t rows;
    furnish(&faulty);
    CHECK_OK(begin_copy(w));
    for (int i = 0; i < 400; i++)
        CHECK_OK(put_range(w, "small", (uint64_t)i % 90, bytes_of(w, 10, i)));
    CHECK_OK(delete_file(w, "d/large"));
    CHECK_OK(run_delete_snapshot(w));
    for (uint64_t n = 1, more = 1; more != 0; n++) {
        struct sweep_report report = {0};
        engine_fault_arm(w->store.engine, n, err_new(ERR_IO));
        struct err error = file_sweep(&w->store, NULL, &report);
        bool fired = engine_fault_fired(w->store.engine);
        engine_fault_arm(w->store.engine, 0, OK);
        CHECK(err_is(error) == fired);
        more = fired || report.more;
    }
    CHECK_INT(read_file(w, "small", 0).n, 100);
    CHECK_OK(world_update(w, file_delete_share, &args));
    world_sweep(w);
    (void)fault_dump(w->store.engine, &w->arena, &rows);
    CHECK_INT(rows, 0);
    clear_out(&faulty);
}
