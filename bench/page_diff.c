/* SPDX-License-Identifier: Apache-2.0 */
/* What does Get Page Ranges of a sparse page blob of 1 TiB cost, whole and against a snapshot? CPU
 * of the service over the local engine, for several numbers of pages before the snapshot and after
 * it, scattered over the whole blob.
 *
 *     bench_page_diff */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/test.h"
#include "engine/local/local.h"
#include "engine/wait.h"
#include "service/blob/page/page.h"
#include "service/common/content/interval_upload.h"

#define SIZE (1ULL << 40)

struct bench {
    struct clock clock;
    struct store store;
    struct str partition;
    struct arena arena;
    uint64_t random;
};

static void must(const char *what, struct err error)
{
    if (!err_is(error))
        return;
    (void)fprintf(stderr, "%s: error %d, cause %d\n", what, error.code, error.cause);
    exit(1);
}

static double cpu_us(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* xorshift: the same offsets in every run. */
static uint64_t next_random(struct bench *b)
{
    b->random ^= b->random << 13;
    b->random ^= b->random >> 7;
    b->random ^= b->random << 17;
    return b->random;
}

static void begin(struct bench *b)
{
    clock_init_system(&b->clock);
    arena_init(&b->arena, SIZE_MAX);
    b->random = 88172645463325252ULL;
    struct engine_local_options options = {
        .folder = test_folder(), .clock = &b->clock, .relaxed = true};
    must("open", engine_local_open(&options, &b->store.engine));
    b->store.clock = &b->clock;
    b->partition = blob_partition(&b->arena, STR("account"), STR("pages"));
    struct container_args create = {.request = {.arena = &b->arena}};
    must("container",
         engine_update_wait(b->store.engine, b->partition, blob_create_container, &create));
}

static struct blob_request blob_named(struct bench *b, struct str name)
{
    return (struct blob_request){.arena = &b->arena, .name = name};
}

static void write_pages(struct bench *b, struct str name, unsigned count)
{
    static const char page[BLOB_PAGE_BYTES] = {1};
    for (unsigned i = 0; i < count; i++) {
        struct blob_page_args args = {.request = blob_named(b, name),
                                      .offset = next_random(b) % (SIZE / 512) * 512,
                                      .length = sizeof page};
        struct interval_upload upload;
        interval_upload_init(&upload, b->store.engine, &b->arena, args.offset, sizeof page);
        must("upload", interval_upload_take(&upload, (struct str){page, sizeof page}));
        must("upload", interval_upload_end(&upload));
        args.pieces = &upload.pieces;
        must("put page", engine_update_wait(b->store.engine, b->partition, blob_put_page, &args));
    }
}

/* All pages of the answer, one after the other. */
static double list_us(struct bench *b, struct str name, int64_t previous, size_t *found)
{
    struct blob_page_ranges_args args = {.request = blob_named(b, name),
                                         .max = BLOB_PAGE_RANGES_MAX,
                                         .differences = previous != 0,
                                         .previous = previous};
    double before = cpu_us();
    *found = 0;
    do {
        args.marker = args.next;
        must("ranges",
             store_read(&b->store, b->partition, ENGINE_WAIT, blob_get_page_ranges, &args));
        *found += args.count;
    } while (args.more);
    return cpu_us() - before;
}

static void measure(struct bench *b, unsigned before, unsigned after)
{
    struct str name = arena_printf(&b->arena, "disk-%u-%u", before, after);
    struct blob_create_page_args create = {.request = blob_named(b, name), .size = SIZE};
    struct blob_set_args snapshot = {.request = blob_named(b, name)};
    size_t all, changed;
    must("create",
         engine_update_wait(b->store.engine, b->partition, blob_create_page_blob, &create));
    write_pages(b, name, before);
    must("snapshot",
         engine_update_wait(b->store.engine, b->partition, blob_snapshot_blob, &snapshot));
    write_pages(b, name, after);
    (void)list_us(b, name, 0, &all); /* the first read is not measured */
    double whole = list_us(b, name, 0, &all);
    double difference = list_us(b, name, snapshot.snapshot, &changed);
    printf("%6u + %6u pages: ranges %8.0f us for %6zu, difference %8.0f us for %6zu; %.2f us a "
           "page written\n",
           before, after, whole, all, difference, changed, difference / (before + after));
    (void)fflush(stdout);
}

int main(void)
{
    static struct bench b;
    begin(&b);
    measure(&b, 100, 10);
    measure(&b, 1000, 10);
    measure(&b, 10000, 10);
    measure(&b, 10000, 1000);
    measure(&b, 10000, 10000);
    measure(&b, 100000, 10);
    engine_close(b.store.engine);
    return 0;
}
