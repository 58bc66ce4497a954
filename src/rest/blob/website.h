/* SPDX-License-Identifier: Apache-2.0 */
/* Static websites: what the web endpoint of an account answers with. */
#ifndef REST_BLOB_WEBSITE_H
#define REST_BLOB_WEBSITE_H

#include "rest/op.h"

/* Every GET and HEAD on the web endpoint. Not in the table: no path but that endpoint leads to it,
 * and nobody needs leave for it. */
extern const struct op OP_WEBSITE;

#endif
