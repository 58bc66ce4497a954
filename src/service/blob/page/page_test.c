/* SPDX-License-Identifier: Apache-2.0 */
#include "service/blob/page/page.h"
#include "service/blob/page/page_clears.h"

#include "engine/fault.h"
#include "service/blob/blob_fixture.h"
#include "service/common/content/interval_upload.h"

#define KIB 1024ULL

static struct err create(struct blob_fixture *f, const char *name, uint64_t size)
{
    struct blob_create_page_args args = {.request = bf_blob(f, name), .size = size};
    return bf_update(f, blob_create_page_blob, &args);
}

static struct err write_pages(struct blob_fixture *f, struct blob_page_args *args, struct str bytes)
{
    struct interval_upload upload;
    interval_upload_init(&upload, f->store.engine, &f->arena, args->offset, bytes.n);
    CHECK_OK(interval_upload_take(&upload, bytes));
    CHECK_OK(interval_upload_end(&upload));
    args->length = bytes.n;
    args->pieces = &upload.pieces;
    struct err error = bf_update(f, blob_put_page, args);
    if (err_is(error))
        interval_upload_discard(&upload);
    return error;
}

static struct err write_at(struct blob_fixture *f, const char *name, uint64_t offset,
                           struct str bytes)
{
    struct blob_page_args args = {.request = bf_blob(f, name), .offset = offset};
    return write_pages(f, &args, bytes);
}

static struct err clear_at(struct blob_fixture *f, const char *name, uint64_t offset,
                           uint64_t length)
{
    struct blob_page_args args = {.request = bf_blob(f, name), .offset = offset, .length = length};
    return bf_update(f, blob_put_page, &args);
}

/* "start-end " of each range, cleared ones with a "!" before. */
static struct str show(struct blob_fixture *f, struct blob_page_ranges_args *args)
{
    struct buf out = buf_in(&f->arena);
    CHECK_OK(bf_view(f, blob_get_page_ranges, args));
    for (size_t i = 0; i < args->count; i++)
        buf_printf(&out, "%s%llu-%llu ", args->ranges[i].cleared ? "!" : "",
                   (unsigned long long)args->ranges[i].start,
                   (unsigned long long)args->ranges[i].end);
    return buf_str(&out);
}

static struct str ranges(struct blob_fixture *f, const char *name)
{
    struct blob_page_ranges_args args = {.request = bf_blob(f, name), .max = 100};
    return show(f, &args);
}

static struct str differences(struct blob_fixture *f, struct blob_request request, int64_t previous)
{
    struct blob_page_ranges_args args = {
        .request = request, .max = 100, .differences = true, .previous = previous};
    return show(f, &args);
}

void test_put_page(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 64 * KIB));
    CHECK_STR(ranges(&f, "p"), STR(""));
    struct str bytes = bf_bytes(&f, 1024, 1);
    CHECK_OK(write_at(&f, "p", 512, bytes));
    struct str all = bf_content(&f, "p");
    CHECK_INT(all.n, 64 * KIB);
    CHECK_STR(((struct str){all.p + 512, 1024}), bytes);
    CHECK(all.p[0] == 0 && all.p[511] == 0 && all.p[1536] == 0);
    CHECK_STR(ranges(&f, "p"), STR("512-1536 "));
    CHECK_OK(write_at(&f, "p", 1536, bytes));
    CHECK_STR(ranges(&f, "p"), STR("512-2560 "));
    CHECK_OK(clear_at(&f, "p", 1024, 512));
    CHECK_STR(ranges(&f, "p"), STR("512-1024 1536-2560 "));
    CHECK_ERR(write_at(&f, "p", 64 * KIB, bytes), ERR_INVALID_PAGE_RANGE);
    CHECK_ERR(write_at(&f, "none", 0, bytes), ERR_BLOB_NOT_FOUND);
    bf_release(&f);
}

void test_put_page_large_and_sparse(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, "p", BLOB_PAGE_SIZE_MAX));
    struct str bytes = bf_bytes(&f, 1 << 20, 2);
    uint64_t far = (5ULL << 40) + 512;
    CHECK_OK(write_at(&f, "p", far, bytes));
    struct blob_get_args get = {.request = bf_blob(&f, "p"),
                                .store = &f.store,
                                .wants_content = true,
                                .has_range = true,
                                .range_offset = far - 512,
                                .range_length = (1 << 20) + 1024};
    CHECK_OK(bf_view(&f, blob_get_blob, &get));
    CHECK_INT(pieces_length(&get.pieces), (1 << 20) + 1024);
    CHECK_OK(clear_at(&f, "p", 0, BLOB_PAGE_SIZE_MAX));
    CHECK_STR(ranges(&f, "p"), STR(""));
    bf_release(&f);
}

void test_put_page_sequence_conditions(void)
{
    struct blob_fixture f;
    bf_init(&f);
    struct blob_create_page_args made = {.request = bf_blob(&f, "p"), .size = 1024, .sequence = 7};
    CHECK_OK(bf_update(&f, blob_create_page_blob, &made));
    static const struct {
        struct blob_sequence_conditions c;
        bool met;
    } cells[] = {
        {{.has_le = true, .le = 7}, true}, {{.has_le = true, .le = 6}, false},
        {{.has_lt = true, .lt = 8}, true}, {{.has_lt = true, .lt = 7}, false},
        {{.has_eq = true, .eq = 7}, true}, {{.has_eq = true, .eq = 8}, false},
    };
    for (size_t i = 0; i < sizeof cells / sizeof cells[0]; i++) {
        struct blob_page_args args = {.request = bf_blob(&f, "p"), .sequence = cells[i].c};
        CHECK_ERR(write_pages(&f, &args, bf_bytes(&f, 512, 1)),
                  cells[i].met ? ERR_OK : ERR_SEQUENCE_NUMBER_CONDITION_NOT_MET);
    }
    bf_release(&f);
}

static struct err change(struct blob_fixture *f, struct blob_page_change change, uint64_t *sequence)
{
    struct blob_set_args args = {.request = bf_blob(f, "p"), .keep_http = true, .pages = &change};
    struct err error = bf_update(f, blob_set_blob_properties, &args);
    *sequence = args.head.sequence;
    return error;
}

void test_set_blob_properties_of_page_blobs(void)
{
    struct blob_fixture f;
    uint64_t n = 0;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 4096));
    CHECK_OK(write_at(&f, "p", 2048, bf_bytes(&f, 2048, 1)));
    CHECK_OK(
        change(&f, (struct blob_page_change){.action = BLOB_SEQUENCE_UPDATE, .number = 5}, &n));
    CHECK_INT(n, 5);
    CHECK_OK(change(&f, (struct blob_page_change){.action = BLOB_SEQUENCE_MAX, .number = 3}, &n));
    CHECK_INT(n, 5);
    CHECK_OK(change(&f, (struct blob_page_change){.action = BLOB_SEQUENCE_INCREMENT}, &n));
    CHECK_INT(n, 6);
    CHECK_OK(change(
        &f, (struct blob_page_change){.action = BLOB_SEQUENCE_UPDATE, .number = INT64_MAX}, &n));
    CHECK_ERR(change(&f, (struct blob_page_change){.action = BLOB_SEQUENCE_INCREMENT}, &n),
              ERR_SEQUENCE_NUMBER_INCREMENT_TOO_LARGE);
    CHECK_OK(change(&f, (struct blob_page_change){.resize = true, .size = 3072}, &n));
    CHECK_STR(ranges(&f, "p"), STR("2048-3072 "));
    CHECK_OK(change(&f, (struct blob_page_change){.resize = true, .size = 8192}, &n));
    CHECK_STR(ranges(&f, "p"), STR("2048-3072 "));
    CHECK_INT(bf_content(&f, "p").n, 8192);
    bf_release(&f);
}

void test_get_page_ranges_differences(void)
{
    struct blob_fixture f;
    int64_t first = 0;
    int64_t second = 0;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 64 * KIB));
    CHECK_OK(write_at(&f, "p", 0, bf_bytes(&f, 4096, 1)));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &first));
    CHECK_OK(write_at(&f, "p", 8192, bf_bytes(&f, 512, 2)));
    CHECK_OK(clear_at(&f, "p", 0, 512));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &second));
    CHECK_OK(write_at(&f, "p", 1024, bf_bytes(&f, 512, 3)));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), first), STR("!0-512 1024-1536 8192-8704 "));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), second), STR("1024-1536 "));
    CHECK_STR(differences(&f, bf_snapshot(&f, "p", second), first), STR("!0-512 8192-8704 "));
    struct blob_page_ranges_args newer = {
        .request = bf_snapshot(&f, "p", first), .max = 10, .differences = true, .previous = second};
    CHECK_ERR(bf_view(&f, blob_get_page_ranges, &newer), ERR_PREVIOUS_SNAPSHOT_CANNOT_BE_NEWER);
    CHECK_OK(create(&f, "p", 64 * KIB));
    struct blob_page_ranges_args old = {
        .request = bf_blob(&f, "p"), .max = 10, .differences = true, .previous = first};
    CHECK_ERR(bf_view(&f, blob_get_page_ranges, &old), ERR_BLOB_OVERWRITTEN);
    old.previous = first + 1;
    CHECK_ERR(bf_view(&f, blob_get_page_ranges, &old), ERR_PREVIOUS_SNAPSHOT_NOT_FOUND);
    bf_release(&f);
}

/* Pages written after the snapshot and cleared again are reported as cleared, although the snapshot
 * has none there either. Pages cleared before it are not. */
void test_get_page_ranges_differences_of_pages_that_came_and_went(void)
{
    struct blob_fixture f;
    int64_t first = 0;
    int64_t second = 0;
    int64_t third = 0;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 64 * KIB));
    CHECK_OK(write_at(&f, "p", 4096, bf_bytes(&f, 4096, 1)));
    CHECK_OK(clear_at(&f, "p", 4096, 4096));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &first));
    CHECK_OK(write_at(&f, "p", 0, bf_bytes(&f, 1536, 1)));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &second));
    CHECK_OK(clear_at(&f, "p", 512, 512));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), first), STR("0-512 !512-1024 1024-1536 "));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), second), STR("!512-1024 "));
    CHECK_STR(differences(&f, bf_snapshot(&f, "p", second), first), STR("0-1536 "));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &third));
    CHECK_OK(write_at(&f, "p", 512, bf_bytes(&f, 512, 1)));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), first), STR("0-1536 "));
    CHECK_STR(differences(&f, bf_snapshot(&f, "p", third), first),
              STR("0-512 !512-1024 1024-1536 "));
    CHECK_STR(differences(&f, bf_snapshot(&f, "p", third), second), STR("!512-1024 "));
    bf_release(&f);
}

/* A head records a limited number of them, and the others are not reported: the snapshot has no
 * pages there. */
void test_get_page_ranges_differences_of_many_clears(void)
{
    struct blob_fixture f;
    int64_t first = 0;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 256 * KIB));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &first));
    for (uint64_t i = 0; i < 100; i++)
        CHECK_OK(clear_at(&f, "p", i * 1024, 512));
    struct blob_page_ranges_args args = {
        .request = bf_blob(&f, "p"), .max = 100, .differences = true, .previous = first};
    CHECK_OK(bf_view(&f, blob_get_page_ranges, &args));
    CHECK_INT(args.count, PAGE_CLEARS_MAX);
    CHECK_INT(args.ranges[0].start, (100 - PAGE_CLEARS_MAX) * 1024);
    CHECK(args.ranges[0].cleared);
    CHECK_OK(clear_at(&f, "p", 0, 256 * KIB));
    CHECK_STR(differences(&f, bf_blob(&f, "p"), first), STR("!0-262144 "));
    bf_release(&f);
}

void test_get_page_ranges_pages(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 64 * KIB));
    for (uint64_t i = 0; i < 5; i++)
        CHECK_OK(write_at(&f, "p", i * 1024, bf_bytes(&f, 512, 1)));
    struct blob_page_ranges_args args = {.request = bf_blob(&f, "p"), .max = 2};
    CHECK_STR(show(&f, &args), STR("0-512 1024-1536 "));
    CHECK(args.more);
    args.marker = args.next;
    CHECK_STR(show(&f, &args), STR("2048-2560 3072-3584 "));
    args.marker = args.next;
    CHECK_STR(show(&f, &args), STR("4096-4608 "));
    CHECK(!args.more);
    bf_release(&f);
}

void test_page_blob_snapshot_reads_as_it_was(void)
{
    struct blob_fixture f;
    int64_t time = 0;
    struct str then;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 64 * KIB));
    struct str before = bf_bytes(&f, 64 * KIB, 1);
    CHECK_OK(write_at(&f, "p", 0, before));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &time));
    CHECK_OK(write_at(&f, "p", 512, bf_bytes(&f, 1024, 9)));
    CHECK_OK(clear_at(&f, "p", 32 * KIB, 16 * KIB));
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "p", time), &then));
    CHECK_STR(then, before);
    CHECK_OK(bf_delete(&f, bf_snapshot(&f, "p", time), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_STR(ranges(&f, "p"), STR("0-32768 49152-65536 "));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "p"), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    bf_release(&f);
}

/* A version has the pages that existed when it stopped being the current one, including those
 * written after it began. */
void test_page_blob_versions(void)
{
    struct blob_fixture f;
    struct blob_head first, second;
    struct str content;
    int64_t time;
    bf_init(&f);
    f.versioning = true;
    CHECK_OK(create(&f, "p", 4 * KIB));
    CHECK_OK(bf_properties(&f, bf_blob(&f, "p"), &first));
    struct str a = bf_bytes(&f, 512, 1), b = bf_bytes(&f, 512, 2), c = bf_bytes(&f, 512, 3);
    CHECK_OK(write_at(&f, "p", 0, a));
    CHECK_OK(bf_set_metadata(&f, bf_blob(&f, "p"), "v", &second));
    CHECK_OK(write_at(&f, "p", 0, b));
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &time));
    CHECK_OK(write_at(&f, "p", 0, c));
    CHECK_OK(bf_get(&f, bf_version(&f, "p", first.version), &content));
    CHECK_STR(str_head(content, 512), a);
    CHECK_OK(bf_get(&f, bf_version(&f, "p", second.version), &content));
    CHECK_STR(str_head(content, 512), b);
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "p", time), &content));
    CHECK_STR(str_head(content, 512), b);
    CHECK_STR(str_head(bf_content(&f, "p"), 512), c);
    /* One after the other goes; the others stay what they are. */
    CHECK_OK(bf_delete(&f, bf_blob(&f, "p"), BLOB_SNAPSHOTS_INCLUDE));
    CHECK_OK(bf_delete(&f, bf_version(&f, "p", second.version), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_OK(bf_get(&f, bf_version(&f, "p", first.version), &content));
    CHECK_STR(str_head(content, 512), a);
    CHECK_OK(bf_get(&f, bf_version(&f, "p", time), &content));
    CHECK_STR(str_head(content, 512), c);
    CHECK_OK(bf_delete(&f, bf_version(&f, "p", first.version), BLOB_SNAPSHOTS_KEEP));
    CHECK_OK(bf_delete(&f, bf_version(&f, "p", time), BLOB_SNAPSHOTS_KEEP));
    bf_sweep(&f);
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_INT(bf_rows(&f), 1);
    bf_release(&f);
}

/* An overwritten blob is soft-deleted with its pages, and restored with them. */
void test_page_blob_soft_delete(void)
{
    struct blob_fixture f;
    struct str content;
    bf_init(&f);
    bf_retain(&f, 7, false);
    CHECK_OK(create(&f, "p", 4 * KIB));
    CHECK_OK(write_at(&f, "p", 512, bf_bytes(&f, 512, 1)));
    CHECK_OK(bf_delete(&f, bf_blob(&f, "p"), BLOB_SNAPSHOTS_KEEP));
    CHECK_ERR(write_at(&f, "p", 0, bf_bytes(&f, 512, 1)), ERR_BLOB_NOT_FOUND);
    CHECK_OK(bf_undelete(&f, "p"));
    CHECK_STR(ranges(&f, "p"), STR("512-1024 "));
    CHECK_OK(create(&f, "p", 4 * KIB));
    CHECK_STR(ranges(&f, "p"), STR(""));
    CHECK_STR(bf_kinds(&f, "p"), STR("S! B "));
    bf_seconds(&f, 8LL * 86400);
    bf_sweep(&f);
    CHECK_STR(bf_kinds(&f, "p"), STR("B "));
    CHECK_INT(bf_extent_bytes(&f), 0);
    CHECK_OK(bf_get(&f, bf_blob(&f, "p"), &content));
    bf_release(&f);
}

/* ---- what the sweeper does ---- */

/* Every other 4 KiB of a chunk, and the whole of it read back. */
static struct str fragment(struct blob_fixture *f, const char *name, unsigned seed)
{
    for (unsigned i = 0; i < 1024; i += 2)
        CHECK_OK(write_at(f, name, i * 4 * KIB, bf_bytes(f, 4 * KIB, seed + i)));
    return bf_content(f, name);
}

void test_put_page_fragments_are_folded_in_the_background(void)
{
    struct blob_fixture f;
    struct blob_head before, after;
    bf_init_fault(&f);
    CHECK_OK(create(&f, "p", 4096 * KIB));
    struct str content = fragment(&f, "p", 1);
    struct str shown = ranges(&f, "p");
    size_t rows = bf_rows(&f);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "p"), &before));
    bf_sweep(&f);
    CHECK(bf_rows(&f) + 500 < rows);
    CHECK(bf_extent_bytes(&f) > 0);
    CHECK_STR(bf_content(&f, "p"), content);
    CHECK_STR(ranges(&f, "p"), shown);
    CHECK_OK(bf_properties(&f, bf_blob(&f, "p"), &after));
    CHECK(after.etag == before.etag);
    bf_release(&f);
}

/* A snapshot's pages stay what they were, and what changed since it is still known. */
void test_put_page_fold_leaves_snapshots_alone(void)
{
    struct blob_fixture f;
    int64_t snapshot;
    bf_init_fault(&f);
    CHECK_OK(create(&f, "p", 4096 * KIB));
    struct str then = fragment(&f, "p", 1);
    CHECK_OK(bf_take_snapshot(&f, bf_blob(&f, "p"), &snapshot));
    struct str now = fragment(&f, "p", 7);
    bf_sweep(&f);
    struct str content;
    CHECK_OK(bf_get(&f, bf_snapshot(&f, "p", snapshot), &content));
    CHECK_STR(content, then);
    CHECK_STR(bf_content(&f, "p"), now);
    CHECK_OK(write_at(&f, "p", 8 * KIB, bf_bytes(&f, 512, 3)));
    CHECK(str_starts(differences(&f, bf_blob(&f, "p"), snapshot), STR("0-4096 8192-12288 ")));
    bf_release(&f);
}

/* More bulk clears than a blob can record: the sweeper makes room. */
void test_put_page_clears_in_bulk_are_swept(void)
{
    struct blob_fixture f;
    bf_init_fault(&f);
    CHECK_OK(create(&f, "p", 4096 * 4096 * KIB));
    for (unsigned round = 0; round < 12; round++) {
        for (uint64_t at = 0; at < 2500; at++)
            CHECK_OK(write_at(&f, "p", (round * 4096 + at) * 4 * KIB, bf_bytes(&f, 512, 1)));
        CHECK_OK(clear_at(&f, "p", 0, 4096 * 4096 * KIB));
        bf_sweep(&f);
    }
    CHECK_STR(ranges(&f, "p"), STR(""));
    bf_release(&f);
}

/* A large blob may have many pages: its ranges are not gathered on an event loop. */
void test_get_page_ranges_of_a_large_blob_leaves_the_loop(void)
{
    struct blob_fixture f;
    bf_init(&f);
    CHECK_OK(create(&f, "p", 1 << 30));
    CHECK_OK(write_at(&f, "p", 512 << 20, bf_bytes(&f, 512, 1)));
    struct blob_page_ranges_args args = {.request = bf_blob(&f, "p"), .max = 100};
    CHECK_ERR(bf_view_on_loop(&f, blob_get_page_ranges, &args), ERR_LONG_WORK);
    CHECK_OK(bf_view(&f, blob_get_page_ranges, &args));
    CHECK_INT(args.count, 1);
    bf_release(&f);
}

/* A fold that fails anywhere leaves the pages unchanged and no copy of them. It makes thousands of
 * calls, so only a sample of them fails. */
void test_put_page_fold_that_fails_changes_nothing(void)
{
    struct blob_fixture f;
    bf_init_fault(&f);
    CHECK_OK(create(&f, "p", 4096 * KIB));
    struct str content = fragment(&f, "p", 1);
    struct str before = bf_dump(&f);
    uint64_t bytes = bf_extent_bytes(&f);
    for (uint64_t n = 1; str_eq(bf_dump(&f), before); n += n / 4 + 1) {
        struct blob_round round = {0};
        struct sweep_report report = {0};
        engine_fault_arm(f.store.engine, n, err_new(ERR_IO));
        struct err error = blob_sweep(&f.store, &round, &report);
        engine_fault_arm(f.store.engine, 0, OK);
        if (err_is(error)) {
            CHECK_STR(bf_dump(&f), before);
            CHECK_INT(bf_extent_bytes(&f), bytes);
        }
        CHECK_STR(bf_content(&f, "p"), content);
    }
    bf_release(&f);
}

/* ---- differences against arrays ---- */

enum { MODEL_PAGES = (9 << 20) / 512, MODEL_SNAPSHOTS = 5 };

/* For each page: when it was written (0 if it is clear), and when it was last cleared. */
struct page_state {
    int64_t snapshot; /* its time; 0: as of now */
    unsigned written[MODEL_PAGES];
    unsigned cleared[MODEL_PAGES];
    unsigned clock; /* of writes */
};

struct page_model {
    struct blob_fixture f;
    uint64_t seed;
    struct page_state now, past[MODEL_SNAPSHOTS];
    size_t snapshots;
};

static uint64_t roll(struct page_model *m, uint64_t below)
{
    m->seed = m->seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (m->seed >> 33) % below;
}

static void change_pages(struct page_model *m)
{
    static const uint64_t LENGTHS[] = {1, 7, 8, 9, 40, 600, 8192};
    uint64_t count = 1 + roll(m, LENGTHS[roll(m, 7)]);
    uint64_t first = roll(m, MODEL_PAGES);
    if (roll(m, 2) == 0)
        first -= first % 8;
    if (count > MODEL_PAGES - first)
        count = MODEL_PAGES - first;
    bool clear = roll(m, 4) == 0;
    if (clear)
        CHECK_OK(clear_at(&m->f, "p", first * 512, count * 512));
    else
        CHECK_OK(write_at(&m->f, "p", first * 512, bf_bytes(&m->f, count * 512, 1)));
    m->now.clock++;
    for (uint64_t i = first; i < first + count; i++) {
        m->now.written[i] = clear ? 0 : m->now.clock;
        if (clear)
            m->now.cleared[i] = m->now.clock;
    }
}

static void model_snapshot(struct page_model *m)
{
    struct page_state *state = &m->past[m->snapshots++];
    *state = m->now;
    CHECK_OK(bf_take_snapshot(&m->f, bf_blob(&m->f, "p"), &state->snapshot));
}

/* 0: nothing, 1: changed, 2: cleared. */
static int difference_of(const struct page_state *then, const struct page_state *now, size_t page)
{
    if (now->written[page] > then->clock)
        return 1;
    bool touched = then->written[page] != 0 || now->cleared[page] > then->clock;
    return touched && now->written[page] == 0 ? 2 : 0;
}

static struct str expected(struct page_model *m, const struct page_state *then,
                           const struct page_state *now)
{
    struct buf out = buf_in(&m->f.arena);
    for (size_t i = 0; i < MODEL_PAGES;) {
        int kind = difference_of(then, now, i);
        size_t end = i + 1;
        while (end < MODEL_PAGES && difference_of(then, now, end) == kind)
            end++;
        if (kind != 0)
            buf_printf(&out, "%s%zu-%zu ", kind == 2 ? "!" : "", i * 512, end * 512);
        i = end;
    }
    return buf_str(&out);
}

static void compare(struct page_model *m, const struct page_state *then,
                    const struct page_state *now)
{
    struct blob_page_ranges_args args = {.request = bf_blob(&m->f, "p"),
                                         .max = 1 + roll(m, 40),
                                         .differences = true,
                                         .previous = then->snapshot};
    struct buf all = buf_in(&m->f.arena);
    if (now->snapshot != 0)
        args.request = bf_snapshot(&m->f, "p", now->snapshot);
    do {
        args.marker = args.next;
        buf_put(&all, show(&m->f, &args));
    } while (args.more);
    CHECK_STR(buf_str(&all), expected(m, then, now));
}

/* Compares every pair of snapshots, and each with the current state, after any writes, clears and
 * folds in between. */
void test_get_page_ranges_differences_against_arrays(void)
{
    static struct page_model m;
    for (uint64_t seed = 1; seed <= TEST_TIMES(3); seed++) {
        m = (struct page_model){.seed = seed};
        bf_init(&m.f);
        CHECK_OK(create(&m.f, "p", MODEL_PAGES * 512ULL));
        for (unsigned step = 1; step <= 100; step++) {
            change_pages(&m);
            if (step % 20 == 0)
                model_snapshot(&m);
            if (step % 15 == 0)
                bf_sweep(&m.f);
        }
        for (size_t i = 0; i < m.snapshots; i++) {
            compare(&m, &m.past[i], &m.now);
            for (size_t k = i; k < m.snapshots; k++)
                compare(&m, &m.past[i], &m.past[k]);
        }
        bf_release(&m.f);
    }
}
