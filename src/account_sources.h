/* SPDX-License-Identifier: Apache-2.0 */
/* Where a server's accounts come from at start-up: the store (what an operator made), then
 * AZURITE_ACCOUNTS and --accounts, which win; and when those give none, the well-known account,
 * unless an operator deleted it. */
#ifndef ACCOUNT_SOURCES_H
#define ACCOUNT_SOURCES_H

#include "config.h"
#include "service/account/registry.h"

/* Fills registry->accounts, and sets refuse_well_known_key. The exit status: 0, or 1 after a line
 * on stderr; among others when the well-known key would be served beyond loopback. */
int account_sources_load(const struct config *config, struct registry *registry);
/* Reads --accounts again while the server runs: serves new and changed accounts, and stops serving
 * those that the file no longer has, unless the store has them. On an error, which is logged,
 * nothing changes. May wait for the store. */
void account_sources_reload(const struct config *old, const struct config *fresh,
                            struct registry *registry);

#endif
