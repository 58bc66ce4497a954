/* SPDX-License-Identifier: Apache-2.0 */
/* Responses with a faulty body: faults of test control that take effect during sending. */
#ifndef REST_WATCH_SPOIL_H
#define REST_WATCH_SPOIL_H

#include "rest/watch/script.h"

/* Like reply_success, with the fault applied to the body. */
void spoil_reply(struct rest_call *call, const struct script_deed *deed);

#endif
