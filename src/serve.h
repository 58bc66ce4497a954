/* SPDX-License-Identifier: Apache-2.0 */
/* Creates and runs all layers: the only code that knows all of them. */
#ifndef SERVE_H
#define SERVE_H

#include "config.h"

/* Serves until it is told to stop; returns the exit status. If it cannot start, prints the reason
 * on stderr, in one line. */
int serve(const struct config *config, const char *server_name);
/* check, backup and their like. */
int serve_command(const struct config *config);

#endif
