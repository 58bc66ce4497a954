/* SPDX-License-Identifier: Apache-2.0 */
/* RocksDB's MANIFEST with a last record as a power cut may leave it. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/local/local.h"
#include "subject.h"

enum { BYTES_MAX = 4096, HEAD_BYTES = 7 };

static int open_manifest(void)
{
    char path[512];
    char name[64] = "";
    (void)snprintf(path, sizeof path, "%s/rows/CURRENT", subject_folder());
    int fd = open(path, O_RDONLY);
    CHECK(fd >= 0);
    ssize_t n = read(fd, name, sizeof name - 1);
    CHECK(n > 1 && close(fd) == 0);
    name[n - 1] = '\0';
    (void)snprintf(path, sizeof path, "%s/rows/%s", subject_folder(), name);
    fd = open(path, O_RDWR);
    CHECK(fd >= 0);
    return fd;
}

/* The first record of the file, which is whole, once more behind its last: with `kept` bytes of it,
 * zeros for the rest, and with another whole one behind that. */
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

static void check_opens(size_t kept, bool read_only)
{
    struct subject s = new_store();
    append_record(kept, false);
    s.read_only = read_only;
    s.engine = s.kind->open(&s);
    check_number(&s, 1, 100, 1);
    check_number(&s, 2, 5000, 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_manifest_with_a_torn_end_is_opened(void)
{
    for (size_t kept = 0; kept < 20; kept++)
        check_opens(kept, false);
}

void test_local_manifest_with_a_torn_end_is_read(void)
{
    check_opens(12, true);
}

void test_local_manifest_broken_in_the_middle_is_corrupt(void)
{
    struct subject s = new_store();
    append_record(12, true);
    struct engine_local_options options = {.folder = subject_folder(), .clock = &s.clock};
    CHECK_ERR(engine_local_open(&options, &s.engine), ERR_CORRUPT);
    arena_release(&s.arena);
}
