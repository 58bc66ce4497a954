/* SPDX-License-Identifier: Apache-2.0 */
/* What authentication asks of the services, answered for each of them. */
#ifndef LOOKUP_H
#define LOOKUP_H

#include "auth/auth.h"

struct auth_lookup lookup_of_services(void);

#endif
