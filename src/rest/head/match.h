/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the row for a request. */
#ifndef REST_HEAD_MATCH_H
#define REST_HEAD_MATCH_H

#include "rest/call.h"
#include "rest/head/target.h"

const struct op_table *match_table(enum service_kind service);

/* Which rows of a service serve a method on a kind of resource, with or without `comp`: one bit per
 * row, in table order. A request then checks those few instead of the whole table. */
enum { MATCH_ROWS_MAX = 64 };
struct match_index {
    uint64_t rows[HTTP_METHOD_OTHER][R_ANY][2];
};
void match_index_init(struct match_index *index, const struct op_table *table);

/* Sets call->op. No row: ERR_UNSUPPORTED_HTTP_VERB, ERR_INVALID_QUERY_PARAMETER_VALUE (restype or
 * comp unknown here), ERR_MISSING_REQUIRED_… or ERR_INVALID_HEADER_VALUE for the header that
 * distinguishes rows. */
struct err match_op(struct rest_call *call, enum op_resource resource);

#endif
