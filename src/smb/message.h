/* SPDX-License-Identifier: Apache-2.0 */
/* A message's way: decrypt, take its commands one after the other, check each one's signature and
 * rights, run it, gather the answers, sign, encrypt, send. */
#ifndef SMB_MESSAGE_H
#define SMB_MESSAGE_H

#include "smb/conn.h"

/* Takes the message. */
void smb_message_run(struct smb_message *m);
/* The head of a large message has come. If it is encrypted, who receives the rest runs
 * m->check.cover then. */
void smb_message_expect(struct smb_message *m);
/* Before it ran. */
void smb_message_free(struct smb_message *m);
/* Queues the bytes of a finished message; in conn.c. */
/* Takes the block, which has SMB_FRAME_BYTES free before the message. */
void smb_conn_queue(struct smb_conn *c, struct smb_block *message);

/* Sends the interim answer and makes the request findable for CANCEL. */
void smb_pending(struct smb_request *request);
/* Ends the wait of a pending request: by CANCEL, with its handle or with its connection. */
void smb_cancel_wait(struct smb_request *request);
/* The request is no longer to be found by CANCEL. */
void smb_leave_waiting(struct smb_request *request);
/* One thing less is under way on the connection; it may be freed now. In conn.c. */
void smb_conn_work_done(struct smb_conn *c);
/* The same; and one message less is held (conn.h): reads on. */
void smb_conn_release(struct smb_conn *c);

/* A command of the protocol: smb/commands/cmds.c has the table. */
struct smb_command {
    const char *name;
    uint16_t body_bytes; /* the StructureSize that its request must have */
    bool needs_session;
    bool needs_tree;
    void (*run)(struct smb_request *request); /* ends in smb_complete */
    uint16_t other_body_bytes;                /* a second size that it may have; 0: none */
};
extern const struct smb_command SMB_COMMANDS[SMB_COMMAND_COUNT];

#endif
