/* SPDX-License-Identifier: Apache-2.0 */
/* A process that is killed at any moment loses no update reported as durable, and leaves no partial
 * update. */
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/wait.h"
#include "subject.h"

enum { ROUNDS = 6, WRITERS = 4, KEYS_EACH = 8, VALUE_MAX = 9000, RUN_MS = 150 };

/* Each key is written by one thread, with rising numbers. A version is three rows: the number, a
 * payload made from it, and the descriptor of an extent made from it. */
struct report {
    uint32_t key;
    uint32_t version;
};

struct writer {
    struct subject *subject;
    uint32_t first_key;
    uint32_t versions[KEYS_EACH];
    int pipe;
};

struct version_call {
    uint32_t key;
    uint32_t version;
    struct extent extent;
    char *payload;
    size_t payload_n;
};

static size_t payload_bytes(uint32_t version)
{
    return 1 + version * 7919U % VALUE_MAX;
}

static struct str row_name(char text[24], char kind, uint32_t key)
{
    return (struct str){text, (size_t)snprintf(text, 24, "%c%04u", kind, key)};
}

static struct err drop_old(struct txn *t, struct str key)
{
    struct str old;
    TRY(txn_get(t, key, &old));
    if (!str_given(old))
        return OK;
    struct reader r = reader_of(old);
    struct extent x = extent_decode(&r);
    return txn_extent(t, EXTENT_DROP, &x);
}

static struct err write_version(struct txn *t, void *arg)
{
    const struct version_call *call = arg;
    char text[24];
    char number[4];
    struct buf x = buf_in(txn_arena(t));
    memcpy(number, &call->version, sizeof number);
    struct str extent_key = row_name(text, 'x', call->key);
    TRY(drop_old(t, extent_key));
    TRY(txn_extent(t, EXTENT_ADOPT, &call->extent));
    extent_encode(&x, &call->extent);
    TRY(txn_put(t, extent_key, buf_str(&x)));
    TRY(txn_put(t, row_name(text, 'n', call->key), (struct str){number, sizeof number}));
    return txn_put(t, row_name(text, 'p', call->key), (struct str){call->payload, call->payload_n});
}

static void *write_on(void *arg)
{
    struct writer *w = arg;
    struct version_call call = {.payload = mem_alloc(VALUE_MAX)};
    for (uint32_t i = 0;; i = (i + 1) % KEYS_EACH) {
        call.key = w->first_key + i;
        call.version = ++w->versions[i];
        call.payload_n = payload_bytes(call.version);
        fill_bytes(call.payload, call.payload_n, call.version);
        call.extent =
            write_extent(w->subject->engine, 1 + call.version * 3571 % 150000, call.version);
        CHECK_OK(engine_update_wait(w->subject->engine, STR("v"), write_version, &call));
        struct report report = {call.key, call.version};
        CHECK(write(w->pipe, &report, sizeof report) == sizeof report);
    }
    return NULL;
}

struct seen_call {
    uint32_t key;
    uint32_t version; /* 0: none */
    struct extent extent;
};

static struct err read_version(struct txn *t, void *arg)
{
    struct seen_call *call = arg;
    char text[24];
    struct str number;
    struct str payload;
    struct str extent;
    TRY(txn_get(t, row_name(text, 'n', call->key), &number));
    TRY(txn_get(t, row_name(text, 'p', call->key), &payload));
    TRY(txn_get(t, row_name(text, 'x', call->key), &extent));
    CHECK(str_given(number) == str_given(payload) && str_given(number) == str_given(extent));
    if (!str_given(number))
        return OK;
    memcpy(&call->version, number.p, sizeof call->version);
    char *want = arena_bytes(txn_arena(t), VALUE_MAX);
    fill_bytes(want, payload_bytes(call->version), call->version);
    struct str whole = {want, payload_bytes(call->version)};
    CHECK_STR(payload, whole);
    struct reader r = reader_of(extent);
    call->extent = extent_decode(&r);
    return OK;
}

/* The store must hold the last acknowledged version, or the one in flight at the kill. */
static void check_versions(struct subject *s, uint32_t acknowledged[WRITERS * KEYS_EACH])
{
    s->engine = s->kind->open(s);
    uint64_t live_bytes = 0;
    for (uint32_t key = 0; key < WRITERS * KEYS_EACH; key++) {
        struct seen_call seen = {.key = key};
        view_ok(s, STR("v"), read_version, &seen);
        CHECK(seen.version == acknowledged[key] || seen.version == acknowledged[key] + 1);
        acknowledged[key] = seen.version;
        if (seen.version > 0) {
            check_extent(s->engine, &seen.extent, seen.version);
            live_bytes += seen.extent.length + 3 * 4096;
        }
    }
    wait_for_bytes(s->engine, live_bytes + 65536);
    engine_close(s->engine);
}

static void run_writers(struct subject *s, const uint32_t *versions, int pipe)
{
    s->engine = s->kind->open(s);
    static struct writer writers[WRITERS];
    pthread_t threads[WRITERS];
    for (uint32_t i = 0; i < WRITERS; i++) {
        writers[i] = (struct writer){.subject = s, .first_key = i * KEYS_EACH, .pipe = pipe};
        memcpy(writers[i].versions, versions + i * KEYS_EACH, sizeof writers[i].versions);
        CHECK_INT(pthread_create(&threads[i], NULL, write_on, &writers[i]), 0);
    }
    pthread_join(threads[0], NULL);
}

static void collect_reports(int pipe, uint32_t *acknowledged)
{
    struct report report;
    while (read(pipe, &report, sizeof report) == sizeof report) {
        CHECK_INT(report.version, acknowledged[report.key] + 1);
        acknowledged[report.key] = report.version;
    }
}

static void crash_once(struct subject *s, uint32_t *acknowledged, long run_ms)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        run_writers(s, acknowledged, ends[1]);
    }
    (void)close(ends[1]);
    (void)nanosleep(&(struct timespec){.tv_nsec = run_ms * 1000 * 1000}, NULL);
    CHECK(kill(child, SIGKILL) == 0);
    collect_reports(ends[0], acknowledged);
    (void)close(ends[0]);
    CHECK(waitpid(child, NULL, 0) == child);
}

static void crash_rounds(bool small_files)
{
    static uint32_t acknowledged[WRITERS * KEYS_EACH];
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    if (small_files) { /* so that files are made, sealed, collected and unlinked all the time */
        s.journal_file_bytes = 256 << 10;
        s.segment_bytes = 1 << 20;
    }
    (void)test_folder();
    for (long round = 0; round < ROUNDS; round++) {
        crash_once(&s, acknowledged, RUN_MS + round * 37);
        check_versions(&s, acknowledged);
    }
    arena_release(&s.arena);
}

void test_local_crash_loses_nothing(void)
{
    crash_rounds(false);
}

void test_local_crash_among_small_files_loses_nothing(void)
{
    crash_rounds(true);
}

/* ---- what was only visible ---- */

static void put_version(struct subject *s, uint32_t key, uint32_t version, struct extent *extent)
{
    char payload[VALUE_MAX];
    struct version_call call = {
        .key = key, .version = version, .payload = payload, .payload_n = payload_bytes(version)};
    fill_bytes(payload, call.payload_n, version);
    call.extent = write_extent(s->engine, 100000, version);
    CHECK_OK(engine_update_wait(s->engine, STR("v"), write_version, &call));
    *extent = call.extent;
}

/* The extents of three versions: the first was flushed, the others were not. In memory shared with
 * the child. */
static struct extent *visible_extents;

static void write_visible(struct subject *s)
{
    put_version(s, 0, 1, &visible_extents[0]);
    CHECK_OK(engine_flush(s->engine));
    put_version(s, 0, 2, &visible_extents[1]);
    put_version(s, 1, 1, &visible_extents[2]);
}

/* Zeroes bytes, as if a power cut had lost them from memory. */
static void lose_bytes(const struct extent *x)
{
    char path[512];
    char nothing[4096] = {0};
    (void)snprintf(path, sizeof path, "%s/segments/%016llx.seg", subject_folder(),
                   (unsigned long long)x->segment);
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0);
    off_t at = (off_t)x->offset + 70000;
    CHECK(pwrite(fd, nothing, sizeof nothing, at) == (ssize_t)sizeof nothing);
    CHECK_INT(close(fd), 0);
}

/* A store whose updates are visible but not durable, as left by `write` and a crash. */
static void crash_visible(struct subject *s, void (*write)(struct subject *s))
{
    *s = (struct subject){.kind = &SUBJECT_LOCAL, .relaxed = true};
    clock_init_manual(&s->clock, 20000 * TICKS_PER_DAY);
    arena_init(&s->arena, SIZE_MAX);
    visible_extents = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(visible_extents != MAP_FAILED);
    run_and_crash(s, write);
}

static void end_visible(struct subject *s)
{
    engine_close(s->engine);
    arena_release(&s->arena);
    CHECK_INT(munmap(visible_extents, 4096), 0);
}

/* Crashes after three versions are written, loses the bytes of one of them (-1: none), and
 * checks. */
static void check_visible_after(int lost, uint32_t first_version, uint32_t second_version)
{
    struct subject s;
    crash_visible(&s, write_visible);
    if (lost >= 0)
        lose_bytes(&visible_extents[lost]);
    s.engine = s.kind->open(&s);
    const uint32_t wanted[2] = {first_version, second_version};
    for (uint32_t key = 0; key < 2; key++) {
        struct seen_call seen = {.key = key};
        view_ok(&s, STR("v"), read_version, &seen);
        CHECK_INT(seen.version, wanted[key]);
        if (seen.version > 0)
            check_extent(s.engine, &seen.extent, seen.version);
    }
    struct extent more;
    put_version(&s, 1, second_version + 1, &more); /* life goes on behind it */
    subject_reopen(&s);
    check_extent(s.engine, &more, second_version + 1);
    end_visible(&s);
}

void test_local_crash_keeps_what_was_visible_and_whole(void)
{
    check_visible_after(-1, 2, 1);
}

void test_local_crash_takes_back_a_visible_commit_that_lost_its_bytes(void)
{
    check_visible_after(1, 1, 0);
}

void test_local_crash_keeps_what_came_before_lost_bytes(void)
{
    check_visible_after(2, 2, 0);
}

/* The first version's extent is dropped, flushed and freed before the next durable update. */
static void overwrite_visible(struct subject *s)
{
    put_version(s, 0, 1, &visible_extents[0]);
    put_version(s, 0, 2, &visible_extents[1]);
    CHECK_OK(engine_flush(s->engine));
    wait_for_bytes(s->engine, 150000);
}

void test_local_crash_keeps_a_visible_commit_whose_bytes_were_given_back(void)
{
    struct subject s;
    crash_visible(&s, overwrite_visible);
    s.engine = s.kind->open(&s);
    struct seen_call seen = {.key = 0};
    view_ok(&s, STR("v"), read_version, &seen);
    CHECK_INT(seen.version, 2);
    check_extent(s.engine, &seen.extent, 2);
    end_visible(&s);
}
