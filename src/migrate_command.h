/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MIGRATE_COMMAND_H
#define MIGRATE_COMMAND_H

#include "config.h"

/* lazuli migrate --from DIR|cluster --to DIR|cluster; returns an exit status. */
int migrate_command(const struct config *config);

#endif
