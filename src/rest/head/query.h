/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters of a request's query, read once. */
#ifndef REST_HEAD_QUERY_H
#define REST_HEAD_QUERY_H

#include "rest/call.h"

/* Sets call->query and the members that depend on it. ERR_INVALID_URI,
 * ERR_REQUEST_URL_FAILED_TO_PARSE. */
struct err query_parse(struct rest_call *call);
/* Replaces the call's parameters by these. */
void query_use(struct rest_call *call, struct auth_pair *pairs, size_t count);

#endif
