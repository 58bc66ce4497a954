/* SPDX-License-Identifier: Apache-2.0 */
/* Tags as they are sent and shown. */
#ifndef REST_BLOB_TAGS_H
#define REST_BLOB_TAGS_H

#include "rest/call.h"

/* x-ms-tags; absent when not sent or empty. Who gives tags with a SAS needs its letter t besides
 * what the operation wants. */
struct err blob_read_tags_header(struct rest_call *call, struct str *encoded);
/* x-ms-tag-count, when there are any. */
void blob_put_tag_count(struct rest_call *call, struct str encoded);
/* "<Tags><TagSet>…". */
void blob_put_tags_xml(struct buf *out, struct str encoded);
/* And back; ERR_INVALID_XML_DOCUMENT, and what blob_tags_check says. */
struct err blob_parse_tags(struct arena *arena, struct str body, struct str *encoded);
/* ERR_AUTHORIZATION_PERMISSION_MISMATCH unless who asks may read and write tags. */
struct err blob_need_tag_permission(const struct rest_call *call);

#endif
