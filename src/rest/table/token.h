/* SPDX-License-Identifier: Apache-2.0 */
/* Continuation tokens: a key as "1!<length>!<text>", the text being base64 with characters that
 * need no escape in a query. They only name a position, so they remain valid across restarts, other
 * front ends, and concurrent writes. */
#ifndef REST_TABLE_TOKEN_H
#define REST_TABLE_TOKEN_H

#include "core/buf.h"

void rest_token_put(struct buf *out, struct str key);
/* In the arena. False if it is not a token. */
bool rest_token_read(struct arena *a, struct str token, struct str *key);

#endif
