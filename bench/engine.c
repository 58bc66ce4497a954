/* SPDX-License-Identifier: Apache-2.0 */
/* What does the local engine alone cost? CPU µs (all threads, user and system) and wall time per
 * durable update of two rows at 64 in flight, per view of three rows, and per extent.
 *
 *   build/release/bench_engine [folder [rows [parts]]]
 *
 * parts: u updates, v views, x extents, r reopening; all of them by default. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/local.h"
#include "engine/wait.h"

enum { IN_FLIGHT = 64, ROW_BYTES = 400, INLINE_BYTES = 4096, MIB = 1 << 20 };

struct bench {
    struct engine *engine;
    uint32_t rows;
    char payload[4 * MIB];
};

static void must(struct err e, const char *what)
{
    if (!err_is(e))
        return;
    (void)fprintf(stderr, "%s: error %d cause %d\n", what, (int)e.code, e.cause);
    exit(1);
}

/* ---- measuring ---- */

static double cpu_us(void)
{
    struct rusage u;
    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

struct lap {
    double cpu;
    int64_t wall;
};

static struct lap lap_start(void)
{
    return (struct lap){cpu_us(), clock_mono_us()};
}

static void lap_print(struct lap from, const char *what, double count)
{
    double cpu = cpu_us() - from.cpu;
    double wall = (double)(clock_mono_us() - from.wall);
    printf("%-44s %9.2f CPU us  %9.2f us  %10.0f /s\n", what, cpu / count, wall / count,
           count / wall * 1e6);
    (void)fflush(stdout);
}

static long resident_kib(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f == NULL || fscanf(f, "%*s %ld", &pages) != 1)
        pages = 0;
    if (f != NULL)
        (void)fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* ---- rows ---- */

static struct str row_key(char *text, size_t size, const char *kind, uint32_t number)
{
    uint32_t mixed = number * 2654435761U;
    int n = snprintf(text, size, "%s/photos/2026/spring/holiday-%08x/picture-%08u.jpg", kind, mixed,
                     number);
    return (struct str){text, (size_t)n};
}

struct put_call {
    struct engine_update update; /* first */
    struct bench *bench;
    uint32_t number;
    struct flight *flight;
};

struct flight {
    pthread_mutex_t lock;
    pthread_cond_t landed;
    struct put_call *free[IN_FLIGHT];
    size_t free_count;
};

/* What a Put Blob of 4 KiB does: its container's row, the old row, two new ones. */
static struct err get_container(struct txn *t, struct str *value)
{
    struct engine_read read = {.key = STR("container"), .hints = HINT_SOON};
    TRY(txn_get_many(t, &read, 1));
    *value = read.value;
    return OK;
}

static struct err put_fn(struct txn *t, void *arg)
{
    const struct put_call *call = arg;
    char text[128];
    struct str value;
    TRY(get_container(t, &value));
    struct str key = row_key(text, sizeof text, "b", call->number);
    TRY(txn_get(t, key, &value));
    TRY(txn_put(t, key, (struct str){call->bench->payload, ROW_BYTES}));
    key = row_key(text, sizeof text, "i", call->number);
    return txn_put(t, key, (struct str){call->bench->payload, INLINE_BYTES});
}

static void put_done(struct engine_update *u)
{
    struct put_call *call = (struct put_call *)(void *)u;
    must(u->result, "update");
    struct flight *f = call->flight;
    pthread_mutex_lock(&f->lock);
    f->free[f->free_count++] = call;
    pthread_cond_signal(&f->landed);
    pthread_mutex_unlock(&f->lock);
}

static struct put_call *flight_take(struct flight *f)
{
    pthread_mutex_lock(&f->lock);
    while (f->free_count == 0)
        pthread_cond_wait(&f->landed, &f->lock);
    struct put_call *call = f->free[--f->free_count];
    pthread_mutex_unlock(&f->lock);
    return call;
}

static void bench_updates(struct bench *b, uint32_t first, uint32_t count, const char *what)
{
    static struct put_call calls[IN_FLIGHT];
    struct flight f = {.lock = PTHREAD_MUTEX_INITIALIZER, .landed = PTHREAD_COND_INITIALIZER};
    for (size_t i = 0; i < IN_FLIGHT; i++)
        f.free[f.free_count++] = &calls[i];
    struct engine_usage before;
    struct engine_usage after;
    engine_usage(b->engine, &before);
    struct lap lap = lap_start();
    for (uint32_t i = 0; i < count; i++) {
        struct put_call *call = flight_take(&f);
        *call = (struct put_call){.bench = b, .number = first + i, .flight = &f};
        call->update = (struct engine_update){
            .partition = STR("account/container"), .fn = put_fn, .arg = call, .done = put_done};
        engine_submit(b->engine, &call->update);
    }
    for (size_t i = 0; i < IN_FLIGHT; i++)
        (void)flight_take(&f);
    lap_print(lap, what, count);
    engine_usage(b->engine, &after);
    printf("%-44s %9.1f updates a commit\n", "",
           (double)(after.updates - before.updates) / (double)(after.commits - before.commits));
}

struct get_call {
    uint32_t number;
    size_t bytes;
};

static struct err get_fn(struct txn *t, void *arg)
{
    struct get_call *call = arg;
    char text[128];
    struct str value;
    TRY(get_container(t, &value));
    TRY(txn_get(t, row_key(text, sizeof text, "b", call->number), &value));
    call->bytes += value.n;
    TRY(txn_get(t, row_key(text, sizeof text, "i", call->number), &value));
    call->bytes += value.n;
    return OK;
}

static void bench_views(struct bench *b, uint32_t range, uint32_t count, const char *what)
{
    uint32_t random = 1;
    uint32_t blocked = 0;
    struct lap lap = lap_start();
    for (uint32_t i = 0; i < count; i++) {
        random = random * 1664525 + 1013904223;
        struct get_call call = {.number = (random >> 4) % range};
        struct err e =
            engine_view(b->engine, STR("account/container"), ENGINE_NOWAIT, get_fn, &call);
        if (e.code == ERR_WOULD_BLOCK) {
            blocked++;
            call.bytes = 0;
            e = engine_view(b->engine, STR("account/container"), ENGINE_WAIT, get_fn, &call);
        }
        must(e, "view");
        if (call.bytes != ROW_BYTES + INLINE_BYTES)
            must(err_new(ERR_CORRUPT), "rows");
    }
    lap_print(lap, what, count);
    printf("%-44s %9.1f %% had to wait for the disk\n", "", 100.0 * blocked / count);
}

static struct err hot_fn(struct txn *t, void *arg)
{
    struct str value;
    for (uint32_t i = 0; i < *(uint32_t *)arg; i++)
        TRY(get_container(t, &value));
    return OK;
}

static struct err nothing_fn(struct txn *t, void *arg)
{
    (void)t;
    (void)arg;
    return OK;
}

static void bench_hot(struct bench *b)
{
    uint32_t count = 1000000;
    struct lap lap = lap_start();
    must(engine_view(b->engine, STR("account/container"), ENGINE_WAIT, hot_fn, &count), "hot");
    lap_print(lap, "hot row", count);
    lap = lap_start();
    for (uint32_t i = 0; i < count; i++)
        must(engine_view(b->engine, STR("account/container"), ENGINE_NOWAIT, nothing_fn, NULL),
             "view");
    lap_print(lap, "empty view", count);
}

static struct err container_fn(struct txn *t, void *arg)
{
    struct bench *b = arg;
    return txn_put(t, STR("container"), (struct str){b->payload, ROW_BYTES});
}

static struct err list_fn(struct txn *t, void *arg)
{
    uint32_t *left = arg;
    struct cursor *c;
    TRY(cursor_open(t, STR("b/"), &c));
    for (; *left > 0 && c->valid; *left -= 1)
        TRY(cursor_next(c));
    return OK;
}

static void bench_list(struct bench *b)
{
    enum { PAGE = 5000, PAGES = 20 };
    struct lap lap = lap_start();
    for (int i = 0; i < PAGES; i++) {
        uint32_t left = PAGE;
        must(engine_view(b->engine, STR("account/container"), ENGINE_WAIT, list_fn, &left), "list");
    }
    lap_print(lap, "listed row, pages of 5000", (double)PAGE * PAGES);
}

/* ---- extents ---- */

struct names_call {
    struct extent x[2];
    uint32_t count;
    bool drop;
};

static struct err names_fn(struct txn *t, void *arg)
{
    const struct names_call *call = arg;
    for (uint32_t i = 0; i < call->count; i++)
        TRY(call->drop ? txn_extent(t, EXTENT_DROP, &call->x[i])
                       : txn_extent(t, EXTENT_ADOPT, &call->x[i]));
    return txn_put(t, STR("big"), STR("row"));
}

static void write_extent(struct bench *b, uint32_t bytes, struct extent *x)
{
    enum { PIECE = 128 << 10 };
    struct extent_writer *w;
    must(extent_begin(b->engine, bytes, 0, &w), "begin");
    for (uint32_t at = 0; at < bytes; at += PIECE)
        must(extent_append(w, (struct str){b->payload + at, PIECE}), "append");
    must(extent_finish(w, x), "finish");
}

static void bench_extents(struct bench *b, uint32_t bytes, uint32_t parts, uint32_t count,
                          const char *what)
{
    struct names_call *calls = mem_calloc(count, sizeof *calls);
    struct lap lap = lap_start();
    for (uint32_t i = 0; i < count; i++) {
        calls[i].count = parts;
        for (uint32_t part = 0; part < parts; part++)
            write_extent(b, bytes, &calls[i].x[part]);
        must(engine_update_wait(b->engine, STR("p"), names_fn, &calls[i]), "adopt");
    }
    lap_print(lap, what, count);
    lap = lap_start();
    struct extent_span span;
    for (uint32_t i = 0; i < count; i++)
        must(extent_locate(b->engine, &calls[i].x[0], 0, bytes, ENGINE_WAIT, &span), "locate");
    lap_print(lap, "  locate, first time", count);
    lap = lap_start();
    for (uint32_t round = 0; round < 1000; round++)
        for (uint32_t i = 0; i < count; i++)
            must(extent_locate(b->engine, &calls[i].x[0], 0, bytes, ENGINE_NOWAIT, &span),
                 "locate");
    lap_print(lap, "  locate, again", count * 1000.0);
    lap = lap_start();
    for (uint32_t i = 0; i < count; i++) {
        calls[i].drop = true;
        must(engine_update_wait(b->engine, STR("p"), names_fn, &calls[i]), "drop");
    }
    lap_print(lap, "  drop", count);
    free(calls);
}

static void open_store(struct bench *b, const char *folder, const struct clock *clock,
                       const char *what)
{
    struct lap lap = lap_start();
    struct engine_local_options options = {.folder = folder, .clock = clock};
    must(engine_local_open(&options, &b->engine), "open");
    lap_print(lap, what, 1);
}

static void bench_all_views(struct bench *b)
{
    bench_views(b, b->rows < 1000 ? b->rows : 1000, 200000, "view of 3 rows, 1000 hot keys");
    bench_views(b, b->rows, 200000, "view of 3 rows, all keys");
    bench_hot(b);
    bench_list(b);
}

int main(int argc, char **argv)
{
    static struct bench b;
    const char *folder = argc > 1 ? argv[1] : "/tmp/engine-bench";
    uint64_t rows = 100000;
    if (argc > 2 && !str_to_u64(str_of(argv[2]), &rows))
        must(err_new(ERR_INVALID_INPUT), "rows");
    b.rows = (uint32_t)rows;
    for (size_t i = 0; i < sizeof b.payload; i++)
        b.payload[i] = (char)(i * 2654435761U >> 13);
    struct clock clock;
    clock_init_system(&clock);
    open_store(&b, folder, &clock, "open a new store");
    printf("%-44s %9ld KiB resident\n", "", resident_kib());
    must(engine_update_wait(b.engine, STR("account/container"), container_fn, &b), "container");
    const char *parts = argc > 3 ? argv[3] : "uvxr";
    bench_updates(&b, 0, b.rows, "update of 2 rows, 4496 B, 64 in flight");
    if (strchr(parts, 'u') != NULL)
        bench_updates(&b, 0, b.rows / 2, "  the same over rows that are there");
    if (strchr(parts, 'v') != NULL)
        bench_all_views(&b);
    if (strchr(parts, 'x') != NULL) {
        bench_extents(&b, MIB, 1, 100, "extent of 1 MiB, durable, one at a time");
        bench_extents(&b, 4 * MIB, 2, 30, "8 MiB in two extents, durable");
    }
    printf("%-44s %9ld KiB resident\n", "", resident_kib());
    if (strchr(parts, 'r') != NULL) {
        engine_close(b.engine);
        open_store(&b, folder, &clock, "open it again");
        printf("%-44s %9ld KiB resident\n", "", resident_kib());
        bench_views(&b, b.rows, 100000, "view of 3 rows, from a cold cache");
    }
    engine_close(b.engine);
    return 0;
}
