/* SPDX-License-Identifier: Apache-2.0 */
/* The parameters that all listings of blobs, containers, files, shares and queues parse and
 * echo. */
#ifndef REST_LISTING_H
#define REST_LISTING_H

#include "rest/call.h"

/* Calls `take` with each value of `include`, which may be given several times; if it returns false,
 * the value is unknown: ERR_INVALID_QUERY_PARAMETER_VALUE. */
struct err listing_read_include(struct rest_call *call, bool (*take)(void *arg, struct str value),
                                void *arg);
/* `maxresults`, at most `limit`; the limit if it is not given. Below 1 it is out of range. */
struct err listing_read_max(struct rest_call *call, size_t limit, size_t *out);
/* Starts the body, replacing any content: <EnumerationResults ServiceEndpoint="…", to which
 * attributes may be added, and the end of that tag. */
void listing_open(struct rest_call *call);
void listing_attribute(struct rest_call *call, struct str name, struct str value);
void listing_opened(struct rest_call *call);
/* Prefix, Marker and MaxResults, as they were sent. */
void listing_echo_page(struct rest_call *call);
/* The element with the parameter's value, if it was sent. */
void listing_echo(struct rest_call *call, struct str parameter, struct str element);

/* The elements of a deleted container or share: a flag, and the id for restoring it, 16 hexadecimal
 * digits; and its parser, false if malformed. */
void listing_put_version(struct buf *b, uint64_t version);
bool listing_parse_version(struct str text, uint64_t *out);
/* The time of the soft deletion, and the whole days left until it is purged. */
void listing_put_retention(struct buf *b, int64_t deleted, int64_t ticks_left);

#endif
