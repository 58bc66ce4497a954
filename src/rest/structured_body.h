/* SPDX-License-Identifier: Apache-2.0 */
/* Structured bodies on their way in and out, for every operation that streams one: what decode and
 * encode functions say and see is the content alone. */
#ifndef REST_STRUCTURED_BODY_H
#define REST_STRUCTURED_BODY_H

#include "rest/call.h"

/* Sets call->body_length, which is the content's when the request says that its body is structured.
 * ERR_INVALID_HEADER_VALUE, ERR_MISSING_REQUIRED_HEADER. */
struct err structured_body_announced(struct rest_call *call);
/* Puts a reader before the sink that decode has set, when the body is structured. The content is
 * passed on as it comes: what it has become is given back when a checksum is wrong in the end. */
void structured_body_unwrap(struct rest_call *call);

/* Whether the request asks for a structured answer, in a way that is known or not. */
bool structured_body_is_wanted(const struct rest_call *call);
/* For an answer whose source and content length are set: structured when the request asks for it.
 */
struct err structured_body_wrap(struct rest_call *call);

#endif
