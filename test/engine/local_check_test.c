/* SPDX-License-Identifier: Apache-2.0 */
/* `check` finds all errors and reports no false ones; `backup` copies a store in use. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "engine/wait.h"
#include "subject.h"

/* Rows whose key starts with 'x' hold descriptors. */
static bool refs_of(struct str partition, struct str key, struct str value,
                    void (*named)(void *sink, const struct extent *x), void *sink)
{
    (void)partition;
    if (!str_starts(key, STR("x")))
        return !str_eq(value, STR("nonsense"));
    struct reader r = reader_of(value);
    while (r.n > 0) {
        struct extent x = extent_decode(&r);
        if (reader_ok(&r))
            named(sink, &x);
    }
    return reader_ok(&r);
}

struct found {
    char text[2048];
};

static void note_problem(void *arg, const char *line)
{
    struct found *f = arg;
    size_t n = strlen(f->text);
    (void)snprintf(f->text + n, sizeof f->text - n, "%s\n", line);
}

static struct err back_up(struct subject *s, const char *folder)
{
    struct engine_backup backup = {.folder = folder};
    return engine_local_backup(s->engine, &backup);
}

static struct engine_check run_check(const char *folder, struct found *found)
{
    static struct clock clock;
    clock_init_system(&clock);
    struct engine *e;
    struct engine_local_options options = {.folder = folder, .clock = &clock, .read_only = true};
    CHECK_OK(engine_local_open(&options, &e));
    found->text[0] = '\0';
    struct engine_check check = {.refs = refs_of, .problem = note_problem, .arg = found};
    CHECK_OK(engine_local_check(e, &check));
    engine_close(e);
    return check;
}

struct name_call {
    const char *key;
    struct extent x;
    bool adopt;
};

static struct err name_fn(struct txn *t, void *arg)
{
    const struct name_call *call = arg;
    struct buf b = buf_in(txn_arena(t));
    extent_encode(&b, &call->x);
    TRY(call->adopt ? txn_extent(t, EXTENT_ADOPT, &call->x) : txn_extent(t, EXTENT_HOLD, &call->x));
    return txn_put(t, str_of(call->key), buf_str(&b));
}

static struct extent fill_store(struct subject *s)
{
    for (uint32_t i = 0; i < 50; i++)
        put_number(s, i, i * 100, i);
    struct name_call call = {"x1", write_extent(s->engine, 100000, 1), true};
    update_ok(s, STR("p"), name_fn, &call);
    call.key = "x2";
    call.adopt = false;
    update_ok(s, STR("p"), name_fn, &call);
    struct name_call other = {"x3", write_extent(s->engine, 10, 2), true};
    update_ok(s, STR("p"), name_fn, &other);
    return call.x;
}

static struct subject new_subject(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    return s;
}

static void fill_and_crash(struct subject *s)
{
    (void)fill_store(s);
    (void)write_extent(s->engine, 5000, 9); /* never adopted: the next start frees it */
}

void test_local_check_of_a_sound_store(void)
{
    struct subject s = new_subject();
    struct found found;
    run_and_crash(&s, fill_and_crash);
    struct engine_check check = run_check(subject_folder(), &found); /* the journal not applied */
    CHECK_STR(str_of(found.text), STR(""));
    CHECK_INT(check.rows, 53);
    CHECK_INT(check.extents, 2);
    s.engine = s.kind->open(&s);
    engine_close(s.engine);
    check = run_check(subject_folder(), &found);
    CHECK_STR(str_of(found.text), STR(""));
    CHECK_INT(check.problems, 0);
    CHECK_INT(check.rows, 53);
    arena_release(&s.arena);
}

static void overwrite(const char *name, off_t at, const char *bytes, size_t n)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", subject_folder(), name);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    CHECK(pwrite(fd, bytes, n, at) == (ssize_t)n && close(fd) == 0);
}

void test_local_check_says_what_is_wrong(void)
{
    struct subject s = new_subject();
    struct found found;
    s.engine = s.kind->open(&s);
    struct extent x = fill_store(&s);
    put_row(&s, STR("p"), STR("bad"), STR("nonsense"));
    hold_extent(&s, &x); /* no row names it a third time */
    struct extent strange = {.segment = 77, .offset = 4096, .length = 5, .check = 6};
    struct buf b = buf_in(&s.arena);
    extent_encode(&b, &strange);
    put_row(&s, STR("p"), STR("x9"), buf_str(&b));
    engine_close(s.engine);
    overwrite("segments/0000000000000001.seg", (off_t)x.offset + 70000, "!", 1);
    overwrite("segments/0000000000000001.seg", 1 << 20, "stray", 5);
    overwrite("journal/0000000000000001.log", 40000, "!!!!", 4);
    struct engine_check check = run_check(subject_folder(), &found);
    CHECK(strstr(found.text, "not understood") != NULL);
    CHECK(strstr(found.text, "counted 3, named 2 times") != NULL);
    CHECK(strstr(found.text, "77:4096: named by a row and not counted") != NULL);
    CHECK(strstr(found.text, "the checksum is wrong") != NULL);
    CHECK(strstr(found.text, "bytes that no extent accounts for") != NULL);
    CHECK(strstr(found.text, "the value cannot be read") != NULL);
    CHECK_INT(check.problems, 6);
    CHECK_INT(check.rows, 55);
    arena_release(&s.arena);
}

/* ---- backup ---- */

struct busy {
    struct subject *subject;
    atomic_bool over;
};

static struct err swap_fn(struct txn *t, void *arg)
{
    struct name_call *call = arg;
    struct str old;
    TRY(txn_get(t, STR("x1"), &old));
    struct reader r = reader_of(old);
    struct extent before = extent_decode(&r);
    TRY(txn_extent(t, EXTENT_DROP, &before));
    return name_fn(t, call);
}

/* Replaces an extent repeatedly, so that the copy meets every stage of it. */
static void *keep_busy(void *arg)
{
    struct busy *b = arg;
    for (uint32_t i = 0; !atomic_load(&b->over); i++) {
        struct name_call call = {"x1", write_extent(b->subject->engine, 30000, i), true};
        CHECK_OK(engine_update_wait(b->subject->engine, STR("busy"), swap_fn, &call));
        put_number(b->subject, 100 + i % 10, 3000, i);
    }
    return NULL;
}

void test_local_backup_of_a_busy_store(void)
{
    struct subject s = new_subject();
    s.journal_file_bytes = 256 << 10;
    s.segment_bytes = 1 << 20;
    s.engine = s.kind->open(&s);
    (void)fill_store(&s);
    struct name_call first = {"x1", write_extent(s.engine, 30000, 0), true};
    update_ok(&s, STR("busy"), name_fn, &first);
    struct busy busy = {.subject = &s};
    pthread_t thread;
    CHECK_INT(pthread_create(&thread, NULL, keep_busy, &busy), 0);
    char folder[256];
    for (int i = 0; i < 4; i++) {
        struct found found;
        (void)snprintf(folder, sizeof folder, "%s/backup%d", test_folder(), i);
        struct engine_backup backup = {.folder = folder};
        CHECK_OK(engine_local_backup(s.engine, &backup));
        struct engine_check check = run_check(folder, &found);
        CHECK_STR(str_of(found.text), STR(""));
        CHECK(check.rows >= 54 && check.extents == 3);
        CHECK_INT(backup.rows,
                  check.rows); /* the size of the copy, not of the store a moment later */
        CHECK_INT(backup.extents, check.extents);
        CHECK(backup.bytes > check.extents * 30000);
    }
    CHECK_ERR(back_up(&s, folder), ERR_IO); /* it is there already */
    atomic_store(&busy.over, true);
    pthread_join(thread, NULL);
    engine_close(s.engine);
    struct engine_local_options options = {.folder = folder, .clock = &s.clock};
    CHECK_OK(engine_local_open(&options, &s.engine)); /* and it serves */
    check_number(&s, 49, 4900, 49);
    put_number(&s, 1, 2000, 3);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static off_t size_of(const char *folder, const char *name)
{
    char path[512];
    struct stat stat;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(lstat(path, &stat) == 0);
    return stat.st_size;
}

/* The journal has zeros after its end, and is written there while it is copied. */
void test_local_backup_ends_where_its_rows_do(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    for (uint32_t i = 0; i < 20; i++)
        put_number(&s, i, i * 100, i);
    char folder[256];
    (void)snprintf(folder, sizeof folder, "%s/backup", test_folder());
    CHECK_OK(back_up(&s, folder));
    static const char name[] = "journal/0000000000000001.log";
    CHECK(size_of(subject_folder(), name) > size_of(folder, name));
    engine_close(s.engine);
    CHECK(size_of(subject_folder(), name) >= size_of(folder, name)); /* it has cut them off */
    struct engine_local_options options = {.folder = folder, .clock = &s.clock};
    CHECK_OK(engine_local_open(&options, &s.engine));
    for (uint32_t i = 0; i < 20; i++)
        check_number(&s, i, i * 100, i);
    engine_close(s.engine);
    arena_release(&s.arena);
}
