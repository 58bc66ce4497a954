/* SPDX-License-Identifier: Apache-2.0 */
/* A self-signed certificate for tests. */
#ifndef NET_CERT_H
#define NET_CERT_H

#include "core/err.h"

/* Writes a new P-256 key and a certificate signed with it, for localhost and the services'
 * names below it, 127.0.0.1 and ::1. Neither file may exist yet. ERR_IO with errno as cause
 * (EEXIST, …). */
struct err cert_make_self_signed(const char *certificate_path, const char *key_path);

#endif
