/* SPDX-License-Identifier: Apache-2.0 */
/* TLS 1.2 and 1.3 over a non-blocking socket, with OpenSSL 3. A certificate is loaded once for all
 * loops, and can be replaced while they run. */
#ifndef NET_TLS_H
#define NET_TLS_H

#include <sys/types.h>
#include <sys/uio.h>

#include "core/err.h"

struct stream;
struct tls;

struct tls_files {
    const char *certificate; /* PEM with its chain; or PFX, if there is no key */
    const char *key;         /* PEM; NULL: the certificate's file is PFX */
    const char *password;    /* of the PFX or of the key; may be NULL */
};

/* Copies the paths. ERR_IO if the files cannot be read or do not match; the log has the reason. */
struct err tls_new(const struct tls_files *files, struct tls **out);
/* TLS 1.3 between peers that share a secret: no certificates; fresh keys for each connection. For
 * both sides. ERR_IO. */
enum { TLS_SECRET_BYTES = 32 };
struct err tls_new_secret(const unsigned char secret[TLS_SECRET_BYTES], struct tls **out);
/* Reads the files again, from any thread: new connections use them. On an error the old ones
 * stay. */
struct err tls_reload(struct tls *t);
/* The same from other files; keeps their names if they are valid. */
struct err tls_reload_from(struct tls *t, const struct tls_files *files);
/* For metrics; any thread. */
struct tls_usage {
    uint64_t begun, done; /* handshakes since the start; `done` counts the successful ones */
    int64_t expires_at;   /* of the certificate: seconds since 1970; 0: unknown */
};
struct tls_usage tls_usage(struct tls *t);
/* Open sessions stay valid. */
void tls_free(struct tls *t);

/* ---- for net/stream.c: one session; the return values are a stream's ---- */

struct tls_session;

struct tls_session *tls_session_new(struct tls *t, int fd);
/* For the side that connects. */
struct tls_session *tls_session_connect(struct tls *t, int fd);
/* Returns true while the handshake is in progress. */
bool tls_session_is_new(const struct tls_session *s);
ssize_t tls_recv(struct stream *stream, char *into, size_t size);
ssize_t tls_send(struct stream *stream, const struct iovec *parts, size_t count);
ssize_t tls_send_file(struct stream *stream, int fd, int64_t offset, size_t length);
/* Sends close_notify, if the handshake has completed. */
void tls_session_finish(struct tls_session *s);
void tls_session_free(struct tls_session *s);

#endif
