/* SPDX-License-Identifier: Apache-2.0 */
/* Static websites: the responses of an account's web endpoint. */
#ifndef REST_BLOB_WEBSITE_H
#define REST_BLOB_WEBSITE_H

#include "rest/op.h"

/* Every GET and HEAD on the web endpoint. It has no row in the table: only that endpoint leads to
 * it, and it needs no permission. */
extern const struct op OP_WEBSITE;

#endif
