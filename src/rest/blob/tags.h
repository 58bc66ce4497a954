/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing and writing of tags. */
#ifndef REST_BLOB_TAGS_H
#define REST_BLOB_TAGS_H

#include "rest/call.h"

/* Parses x-ms-tags; absent when not sent or empty. With a SAS, setting tags needs the letter t in
 * addition to the operation's. */
struct err rest_blob_read_tags_header(struct rest_call *call, struct str *encoded);
/* x-ms-tag-count, when there are any. */
void rest_blob_put_tag_count(struct rest_call *call, struct str encoded);
/* "<Tags><TagSet>…". */
void rest_blob_put_tags_xml(struct buf *out, struct str encoded);
/* Parses them; ERR_INVALID_XML_DOCUMENT, and the errors of blob_tags_check. */
struct err rest_blob_parse_tags(struct arena *arena, struct str body, struct str *encoded);
/* ERR_AUTHORIZATION_PERMISSION_MISMATCH unless the caller may read and write tags. */
struct err rest_blob_need_tag_permission(const struct rest_call *call);

#endif
