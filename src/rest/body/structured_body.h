/* SPDX-License-Identifier: Apache-2.0 */
/* Structured bodies, received and sent, for every operation that streams one: decode and encode
 * functions only handle the content. */
#ifndef REST_BODY_STRUCTURED_BODY_H
#define REST_BODY_STRUCTURED_BODY_H

#include "rest/call.h"

/* Sets call->body_length, which is the content's if the request has a structured body.
 * ERR_INVALID_HEADER_VALUE, ERR_MISSING_REQUIRED_HEADER. */
struct err structured_body_announced(struct rest_call *call);
/* Inserts a reader before the sink that decode has set, if the body is structured. Passes the
 * content on as it arrives; if a checksum fails in the end, the stored content is freed. */
void structured_body_unwrap(struct rest_call *call);

/* Returns true if the request asks for a structured answer, in a known format or not. */
bool structured_body_is_wanted(const struct rest_call *call);
/* For a response whose source and content length are set: makes it structured if the request asks
 * for it. */
struct err structured_body_wrap(struct rest_call *call);

#endif
