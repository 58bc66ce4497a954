/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli cluster init|status`. */
#ifndef CLUSTER_COMMAND_H
#define CLUSTER_COMMAND_H

#include "config.h"

/* The exit status. */
int cluster_command(const struct config *config);

#endif
