/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of each client, by the client's GUID. All of them are on one loop: a new
 * connection moves there with its first session. So any of them can be bound to any session of the
 * client (bind.h), and breaks of leases, which belong to a client and not to a connection, can be
 * sent over its oldest one ([MS-SMB2] 3.3.4.7). */
#ifndef SMB_TRANSPORT_CLIENTS_H
#define SMB_TRANSPORT_CLIENTS_H

#include "smb/transport/conn.h"

struct smb_clients;
struct smb_clients *smb_clients_new(void);
void smb_clients_free(struct smb_clients *all);

/* The loop of the client's connections; NULL: it has none yet, or no GUID. */
struct loop *smb_clients_loop(struct smb_clients *all, const struct smb_conn *c);
/* Registers the connection with its client; may be called again. A registered connection does not
 * move to another loop. */
void smb_clients_join(struct smb_clients *all, struct smb_conn *c);
void smb_clients_leave(struct smb_clients *all, struct smb_conn *c);
/* The oldest connection of the same client. On the thread of the client's loop. */
struct smb_conn *smb_clients_oldest(struct smb_clients *all, struct smb_conn *c);

#endif
