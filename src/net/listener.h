/* SPDX-License-Identifier: Apache-2.0 */
/* A listening socket of one loop. All loops listen on one port (SO_REUSEPORT), and the kernel
 * distributes the connections. */
#ifndef NET_LISTENER_H
#define NET_LISTENER_H

#include <sys/socket.h>

#include "net/loop.h"

/* Embedded in the caller's object. `take` gets every connection on the loop's thread and owns its
 * descriptor. */
struct listener {
    struct loop_watch watch; /* first, because the loop passes it back */
    struct loop_timer pause;
    struct loop *loop;
    void (*take)(struct listener *l, int fd, const struct sockaddr_storage *peer);
    bool watched;
};

struct listener_address {
    struct sockaddr_storage address;
    socklen_t length;
};

/* Resolves a name and a port to an address. ERR_IO with errno as cause. */
struct err listener_resolve(const char *host, uint16_t port, struct listener_address *out);
/* loop and take must be set. The first listener of a port is opened exclusively, so that a port in
 * use is noticed, and stores its port in *place; the others join it. ERR_IO with errno. */
struct err listener_open(struct listener *l, bool first, struct listener_address *local);
/* On the loop's thread, or when it does not run. */
void listener_close(struct listener *l);
uint16_t listener_port(const struct listener_address *local);

#endif
