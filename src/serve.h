/* SPDX-License-Identifier: Apache-2.0 */
/* Puts the layers together and runs them: the only place that knows them all. */
#ifndef SERVE_H
#define SERVE_H

#include "config.h"

/* Serves until told to stop; returns the exit status. Prints on stderr, in one line, why it cannot.
 */
int serve(const struct config *config, const char *server_name);
/* check, backup and their like. */
int serve_command(const struct config *config);

#endif
