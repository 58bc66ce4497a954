/* SPDX-License-Identifier: Apache-2.0 */
/* One line to stderr per event. Never hand it a key, a signature or a query string that may hold
 * one. */
#ifndef CORE_LOG_H
#define CORE_LOG_H

#include "core/str.h"

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/* Set once at start-up, before other threads exist. */
void log_set_level(enum log_level level);
bool log_wants(enum log_level level);
/* "2026-01-01T00:00:00.000Z LEVEL text" in one write, control characters made harmless. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
