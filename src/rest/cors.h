/* SPDX-License-Identifier: Apache-2.0 */
/* Cross-origin requests: the browser's preflight, and the headers of actual requests.
 * docs/protocol/facts.md §8.
 */
#ifndef REST_CORS_H
#define REST_CORS_H

#include "core/buf.h"
#include "rest/op.h"
#include "service/common/cors_rule.h"

/* Every OPTIONS request, for any resource; it needs no credentials. */
extern const struct op OP_PREFLIGHT;

/* Reads the rules for a request that names an origin, so that cors_put_headers needs no lookup. A
 * request without one costs nothing. */
struct err cors_prepare(struct rest_call *call);
/* Adds the rules' headers to a response, success or error; `headers` already has the others. */
void cors_put_headers(const struct rest_call *call, struct buf *headers);

/* ---- the rules themselves ---- */

/* The first rule for the origin and method; NULL if there is none. */
const struct cors_rule *cors_match(const struct cors_rules *rules, struct str origin,
                                   struct str method);
/* Returns true if every header of the comma-separated list is allowed. */
bool cors_allows_headers(const struct cors_rule *rule, struct str requested);
/* Writes the exposed names: the named ones, and those of the response ("Name: value\r\n" lines)
 * that a prefix covers. */
void cors_put_exposed(struct buf *out, const struct cors_rule *rule, struct str response_headers);

#endif
