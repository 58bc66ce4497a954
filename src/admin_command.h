/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that ask a running server over HTTP. Each returns an exit status: 0, 1 when the
 * server says no or cannot be reached, 2 when the words make no sense. */
#ifndef ADMIN_COMMAND_H
#define ADMIN_COMMAND_H

#include "config.h"

/* lazuli health [live|ready] [URL] */
int health_command(const struct config *config);

#endif
