/* SPDX-License-Identifier: Apache-2.0 */
/* The end of every call: common headers, error bodies, the reply. The only place that formats
 * errors. */
#ifndef REST_REPLY_H
#define REST_REPLY_H

#include "rest/call.h"

/* Adds the headers of every answer to those of encode, for reply_success to send. */
void reply_success_headers(struct rest_call *call);
void reply_success(struct rest_call *call);
/* Sends the error; drops what encode may have written. */
COLD void reply_error(struct rest_call *call, struct err error);
/* For input that is not HTTP, so that there is no call: the handler's on_bad. */
void reply_bad(struct err error, struct buf *headers, struct buf *body);
/* The error's body in the form of the call's service, into out; Content-Type into headers. Batches
 * use it for their parts. */
void reply_error_body(struct rest_call *call, struct err error, struct buf *headers,
                      struct buf *out);
/* The headers that every response of a call has. */
void reply_common_headers(struct rest_call *call, struct buf *headers);

#endif
