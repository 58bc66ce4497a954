/* SPDX-License-Identifier: Apache-2.0 */
/* `lazuli export`, `import` of an archive and `copy`: parsing of the command line, and output. */
#ifndef TRANSFER_COMMAND_H
#define TRANSFER_COMMAND_H

#include "config.h"

int transfer_export_command(const struct config *config);
int transfer_import_command(const struct config *config);
int transfer_copy_command(const struct config *config);

#endif
