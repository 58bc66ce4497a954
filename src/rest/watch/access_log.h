/* SPDX-License-Identifier: Apache-2.0 */
/* One line per request: time, service, method, path without its signature, status, error code,
 * bytes in and out, microseconds, request id, the client's address, and the accepted credential:
 * its kind and a user's id, never a secret. SMB writes the same for its commands
 * (smb/command_log.c). With --log-format json a line is a JSON object, which also has the
 * operation, the user agent and the client's request id; both formats have the ids of a traceparent
 * header. */
#ifndef REST_WATCH_ACCESS_LOG_H
#define REST_WATCH_ACCESS_LOG_H

#include "core/line_log.h"
#include "rest/call.h"

/* Any thread. `error` is ERR_OK's for success. */
void access_log_add(struct line_log *log, const struct rest_call *call, struct err error);
/* Logs at level debug why a request was refused, without strings to sign and header values: both
 * may contain a signature or a token. */
void access_log_refusal(const struct rest_call *call, struct err error);
/* A request that took longer than --slow-ms. */
void access_log_slow(const struct rest_call *call, int64_t us);
/* The ids of a traceparent header (W3C); false if it is malformed. Public for its test. */
bool access_log_trace(struct str header, struct str *trace, struct str *span);
/* The parts of err.detail that may be shown. Public for its test. */
void access_log_put_reason(struct buf *out, const char *detail);
/* The path and query without the value of any `sig`. Public for its test. */
void access_log_put_target(struct buf *out, struct str path, struct str query);

#endif
