/* SPDX-License-Identifier: Apache-2.0 */
/* The folders that the local engine accepts; it does not change others. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "engine/wait.h"
#include "subject.h"

static struct err open_folder(const char *folder, bool read_only, struct engine **out)
{
    static struct clock clock;
    clock_init_system(&clock);
    struct engine_local_options options = {
        .folder = folder, .clock = &clock, .read_only = read_only};
    return engine_local_open(&options, out);
}

static const char *path_in(const char *name)
{
    static char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", test_folder(), name);
    return path;
}

static void write_text(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK(fd >= 0);
    CHECK(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    CHECK(close(fd) == 0);
}

static int count_entries(const char *folder)
{
    DIR *dir = opendir(folder);
    CHECK(dir != NULL);
    int count = 0;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        count += entry->d_name[0] != '.';
    (void)closedir(dir);
    return count;
}

void test_local_folder_is_made(void)
{
    struct engine *e;
    const char *folder = path_in("new");
    CHECK_OK(open_folder(folder, false, &e));
    engine_close(e);
    struct stat stat_of;
    CHECK(stat(path_in("new/LAZULI"), &stat_of) == 0);
    CHECK(stat(path_in("new/rows"), &stat_of) == 0 && S_ISDIR(stat_of.st_mode));
    CHECK(stat(path_in("new/segments"), &stat_of) == 0 && S_ISDIR(stat_of.st_mode));
    CHECK(stat(path_in("new"), &stat_of) == 0 && (stat_of.st_mode & 0777) == 0700);
    /* An empty one that is there already will do. */
    CHECK(mkdir(path_in("empty"), 0700) == 0);
    CHECK_OK(open_folder(path_in("empty"), false, &e));
    engine_close(e);
    CHECK_ERR(open_folder(path_in("no/parent"), false, &e), ERR_IO);
}

void test_local_folder_of_others_is_left_alone(void)
{
    struct engine *e;
    CHECK(mkdir(path_in("other"), 0700) == 0);
    write_text(path_in("other/letter.txt"), "dear");
    CHECK_ERR(open_folder(path_in("other"), false, &e), ERR_FOREIGN_STORE);
    CHECK_INT(count_entries(path_in("other")), 1);
    write_text(path_in("other/LAZULI"), "something else\n");
    CHECK_ERR(open_folder(path_in("other"), false, &e), ERR_FOREIGN_STORE);
    write_text(path_in("other/LAZULI"), "");
    CHECK_ERR(open_folder(path_in("other"), false, &e), ERR_FOREIGN_STORE);
    write_text(path_in("other/LAZULI"), "lazuli store, format 99\n");
    CHECK_ERR(open_folder(path_in("other"), false, &e), ERR_FOREIGN_STORE);
    CHECK_ERR(open_folder(path_in("other"), true, &e), ERR_FOREIGN_STORE);
    CHECK_INT(count_entries(path_in("other")), 2);
    write_text(path_in("file"), "not a folder");
    CHECK_ERR(open_folder(path_in("file"), false, &e), ERR_IO);
}

/* A store of the previous format is opened and upgraded to this one, because older programs would
 * not understand all of it. */
void test_local_folder_of_the_format_before(void)
{
    struct engine *e;
    char text[64] = "";
    CHECK_OK(open_folder(path_in("store"), false, &e));
    engine_close(e);
    write_text(path_in("store/LAZULI"), "lazuli store, format 1\n");
    CHECK_OK(open_folder(path_in("store"), true, &e));
    engine_close(e);
    CHECK_OK(open_folder(path_in("store"), false, &e));
    engine_close(e);
    int fd = open(path_in("store/LAZULI"), O_RDONLY);
    CHECK(read(fd, text, sizeof text - 1) > 0 && close(fd) == 0);
    CHECK_STR(str_of(text), STR("lazuli store, format 4\n"));
}

/* For copying a store: a missing folder is not created. */
void test_local_folder_that_must_be_there(void)
{
    struct engine *e;
    struct clock clock;
    clock_init_system(&clock);
    struct engine_local_options options = {
        .folder = path_in("typo"), .clock = &clock, .existing = true};
    struct err error = engine_local_open(&options, &e);
    CHECK_ERR(error, ERR_IO);
    CHECK_INT(error.cause, ENOENT);
    CHECK(access(path_in("typo"), F_OK) != 0);
    CHECK(mkdir(path_in("empty"), 0700) == 0);
    options.folder = path_in("empty");
    CHECK_ERR(engine_local_open(&options, &e), ERR_FOREIGN_STORE);
    CHECK(rmdir(path_in("empty")) == 0); /* nothing was made in it */
    CHECK_OK(open_folder(path_in("store"), false, &e));
    engine_close(e);
    options.folder = path_in("store");
    CHECK_OK(engine_local_open(&options, &e));
    engine_close(e);
}

void test_local_folder_in_use(void)
{
    struct engine *e;
    struct engine *second;
    CHECK_OK(open_folder(path_in("store"), false, &e));
    CHECK_ERR(open_folder(path_in("store"), false, &second), ERR_STORE_IN_USE);
    CHECK_ERR(open_folder(path_in("store"), true, &second), ERR_STORE_IN_USE);
    engine_close(e);
    CHECK_OK(open_folder(path_in("store"), false, &e));
    engine_close(e);
}

void test_local_folder_with_broken_rows(void)
{
    struct engine *e;
    CHECK_OK(open_folder(path_in("store"), false, &e));
    engine_close(e);
    write_text(path_in("store/rows/CURRENT"), "nonsense");
    struct err error = open_folder(path_in("store"), false, &e);
    CHECK(error.code == ERR_CORRUPT || error.code == ERR_IO);
}

static struct err put_one(struct txn *t, void *arg)
{
    (void)arg;
    return txn_put(t, STR("k"), STR("v"));
}

void test_local_read_only_changes_nothing(void)
{
    struct engine *e;
    CHECK_ERR(open_folder(path_in("none"), true, &e), ERR_IO);
    struct stat stat_of;
    CHECK(stat(path_in("none"), &stat_of) != 0);
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    put_row(&s, STR("p"), STR("k"), STR("before"));
    engine_close(s.engine);
    int rows_before = count_entries(path_in("store/rows"));
    s.read_only = true;
    s.engine = s.kind->open(&s);
    CHECK_STR(get_row(&s, STR("p"), STR("k")), STR("before"));
    CHECK_ERR(engine_update_wait(s.engine, STR("p"), put_one, NULL), ERR_IO);
    struct extent_writer *w;
    CHECK_ERR(extent_begin(s.engine, 10, 0, &w), ERR_IO);
    engine_close(s.engine);
    CHECK_INT(count_entries(path_in("store/rows")), rows_before);
    arena_release(&s.arena);
}

/* RocksDB's among them. */
void test_local_folder_keeps_nothing_of_a_start(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    for (int i = 0; i < 3; i++) {
        s.engine = s.kind->open(&s);
        engine_close(s.engine);
    }
    char path[512];
    (void)snprintf(path, sizeof path, "%s/rows", subject_folder());
    DIR *dir = opendir(path);
    CHECK(dir != NULL);
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;)
        CHECK(strstr(entry->d_name, "dbtmp") == NULL);
    (void)closedir(dir);
    arena_release(&s.arena);
}
