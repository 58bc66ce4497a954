/* SPDX-License-Identifier: Apache-2.0 */
/* The OData headers of a table request. docs/protocol/facts.md §5.1. */
#ifndef REST_TABLE_FORMAT_H
#define REST_TABLE_FORMAT_H

#include "rest/call.h"

/* The level of metadata in the response. */
enum table_metadata { METADATA_NONE, METADATA_MINIMAL, METADATA_FULL };

/* $format decides, else Accept. The default is minimal. ERR_ATOM_FORMAT_NOT_SUPPORTED,
 * ERR_MEDIA_TYPE_NOT_SUPPORTED. */
struct err rest_table_metadata_wanted(struct rest_call *call, enum table_metadata *out);
/* The body must be JSON: the same errors. */
struct err rest_table_check_content_type(struct rest_call *call);

/* Prefer. */
enum rest_table_prefer { PREFER_NOTHING, PREFER_CONTENT, PREFER_NO_CONTENT };
/* Any other preference is ignored, as RFC 7240 requires. */
enum rest_table_prefer rest_table_prefer(struct rest_call *call);

/* Content-Type and the headers that go with a JSON body. */
void rest_table_put_json_headers(struct rest_call *call, enum table_metadata metadata);
/* Status 201 or 204 and Preference-Applied. True if the body is wanted. */
bool rest_table_put_created(struct rest_call *call, enum rest_table_prefer prefer);

/* The effective method of a request: POST with X-HTTP-Method means another one.
 * ERR_X_METHOD_NOT_USING_POST, ERR_X_METHOD_INCORRECT_VALUE, ERR_X_METHOD_INCORRECT_COUNT. */
struct err rest_table_method(const struct rest_call *call, enum http_method *out);

#endif
