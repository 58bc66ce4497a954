/* SPDX-License-Identifier: Apache-2.0 */
/* An answer whose body does not arrive as it should: faults of test control that strike while it is
 * sent. */
#ifndef REST_WATCH_SPOIL_H
#define REST_WATCH_SPOIL_H

#include "rest/watch/script.h"

/* As reply_success, with what the deed does to the body. */
void spoil_reply(struct rest_call *call, const struct script_deed *deed);

#endif
