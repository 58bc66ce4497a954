/* SPDX-License-Identifier: Apache-2.0 */
/* The SMB front end, as main creates it. */
#ifndef SMB_SERVER_H
#define SMB_SERVER_H

#include <stdatomic.h>

#include "core/guid.h"
#include "net/loop.h"
#include "net/pool.h"
#include "service/account/account.h"
#include "service/common/store.h"

struct address_counts;
struct smb_told;
struct sockaddr_storage;
struct line_log;
struct smb_blocks;
struct smb_conn;
struct smb_request;
struct smb_session;

enum smb_encryption { SMB_ENCRYPTION_OFF, SMB_ENCRYPTION_PREFERRED, SMB_ENCRYPTION_REQUIRED };

struct smb_options {
    enum smb_encryption encryption;
    unsigned connections_max;
    unsigned connections_per_address; /* 0: no limit */
    size_t early_bytes_max;           /* total for clients without a proved key; 0: the default,
                                         SMB_EARLY_BYTES_MAX */
    unsigned early_ms;                /* their time to prove one; 0: the default, SMB_EARLY_MS */
    size_t away_bytes_min; /* larger messages are handled by other threads; 0: the default,
                              SMB_AWAY_BYTES_MIN */
    bool waits_for_home;   /* handles are restored by smb_server_move_in */
};

/* The objects that the front end uses; the caller owns them. */
struct smb_world {
    struct loop **loops;
    size_t loop_count;
    struct pool *pool;
    /* Low-priority threads, so that small requests do not wait for large messages; NULL: the loops
     * do the work. */
    struct pool *senders; /* send answers, sign and encrypt, verify and decrypt */
    struct pool *storers; /* store written data; few, because they write to the same files */
    struct accounts *accounts;
    struct store *store;
    struct line_log *log;             /* of commands; NULL: none */
    struct address_counts *addresses; /* counts connections, with those of HTTP; NULL: none */
    /* NULL, or called for refusals, writes and reads (told.h). On any loop's thread. */
    void (*told)(void *arg, const struct smb_told *told);
    void *told_arg;
    /* NULL, or called for each new connection. True: the connection was passed to the gateway that
     * has the open files. On the loop's thread. */
    bool (*diverts)(void *arg, struct loop *loop, int fd, const struct sockaddr_storage *peer);
    void *diverts_arg;
};

struct smb_server;

struct err smb_server_new(const struct smb_world *world, const struct smb_options *options,
                          struct smb_server **out);
/* Sets limits for new connections. From any thread. */
void smb_server_limit(struct smb_server *s, unsigned connections_max,
                      unsigned connections_per_address);
/* One port for all loops; before they run. ERR_IO with errno as cause. Port 0 picks a free one. */
struct err smb_server_listen(struct smb_server *s, const char *host, uint16_t port,
                             uint16_t *port_out);
/* Takes a connection that another gateway has passed on, from a client at `peer`; on the loop's
 * thread. */
void smb_server_take(struct smb_server *s, struct loop *loop, int fd,
                     const struct sockaddr_storage *peer);
/* For several gateways that share the store (store->home). Called when this gateway has the open
 * files: parks the stored handles. */
struct err smb_server_move_in(struct smb_server *s);
/* Called when another gateway has them: cuts all connections and forgets all handles, without
 * writing. Both on any thread. */
void smb_server_move_out(struct smb_server *s);
/* Stops accepting and cuts every connection; calls `drained` on the first loop's thread at the end.
 */
void smb_server_drain(struct smb_server *s, void (*drained)(void *arg), void *arg);
/* Call after the loops have stopped. */
void smb_server_free(struct smb_server *s);

/* For metrics; any thread. */
enum { SMB_USAGE_COMMANDS = 19 };
struct smb_usage {
    unsigned connections;
    unsigned sessions;
    uint64_t requests[SMB_USAGE_COMMANDS]; /* answered, by command */
    uint64_t failures[SMB_USAGE_COMMANDS]; /* requests answered with an error */
    uint64_t bytes_in, bytes_out;          /* of requests and answers */
    uint64_t logons_refused;               /* for a wrong name or key */
    uint64_t breaks;                       /* oplock and lease breaks sent to clients */
};
void smb_server_usage(struct smb_server *s, struct smb_usage *out);
/* Returns e.g. "Create"; NULL for a command without a row. */
const char *smb_command_name(unsigned command);

/* ---- for the connections ---- */

/* A request was answered. */
void smb_server_count(struct smb_server *s, const struct smb_request *q, bool failed);
/* A break was sent to a client. */
void smb_server_count_break(struct smb_server *s);
/* A session began, or ended. */
void smb_server_count_session(struct smb_server *s, bool began);

const struct smb_options *smb_server_options(const struct smb_server *s);
const struct smb_world *smb_server_world(const struct smb_server *s);
struct smb_clients *smb_server_clients(const struct smb_server *s);
struct smb_cards *smb_server_cards(const struct smb_server *s);
struct smb_tunnel *smb_server_tunnel(const struct smb_server *s);
struct smb_opens *smb_server_opens(const struct smb_server *s);
const struct guid *smb_server_guid(const struct smb_server *s);
int64_t smb_server_now(const struct smb_server *s);
struct smb_blocks *smb_server_blocks(struct smb_server *s, const struct loop *loop);
/* The number of calls to handles of this loop that are under way. */
atomic_uint *smb_server_calls(struct smb_server *s, const struct loop *loop);
/* The number of connections that are open, or cut with work left. */
unsigned smb_server_connections(struct smb_server *s);
/* Updates the bytes held by an unproved connection, from `before` to `now`. False if all of them
 * together hold too much. */
bool smb_server_count_early(struct smb_server *s, size_t now, size_t before);
unsigned smb_server_early_ms(const struct smb_server *s);
/* Of this loop, on its thread. At least one must exist. */
struct smb_conn *smb_server_oldest_stranger(struct smb_server *s, const struct loop *loop);
void smb_server_remember(struct smb_server *s, struct smb_conn *c);
void smb_server_forget(struct smb_server *s, struct smb_conn *c);
/* Returns an established session of this loop, on its thread; NULL: none. */
struct smb_session *smb_server_session_on(struct smb_server *s, const struct loop *loop,
                                          uint64_t id);
/* Ends a session of the same account on any connection, because its client has reconnected; then
 * ends the request with success. */
void smb_server_end_session(struct smb_request *q, uint64_t id);

#endif
