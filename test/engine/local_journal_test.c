/* SPDX-License-Identifier: Apache-2.0 */
/* The journal: recovery after a crash, and bounded growth. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "engine/wait.h"
#include "subject.h"

enum { LARGE = 5000, SMALL = 100 };

static struct subject new_subject(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    return s;
}

static const char *journal_folder(void)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/journal", subject_folder());
    return path;
}

/* The newest file of the journal. */
static int open_newest(int flags)
{
    char newest[64] = "";
    DIR *dir = opendir(journal_folder());
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, newest) > 0 && entry->d_name[0] != '.')
            (void)snprintf(newest, sizeof newest, "%.60s", entry->d_name);
    }
    (void)closedir(dir);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", journal_folder(), newest);
    int fd = open(path, flags);
    CHECK(fd >= 0);
    return fd;
}

/* Where its last record ends: behind it are zeros. */
static off_t newest_end(void)
{
    struct stat stat;
    char byte = 0;
    int fd = open_newest(O_RDONLY);
    CHECK(fstat(fd, &stat) == 0);
    off_t end = stat.st_size;
    while (end > 0 && byte == 0)
        CHECK(pread(fd, &byte, 1, --end) == 1);
    CHECK(close(fd) == 0);
    return end + 1;
}

static void cut_newest(off_t size)
{
    int fd = open_newest(O_RDWR);
    CHECK(ftruncate(fd, size) == 0 && close(fd) == 0);
}

static void flip_newest(off_t at)
{
    char byte;
    int fd = open_newest(O_RDWR);
    CHECK(pread(fd, &byte, 1, at) == 1);
    byte ^= 1;
    CHECK(pwrite(fd, &byte, 1, at) == 1 && close(fd) == 0);
}

static void write_three(struct subject *s)
{
    put_number(s, 1, LARGE, 1);
    put_number(s, 2, SMALL, 2);
    put_number(s, 3, LARGE, 3);
}

static void check_absent(struct subject *s, const char *key)
{
    CHECK(!str_given(get_row(s, STR("n"), str_of(key))));
}

void test_local_journal_is_applied_after_a_crash(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_three);
    for (int i = 0; i < 3; i++) { /* also by a start whose own start crashed */
        s.engine = s.kind->open(&s);
        check_number(&s, 1, LARGE, 1);
        check_number(&s, 2, SMALL, 2);
        check_number(&s, 3, LARGE, 3);
        engine_close(s.engine);
    }
    arena_release(&s.arena);
}

static void just_open(struct subject *s)
{
    (void)s;
}

static void write_fourth(struct subject *s)
{
    check_number(s, 3, LARGE, 3);
    put_number(s, 4, LARGE, 4);
}

void test_local_journal_survives_crashes_of_the_start(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_three);
    run_and_crash(&s, just_open);
    run_and_crash(&s, write_fourth);
    run_and_crash(&s, just_open);
    s.engine = s.kind->open(&s);
    check_number(&s, 1, LARGE, 1);
    check_number(&s, 4, LARGE, 4);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* A record without its last bytes was never acknowledged. */
void test_local_journal_ends_with_the_last_whole_record(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_three);
    off_t size = newest_end();
    for (int cut = 1; cut <= LARGE + 64; cut += 1013) {
        cut_newest(size - cut);
        s.read_only = true;
        s.engine = s.kind->open(&s);
        check_number(&s, 1, LARGE, 1);
        check_number(&s, 2, SMALL, 2);
        check_absent(&s, "key 3");
        engine_close(s.engine);
    }
    s.read_only = false;
    s.engine = s.kind->open(&s);
    check_number(&s, 2, SMALL, 2);
    check_absent(&s, "key 3");
    put_number(&s, 3, LARGE, 33);
    engine_close(s.engine);
    s.engine = s.kind->open(&s);
    check_number(&s, 3, LARGE, 33);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* A torn record is cut off, so that it does not reappear when later records confirm its number. */
void test_local_journal_torn_record_stays_away(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_three);
    flip_newest(newest_end() - 100); /* in the value of the last */
    run_and_crash(&s, just_open);
    run_and_crash(&s, write_three);
    run_and_crash(&s, just_open);
    s.engine = s.kind->open(&s);
    check_number(&s, 3, LARGE, 3);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* A damaged record before durable ones is data loss and is reported. */
void test_local_journal_broken_in_the_middle_is_corrupt(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_three);
    flip_newest(64 + 48 + 10); /* an entry of the first record */
    struct engine *e;
    struct engine_local_options options = {.folder = subject_folder(), .clock = &s.clock};
    CHECK_ERR(engine_local_open(&options, &e), ERR_CORRUPT);
    flip_newest(64 + 48 + 10);
    flip_newest(64 + 20); /* its header */
    CHECK_ERR(engine_local_open(&options, &e), ERR_CORRUPT);
    flip_newest(64 + 20);
    s.engine = s.kind->open(&s);
    check_number(&s, 3, LARGE, 3);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static struct err read_first(struct txn *t, void *arg)
{
    (void)arg;
    struct str value;
    return txn_get(t, STR("key 1"), &value);
}

static struct err walk_all(struct txn *t, void *arg)
{
    (void)arg;
    struct cursor *c;
    TRY(cursor_open(t, STR(""), &c));
    while (c->valid)
        TRY(cursor_next(c));
    return OK;
}

void test_local_journal_values_are_checked(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    write_three(&s);
    engine_close(s.engine);
    s.engine = s.kind->open(&s);
    flip_newest(64 + 1000); /* in the value of the first */
    CHECK_ERR(engine_view(s.engine, STR("n"), ENGINE_WAIT, read_first, NULL), ERR_CORRUPT);
    CHECK_ERR(engine_view(s.engine, STR("n"), ENGINE_WAIT, walk_all, NULL), ERR_CORRUPT);
    CHECK_ERR(engine_update_wait(s.engine, STR("n"), read_first, NULL), ERR_CORRUPT);
    check_number(&s, 3, LARGE, 3);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- collection ---- */

enum { FILE_BYTES = 1 << 20, KEYS = 50, VALUE = 20000, ROUNDS = 12 };

static void wait_for_journal(uint64_t bytes_max)
{
    WAIT_UNTIL(folder_bytes(journal_folder()) <= bytes_max);
}

void test_local_journal_is_collected(void)
{
    struct subject s = new_subject();
    s.journal_file_bytes = FILE_BYTES;
    s.engine = s.kind->open(&s);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t key = 0; key < KEYS; key++)
            put_number(&s, key, VALUE, round * KEYS + key);
    }
    /* 12 MB were written, 1 MB is live; half of what stays may be garbage, and some is not judged
     * before RocksDB has put it into tables. */
    wait_for_journal(5 * FILE_BYTES);
    for (uint32_t key = 0; key < KEYS; key++)
        check_number(&s, key, VALUE, (ROUNDS - 1) * KEYS + key);
    subject_reopen(&s);
    for (uint32_t key = 0; key < KEYS; key++)
        check_number(&s, key, VALUE, (ROUNDS - 1) * KEYS + key);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* The state after a start that ended while making a file. */
void test_local_journal_file_without_a_header_is_collected(void)
{
    struct subject s = new_subject();
    char path[512];
    s.journal_file_bytes = FILE_BYTES;
    s.engine = s.kind->open(&s);
    engine_close(s.engine);
    (void)snprintf(path, sizeof path, "%s/00000000000000ff.log", journal_folder());
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && close(fd) == 0);
    s.engine = s.kind->open(&s);
    for (uint32_t n = 0; n < ROUNDS * KEYS; n++)
        put_number(&s, n % KEYS, VALUE, n);
    WAIT_UNTIL(access(path, F_OK) != 0);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* Values are replaced at random: the journal holds at most twice the live data, apart from files
 * too new for collection. */
void test_local_journal_is_at_most_half_garbage(void)
{
    enum { MANY_KEYS = 300, REPLACED = 1500 };
    struct subject s = new_subject();
    uint32_t last[MANY_KEYS];
    uint64_t random = 1;
    s.journal_file_bytes = FILE_BYTES;
    s.engine = s.kind->open(&s);
    for (uint32_t i = 0; i < MANY_KEYS + REPLACED; i++) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        uint32_t key = i < MANY_KEYS ? i : (uint32_t)((random >> 33) % MANY_KEYS);
        last[key] = i;
        put_number(&s, key, VALUE, i);
    }
    wait_for_journal(2 * MANY_KEYS * VALUE + 5 * FILE_BYTES);
    for (uint32_t key = 0; key < MANY_KEYS; key++)
        check_number(&s, key, VALUE, last[key]);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static void overwrite_until_crash(struct subject *s)
{
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t key = 0; key < KEYS; key++) {
            /* Some of the values stay, so that they have to be moved. */
            if (round == 0 || key % 4 != 0)
                put_number(s, key, VALUE, round * KEYS + key);
        }
    }
    wait_for_journal(5 * FILE_BYTES);
}

void test_local_journal_collected_values_survive_a_crash(void)
{
    struct subject s = new_subject();
    s.journal_file_bytes = FILE_BYTES;
    run_and_crash(&s, overwrite_until_crash);
    s.engine = s.kind->open(&s);
    for (uint32_t key = 0; key < KEYS; key++) {
        uint32_t round = key % 4 == 0 ? 0 : ROUNDS - 1;
        check_number(&s, key, VALUE, round * KEYS + key);
    }
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* Runs that end before they are idle and before they write much. */
void test_local_journal_of_many_short_runs_is_collected(void)
{
    enum { RUNS = 8, ROWS = 20, ROW_BYTES = 100000 };
    struct subject s = new_subject();
    for (uint32_t run = 0; run < RUNS; run++) {
        s.engine = s.kind->open(&s);
        for (uint32_t i = 0; i < ROWS; i++)
            put_number(&s, i, ROW_BYTES, run + i);
        engine_close(s.engine);
    }
    s.engine = s.kind->open(&s);
    wait_for_journal(3 * ROWS * ROW_BYTES);
    for (uint32_t i = 0; i < ROWS; i++)
        check_number(&s, i, ROW_BYTES, RUNS - 1 + i);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_journal_without_its_newest_file_is_corrupt(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    put_number(&s, 1, SMALL, 1);
    put_number(&s, 2, LARGE, 2);
    engine_close(s.engine);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/0000000000000001.log", journal_folder());
    CHECK(unlink(path) == 0);
    struct engine_local_options options = {.folder = subject_folder(), .clock = &s.clock};
    CHECK_ERR(engine_local_open(&options, &s.engine), ERR_CORRUPT);
    arena_release(&s.arena);
}
