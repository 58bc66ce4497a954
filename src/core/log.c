/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

enum { LOG_LINE_MAX = 4096 };

/* The one thing in the program that is set after its definition: handing a logger through every
 * signature buys nothing that tests need. */
static enum log_level log_level_now = LOG_INFO;

void log_set_level(enum log_level level)
{
    log_level_now = level;
}

bool log_wants(enum log_level level)
{
    return level <= log_level_now;
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
    if (write(STDERR_FILENO, line, n) < 0)
        return; /* nobody reads the log: there is nobody to tell */
}
