/* SPDX-License-Identifier: Apache-2.0 */
/* Stored access policies as XML: the body of the Set and Get ACL operations of every service. */
#ifndef REST_POLICY_XML_H
#define REST_POLICY_XML_H

#include "rest/call.h"
#include "service/common/policy.h"

enum { POLICY_BODY_MAX = 64 << 10 };

/* The body's SignedIdentifiers in the form of service/common/policy.h, absent if there are none or
 * no body. `letters` are the valid letters of a permission. ERR_INVALID_XML_DOCUMENT: another
 * structure, more than five, a missing, duplicate or too long id, or a letter that the service does
 * not have. ERR_INVALID_XML_NODE_VALUE: an invalid time. */
struct err policies_from_xml(struct rest_call *call, struct str letters, struct str *encoded);
/* Writes the body of the answer, without the XML declaration. */
void policies_put_xml(struct buf *out, struct str encoded);

#endif
