/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are gathered and written together, from any thread: a write(2) for each would cost a
 * tenth of a small request. */
#ifndef CORE_LINE_LOG_H
#define CORE_LINE_LOG_H

#include "core/buf.h"

struct line_log;

/* Writes to fd, which the caller keeps, and to the log's file (core/log.h) if there is one. */
struct line_log *line_log_new(int fd);
/* Holds lines back until called again with false. From any thread. */
void line_log_mute(struct line_log *log, bool muted);
/* Returns true if lines are written at all; false for NULL. */
bool line_log_wants(const struct line_log *log);
/* The caller writes a line into the buffer between these two calls; other threads wait meanwhile.
 */
struct buf *line_log_begin(struct line_log *log);
void line_log_end(struct line_log *log);
/* Writes the buffered lines. Called by a timer, and at the end. */
void line_log_flush(struct line_log *log);
/* NULL is let pass. */
void line_log_free(struct line_log *log);

/* Appends text without characters that could end the line or look like another field. */
void line_log_put_visible(struct buf *out, struct str text);
struct sockaddr_storage;
/* " client=ADDRESS"; NULL or of another kind: "-". */
void line_log_put_client(struct buf *out, const struct sockaddr_storage *peer);

#endif
