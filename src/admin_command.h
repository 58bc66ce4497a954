/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that ask a running server over HTTP. Each returns an exit status: 0, 1 when the
 * server says no or cannot be reached, 2 when the words make no sense. */
#ifndef ADMIN_COMMAND_H
#define ADMIN_COMMAND_H

#include "config.h"
#include "core/arena.h"

/* lazuli health [live|ready] [URL] */
int health_command(const struct config *config);
/* lazuli inspect [--follow] [CONTAINER[/OBJECT]], by the account of AZURE_STORAGE_ACCOUNT and
 * AZURE_STORAGE_KEY, or the well-known one. */
int inspect_command(const struct config *config);

/* lazuli ctl WORDS: test control; LAZULI_TEST_CONTROL_TOKEN has the token. */
int ctl_command(const struct config *config);

/* Prints the answer: to stdout when the server says yes, else to stderr. */
struct answered;
int admin_command_print(const struct answered *answer);
/* Where the server is: at a URL that was given, else where the flags say that it listens. */
struct str admin_command_url(const struct config *config, const char *given, struct arena *arena);
/* Says why it could not be asked. */
int admin_command_failed(struct str url, struct err error);

#endif
