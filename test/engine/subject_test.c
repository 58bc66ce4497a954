/* SPDX-License-Identifier: Apache-2.0 */
/* Contains no tests, only helpers for the cases of this folder. */
#include "subject.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/cluster/cluster.h"
#include "engine/fault.h"
#include "engine/local/local.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"

#define FIRST_TICKS (20000LL * TICKS_PER_DAY)

static struct engine *open_mem(struct subject *s)
{
    return engine_mem_new(&s->clock);
}

static struct engine *open_fault(struct subject *s)
{
    return engine_fault_new(engine_mem_new(&s->clock));
}

const char *subject_folder(void)
{
    static char folder[256];
    (void)snprintf(folder, sizeof folder, "%s/store", test_folder());
    return folder;
}

static struct engine *open_with(struct subject *s, size_t fold_rows)
{
    struct engine_local_options options = {.folder = subject_folder(),
                                           .clock = &s->clock,
                                           .relaxed = s->relaxed,
                                           .read_only = s->read_only,
                                           .journal_file_bytes = s->journal_file_bytes,
                                           .segment_bytes = s->segment_bytes,
                                           .fold_rows = fold_rows};
    struct engine *e;
    CHECK_OK(engine_local_open(&options, &e));
    return e;
}

static struct engine *open_local(struct subject *s)
{
    return open_with(s, 0);
}

static struct engine *open_folding(struct subject *s)
{
    return open_with(s, 3);
}

static struct engine *open_hintless(struct subject *s)
{
    return engine_hintless_new(open_local(s));
}

/* Of this process. */
static struct engine_cluster_options cluster_options(void)
{
    static char text[512];
    static char schema[32];
    static char extents[512];
    const char *place = getenv("LAZULI_TEST_EXTENTS");
    CHECK(place != NULL);
    (void)snprintf(schema, sizeof schema, "test_%d", (int)getpid());
    (void)snprintf(extents, sizeof extents, "%s,namespace=%s", place, schema);
    return (struct engine_cluster_options){.rows = getenv("LAZULI_TEST_ROWS"),
                                           .extents = extents,
                                           .schema = schema,
                                           .text = text,
                                           .text_size = sizeof text};
}

static struct engine *open_cluster(struct subject *s)
{
    struct engine_cluster_options options = cluster_options();
    struct engine *e = NULL;
    options.clock = &s->clock;
    struct err error = engine_cluster_init(&options);
    if (!err_is(error))
        error = engine_cluster_open(&options, &e);
    if (err_is(error))
        test_fail(__FILE__, __LINE__, "%s", options.text);
    return e;
}

static void end_cluster(void)
{
    struct engine_cluster_options options = cluster_options();
    CHECK_OK(engine_cluster_drop(&options));
}

const struct subject_kind SUBJECT_MEM = {.open = open_mem};
const struct subject_kind SUBJECT_FAULT = {.open = open_fault};
const struct subject_kind SUBJECT_HINTLESS = {.open = open_hintless, .persistent = true};
const struct subject_kind SUBJECT_LOCAL = {.open = open_local, .persistent = true};
const struct subject_kind SUBJECT_CLUSTER = {
    .open = open_cluster, .persistent = true, .batch_max = 64, .end = end_cluster};
const struct subject_kind SUBJECT_FOLDING = {.open = open_folding, .persistent = true};

void subject_run(const struct subject_kind *kind, void (*run)(struct subject *s))
{
    struct subject s = {.kind = kind};
    clock_init_manual(&s.clock, FIRST_TICKS);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = kind->open(&s);
    run(&s);
    engine_close(s.engine);
    if (kind->end != NULL)
        kind->end();
    arena_release(&s.arena);
}

void subject_reopen(struct subject *s)
{
    if (!s->kind->persistent)
        return;
    engine_close(s->engine);
    s->engine = s->kind->open(s);
}

void update_ok(struct subject *s, struct str partition, engine_fn *fn, void *arg)
{
    CHECK_OK(engine_update_wait(s->engine, partition, fn, arg));
}

void view_ok(struct subject *s, struct str partition, engine_fn *fn, void *arg)
{
    CHECK_OK(engine_view(s->engine, partition, ENGINE_WAIT, fn, arg));
}

struct err get_hot(struct txn *t, struct str key, struct str *value)
{
    return get_in(t, STR_NONE, key, value);
}

struct err get_in(struct txn *t, struct str partition, struct str key, struct str *value)
{
    struct engine_read read = {.partition = partition, .key = key, .hints = HINT_SOON};
    TRY(txn_get_many(t, &read, 1));
    *value = read.value;
    return OK;
}

struct err get_with_body(struct txn *t, struct str key, struct str *value, struct str *body)
{
    struct engine_read read = {.key = key, .with_body = true};
    TRY(txn_get_many(t, &read, 1));
    *value = read.value;
    *body = read.body;
    return OK;
}

struct row_call {
    struct str key;
    struct str value;
    struct arena *arena;
};

static struct err row_put_fn(struct txn *t, void *arg)
{
    const struct row_call *call = arg;
    return txn_put(t, call->key, call->value);
}

static struct err row_del_fn(struct txn *t, void *arg)
{
    const struct row_call *call = arg;
    return txn_del(t, call->key);
}

static struct err row_get_fn(struct txn *t, void *arg)
{
    struct row_call *call = arg;
    struct str value;
    TRY(txn_get(t, call->key, &value));
    call->value = arena_copy(call->arena, value);
    return OK;
}

void put_row(struct subject *s, struct str partition, struct str key, struct str value)
{
    struct row_call call = {.key = key, .value = value};
    update_ok(s, partition, row_put_fn, &call);
}

void del_row(struct subject *s, struct str partition, struct str key)
{
    struct row_call call = {.key = key};
    update_ok(s, partition, row_del_fn, &call);
}

struct str get_row(struct subject *s, struct str partition, struct str key)
{
    struct row_call call = {.key = key, .arena = &s->arena};
    view_ok(s, partition, row_get_fn, &call);
    return call.value;
}

void fill_bytes(char *to, size_t n, uint32_t seed)
{
    uint32_t x = seed * 2654435761U + 1;
    for (size_t i = 0; i < n; i++) {
        x = x * 1664525 + 1013904223;
        to[i] = (char)(x >> 24);
    }
}

struct extent write_extent(struct engine *e, uint32_t length, uint32_t seed)
{
    enum { PIECE = 10007 };
    char *bytes = mem_alloc(length);
    fill_bytes(bytes, length, seed);
    struct extent_writer *w;
    struct extent x;
    CHECK_OK(extent_begin(e, length, 0, &w));
    for (uint32_t at = 0; at < length; at += PIECE)
        CHECK_OK(
            extent_append(w, (struct str){bytes + at, length - at < PIECE ? length - at : PIECE}));
    CHECK_OK(extent_finish(w, &x));
    CHECK_INT(x.length, length);
    free(bytes);
    return x;
}

void check_extent(struct engine *e, const struct extent *x, uint32_t seed)
{
    char *want = mem_alloc(x->length);
    char *got = mem_alloc(x->length);
    fill_bytes(want, x->length, seed);
    CHECK_OK(extent_read(e, x, 0, x->length, ENGINE_WAIT, got));
    CHECK(memcmp(got, want, x->length) == 0);
    free(got);
    free(want);
}

static struct err adopt_fn(struct txn *t, void *arg)
{
    return txn_extent(t, EXTENT_ADOPT, arg);
}

static struct err hold_fn(struct txn *t, void *arg)
{
    return txn_extent(t, EXTENT_HOLD, arg);
}

static struct err drop_fn(struct txn *t, void *arg)
{
    return txn_extent(t, EXTENT_DROP, arg);
}

void adopt_extent(struct subject *s, const struct extent *x)
{
    struct extent copy = *x;
    update_ok(s, STR("x"), adopt_fn, &copy);
}

void hold_extent(struct subject *s, const struct extent *x)
{
    struct extent copy = *x;
    update_ok(s, STR("x"), hold_fn, &copy);
}

void drop_extent(struct subject *s, const struct extent *x)
{
    struct extent copy = *x;
    update_ok(s, STR("x"), drop_fn, &copy);
}

struct str number_key(char text[16], uint32_t number)
{
    return (struct str){text, (size_t)snprintf(text, 16, "key %u", number)};
}

void put_number(struct subject *s, uint32_t number, size_t bytes, uint32_t seed)
{
    char text[16];
    char *value = mem_alloc(bytes);
    fill_bytes(value, bytes, seed);
    put_row(s, STR("n"), number_key(text, number), (struct str){value, bytes});
    free(value);
}

void check_number(struct subject *s, uint32_t number, size_t bytes, uint32_t seed)
{
    char text[16];
    char *value = mem_alloc(bytes);
    fill_bytes(value, bytes, seed);
    struct str want = {value, bytes};
    CHECK_STR(get_row(s, STR("n"), number_key(text, number)), want);
    free(value);
    arena_reset(&s->arena);
}

void run_and_crash(struct subject *s, void (*fn)(struct subject *s))
{
    (void)test_folder(); /* made by the parent, which removes it */
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        s->engine = s->kind->open(s);
        fn(s);
        (void)kill(getpid(), SIGKILL);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

uint64_t folder_bytes(const char *folder)
{
    uint64_t bytes = 0;
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        struct stat stat;
        if (fstatat(dirfd(dir), entry->d_name, &stat, 0) == 0 && S_ISREG(stat.st_mode))
            bytes += (uint64_t)stat.st_blocks * 512;
    }
    (void)closedir(dir);
    return bytes;
}

static struct engine_usage usage_of(struct engine *e)
{
    struct engine_usage usage;
    engine_usage(e, &usage);
    return usage;
}

void wait_for_bytes(struct engine *e, uint64_t segment_bytes_max)
{
    WAIT_UNTIL(usage_of(e).segment_bytes <= segment_bytes_max);
}

void wait_for_segments(struct engine *e, uint64_t segments)
{
    WAIT_UNTIL(usage_of(e).segments == segments);
}
