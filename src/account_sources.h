/* SPDX-License-Identifier: Apache-2.0 */
/* The accounts of a server at start-up: those in the store, which an operator created, then those
 * of AZURITE_ACCOUNTS and --accounts, which take precedence. If there is none, the well-known
 * account is served, unless an operator deleted it. */
#ifndef ACCOUNT_SOURCES_H
#define ACCOUNT_SOURCES_H

#include "config.h"
#include "service/account/registry.h"

/* Fills registry->accounts and sets refuse_well_known_key. Returns the exit status: 0, or 1 after a
 * line on stderr, for example if the well-known key would be served beyond loopback. */
int account_sources_load(const struct config *config, struct registry *registry);
/* Reads --accounts again while the server runs: serves new and changed accounts, and stops serving
 * those that the file no longer has, unless the store has them. On an error, which is logged,
 * nothing changes. May wait for the store. */
void account_sources_reload(const struct config *old, const struct config *fresh,
                            struct registry *registry);

#endif
