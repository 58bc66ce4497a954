/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/file_fixture.h"

#include <stdio.h>

#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"

#define START_TICKS (1700000000LL * TICKS_PER_SECOND)

struct str world_share(struct world *w, const char *name, enum share_protocol protocol)
{
    struct share_args args = {.arena = &w->arena, .protocol = protocol};
    struct str partition = file_partition(&w->arena, STR("acct"), str_of(name));
    CHECK_OK(engine_update_wait(w->store.engine, partition, file_create_share, &args));
    return partition;
}

static void begin_with(struct world *w, bool fault)
{
    *w = (struct world){0};
    clock_init_manual(&w->clock, START_TICKS);
    arena_init(&w->arena, SIZE_MAX);
    w->opens = opens_new();
    struct engine *e = engine_mem_new(&w->clock);
    w->store = (struct store){.engine = fault ? engine_fault_new(e) : engine_repeat_new(e),
                              .clock = &w->clock};
    w->partition = world_share(w, "share", SHARE_SMB);
}

void world_begin(struct world *w)
{
    begin_with(w, false);
}

void world_begin_fault(struct world *w)
{
    begin_with(w, true);
}

void world_sweep(struct world *w)
{
    struct sweep_report report = {.more = true};
    for (int i = 0; i < 10000 && report.more; i++) {
        report = (struct sweep_report){0};
        CHECK_OK(file_sweep(&w->store, NULL, &report));
    }
    CHECK(!report.more);
}

static bool count_partition(struct str partition, struct str value, void *arg)
{
    (void)partition;
    (void)value;
    ++*(int *)arg;
    return true;
}

void world_end(struct world *w)
{
    struct share_args args = {.arena = &w->arena,
                              .delete_snapshots = SHARE_SNAPSHOTS_INCLUDE_LEASED};
    struct engine_usage usage;
    int marked = 0;
    struct err error = world_update(w, file_delete_share, &args);
    CHECK(error.code == ERR_OK || error.code == ERR_SHARE_NOT_FOUND);
    world_sweep(w);
    engine_usage(w->store.engine, &usage);
    CHECK_INT(usage.segment_bytes, 0);
    CHECK_OK(engine_partitions(w->store.engine, FILE_SPACE, STR_NONE, FILE_KEY_SWEEP,
                               count_partition, &marked));
    CHECK_INT(marked, 0);
    engine_close(w->store.engine);
    opens_free(w->opens);
    arena_release(&w->arena);
}

struct err world_update(struct world *w, engine_fn *fn, void *args)
{
    return engine_update_wait(w->store.engine, w->partition, fn, args);
}

struct err world_write(struct world *w, engine_fn *fn, void *args)
{
    struct file_request *request = args;
    struct err error = world_update(w, fn, args);
    if (!err_is(error))
        file_pass_committed(&request->pass);
    file_pass_end(&request->pass);
    if (request->pass.owed)
        (void)file_pass_take_back(&request->pass);
    return error;
}

struct err world_read(struct world *w, engine_fn *fn, void *args)
{
    struct file_request *request = args;
    struct err error;
    do {
        file_pass_read_begin(&request->pass);
        error = engine_view(w->store.engine, w->partition, ENGINE_WAIT, fn, args);
        if (request->pass.waiting) {
            (void)file_pass_take_back(&request->pass);
            return err_new(ERR_CLIENT_CACHE_FLUSH_DELAY);
        }
    } while (!file_pass_read_end(&request->pass, &error) && !request->pass.waiting);
    if (request->pass.waiting) {
        (void)file_pass_take_back(&request->pass);
        error = err_new(ERR_CLIENT_CACHE_FLUSH_DELAY);
    }
    file_pass_end(&request->pass);
    return error;
}

static void not_called(struct opens_wait *wait)
{
    (void)wait;
}

struct file_request request_of(struct world *w, const char *path)
{
    return (struct file_request){
        .arena = &w->arena,
        .path = str_of(path),
        .pass = {.opens = w->opens, .wait = {.done = not_called}},
    };
}

struct err create_directory(struct world *w, const char *path)
{
    struct directory_args args = {.request = request_of(w, path)};
    return world_write(w, file_create_directory, &args);
}

struct err create_file(struct world *w, const char *path, uint64_t size)
{
    struct file_args args = {.request = request_of(w, path), .has_size = true, .size = size};
    return world_write(w, file_create_file, &args);
}

struct err delete_file(struct world *w, const char *path)
{
    struct file_args args = {.request = request_of(w, path)};
    return world_write(w, file_delete_file, &args);
}

static struct err write_extent(struct world *w, struct str bytes, struct extent *out)
{
    struct extent_writer *writer;
    TRY(extent_begin(w->store.engine, (uint32_t)bytes.n, 0, &writer));
    struct err error = extent_append(writer, bytes);
    if (err_is(error))
        extent_abandon(writer);
    TRY(error);
    return extent_finish(writer, out);
}

void discard_pieces(struct world *w, const struct pieces *pieces)
{
    for (size_t i = 0; i < pieces->count; i++)
        if (pieces->items[i].kind == PIECE_EXTENT)
            extent_discard(w->store.engine, &pieces->items[i].extent);
}

struct err make_pieces(struct world *w, uint64_t offset, struct str bytes, struct pieces *out)
{
    *out = (struct pieces){0};
    for (size_t done = 0; done < bytes.n;) {
        struct piece piece = {0};
        piece.length = interval_piece_length(offset + done, bytes.n - done, &piece.kind);
        struct str part = str_head(str_from(bytes, done), (size_t)piece.length);
        piece.bytes = part.p;
        struct err error = OK;
        if (piece.kind == PIECE_EXTENT)
            error = write_extent(w, part, &piece.extent);
        if (err_is(error))
            discard_pieces(w, out);
        TRY(error);
        pieces_add(out, &w->arena, &piece);
        done += part.n;
    }
    return OK;
}

struct err put_range(struct world *w, const char *path, uint64_t offset, struct str bytes)
{
    struct pieces pieces;
    TRY(make_pieces(w, offset, bytes, &pieces));
    struct file_range_args args = {.request = request_of(w, path),
                                   .offset = offset,
                                   .length = bytes.n,
                                   .pieces = &pieces,
                                   .last_write = {.kind = FILE_TIME_NOW}};
    struct err error = world_write(w, file_put_range, &args);
    if (err_is(error))
        discard_pieces(w, &pieces);
    return error;
}

struct err clear_range(struct world *w, const char *path, uint64_t offset, uint64_t length)
{
    struct file_range_args args = {
        .request = request_of(w, path), .offset = offset, .length = length};
    return world_write(w, file_put_range, &args);
}

static void take_piece(struct world *w, const struct piece *piece, struct buf *out)
{
    char *to = buf_reserve(out, (size_t)piece->length);
    if (piece->kind == PIECE_HOLE)
        memset(to, 0, piece->length);
    else if (piece->kind == PIECE_INLINE)
        memcpy(to, piece->bytes, piece->length);
    else
        CHECK_OK(extent_read(w->store.engine, &piece->extent, piece->extent_offset,
                             (uint32_t)piece->length, ENGINE_WAIT, to));
    out->n += piece->length;
}

struct str read_file(struct world *w, const char *path, int64_t snapshot)
{
    struct file_read_args args = {.request = request_of(w, path)};
    struct buf out = buf_in(&w->arena);
    args.request.snapshot = snapshot;
    CHECK_OK(world_read(w, file_get_file, &args));
    CHECK_INT(args.until, args.offset + args.length);
    for (size_t i = 0; i < args.pieces.count; i++)
        take_piece(w, &args.pieces.items[i], &out);
    CHECK_INT(out.n, args.length);
    return buf_str(&out);
}

struct err get_properties(struct world *w, const char *path, struct file_outcome *out)
{
    struct file_args args = {.request = request_of(w, path)};
    struct err error = world_read(w, file_get_file_properties, &args);
    *out = args.outcome;
    return error;
}

int64_t snapshot_share(struct world *w)
{
    struct share_args args = {.arena = &w->arena};
    CHECK_OK(world_update(w, file_snapshot_share, &args));
    return args.of_snapshot.stamp;
}

struct str list_ranges(struct world *w, const char *path, int64_t snapshot, int64_t previous)
{
    struct file_ranges_args args = {.request = request_of(w, path),
                                    .max = FILE_RANGES_MAX,
                                    .differences = previous != 0,
                                    .previous = previous};
    struct buf out = buf_in(&w->arena);
    args.request.snapshot = snapshot;
    CHECK_OK(world_read(w, file_list_ranges, &args));
    for (size_t i = 0; i < args.count; i++)
        buf_printf(&out, "%s%llu-%llu ", args.ranges[i].cleared ? "!" : "",
                   (unsigned long long)args.ranges[i].start,
                   (unsigned long long)args.ranges[i].end - 1);
    return buf_str(&out);
}

static void begin_list(void *sink, const struct file_found *directory, struct str path)
{
    (void)directory;
    (void)path;
    buf_clear(sink);
}

static void list_item(void *sink, const struct file_found *found)
{
    struct buf *out = sink;
    buf_put(out, found->entry.name);
    buf_putc(out, ' ');
}

struct str list_directory(struct world *w, const char *path, int64_t snapshot)
{
    struct buf out = buf_in(&w->arena);
    struct directory_list_args args = {.request = request_of(w, path),
                                       .max = FILE_LIST_MAX,
                                       .sink = &out,
                                       .begin = begin_list,
                                       .item = list_item};
    args.request.snapshot = snapshot;
    CHECK_OK(world_read(w, file_list_directory, &args));
    CHECK(!str_given(args.next));
    return buf_str(&out);
}

uint64_t share_usage(struct world *w)
{
    struct share_args args = {.arena = &w->arena};
    CHECK_OK(engine_view(w->store.engine, w->partition, ENGINE_WAIT, file_get_share, &args));
    return args.share.usage;
}
