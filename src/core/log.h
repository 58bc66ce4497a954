/* SPDX-License-Identifier: Apache-2.0 */
/* One line to stderr per event, and to a second file if there is one. Never pass it a key, a
 * signature or a query string that may contain one. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "core/err.h"
#include "core/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* From any thread. */
void log_set_level(enum log_level level);
/* Also writes lines of every level to the file. A second call with the same or another path reopens
 * the file, for log rotation. NULL ends it. ERR_IO. */
struct err log_set_file(const char *path);
/* The file's descriptor, which the log owns; -1: there is none. */
int log_file(void);
/* Returns true if lines of this level are written. */
bool log_wants(enum log_level level);
/* "2026-01-01T00:00:00.000Z LEVEL text" in one write, control characters made harmless. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
