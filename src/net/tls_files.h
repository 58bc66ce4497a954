/* SPDX-License-Identifier: Apache-2.0 */
/* Inside net/: certificates and keys in files. */
#ifndef NET_TLS_FILES_H
#define NET_TLS_FILES_H

#include <openssl/types.h>

#include "net/tls.h"

/* Loads certificate, chain and key into the context. Logs errors. ERR_IO. */
struct err tls_files_load(SSL_CTX *context, const struct tls_files *files);

#endif
