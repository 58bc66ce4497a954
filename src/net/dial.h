/* SPDX-License-Identifier: Apache-2.0 */
/* Connections to other servers, plain or TLS. They wait, up to a deadline, so they are for threads
 * that may: never for an event loop. */
#ifndef NET_DIAL_H
#define NET_DIAL_H

#include <sys/types.h>

#include "net/reach.h"

struct dialer;
struct dialed;

/* Copies the list of reachable addresses. Certificates are checked against the system's authorities
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

/* ERR_IO, with a cause of EACCES when no address of the host is in reach, ENOENT when it has none,
 * ETIMEDOUT, EPROTO when TLS cannot be spoken or the certificate is not the host's, or what
 * connecting said. deadline_ms is of clock_mono_ms. */
struct err dial(struct dialer *d, const struct dial_target *target, int64_t deadline_ms,
                struct dialed **out);
/* All of it. ERR_IO. */
struct err dialed_write(struct dialed *c, struct str bytes, int64_t deadline_ms);
/* At least one byte, or none at the end. ERR_IO. */
struct err dialed_read(struct dialed *c, char *into, size_t size, int64_t deadline_ms, size_t *n);
/* Returns false if unread bytes or the end have arrived: an idle connection is then unusable for
 * the next request. */
bool dialed_is_quiet(const struct dialed *c);
/* NULL is fine. */
void dialed_close(struct dialed *c);

#endif
