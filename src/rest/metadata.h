/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata on the wire: x-ms-meta-* headers of requests and responses, and the element in
 * listings. */
#ifndef REST_METADATA_H
#define REST_METADATA_H

#include "rest/call.h"
#include "service/common/metadata.h"

/* The request's x-ms-meta-* headers, checked, in the form of service/common/pairs.h; absent if
 * there are none. The errors of metadata_check. */
struct err rest_metadata_from_headers(struct rest_call *call, struct str *encoded);
void rest_metadata_put_headers(struct rest_call *call, struct str encoded);
/* "<Metadata><name>value</name>…</Metadata>". */
void rest_metadata_put_xml(struct buf *out, struct str encoded);

#endif
