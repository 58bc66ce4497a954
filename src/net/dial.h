/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to other servers, plain or TLS. They block up to a deadline, so never use them on an
 * event loop. */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <sys/types.h>

#include "net/reach.h"

struct dialer;
struct dialed;

/* Copies the list of allowed addresses. Certificates are checked against the system's authorities
 * and the host's name. ERR_IO. */
struct err dialer_new(const struct reach *reach, struct dialer **out);
/* Cancels all waits with ECANCELED. From any thread. */
void dialer_stop(struct dialer *d);
void dialer_free(struct dialer *d);

struct dial_target {
    struct str host; /* a name or an address */
    uint16_t port;
    bool secure;
};

/* ERR_IO with a cause: EACCES if no address of the host is allowed, ENOENT if it has none,
 * ETIMEDOUT, EPROTO if TLS fails or the certificate is not the host's, or the error of connect.
 * deadline_ms is on the clock of clock_mono_ms. */
struct err dial(struct dialer *d, const struct dial_target *target, int64_t deadline_ms,
                struct dialed **out);
/* All of it. ERR_IO. */
struct err dialed_write(struct dialed *c, struct str bytes, int64_t deadline_ms);
/* Reads at least one byte, or none at the end. ERR_IO. */
struct err dialed_read(struct dialed *c, char *into, size_t size, int64_t deadline_ms, size_t *n);
/* Returns false if unread bytes or the end have arrived: an idle connection is then unusable for
 * the next request. */
bool dialed_is_quiet(const struct dialed *c);
/* NULL is allowed. */
void dialed_close(struct dialed *c);

#endif
