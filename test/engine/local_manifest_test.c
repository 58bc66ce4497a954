/* SPDX-License-Identifier: Apache-2.0 */
/* RocksDB's MANIFEST: nothing is appended to it, and one that an older program appended to can be
 * opened after a power cut. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "subject.h"

enum { BYTES_MAX = 4096, HEAD_BYTES = 7 };

static void current_name(char name[64])
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/rows/CURRENT", subject_folder());
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    ssize_t n = read(fd, name, 63);
    CHECK(n > 1 && close(fd) == 0);
    name[n - 1] = '\0';
}

static int open_manifest(void)
{
    char path[512];
    char name[64] = "";
    current_name(name);
    (void)snprintf(path, sizeof path, "%s/rows/%s", subject_folder(), name);
    int fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

static off_t manifest_size(void)
{
    struct stat stat;
    int fd = open_manifest();
    CHECK(fstat(fd, &stat) == 0 && close(fd) == 0);
    return stat.st_size;
}

/* As if an older program had written it. */
static void make_old(void)
{
    char path[512];
    static const char marker[] = "lazuli store, format 3\n";
    (void)snprintf(path, sizeof path, "%s/LAZULI", subject_folder());
    int fd = open(path, O_WRONLY);
    CHECK(fd >= 0 && pwrite(fd, marker, sizeof marker - 1, 0) == (ssize_t)sizeof marker - 1);
    CHECK(close(fd) == 0);
}

/* Appends the file's first record, which is complete, again: with `kept` bytes of it, zeros for the
 * rest, and then another complete one. */
static void append_record(size_t kept, bool another)
{
    char file[BYTES_MAX];
    int fd = open_manifest();
    ssize_t size = pread(fd, file, sizeof file, 0);
    CHECK(size > HEAD_BYTES && size < BYTES_MAX);
    size_t n = HEAD_BYTES + (size_t)(unsigned char)file[4] + ((size_t)(unsigned char)file[5] << 8);
    static const char nothing[BYTES_MAX];
    CHECK(kept < n && n <= (size_t)size);
    CHECK(pwrite(fd, file, kept, size) == (ssize_t)kept);
    CHECK(pwrite(fd, nothing, n - kept, size + (off_t)kept) == (ssize_t)(n - kept));
    if (another)
        CHECK(pwrite(fd, file, n, size + (off_t)n) == (ssize_t)n);
    CHECK(close(fd) == 0);
}

static struct subject new_store(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    s.engine = s.kind->open(&s);
    put_number(&s, 1, 100, 1);
    put_number(&s, 2, 5000, 2);
    engine_close(s.engine);
    return s;
}

static void check_opens(size_t kept, bool another, bool read_only)
{
    struct subject s = new_store();
    make_old();
    append_record(kept, another);
    s.read_only = read_only;
    s.engine = s.kind->open(&s);
    check_number(&s, 1, 100, 1);
    check_number(&s, 2, 5000, 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* Each change writes a new MANIFEST, so a cut never hits one that is being appended to. */
void test_local_manifest_is_never_added_to(void)
{
    struct subject s = new_store();
    char before[64];
    char after[64];
    s.engine = s.kind->open(&s);
    current_name(before);
    off_t size = manifest_size();
    put_number(&s, 3, 100, 3);
    CHECK_INT(manifest_size(), size);
    engine_close(s.engine); /* writes a table */
    current_name(after);
    CHECK(strcmp(before, after) != 0);
    arena_release(&s.arena);
}

void test_local_manifest_with_a_torn_end_is_opened(void)
{
    for (size_t kept = 0; kept < 20; kept++)
        check_opens(kept, false, false);
}

void test_local_manifest_with_a_torn_end_is_read(void)
{
    check_opens(12, false, true);
}

/* A cut may keep a later sector and lose an earlier one. */
void test_local_manifest_without_a_sector_is_opened(void)
{
    check_opens(0, true, false);
    check_opens(0, true, true);
}

static void check_corrupt(bool old, bool another)
{
    struct subject s = new_store();
    append_record(12, another);
    if (old)
        make_old();
    off_t size = manifest_size();
    struct engine_local_options options = {.folder = subject_folder(), .clock = &s.clock};
    CHECK_ERR(engine_local_open(&options, &s.engine), ERR_CORRUPT);
    CHECK_INT(manifest_size(), size); /* nothing is changed */
    arena_release(&s.arena);
}

void test_local_manifest_broken_in_the_middle_is_corrupt(void)
{
    check_corrupt(true, true);
}

/* A completely flushed file does not lose its end in a power cut. */
void test_local_manifest_that_is_not_whole_is_corrupt(void)
{
    check_corrupt(false, false);
}
