/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 4096 };

/* The program's only mutable globals: passing a logger through every function would bring no
 * benefit, not even to tests. */
static _Atomic(enum log_level) log_level_now = LOG_INFO;
static atomic_int log_file_fd = -1;

void log_set_level(enum log_level level)
{
    atomic_store_explicit(&log_level_now, level, memory_order_relaxed);
}

int log_file(void)
{
    return atomic_load_explicit(&log_file_fd, memory_order_relaxed);
}

/* A socket, which systemd gives for the standard streams, cannot be opened by its name. */
static int open_file(const char *path)
{
    if (strcmp(path, "/dev/stdout") == 0)
        return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0);
    if (strcmp(path, "/dev/stderr") == 0)
        return fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
    return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOCTTY, 0600);
}

/* Another thread may be writing to the descriptor, so a new file takes over its number. */
struct err log_set_file(const char *path)
{
    int old = log_file();
    int fresh = open_file(path != NULL ? path : "/dev/null");
    if (fresh < 0)
        return err_cause(ERR_IO, errno);
    if (old < 0) {
        atomic_store(&log_file_fd, fresh);
        return OK;
    }
    bool moved = dup3(fresh, old, O_CLOEXEC) == old;
    int cause = errno;
    (void)close(fresh);
    return moved ? OK : err_cause(ERR_IO, cause);
}

static bool on_stderr(enum log_level level)
{
    return level <= atomic_load_explicit(&log_level_now, memory_order_relaxed);
}

bool log_wants(enum log_level level)
{
    return on_stderr(level) || log_file() >= 0;
}

static size_t log_stamp(char *line, size_t size, enum log_level level)
{
    static const char *const names[] = {"ERROR", "WARN", "INFO", "DEBUG"};
    struct timespec now;
    struct tm utc;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &utc);
    size_t n = strftime(line, size, "%Y-%m-%dT%H:%M:%S", &utc);
    return n +
           (size_t)snprintf(line + n, size - n, ".%03ldZ %s ", now.tv_nsec / 1000000, names[level]);
}

void log_line(enum log_level level, const char *format, ...)
{
    if (!log_wants(level))
        return;
    char line[LOG_LINE_MAX];
    size_t n = log_stamp(line, sizeof line, level);
    size_t text = n;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line + n, sizeof line - n - 1, format, args);
    va_end(args);
    if (length > 0)
        n += (size_t)length < sizeof line - n - 1 ? (size_t)length : sizeof line - n - 2;
    for (size_t i = text; i < n; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F)
            line[i] = '?';
    line[n++] = '\n';
    /* If the log cannot be written, there is no place to report it. */
    if (on_stderr(level))
        (void)!write(STDERR_FILENO, line, n);
    if (log_file() >= 0)
        (void)!write(log_file(), line, n);
}
