/* SPDX-License-Identifier: Apache-2.0 */
/* Ranges, snapshots of shares, copies: everything that shares bytes. */
#include "service/file/file_fixture.h"

/* Without paging the list is complete or refused: a silently truncated list would lose data for a
 * client that copies by it. */
void test_list_ranges_too_many_for_one_answer(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 100000));
    for (uint64_t i = 0; i < 3; i++)
        CHECK_OK(put_range(&w, "f", i * 20000, STR("x")));
    struct file_ranges_args args = {.request = request_of(&w, "f"), .max = 2, .whole = true};
    CHECK_ERR(world_read(&w, file_list_ranges, &args), ERR_OPERATION_TIMED_OUT);
    args.max = 3;
    CHECK_OK(world_read(&w, file_list_ranges, &args));
    CHECK_INT(args.count, 3);
    world_end(&w);
}

static struct str filled(struct world *w, char c, size_t n)
{
    char *bytes = arena_bytes(&w->arena, n);
    memset(bytes, c, n);
    return (struct str){bytes, n};
}

void test_put_range(void)
{
    struct world w;
    struct file_outcome before, after;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 20000));
    CHECK_OK(get_properties(&w, "f", &before));
    clock_advance(&w.clock, TICKS_PER_SECOND);
    CHECK_OK(put_range(&w, "f", 1000, filled(&w, 'a', 100)));
    CHECK_OK(get_properties(&w, "f", &after));
    CHECK(after.node.etag > before.node.etag);
    CHECK_INT(after.node.last_write - before.node.last_write, TICKS_PER_SECOND);
    CHECK_OK(put_range(&w, "f", 0, filled(&w, 'b', 20000)));
    CHECK_OK(put_range(&w, "f", 19999, STR("z")));
    CHECK_ERR(put_range(&w, "f", 20000, STR("z")), ERR_INVALID_RANGE);
    CHECK_ERR(put_range(&w, "f", 19999, STR("zz")), ERR_INVALID_RANGE);
    CHECK_ERR(put_range(&w, "g", 0, STR("z")), ERR_RESOURCE_NOT_FOUND);
    struct str got = read_file(&w, "f", 0);
    CHECK_STR(str_from(got, 19998), STR("bz"));
    CHECK_INT(share_usage(&w), 20000);
    world_end(&w);
}

void test_put_range_clear(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 8192));
    CHECK_OK(put_range(&w, "f", 0, filled(&w, 'a', 8192)));
    CHECK_STR(list_ranges(&w, "f", 0, 0), STR("0-8191 "));
    CHECK_OK(clear_range(&w, "f", 1000, 3000));
    CHECK_STR(list_ranges(&w, "f", 0, 0), STR("0-1023 3584-8191 "));
    struct str got = read_file(&w, "f", 0);
    CHECK_STR(str_head(str_from(got, 999), 2), STR("a\0"));
    CHECK_STR(str_head(str_from(got, 3999), 2), STR("\0a"));
    CHECK_OK(clear_range(&w, "f", 10, 5));
    CHECK_OK(clear_range(&w, "f", 0, 8192));
    CHECK_STR(list_ranges(&w, "f", 0, 0), STR(""));
    CHECK_ERR(clear_range(&w, "f", 0, 8193), ERR_INVALID_RANGE);
    /* A file that ends within a sector: what is cleared of that one is zeros. */
    CHECK_OK(create_file(&w, "g", 513));
    CHECK_OK(put_range(&w, "g", 0, STR("HelloWorld")));
    CHECK_OK(clear_range(&w, "g", 0, 513));
    CHECK_STR(list_ranges(&w, "g", 0, 0), STR("512-512 "));
    world_end(&w);
}

/* Sparse to 4 TiB: unwritten ranges cost nothing, neither to write around nor to clear. */
void test_put_range_in_a_file_of_4_tib(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", NODE_SIZE_MAX));
    CHECK_INT(share_usage(&w), NODE_SIZE_MAX);
    CHECK_OK(put_range(&w, "f", NODE_SIZE_MAX - 512, filled(&w, 'z', 512)));
    CHECK_OK(put_range(&w, "f", NODE_SIZE_MAX / 2, filled(&w, 'm', 40000)));
    CHECK_STR(list_ranges(&w, "f", 0, 0),
              STR("2199023255552-2199023295999 4398046510592-4398046511103 "));
    CHECK_OK(clear_range(&w, "f", 0, NODE_SIZE_MAX));
    CHECK_STR(list_ranges(&w, "f", 0, 0), STR(""));
    CHECK_ERR(create_file(&w, "g", NODE_SIZE_MAX), ERR_SHARE_SIZE_LIMIT_REACHED);
    CHECK_OK(create_file(&w, "g", NODE_SIZE_MAX / 4));
    world_end(&w);
}

void test_list_ranges(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 1 << 20));
    CHECK_STR(list_ranges(&w, "f", 0, 0), STR(""));
    for (uint64_t i = 0; i < 5; i++)
        CHECK_OK(put_range(&w, "f", i * 4096, filled(&w, 'a', 10)));
    CHECK_STR(list_ranges(&w, "f", 0, 0),
              STR("0-511 4096-4607 8192-8703 12288-12799 16384-16895 "));
    struct file_ranges_args args = {.request = request_of(&w, "f"),
                                    .has_range = true,
                                    .range_offset = 4100,
                                    .range_length = 8192,
                                    .max = 1};
    CHECK_OK(world_read(&w, file_list_ranges, &args));
    CHECK_INT(args.count, 1);
    CHECK_INT(args.ranges[0].start, 4100);
    CHECK_INT(args.ranges[0].end, 4608);
    CHECK_INT(args.next, 8192);
    args.marker = args.next;
    args.max = 10;
    CHECK_OK(world_read(&w, file_list_ranges, &args));
    CHECK_INT(args.count, 2);
    CHECK_INT(args.ranges[1].end, 12292);
    CHECK_INT(args.next, 0);
    world_end(&w);
}

/* Changes between two snapshots, or since one; cleared ranges; a recreated file; a file that did
 * not exist; a renamed one. */
void test_list_ranges_differences(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 1 << 20));
    CHECK_OK(put_range(&w, "f", 0, filled(&w, 'a', 100000)));
    int64_t first = snapshot_share(&w);
    CHECK_STR(list_ranges(&w, "f", 0, first), STR(""));
    CHECK_OK(put_range(&w, "f", 4096, filled(&w, 'b', 512)));
    CHECK_OK(put_range(&w, "f", 200000, filled(&w, 'c', 20000)));
    int64_t second = snapshot_share(&w);
    CHECK_OK(clear_range(&w, "f", 8192, 4096));
    CHECK_OK(clear_range(&w, "f", 199680, 512));
    CHECK_STR(list_ranges(&w, "f", 0, second), STR("!8192-12287 !199680-200191 "));
    CHECK_STR(list_ranges(&w, "f", second, first), STR("4096-4607 199680-220159 "));
    CHECK_STR(list_ranges(&w, "f", 0, first), STR("4096-4607 !8192-12287 200192-220159 "));
    CHECK_STR(list_ranges(&w, "f", first, 0), STR("0-100351 "));
    struct rename_args rename = {
        .request = request_of(&w, "g"), .kind = FILE_FILE, .source = STR("f")};
    CHECK_OK(world_write(&w, file_rename, &rename));
    struct file_ranges_args args = {
        .request = request_of(&w, "g"), .differences = true, .previous = second, .max = 10};
    CHECK_ERR(world_read(&w, file_list_ranges, &args), ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
    args.follow_rename = true;
    CHECK_OK(world_read(&w, file_list_ranges, &args));
    CHECK_INT(args.count, 2);
    args.previous = second + 1;
    CHECK_ERR(world_read(&w, file_list_ranges, &args), ERR_SHARE_SNAPSHOT_NOT_FOUND);
    CHECK_OK(create_file(&w, "g", 1 << 20));
    CHECK_OK(put_range(&w, "g", 0, filled(&w, 'a', 512)));
    CHECK_STR(list_ranges(&w, "g", 0, 0), STR("0-511 "));
    world_end(&w);
}

/* Snapshots show the share as it was, whatever happens to it later, and cost nothing to make. */
void test_snapshot_share(void)
{
    struct world w;
    world_begin(&w);
    CHECK_OK(create_directory(&w, "d"));
    CHECK_OK(create_file(&w, "d/f", 50000));
    CHECK_OK(put_range(&w, "d/f", 0, filled(&w, 'a', 50000)));
    CHECK_OK(create_file(&w, "small", 5));
    CHECK_OK(put_range(&w, "small", 0, STR("first")));
    int64_t first = snapshot_share(&w);
    CHECK_OK(put_range(&w, "small", 0, STR("other")));
    CHECK_OK(delete_file(&w, "d/f"));
    struct directory_args directory = {.request = request_of(&w, "d")};
    CHECK_OK(world_write(&w, file_delete_directory, &directory));
    int64_t second = snapshot_share(&w);
    CHECK_OK(create_file(&w, "small", 3));
    world_sweep(&w);
    CHECK_STR(list_directory(&w, "", 0), STR("small "));
    CHECK_STR(list_directory(&w, "", second), STR("small "));
    CHECK_STR(list_directory(&w, "", first), STR("d small "));
    CHECK_STR(list_directory(&w, "d", first), STR("f "));
    CHECK_STR(read_file(&w, "small", first), STR("first"));
    CHECK_STR(read_file(&w, "small", second), STR("other"));
    CHECK_STR(read_file(&w, "small", 0), STR("\0\0\0"));
    CHECK_STR(str_head(read_file(&w, "d/f", first), 3), STR("aaa"));
    struct share_args args = {.arena = &w.arena, .snapshot = first};
    CHECK_OK(engine_view(w.store.engine, w.partition, ENGINE_WAIT, file_get_share, &args));
    CHECK_INT(args.of_snapshot.usage, 50005);
    CHECK_OK(world_update(&w, file_delete_share, &args));
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_SHARE_NOT_FOUND);
    world_sweep(&w);
    struct engine_usage usage;
    engine_usage(w.store.engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
    CHECK_STR(read_file(&w, "small", second), STR("other"));
    args = (struct share_args){.arena = &w.arena};
    CHECK_ERR(world_update(&w, file_delete_share, &args), ERR_SHARE_HAS_SNAPSHOTS);
    for (int i = 1; i < SHARE_SNAPSHOTS_MAX; i++)
        (void)snapshot_share(&w);
    CHECK_ERR(world_update(&w, file_snapshot_share, &args), ERR_SHARE_SNAPSHOT_COUNT_EXCEEDED);
    world_end(&w);
}

/* ---- copies ---- */

static struct err copy(struct world *w, struct str from, const char *source, int64_t snapshot,
                       const char *to)
{
    struct copy_source *found = ARENA_NEW(&w->arena, struct copy_source);
    *found = (struct copy_source){
        .arena = &w->arena, .partition = from, .path = str_of(source), .snapshot = snapshot};
    TRY(engine_view(w->store.engine, from, ENGINE_WAIT, file_copy_find, found));
    struct copy_args args = {.request = request_of(w, to),
                             .source = found,
                             .url = STR("http://source"),
                             .id = {.bytes = {7}}};
    return world_write(w, file_copy_file, &args);
}

void test_copy_file(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    struct str other = w.partition;
    CHECK_OK(create_file(&w, "from", 9 << 20));
    CHECK_OK(put_range(&w, "from", 100, filled(&w, 'a', 4 << 20)));
    CHECK_OK(put_range(&w, "from", 8 << 20, STR("tail")));
    w.partition = world_share(&w, "second", SHARE_SMB);
    CHECK_OK(copy(&w, other, "from", 0, "to"));
    CHECK_OK(get_properties(&w, "to", &out));
    CHECK_INT(out.node.copy.status, COPY_PENDING);
    CHECK_ERR(put_range(&w, "to", 0, STR("x")), ERR_PENDING_COPY_OPERATION);
    world_sweep(&w);
    CHECK_OK(get_properties(&w, "to", &out));
    CHECK_INT(out.node.copy.status, COPY_SUCCESS);
    CHECK_INT(out.node.copy.done, 9 << 20);
    struct str got = read_file(&w, "to", 0);
    CHECK_STR(str_head(str_from(got, 98), 4), STR("\0\0aa"));
    CHECK_STR(str_head(str_from(got, 8 << 20), 5), STR("tail\0"));
    /* They share their bytes, and part when one is written to. */
    struct engine_usage usage;
    engine_usage(w.store.engine, &usage);
    CHECK(usage.segment_bytes < 5 << 20);
    CHECK_OK(put_range(&w, "to", 8 << 20, STR("TAIL")));
    CHECK_OK(copy(&w, w.partition, "to", 0, "third"));
    world_sweep(&w);
    CHECK_STR(str_head(str_from(read_file(&w, "third", 0), 8 << 20), 4), STR("TAIL"));
    CHECK_ERR(copy(&w, w.partition, "none", 0, "x"), ERR_RESOURCE_NOT_FOUND);
    struct share_args gone = {.arena = &w.arena};
    CHECK_OK(world_update(&w, file_delete_share, &gone));
    world_sweep(&w);
    w.partition = other;
    CHECK_STR(str_head(str_from(read_file(&w, "from", 0), 8 << 20), 4), STR("tail"));
    world_end(&w);
}

/* A source that changes under way fails the copy; a snapshot's never does. */
void test_copy_file_of_a_source_that_changes(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "from", 16 << 20));
    for (uint64_t i = 0; i < 2000; i++)
        CHECK_OK(put_range(&w, "from", i * 8192, STR("x")));
    int64_t snapshot = snapshot_share(&w);
    CHECK_OK(copy(&w, w.partition, "from", 0, "live"));
    CHECK_OK(copy(&w, w.partition, "from", snapshot, "past"));
    struct sweep_report report = {0};
    CHECK_OK(file_sweep(&w.store, NULL, &report));
    CHECK_OK(put_range(&w, "from", 0, STR("y")));
    world_sweep(&w);
    CHECK_OK(get_properties(&w, "live", &out));
    CHECK_INT(out.node.copy.status, COPY_FAILED);
    CHECK_OK(get_properties(&w, "past", &out));
    CHECK_INT(out.node.copy.status, COPY_SUCCESS);
    CHECK_STR(str_head(read_file(&w, "past", 0), 1), STR("x"));
    world_end(&w);
}

void test_abort_copy_file(void)
{
    struct world w;
    struct file_outcome out;
    world_begin(&w);
    CHECK_OK(create_file(&w, "from", 1000));
    CHECK_OK(put_range(&w, "from", 0, STR("x")));
    CHECK_OK(copy(&w, w.partition, "from", 0, "to"));
    struct copy_abort_args args = {.request = request_of(&w, "to"), .id = {.bytes = {8}}};
    CHECK_ERR(world_write(&w, file_abort_copy, &args), ERR_COPY_ID_MISMATCH);
    args.id.bytes[0] = 7;
    CHECK_OK(world_write(&w, file_abort_copy, &args));
    CHECK_ERR(world_write(&w, file_abort_copy, &args), ERR_NO_PENDING_COPY_OPERATION);
    CHECK_OK(get_properties(&w, "to", &out));
    CHECK_INT(out.node.copy.status, COPY_ABORTED);
    CHECK_INT(out.node.size, 0);
    world_end(&w);
}

/* The same through the table of small writes, large ones and holes, many times over. */
void test_put_range_many_times_keeps_its_rows(void)
{
    struct world w;
    struct engine_usage usage;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 4 << 20));
    CHECK_OK(put_range(&w, "f", 0, filled(&w, 'a', 4 << 20)));
    for (uint64_t i = 0; i < 6000; i++)
        CHECK_OK(put_range(&w, "f", i * 7 % 1024 * 4096, filled(&w, 'b', 4096)));
    world_sweep(&w);
    engine_usage(w.store.engine, &usage);
    CHECK(usage.segment_bytes <= 8 << 20);
    struct str got = read_file(&w, "f", 0);
    CHECK(got.p[0] == 'b' && memcmp(got.p, got.p + 1, got.n - 1) == 0);
    world_end(&w);
}

/* Blocks that are still being overwritten stay as they are; those of an idle file become one
 * extent. */
void test_put_range_is_folded_when_its_file_rests(void)
{
    struct world w;
    struct engine_usage usage;
    world_begin(&w);
    CHECK_OK(create_file(&w, "f", 4 << 20));
    for (uint64_t i = 0; i < 3000; i++) {
        CHECK_OK(put_range(&w, "f", i * 7 % 1024 * 4096, filled(&w, 'b', 4096)));
        if (i == 400) /* a lot that does not wait was drawn, for a chunk not worth it yet */
            world_sweep(&w);
    }
    world_sweep(&w);
    engine_usage(w.store.engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
    clock_advance(&w.clock, 6 * TICKS_PER_SECOND);
    world_sweep(&w);
    engine_usage(w.store.engine, &usage);
    CHECK_INT(usage.segment_bytes, 4 << 20);
    struct str got = read_file(&w, "f", 0);
    CHECK(got.p[0] == 'b' && memcmp(got.p, got.p + 1, got.n - 1) == 0);
    world_end(&w);
}

/* Files that are written continuously, in more shares than one step processes, do not delay other
 * work. */
void test_put_range_folds_that_wait_are_in_nobodys_way(void)
{
    enum { SHARES = 20 };
    struct world w;
    struct file_round round = {0};
    struct sweep_report report = {.more = true};
    struct engine_usage usage;
    struct str shares[SHARES];
    world_begin(&w);
    struct share_args gone = {.arena = &w.arena};
    struct str first = w.partition;
    for (int i = 0; i < SHARES; i++) {
        shares[i] = w.partition =
            world_share(&w, arena_cstr(&w.arena, arena_printf(&w.arena, "hot%02d", i)), SHARE_SMB);
        CHECK_OK(create_file(&w, "f", 4 << 20));
        for (uint64_t k = 0; k < 3000; k++)
            CHECK_OK(put_range(&w, "f", k % 1024 * 4096, STR("b")));
    }
    w.partition = world_share(&w, "zzz", SHARE_SMB);
    CHECK_OK(create_file(&w, "f", 1 << 20));
    CHECK_OK(put_range(&w, "f", 0, filled(&w, 'c', 1 << 20)));
    CHECK_OK(world_update(&w, file_delete_share, &gone));
    for (int steps = 0; steps < 1000 && report.more; steps++) {
        report = (struct sweep_report){0};
        CHECK_OK(file_sweep(&w.store, &round, &report));
    }
    CHECK(!report.more);
    engine_usage(w.store.engine, &usage);
    CHECK(usage.segment_bytes < 1 << 20); /* of the deleted share nothing is left */
    for (int i = 0; i < SHARES; i++) {
        w.partition = shares[i];
        CHECK_OK(world_update(&w, file_delete_share, &gone));
    }
    w.partition = first;
    world_end(&w);
}
