/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups in the services on behalf of authentication. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include "auth/auth.h"

struct auth_lookup lookup_of_services(void);

#endif
