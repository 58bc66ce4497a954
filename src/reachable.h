/* SPDX-License-Identifier: Apache-2.0 */
/* Which of the server's addresses other machines can connect to. */
#ifndef REACHABLE_H
#define REACHABLE_H

#include "config.h"

bool host_is_loopback(const char *host);
/* The host of a storage service that other machines can connect to; NULL if there is none. */
const char *reachable_service(const struct config *config);
/* The same for any listener, including SMB's and the admin listener, which also serves the
 * services. */
const char *reachable_host(const struct config *config);

#endif
