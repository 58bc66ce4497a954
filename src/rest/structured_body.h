/* SPDX-License-Identifier: Apache-2.0 */
/* Structured bodies on their way in and out, for every operation that streams one: what decode and
 * encode functions say and see is the content alone. */
#ifndef REST_STRUCTURED_BODY_H
#define REST_STRUCTURED_BODY_H

#include "rest/call.h"

/* Sets call->body_length, which is the content's when the request says that its body is structured.
 * ERR_INVALID_HEADER_VALUE, ERR_MISSING_REQUIRED_HEADER. */
struct err structured_body_announced(struct rest_call *call);
/* Inserts a reader before the sink that decode has set, if the body is structured. Passes the
 * content on as it arrives; if a checksum fails in the end, the stored content is freed. */
void structured_body_unwrap(struct rest_call *call);

/* Returns true if the request asks for a structured answer, in a known format or not. */
bool structured_body_is_wanted(const struct rest_call *call);
/* For an answer whose source and content length are set: makes it structured if the request asks
 * for it. */
struct err structured_body_wrap(struct rest_call *call);

#endif
