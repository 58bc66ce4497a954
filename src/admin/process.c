/* SPDX-License-Identifier: Apache-2.0 */
#include "admin/process.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/str.h"

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static uint64_t count_fds(void)
{
    DIR *folder = opendir("/proc/self/fd");
    uint64_t count = 0;
    if (folder == NULL)
        return 0;
    while (readdir(folder) != NULL)
        count++;
    (void)closedir(folder);
    return count < 3 ? 0 : count - 3; /* ".", "..", and the folder itself */
}

static size_t read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "re");
    size_t n = file == NULL ? 0 : fread(text, 1, size - 1, file);
    if (file != NULL)
        (void)fclose(file);
    text[n] = '\0';
    return n;
}

/* The n-th word, counted from 0. */
static uint64_t word_at(struct str text, unsigned n)
{
    uint64_t value = 0;
    struct str word = str_cut(&text, ' ');
    while (n-- > 0 && str_given(text))
        word = str_cut(&text, ' ');
    return str_to_u64(word, &value) ? value : 0;
}

/* proc(5): the program's name, in parentheses, may contain anything; the start time is word 22. */
static double started_at(void)
{
    enum { START_AFTER_NAME = 19 };
    char text[1024];
    size_t n = read_text("/proc/self/stat", text, sizeof text);
    const char *end = n == 0 ? NULL : strrchr(text, ')');
    struct timespec wall, boot;
    if (end == NULL || clock_gettime(CLOCK_REALTIME, &wall) != 0 ||
        clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
        return 0;
    double ticks = (double)word_at(str_of(end + 2), START_AFTER_NAME);
    double now = (double)wall.tv_sec + (double)wall.tv_nsec / 1e9;
    double up = (double)boot.tv_sec + (double)boot.tv_nsec / 1e9;
    return now - up + ticks / (double)sysconf(_SC_CLK_TCK);
}

struct process_usage process_usage(void)
{
    struct process_usage usage = {.start_seconds = started_at(), .open_fds = count_fds()};
    struct rusage used;
    struct rlimit limit;
    char text[256];
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (getrusage(RUSAGE_SELF, &used) == 0)
        usage.cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0)
        usage.max_fds = limit.rlim_cur;
    if (read_text("/proc/self/statm", text, sizeof text) > 0) {
        usage.virtual_bytes = word_at(str_of(text), 0) * page;
        usage.resident_bytes = word_at(str_of(text), 1) * page;
    }
    return usage;
}
