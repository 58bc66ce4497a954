/* SPDX-License-Identifier: Apache-2.0 */
/* The speed of the disk without a server: consecutive writes, each with fdatasync, into a file
 * whose blocks are already allocated, like a journal's.
 *
 *     bench_disk FOLDER SECONDS [BYTES=4096]     one line of JSON: rate, p50, p99, p999, longest,
 * CPU */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "core/mem.h"
#include "core/str.h"

enum { WRITES_MAX = 1 << 20, FILE_BYTES = 64 << 20 };

static int64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static int compare(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static bool fill(int fd, char *bytes, size_t n)
{
    for (off_t at = 0; at < FILE_BYTES; at += (off_t)n)
        if (pwrite(fd, bytes, n, at) != (ssize_t)n)
            return false;
    return fsync(fd) == 0;
}

static double cpu_seconds(void)
{
    struct rusage used;
    (void)getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static size_t measure(int fd, char *bytes, size_t n, uint64_t seconds, int64_t *times)
{
    size_t count = 0;
    int64_t until = now_ns() + (int64_t)seconds * 1000000000LL;
    for (off_t at = 0; now_ns() < until && count < WRITES_MAX; at = (at + (off_t)n) % FILE_BYTES) {
        int64_t begun = now_ns();
        bytes[0]++;
        if (pwrite(fd, bytes, n, at) != (ssize_t)n || fdatasync(fd) != 0)
            return 0;
        times[count++] = now_ns() - begun;
    }
    return count;
}

static double ms_at(const int64_t *sorted, size_t count, size_t per_mille)
{
    return (double)sorted[count * per_mille / 1000] / 1e6;
}

static void print_result(int64_t *times, size_t count, uint64_t seconds, double cpu)
{
    qsort(times, count, sizeof *times, compare);
    printf("{\"requests\":%zu,\"rate\":%.1f,\"p50Ms\":%.4f,\"p99Ms\":%.4f,\"p999Ms\":%.4f,"
           "\"longestMs\":%.4f,\"cpuSeconds\":%.3f}\n",
           count, (double)count / (double)seconds, ms_at(times, count, 500),
           ms_at(times, count, 990), ms_at(times, count, 999), (double)times[count - 1] / 1e6, cpu);
}

int main(int argc, char **argv)
{
    uint64_t seconds = 0, n = 4096;
    char path[4096];
    if (argc < 3 || !str_to_u64(str_of(argv[2]), &seconds) ||
        (argc > 3 && !str_to_u64(str_of(argv[3]), &n)) || n == 0 || n > FILE_BYTES) {
        (void)fprintf(stderr, "bench_disk FOLDER SECONDS [BYTES]\n");
        return 2;
    }
    (void)snprintf(path, sizeof path, "%s/disk", argv[1]);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    char *bytes = mem_calloc(1, n);
    int64_t *times = mem_calloc(WRITES_MAX, sizeof *times);
    bool filled = fd >= 0 && fill(fd, bytes, n);
    double before = cpu_seconds();
    size_t count = filled ? measure(fd, bytes, n, seconds, times) : 0;
    if (count == 0) {
        perror(path);
        return 1;
    }
    print_result(times, count, seconds, cpu_seconds() - before);
    (void)unlink(path);
    free(times);
    free(bytes);
    return 0;
}
