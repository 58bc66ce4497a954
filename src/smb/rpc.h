/* SPDX-License-Identifier: Apache-2.0 */
/* DCE/RPC on the srvsvc pipe: the part of [MS-SRVS] that clients use to list shares. */
#ifndef SMB_RPC_H
#define SMB_RPC_H

#include "core/buf.h"
#include "core/err.h"

enum { RPC_FRAGMENT_MAX = 65535, RPC_ANSWER_MAX = 4 << 20 };

/* What the pipe lists: the shares of the session's account, and IPC$. */
struct rpc_share {
    struct str name;
    struct str remark;
    bool pipe;
};
struct rpc_shares {
    const struct rpc_share *list;
    size_t count;
};

/* Returns true if there is a pipe of that name ("srvsvc", any case). */
bool rpc_pipe_exists(struct str name);
/* Answers one request PDU with one PDU. False if it is not RPC: the pipe is broken then. */
bool rpc_answer(struct arena *arena, struct str pdu, const struct rpc_shares *shares,
                struct buf *answer);

#endif
