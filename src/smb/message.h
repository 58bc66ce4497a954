/* SPDX-License-Identifier: Apache-2.0 */
/* Processes a message: decrypts it, takes its commands one after the other, checks each one's
 * signature and rights, runs it, then gathers the answers, signs, encrypts and sends them. */
#ifndef SMB_MESSAGE_H
#define SMB_MESSAGE_H

#include "smb/transport/conn.h"

/* Takes the message. */
void smb_message_run(struct smb_message *m);
/* Called when the head of a large message has arrived. If the message is encrypted, the thread that
 * receives the rest then runs m->check.cover. */
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
/* CANCEL no longer finds the request. */
void smb_leave_waiting(struct smb_request *request);
/* One item of work on the connection has ended; the connection may be freed by this. In conn.c. */
void smb_conn_work_done(struct smb_conn *c);
/* The same, and the message is no longer held (conn.h): reading resumes. */
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
