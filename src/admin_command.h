/* SPDX-License-Identifier: Apache-2.0 */
/* The commands that send requests to a running server over HTTP. Each returns an exit status: 0; 1
 * if the server refuses or cannot be reached; 2 if the words are invalid. */
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

/* Prints the answer: to stdout if the server has accepted the request, else to stderr. Returns the
 * exit status. */
struct answered;
int admin_command_print(const struct answered *answer);
/* Returns the server's URL: the given one, else that of the address where the flags let it
 * listen. */
struct str admin_command_url(const struct config *config, const char *given, struct arena *arena);
/* Prints why the server could not be asked; returns the exit status. */
int admin_command_failed(struct str url, struct err error);

#endif
