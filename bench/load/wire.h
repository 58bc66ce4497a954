/* SPDX-License-Identifier: Apache-2.0 */
/* A connection's bytes, plain or through TLS. */
#ifndef BENCH_LOAD_WIRE_H
#define BENCH_LOAD_WIRE_H

#include <openssl/ssl.h>
#include <sys/types.h>

#include "core/str.h"

struct wire {
    int fd;
    SSL *tls; /* NULL: plain */
};

/* For clients that accept any certificate: the measured servers use self-signed ones. `ciphers` is
 * a list of TLS 1.3 suites, or NULL for the library's. */
SSL_CTX *wire_context(const char *ciphers);
/* The socket must be connected and still blocking. False if no session was made. */
bool wire_begin(struct wire *w, int fd, SSL_CTX *context);
void wire_end(struct wire *w);
/* Sends as much as possible at once; 0 if the socket is full or broken. A read reports the
 * latter. */
size_t wire_send(struct wire *w, struct str head, struct str body);
/* > 0: bytes. 0: nothing for now. < 0: it ended. */
ssize_t wire_receive(struct wire *w, char *to, size_t room);
/* The same for bytes that nobody looks at: the kernel drops them. Not with TLS. */
ssize_t wire_drop(struct wire *w, size_t most);

#endif
