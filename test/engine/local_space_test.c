/* SPDX-License-Identifier: Apache-2.0 */
/* Segments: space returned to the file system, checksums, and recovery after crashes. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "subject.h"

enum { MIB = 1 << 20 };

static struct subject new_subject(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    return s;
}

static uint64_t allocated(void)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/segments", subject_folder());
    return folder_bytes(path);
}

void test_local_dropped_space_returns(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    struct extent x[8];
    for (uint32_t i = 0; i < 8; i++) {
        x[i] = write_extent(s.engine, MIB, i);
        adopt_extent(&s, &x[i]);
    }
    CHECK(allocated() >= 8 * MIB);
    for (uint32_t i = 0; i < 8; i += 2)
        drop_extent(&s, &x[i]);
    /* Each has a page of checksums behind it, and the file system some of its own. */
    wait_for_bytes(s.engine, 4 * (MIB + 4096) + 65536);
    CHECK(allocated() <= 4 * (MIB + 4096) + 65536);
    for (uint32_t i = 1; i < 8; i += 2)
        check_extent(s.engine, &x[i], i);
    for (uint32_t i = 1; i < 8; i += 2)
        drop_extent(&s, &x[i]);
    wait_for_bytes(s.engine, 0);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_full_segments_are_unlinked(void)
{
    struct subject s = new_subject();
    s.segment_bytes = 4 * MIB;
    s.engine = s.kind->open(&s);
    struct extent x[20];
    for (uint32_t i = 0; i < 20; i++) {
        x[i] = write_extent(s.engine, MIB, i);
        adopt_extent(&s, &x[i]);
    }
    struct engine_usage usage;
    engine_usage(s.engine, &usage);
    CHECK(usage.segments >= 5);
    for (uint32_t i = 0; i < 19; i++)
        drop_extent(&s, &x[i]);
    wait_for_bytes(s.engine, MIB + 65536);
    wait_for_segments(s.engine, 1);
    check_extent(s.engine, &x[19], 19);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* The file that the extent is in. */
static int segment_file(const struct extent *x)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/segments/%016llx.seg", subject_folder(),
                   (unsigned long long)x->segment);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

static off_t segment_size(const struct extent *x)
{
    struct stat stat;
    int fd = segment_file(x);
    CHECK(fstat(fd, &stat) == 0 && close(fd) == 0);
    return stat.st_size;
}

/* Space is preallocated for extents, a sixteenth of the segment, once there are that many. It
 * counts as free, and is returned when the segment is full or the store is closed. */
void test_local_room_is_taken_ahead_and_given_back(void)
{
    enum { EXTENTS = 20, BYTES = 1000000, ROOM = 1003520 };
    struct subject s = new_subject();
    s.segment_bytes = 16 * MIB;
    s.engine = s.kind->open(&s);
    struct extent x[EXTENTS];
    for (uint32_t i = 0; i < EXTENTS; i++) {
        x[i] = write_extent(s.engine, BYTES, i);
        adopt_extent(&s, &x[i]);
        if (i == 0)
            CHECK(segment_size(&x[0]) <= ROOM);
        if (i == 4)
            CHECK(segment_size(&x[4]) >= 5 * ROOM + MIB / 2);
    }
    CHECK_INT(x[15].segment, x[0].segment);
    CHECK(x[16].segment != x[0].segment);
    CHECK_INT(segment_size(&x[0]), 16 * ROOM);
    CHECK(segment_size(&x[16]) > 4 * ROOM);
    struct engine_usage usage;
    engine_usage(s.engine, &usage);
    CHECK(usage.segment_bytes <= EXTENTS * ROOM + 65536);
    subject_reopen(&s);
    CHECK_INT(segment_size(&x[16]), 4 * ROOM);
    for (uint32_t i = 0; i < EXTENTS; i++)
        check_extent(s.engine, &x[i], i);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static void take_ahead_and_leave(struct subject *s)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct extent x = write_extent(s->engine, MIB, i);
        adopt_extent(s, &x);
    }
}

void test_local_room_ahead_returns_after_a_crash(void)
{
    struct subject s = new_subject();
    s.segment_bytes = 16 * MIB;
    run_and_crash(&s, take_ahead_and_leave);
    CHECK(allocated() >= 4 * MIB);
    s.engine = s.kind->open(&s);
    wait_for_bytes(s.engine, 3 * (MIB + 4096) + 65536);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static void flip_byte(const struct extent *x, uint32_t at)
{
    char byte;
    int fd = segment_file(x);
    CHECK(pread(fd, &byte, 1, (off_t)(x->offset + at)) == 1);
    byte ^= 0x40;
    CHECK(pwrite(fd, &byte, 1, (off_t)(x->offset + at)) == 1 && close(fd) == 0);
}

void test_local_extents_are_checked(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    struct extent small = write_extent(s.engine, 5000, 1);
    struct extent large = write_extent(s.engine, 200000, 2);
    adopt_extent(&s, &small);
    adopt_extent(&s, &large);
    engine_close(s.engine); /* what was just written is trusted for a while */
    s.engine = s.kind->open(&s);
    static char bytes[200000];
    struct extent_span span;
    flip_byte(&small, 4999);
    CHECK_ERR(extent_read(s.engine, &small, 0, 1, ENGINE_WAIT, bytes), ERR_CORRUPT);
    CHECK_ERR(extent_read(s.engine, &small, 0, 1, ENGINE_NOWAIT, bytes), ERR_CORRUPT);
    CHECK_ERR(extent_locate(s.engine, &small, 0, 5000, ENGINE_WAIT, &span), ERR_CORRUPT);
    flip_byte(&large, 70000); /* in the second chunk: the first can still be read */
    CHECK_OK(extent_read(s.engine, &large, 0, 65536, ENGINE_WAIT, bytes));
    CHECK_ERR(extent_read(s.engine, &large, 0, 65537, ENGINE_WAIT, bytes), ERR_CORRUPT);
    CHECK_OK(extent_read(s.engine, &large, 10, 65000, ENGINE_NOWAIT, bytes));
    CHECK_ERR(extent_read(s.engine, &large, 10, 65536, ENGINE_NOWAIT, bytes), ERR_CORRUPT);
    CHECK_ERR(extent_locate(s.engine, &large, 65536, 10, ENGINE_NOWAIT, &span), ERR_CORRUPT);
    flip_byte(&large, 70000);
    CHECK_OK(extent_locate(s.engine, &large, 0, 200000, ENGINE_WAIT, &span));
    flip_byte(&large, 200002); /* among the checksums */
    CHECK_ERR(extent_read(s.engine, &large, 0, 1, ENGINE_WAIT, bytes), ERR_CORRUPT);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- crashes ---- */

static struct extent shared_extent; /* survives the fork: the child's are made the same way */

static void write_and_leave(struct subject *s)
{
    struct extent kept = write_extent(s->engine, MIB, 1);
    adopt_extent(s, &kept);
    (void)write_extent(s->engine, MIB, 2); /* finished, never adopted */
    struct extent last = write_extent(s->engine, 5000, 3);
    adopt_extent(s, &last);
    struct extent_writer *w;
    static char bytes[MIB];
    CHECK_OK(extent_begin(s->engine, 4 * MIB, 0, &w)); /* not even finished */
    CHECK_OK(extent_append(w, (struct str){bytes, sizeof bytes}));
    struct buf b = buf_in(&s->arena);
    extent_encode(&b, &kept);
    extent_encode(&b, &last);
    put_row(s, STR("x"), STR("names"), buf_str(&b));
}

void test_local_unadopted_ranges_return_after_a_crash(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_and_leave);
    CHECK(allocated() >= 3 * MIB);
    s.engine = s.kind->open(&s);
    struct str names = get_row(&s, STR("x"), STR("names"));
    struct reader r = reader_of(names);
    struct extent kept = extent_decode(&r);
    struct extent last = extent_decode(&r);
    wait_for_bytes(s.engine, MIB + 65536);
    check_extent(s.engine, &kept, 1);
    check_extent(s.engine, &last, 3);
    shared_extent = kept;
    drop_extent(&s, &kept);
    drop_extent(&s, &last);
    wait_for_bytes(s.engine, 0);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static struct engine_pin *leaked_pin;

static void drop_under_a_pin(struct subject *s)
{
    leaked_pin = engine_pin(s->engine); /* keeps the reclaimer from it */
    struct extent x = write_extent(s->engine, 2 * MIB, 1);
    adopt_extent(s, &x);
    drop_extent(s, &x);
    struct extent kept = write_extent(s->engine, 5000, 2);
    adopt_extent(s, &kept);
}

void test_local_garbage_is_reaped_after_a_crash(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, drop_under_a_pin);
    CHECK(allocated() >= 2 * MIB);
    s.engine = s.kind->open(&s);
    wait_for_bytes(s.engine, 65536);
    struct engine_usage usage;
    engine_usage(s.engine, &usage);
    CHECK_INT(usage.segments, 1);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- relaxed durability ---- */

static void write_relaxed(struct subject *s)
{
    struct extent x = write_extent(s->engine, 100000, 7);
    adopt_extent(s, &x);
    put_number(s, 1, 100, 1);
    put_number(s, 2, 5000, 2);
    CHECK_OK(engine_flush(s->engine));
    drop_extent(s, &x);
    wait_for_bytes(s->engine, 0); /* the drop becomes durable by itself */
}

void test_local_relaxed_is_flushed_in_the_background(void)
{
    struct subject s = new_subject();
    s.relaxed = true;
    run_and_crash(&s, write_relaxed);
    s.engine = s.kind->open(&s);
    check_number(&s, 1, 100, 1);
    check_number(&s, 2, 5000, 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}
