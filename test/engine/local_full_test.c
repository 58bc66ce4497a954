/* SPDX-License-Identifier: Apache-2.0 */
/* A full disk: writes fail with ERR_NO_SPACE and change nothing, reads continue, and writes work
 * again when there is space. The tests use a small file system in memory and are skipped without
 * the right to mount one. */
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/local.h"
#include "engine/wait.h"
#include "subject.h"

enum { MIB = 1 << 20, EXTENTS_MAX = 64, ROW_BYTES = 200000, ROWS_MAX = 1000 };

static bool write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);
    if (fd >= 0)
        (void)close(fd);
    return written;
}

/* A private mount namespace: as root, or as the root of a user namespace. */
static bool enter_namespace(void)
{
    char users[64], groups[64];
    (void)snprintf(users, sizeof users, "0 %u 1", getuid());
    (void)snprintf(groups, sizeof groups, "0 %u 1", getgid());
    return unshare(CLONE_NEWNS) == 0 ||
           (unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
            write_text("/proc/self/setgroups", "deny") && write_text("/proc/self/uid_map", users) &&
            write_text("/proc/self/gid_map", groups));
}

static void mount_small(const char *size)
{
    if (!enter_namespace() || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("none", test_folder(), "tmpfs", 0, size) != 0)
        test_skip("neither root nor a user namespace may mount a small disk here");
}

static struct err try_extent(struct subject *s, struct extent *x)
{
    static char bytes[MIB];
    struct extent_writer *w;
    TRY(extent_begin(s->engine, sizeof bytes, 0, &w));
    struct err e = extent_append(w, (struct str){bytes, sizeof bytes});
    if (!err_is(e))
        return extent_finish(w, x);
    extent_abandon(w);
    return e;
}

static struct err put_large(struct txn *t, void *arg)
{
    uint32_t number = *(const uint32_t *)arg;
    char text[16];
    char *value = arena_bytes(txn_arena(t), ROW_BYTES);
    fill_bytes(value, ROW_BYTES, number);
    return txn_put(t, number_key(text, number), (struct str){value, ROW_BYTES});
}

static struct err delete_rows(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open(t, STR("key "), &c));
    while (c->valid) {
        TRY(txn_del(t, c->key));
        TRY(cursor_next(c));
    }
    return OK;
}

static bool has_room_for(struct subject *s, engine_fn *put, uint32_t number)
{
    struct err e = engine_update_wait(s->engine, STR("n"), put, &number);
    if (err_is(e))
        CHECK_ERR(e, ERR_NO_SPACE);
    return !err_is(e);
}

/* Waits until it works again: RocksDB tries once a second to recover from an error. */
static void put_when_there_is_room(struct subject *s)
{
    WAIT_UNTIL(has_room_for(s, put_large, 0));
}

static uint32_t fill_with_extents(struct subject *s, struct extent *x)
{
    uint32_t count = 0;
    struct err e = OK;
    while (count < EXTENTS_MAX && !err_is(e = try_extent(s, &x[count])))
        adopt_extent(s, &x[count++]);
    CHECK_ERR(e, ERR_NO_SPACE);
    return count;
}

/* The number of updates by `put` that fit on the disk. `put` gets the number of each. */
static uint32_t fill_by(struct subject *s, struct err (*put)(struct txn *t, void *arg),
                        uint32_t max)
{
    uint32_t count = 0;
    struct err e = OK;
    while (count < max && !err_is(e = engine_update_wait(s->engine, STR("n"), put, &count)))
        count++;
    CHECK_ERR(e, ERR_NO_SPACE);
    return count;
}

void test_local_full_disk_is_survived(void)
{
    mount_small("size=48m");
    struct subject s = {.kind = &SUBJECT_LOCAL, .journal_file_bytes = MIB};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    static struct extent x[EXTENTS_MAX];
    uint32_t extents = fill_with_extents(&s, x);
    CHECK(extents > 20);
    put_row(&s, STR("p"), STR("k"), STR("there is room for rows"));
    uint32_t rows = fill_by(&s, put_large, ROWS_MAX);
    CHECK(rows > 3);
    for (uint32_t i = 0; i < rows; i++)
        check_number(&s, i, ROW_BYTES, i);
    CHECK_STR(get_row(&s, STR("p"), STR("k")), STR("there is room for rows"));
    CHECK(!str_given(get_row(&s, STR("n"), STR("key 999"))));
    for (uint32_t i = 0; i < extents; i++) {
        /* Small updates fit where large ones did not. */
        drop_extent(&s, &x[i]);
    }
    wait_for_bytes(s.engine, 0);
    put_when_there_is_room(&s);
    extents = fill_with_extents(&s, x);
    CHECK(extents > 15);
    update_ok(&s, STR("n"), delete_rows, NULL);
    subject_reopen(&s);
    CHECK(!str_given(get_row(&s, STR("n"), STR("key 0"))));
    CHECK_STR(get_row(&s, STR("p"), STR("k")), STR("there is room for rows"));
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- a disk full of rows alone ---- */

enum { CONTENT_BYTES = 4000, CONTENTS_EACH = 8, CONTENTS_MAX = 1 << 13 };

/* Eight in one update, because single updates take long on a busy machine. */
static struct err put_contents(struct txn *t, void *arg)
{
    uint32_t first = *(const uint32_t *)arg * CONTENTS_EACH;
    char text[16];
    char content[CONTENT_BYTES];
    for (uint32_t i = first; i < first + CONTENTS_EACH; i++) {
        fill_bytes(content, sizeof content, i);
        TRY(txn_put_row(t, &(struct engine_row){.key = number_key(text, i),
                                                .value = STR("head"),
                                                .body = (struct str){content, sizeof content}}));
    }
    return OK;
}

static struct err delete_contents(struct txn *t, void *arg)
{
    uint32_t first = *(const uint32_t *)arg * CONTENTS_EACH;
    char text[16];
    for (uint32_t i = first; i < first + CONTENTS_EACH; i++)
        TRY(txn_del(t, number_key(text, i)));
    return OK;
}

static uint64_t room_left(void)
{
    struct statvfs fs;
    CHECK(statvfs(test_folder(), &fs) == 0);
    return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* Contents of small blobs are in the journal: they must leave space to record their deletion. */
static void full_of_rows(bool reopened)
{
    mount_small("size=48m");
    struct subject s = {.kind = &SUBJECT_LOCAL, .journal_file_bytes = MIB};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    uint32_t count = fill_by(&s, put_contents, CONTENTS_MAX);
    CHECK(count * CONTENTS_EACH > 5000);
    CHECK_ERR(engine_update_wait(s.engine, STR("n"), put_contents, &count), ERR_NO_SPACE);
    if (reopened)
        subject_reopen(&s);
    for (uint32_t i = 0; i < count; i++)
        update_ok(&s, STR("n"), delete_contents, &i);
    WAIT_UNTIL(room_left() >= 30 * MIB);
    CHECK(fill_by(&s, put_contents, CONTENTS_MAX) * CONTENTS_EACH > 5000);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_full_disk_of_rows_can_be_emptied(void)
{
    full_of_rows(false);
}

void test_local_full_disk_of_rows_can_be_emptied_after_a_restart(void)
{
    full_of_rows(true);
}

/* ---- RocksDB's own files do not fit ---- */

enum { SMALL_BYTES = 900, SMALL_ROWS = 30000, BATCH = 100 };

static struct err put_small_batch(struct txn *t, void *arg)
{
    uint32_t first = *(const uint32_t *)arg;
    char value[SMALL_BYTES];
    for (uint32_t i = first; i < first + BATCH; i++) {
        char text[16];
        fill_bytes(value, sizeof value, i);
        TRY(txn_put(t, number_key(text, i), (struct str){value, sizeof value}));
    }
    return OK;
}

static void fill_file(const char *path, uint64_t leave_bytes)
{
    struct statvfs fs;
    CHECK(statvfs(test_folder(), &fs) == 0);
    uint64_t room = (uint64_t)fs.f_bavail * fs.f_frsize;
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    CHECK(fd >= 0 && room > leave_bytes);
    CHECK(posix_fallocate(fd, 0, (off_t)(room - leave_bytes)) == 0 && close(fd) == 0);
}

void test_local_full_disk_when_tables_are_written(void)
{
    /* RocksDB goes on by itself when there is room for what it may have in memory (rows.c). */
    mount_small("size=160m");
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    uint32_t number = 0;
    for (; number < 5000; number += BATCH) /* most of what RocksDB keeps in memory */
        update_ok(&s, STR("n"), put_small_batch, &number);
    char filler[256];
    (void)snprintf(filler, sizeof filler, "%s/filler", test_folder());
    fill_file(filler, 6 * MIB);
    struct err e = OK;
    while (number < SMALL_ROWS &&
           !err_is(e = engine_update_wait(s.engine, STR("n"), put_small_batch, &number)))
        number += BATCH;
    CHECK_ERR(e, ERR_NO_SPACE);
    for (uint32_t i = 0; i < number; i += 37)
        check_number(&s, i, SMALL_BYTES, i);
    CHECK(unlink(filler) == 0);
    WAIT_UNTIL(has_room_for(&s, put_small_batch, number));
    subject_reopen(&s);
    for (uint32_t i = 0; i < number + BATCH; i += 37)
        check_number(&s, i, SMALL_BYTES, i);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- a disk full of small rows ---- */

enum { NOTE_BYTES = 900 };

static struct err put_note(struct txn *t, void *arg)
{
    uint32_t number = *(const uint32_t *)arg;
    char text[16];
    char note[NOTE_BYTES];
    fill_bytes(note, sizeof note, number);
    return txn_put(t, number_key(text, number), (struct str){note, sizeof note});
}

static struct err delete_note(struct txn *t, void *arg)
{
    char text[16];
    return txn_del(t, number_key(text, *(const uint32_t *)arg));
}

struct waited {
    struct engine_update update; /* first */
    atomic_bool done;
};

static void waited_done(struct engine_update *u)
{
    atomic_store(&((struct waited *)(void *)u)->done, true);
}

static struct err put_note_that_makes_way(struct subject *s, uint32_t number)
{
    struct waited w = {.update = {.partition = STR("n"),
                                  .fn = put_note,
                                  .arg = &number,
                                  .ack = ENGINE_DURABLE,
                                  .hints = HINT_SMALL,
                                  .done = waited_done}};
    engine_submit(s->engine, &w.update);
    while (!atomic_load(&w.done))
        (void)nanosleep(&(struct timespec){.tv_nsec = 100 * 1000}, NULL);
    return w.update.result;
}

/* Less than a quarter of the 10 MiB that a disk of this size reserves for rows is left: new rows
 * are refused, however small, but deletes, and updates that lead to deletes, are admitted. */
void test_local_full_disk_takes_what_makes_way(void)
{
    enum { WAY = 100, LEFT_BYTES = 2300 << 10 };
    char filler[256];
    mount_small("size=160m");
    struct subject s = {.kind = &SUBJECT_LOCAL, .journal_file_bytes = MIB};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    for (uint32_t i = 0; i < WAY; i++)
        update_ok(&s, STR("n"), put_note, &i);
    (void)snprintf(filler, sizeof filler, "%s/filler", test_folder());
    fill_file(filler, LEFT_BYTES);
    /* Those that are there are put once more, and then some until it looks at the disk. */
    uint32_t count = fill_by(&s, put_note, CONTENTS_MAX);
    CHECK(count >= WAY);
    for (uint32_t i = 0; i < WAY; i++) {
        uint32_t number = count + i;
        CHECK_ERR(engine_update_wait(s.engine, STR("n"), put_note, &number), ERR_NO_SPACE);
        CHECK_OK(put_note_that_makes_way(&s, number));
        update_ok(&s, STR("n"), delete_note, &number);
        update_ok(&s, STR("n"), delete_note, &i);
    }
    check_number(&s, count - 1, NOTE_BYTES, count - 1);
    engine_close(s.engine);
    arena_release(&s.arena);
}
