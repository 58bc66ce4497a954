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

/* For clients that believe any certificate: the servers measured have made theirs themselves.
 * `ciphers` is a list of TLS 1.3 suites, or NULL for the library's. */
SSL_CTX *wire_context(const char *ciphers);
/* The socket is connected and blocks still. False when there is no session. */
bool wire_begin(struct wire *w, int fd, SSL_CTX *context);
void wire_end(struct wire *w);
/* As much as goes at once; 0 when the socket takes no more, and when it is broken: reading shows
 * that. */
size_t wire_send(struct wire *w, struct str head, struct str body);
/* > 0: bytes. 0: nothing for now. < 0: it ended. */
ssize_t wire_receive(struct wire *w, char *to, size_t room);

#endif
