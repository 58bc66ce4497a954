/* SPDX-License-Identifier: Apache-2.0 */
/* Forwards a client's connection to the gateway that has the open files of shares
 * (service/common/home.h).
 *
 * Each gateway listens on a port for the others. They use TLS 1.3 with a key that is stored
 * in the store, so nobody else can read or send anything. Then a greeting names the front end, the
 * client's address, and whether the client used TLS; the answer is one byte. After that, bytes are
 * relayed unchanged. SMB connections are forwarded when they are accepted, REST connections with
 * the first request that needs the open files, from its first byte on. The other gateway
 * authenticates the client itself. A forwarded connection is not forwarded again.
 *
 * A gateway that is unknown or does not answer is retried for FORWARD_PATIENCE_MS:
 * another one takes over within that time. */
#ifndef SERVE_FORWARD_H
#define SERVE_FORWARD_H

#include "http/exchange.h"
#include "rest/server.h"
#include "service/common/home.h"

enum {
    FORWARD_SERVICES = SERVICE_KIND_COUNT,
    FORWARD_DFS = FORWARD_SERVICES,
    FORWARD_SMB,
    FORWARD_KINDS,
    FORWARD_PATIENCE_MS = 20000,
    FORWARD_GREETING_MS = 5000,
    FORWARD_CONNECTIONS_MAX = 16384,
};

struct forward;
struct http_server;
struct smb_server;

struct forward_options {
    struct loop **loops;
    size_t loop_count;
    const char *host; /* the address to listen on, which is also published; for all addresses, the
                         first one of the machine is published */
    uint16_t port;    /* 0: any */
};
/* Listens. Before the loops run. ERR_IO with errno as cause. */
struct err forward_new(const struct forward_options *options, struct forward **out);
/* The address for other gateways: "10.0.0.5:4711", "[fd00::5]:4711". */
const char *forward_address(const struct forward *h);
/* The front ends that forwarded connections reach. Set before the loops run. */
struct forward_ends {
    struct home *home;
    struct smb_server *smb;
    struct http_server *http;
    void *contexts[FORWARD_SMB]; /* of the listeners; NULL: not served */
};
struct err forward_open(struct forward *h, const struct forward_ends *ends);
/* Cuts connections that were forwarded to a gateway that no longer has the open files. From any
 * thread. */
void forward_moved(struct forward *h);
/* For smb_world's diverts, and rest_server's hand_over. arg: the forward. */
bool forward_divert_smb(void *arg, struct loop *loop, int fd, const struct sockaddr_storage *peer);
void forward_hand_over(void *arg, struct loop *loop, const struct rest_listener *from,
                       struct http_handed *handed);
/* After the loops have stopped. */
void forward_free(struct forward *h);

#endif
