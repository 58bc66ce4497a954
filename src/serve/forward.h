/* SPDX-License-Identifier: Apache-2.0 */
/* From gateway to gateway: a client's connection goes on to the gateway that has the open files of
 * shares (service/common/home.h).
 *
 * Each gateway listens on a port for the others. They speak TLS 1.3 with a key that lies in the
 * store, so nobody else gets a word in or out. Then comes a greeting: which front end is meant, the
 * client's address, and whether the client spoke TLS; the answer is one byte. From then on bytes go
 * to and fro unchanged. SMB connections are passed on when they come in; those of REST with the
 * first request that needs the open files, from its first byte on. The other gateway authenticates
 * the client as if it had come there. What was passed on once is not passed on again.
 *
 * A gateway that is not known yet, or does not answer, is tried again for FORWARD_PATIENCE_MS:
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
    const char *host; /* to listen on, and what the others are told; of all addresses the first */
    uint16_t port;    /* 0: any */
};
/* Listens. Before the loops run. ERR_IO with errno as cause. */
struct err forward_new(const struct forward_options *options, struct forward **out);
/* "10.0.0.5:4711", "[fd00::5]:4711": where the others find it. */
const char *forward_address(const struct forward *h);
/* What connections are passed on to. Before the loops run. */
struct forward_ends {
    struct home *home;
    struct smb_server *smb;
    struct http_server *http;
    void *contexts[FORWARD_SMB]; /* of the listeners; NULL: not served */
};
struct err forward_open(struct forward *h, const struct forward_ends *ends);
/* Those that were passed on to where the open files are no more are cut. From any thread. */
void forward_moved(struct forward *h);
/* For smb_world's diverts, and rest_server's hand_over. arg: the forward. */
bool forward_divert_smb(void *arg, struct loop *loop, int fd, const struct sockaddr_storage *peer);
void forward_hand_over(void *arg, struct loop *loop, const struct rest_listener *from,
                       struct http_handed *handed);
/* After the loops have stopped. */
void forward_free(struct forward *h);

#endif
