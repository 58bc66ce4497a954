/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/blob_fixture.h"

#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"
#include "service/common/etag.h"
#include "service/common/fault_fixture.h"
#include "service/common/pairs.h"

static void init_with(struct blob_fixture *f, bool fault)
{
    *f = (struct blob_fixture){.versioning = false};
    clock_init_manual(&f->clock, BLOB_FIXTURE_NOW);
    arena_init(&f->arena, SIZE_MAX);
    struct engine *e = engine_mem_new(&f->clock);
    f->store = (struct store){.engine = fault ? engine_fault_new(e) : engine_repeat_new(e),
                              .clock = &f->clock};
    f->partition = blob_partition(&f->arena, STR("a"), STR("c"));
    struct container_args create = {.request = {.arena = &f->arena}};
    CHECK_OK(bf_update(f, blob_create_container, &create));
}

void bf_init(struct blob_fixture *f)
{
    init_with(f, false);
}

void bf_init_fault(struct blob_fixture *f)
{
    init_with(f, true);
}

void bf_release(struct blob_fixture *f)
{
    engine_close(f->store.engine);
    arena_release(&f->arena);
}

void bf_seconds(struct blob_fixture *f, int64_t seconds)
{
    clock_advance(&f->clock, seconds * TICKS_PER_SECOND);
}

struct err bf_update(struct blob_fixture *f, engine_fn *fn, void *arg)
{
    return engine_update_wait(f->store.engine, f->partition, fn, arg);
}

struct err bf_view(struct blob_fixture *f, engine_fn *fn, void *arg)
{
    return engine_view(f->store.engine, f->partition, ENGINE_WAIT, fn, arg);
}

struct err bf_view_on_loop(struct blob_fixture *f, engine_fn *fn, void *arg)
{
    return engine_view(f->store.engine, f->partition, ENGINE_NOWAIT, fn, arg);
}

/* ---- what a client says ---- */

struct blob_request bf_blob(struct blob_fixture *f, const char *name)
{
    return (struct blob_request){.arena = &f->arena,
                                 .name = str_of(name),
                                 .versioning = f->versioning,
                                 .settings = f->settings};
}

struct blob_request bf_version(struct blob_fixture *f, const char *name, int64_t id)
{
    struct blob_request request = bf_blob(f, name);
    request.at = (struct blob_at){.item = BLOB_VERSION, .time = id};
    return request;
}

void bf_retain(struct blob_fixture *f, unsigned days, bool permanent_delete)
{
    struct service_properties properties = {
        .given = 1U << PART_DELETE_RETENTION,
        .delete_retention = {
            .enabled = days > 0, .days = days, .permanent_delete = permanent_delete}};
    f->settings = service_properties_partition(&f->arena, SERVICE_BLOB, STR("a"));
    CHECK_OK(engine_update_wait(f->store.engine, f->settings, service_properties_set, &properties));
}

struct blob_request bf_snapshot(struct blob_fixture *f, const char *name, int64_t time)
{
    struct blob_request request = bf_blob(f, name);
    request.at = (struct blob_at){.item = BLOB_SNAPSHOT, .time = time};
    return request;
}

struct str bf_etag(struct blob_fixture *f, int64_t etag)
{
    struct buf text = buf_in(&f->arena);
    etag_put_quoted(&text, etag);
    return buf_str(&text);
}

struct blob_request bf_if_match(struct blob_fixture *f, const char *name, int64_t etag)
{
    struct blob_request request = bf_blob(f, name);
    request.conditions.if_match = bf_etag(f, etag);
    return request;
}

struct guid bf_guid(char letter)
{
    return (struct guid){{(unsigned char)letter}};
}

struct blob_request bf_with_lease(struct blob_fixture *f, const char *name, char id)
{
    struct blob_request request = bf_blob(f, name);
    request.lease = (struct lease_id){.given = true, .id = bf_guid(id)};
    return request;
}

struct str bf_bytes(struct blob_fixture *f, size_t n, unsigned seed)
{
    char *p = arena_bytes(&f->arena, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (char)(i * 31 + i / 253 + seed);
    return (struct str){p, n};
}

/* ---- operations ---- */

static struct err upload(struct blob_fixture *f, struct upload *u, struct str content,
                         uint64_t inline_max)
{
    struct upload_options options = {
        .inline_max = inline_max, .expected = (int64_t)content.n, .wants_md5 = true};
    upload_init(u, &f->store, &f->arena, &options);
    struct err e = upload_take(u, content);
    return err_is(e) ? e : upload_end(u);
}

struct err bf_put(struct blob_fixture *f, struct blob_request request, struct str content,
                  struct blob_head *head)
{
    struct upload u;
    struct err e = upload(f, &u, content, UPLOAD_INLINE_MAX);
    struct blob_put_args args = {.request = request, .pieces = &u.pieces, .size = u.size};
    if (!err_is(e))
        e = bf_update(f, blob_put_blob, &args);
    if (err_is(e))
        upload_discard(&u);
    else if (head != NULL)
        *head = args.head;
    return e;
}

static struct str read_pieces(struct blob_fixture *f, const struct pieces *pieces)
{
    struct buf out = buf_in(&f->arena);
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->items[i];
        char *to = buf_reserve(&out, (size_t)piece->length);
        if (piece->kind == PIECE_EXTENT)
            CHECK_OK(extent_read(f->store.engine, &piece->extent, piece->extent_offset,
                                 (uint32_t)piece->length, ENGINE_WAIT, to));
        else if (piece->kind == PIECE_INLINE)
            memcpy(to, piece->bytes, (size_t)piece->length);
        else
            memset(to, 0, (size_t)piece->length);
        out.n += (size_t)piece->length;
    }
    return buf_str(&out);
}

struct err bf_get(struct blob_fixture *f, struct blob_request request, struct str *content)
{
    struct blob_get_args args = {.request = request, .store = &f->store, .wants_content = true};
    struct engine_pin *pin = engine_pin(f->store.engine);
    struct err e = bf_view(f, blob_get_blob, &args);
    if (!err_is(e))
        *content = read_pieces(f, &args.pieces);
    engine_unpin(f->store.engine, pin);
    return e;
}

struct err bf_properties(struct blob_fixture *f, struct blob_request request,
                         struct blob_head *head)
{
    struct blob_get_args args = {.request = request, .store = &f->store};
    TRY(bf_view(f, blob_get_blob, &args));
    *head = args.head;
    return OK;
}

struct err bf_set_metadata(struct blob_fixture *f, struct blob_request request, const char *value,
                           struct blob_head *head)
{
    struct pair pair = {STR("k"), str_of(value)};
    struct pairs pairs = {&pair, 1};
    struct blob_set_args args = {.request = request, .metadata = pairs_encode(&f->arena, &pairs)};
    TRY(bf_update(f, blob_set_blob_metadata, &args));
    if (head != NULL)
        *head = args.head;
    return OK;
}

struct err bf_take_snapshot(struct blob_fixture *f, struct blob_request request, int64_t *time)
{
    struct blob_set_args args = {.request = request};
    TRY(bf_update(f, blob_snapshot_blob, &args));
    *time = args.snapshot;
    return OK;
}

struct err bf_delete(struct blob_fixture *f, struct blob_request request,
                     enum blob_delete_snapshots snapshots)
{
    struct blob_delete_args args = {.request = request, .snapshots = snapshots};
    return bf_update(f, blob_delete_blob, &args);
}

struct err bf_delete_permanently(struct blob_fixture *f, struct blob_request request)
{
    struct blob_delete_args args = {.request = request, .permanent = true};
    return bf_update(f, blob_delete_blob, &args);
}

struct err bf_undelete(struct blob_fixture *f, const char *name)
{
    struct blob_undelete_args args = {.request = bf_blob(f, name)};
    return bf_update(f, blob_undelete_blob, &args);
}

struct err bf_lease(struct blob_fixture *f, struct blob_request request, struct lease_request lease,
                    int *left)
{
    struct blob_set_args args = {.request = request, .lease = lease};
    TRY(bf_update(f, blob_lease_blob, &args));
    if (left != NULL)
        *left = args.lease_left_seconds;
    return OK;
}

struct err bf_acquire(struct blob_fixture *f, const char *name, char id, int seconds)
{
    struct lease_request acquire = {
        .action = LEASE_ACQUIRE, .proposed = bf_guid(id), .seconds = seconds};
    return bf_lease(f, bf_blob(f, name), acquire, NULL);
}

struct err bf_stage(struct blob_fixture *f, struct blob_request request, const char *id,
                    struct str content)
{
    struct upload u;
    struct err e = upload(f, &u, content, BLOCK_INLINE_MAX);
    struct block_put_args args = {.request = request, .id = str_of(id), .pieces = &u.pieces};
    if (!err_is(e))
        e = bf_update(f, blob_put_block, &args);
    if (err_is(e))
        upload_discard(&u);
    return e;
}

struct err bf_commit(struct blob_fixture *f, struct blob_request request, const char *list,
                     struct blob_head *head)
{
    struct block_entry entries[16];
    struct block_commit_args args = {.request = request, .entries = entries};
    struct str rest = str_of(list);
    while (str_given(rest) && rest.n > 0) {
        struct str item = str_cut(&rest, ' ');
        CHECK(args.count < sizeof entries / sizeof entries[0]);
        entries[args.count++] = (struct block_entry){item.p[0] == 'c'   ? BLOCK_COMMITTED
                                                     : item.p[0] == 'u' ? BLOCK_UNCOMMITTED
                                                                        : BLOCK_LATEST,
                                                     str_from(item, 1)};
    }
    TRY(bf_update(f, blob_put_block_list, &args));
    if (head != NULL)
        *head = args.head;
    return OK;
}

/* ---- listing ---- */

static void list_begin(void *sink)
{
    buf_clear(sink);
}

static void list_item(void *sink, const struct blob_list_item *item)
{
    buf_put(sink, item->name);
    if (item->at.item == BLOB_SNAPSHOT)
        buf_putc(sink, '@');
    if (item->versions_only)
        buf_putc(sink, '%');
    else if (item->at.item == BLOB_VERSION)
        buf_putc(sink, '~');
    if (item->head.deleted != 0 && !item->versions_only)
        buf_putc(sink, '!');
    if (!item->head.committed)
        buf_putc(sink, '?');
    buf_putc(sink, ' ');
}

static void list_prefix(void *sink, struct str prefix)
{
    buf_put(sink, prefix);
    buf_putc(sink, ' ');
}

struct str bf_list(struct blob_fixture *f, struct blob_list_args args)
{
    struct buf page = buf_in(&f->arena), all = buf_in(&f->arena);
    args.arena = &f->arena;
    args.sink = &page;
    args.begin = list_begin;
    args.item = list_item;
    args.prefix_found = list_prefix;
    if (args.max == 0)
        args.max = LIST_RESULTS_MAX;
    do {
        CHECK_OK(bf_view(f, blob_list_blobs, &args));
        buf_put(&all, buf_str(&page));
        args.marker = args.next;
    } while (str_given(args.next));
    return buf_str(&all);
}

struct err bf_try_list(struct blob_fixture *f, struct blob_list_args args)
{
    struct buf page = buf_in(&f->arena);
    args.arena = &f->arena;
    args.sink = &page;
    args.begin = list_begin;
    args.item = list_item;
    args.prefix_found = list_prefix;
    return bf_view(f, blob_list_blobs, &args);
}

static void list_kind(void *sink, const struct blob_list_item *item)
{
    static const char KINDS[] = {[BLOB_BASE] = 'B', [BLOB_SNAPSHOT] = 'S', [BLOB_VERSION] = 'V'};
    buf_putc(sink, KINDS[item->at.item]);
    if (item->head.deleted != 0)
        buf_putc(sink, '!');
    if (!item->head.committed)
        buf_putc(sink, '?');
    buf_putc(sink, ' ');
}

struct str bf_kinds(struct blob_fixture *f, const char *name)
{
    struct buf all = buf_in(&f->arena);
    struct blob_list_args args = {.arena = &f->arena,
                                  .prefix = str_of(name),
                                  .max = LIST_RESULTS_MAX,
                                  .wants_snapshots = true,
                                  .wants_versions = true,
                                  .wants_deleted = true,
                                  .wants_uncommitted = true,
                                  .sink = &all,
                                  .begin = list_begin,
                                  .item = list_kind,
                                  .prefix_found = list_prefix};
    CHECK_OK(bf_view(f, blob_list_blobs, &args));
    return buf_str(&all);
}

static void put_blocks(struct buf *out, const struct block_info *blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        buf_put(out, blocks[i].id);
        buf_putc(out, '=');
        buf_put_u64(out, blocks[i].size);
        buf_putc(out, ' ');
    }
}

struct str bf_blocks(struct blob_fixture *f, struct blob_request request)
{
    struct block_list_args args = {
        .request = request, .wants_committed = true, .wants_uncommitted = true};
    struct buf out = buf_in(&f->arena);
    CHECK_OK(bf_view(f, blob_get_block_list, &args));
    put_blocks(&out, args.committed, args.committed_count);
    buf_putc(&out, '|');
    put_blocks(&out, args.uncommitted, args.uncommitted_count);
    return buf_str(&out);
}

/* ---- looking behind ---- */

struct str bf_content(struct blob_fixture *f, const char *name)
{
    struct str content;
    CHECK_OK(bf_get(f, bf_blob(f, name), &content));
    return content;
}

struct faulty {
    struct blob_fixture *fixture;
    bf_operation *run;
};

static struct err run_faulty(void *world)
{
    const struct faulty *faulty = world;
    return faulty->run(faulty->fixture);
}

uint64_t bf_fail_each_call(struct blob_fixture *f, bf_operation *run)
{
    struct faulty faulty = {f, run};
    return fault_each_call(f->store.engine, &f->arena, run_faulty, &faulty);
}

void bf_fail_and_end(struct blob_fixture *f, bf_operation *run)
{
    struct str before = bf_dump(f);
    CHECK(bf_fail_each_call(f, run) > 2);
    CHECK(!str_eq(bf_dump(f), before));
    bf_end(f);
}

struct str bf_dump(struct blob_fixture *f)
{
    return fault_dump(f->store.engine, &f->arena, NULL);
}

size_t bf_rows(struct blob_fixture *f)
{
    size_t rows;
    (void)fault_dump(f->store.engine, &f->arena, &rows);
    return rows;
}

void bf_expire(struct blob_fixture *f)
{
    struct sweep_report report;
    do {
        struct blob_round round = {0};
        report = (struct sweep_report){0};
        CHECK_OK(blob_expire(&f->store, &round, &report));
    } while (report.removed > 0);
}

void bf_sweep(struct blob_fixture *f)
{
    struct blob_round round = {0}, expiry = {0};
    struct sweep_report report = {.more = true};
    while (report.more) {
        report = (struct sweep_report){0};
        CHECK_OK(blob_expire(&f->store, &expiry, &report));
    }
    report.more = true;
    while (report.more) {
        report = (struct sweep_report){0};
        CHECK_OK(blob_sweep(&f->store, &round, &report));
    }
}

void bf_end(struct blob_fixture *f)
{
    struct container_args args = {.request = {.arena = &f->arena}};
    CHECK_OK(bf_update(f, blob_delete_container, &args));
    bf_sweep(f);
    CHECK_INT(bf_extent_bytes(f), 0);
    CHECK_INT(bf_rows(f), str_given(f->settings) ? 1 : 0); /* the account's properties stay */
    bf_release(f);
}

uint64_t bf_extent_bytes(struct blob_fixture *f)
{
    return fault_extent_bytes(f->store.engine);
}
