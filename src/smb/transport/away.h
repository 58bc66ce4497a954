/* SPDX-License-Identifier: Apache-2.0 */
/* Large messages are handled by other threads. A megabyte takes an event loop some tenths of a
 * millisecond to send, and more to sign or encrypt; small requests on the same loop would wait for
 * that.
 *
 * Sending: a sender (a thread with lower priority than the loops) protects and sends the first
 * block of the connection's output. Meanwhile it owns the stream and that block: the loop only
 * collects the stream's events and appends answers. Checking: a sender verifies or decrypts a large
 * message. Meanwhile nothing is read, so that messages start in order. */
#ifndef SMB_TRANSPORT_AWAY_H
#define SMB_TRANSPORT_AWAY_H

#include "smb/transport/conn.h"

enum {
    SMB_AWAY_BYTES_MIN = 64 << 10, /* smaller messages are handled by the loop */
    SMB_RECEIVE_HEAD = 256, /* bytes that the loop receives first to identify a large message */
    SMB_RECEIVE_BYTES = 256 << 10, /* per call: it stays in the processor's cache */
    SMB_AWAY_BYTES_MAX = 2 << 20,  /* per task of a sender */
};

/* Lets a sender send the first block if it is large or has a cover. False: the loop must send
 * it. */
bool smb_send_away(struct smb_conn *c);
/* Called on the loop's thread after a sender has sent; in conn.c. */
void smb_conn_sent_away(struct smb_conn *c, ssize_t sent);

/* Returns true if c->incoming is large enough to be received by another thread, and its head has
 * arrived. */
bool smb_is_received_away(const struct smb_conn *c);
bool smb_receives_away(const struct smb_conn *c);
/* Lets another thread receive the bytes that have arrived. */
void smb_receive_away(struct smb_conn *c);
/* Called on the loop's thread afterwards: STREAM_FAILED, or c->incoming_have is updated; in
 * conn.c. */
void smb_conn_received_away(struct smb_conn *c, ssize_t received);

/* Runs the cover of a message on a sender, then calls `then` on the loop's thread. Takes the cover.
 * The message must be under way, and smb_goes_away must be true for it. */
void smb_check_away(struct smb_message *m, struct smb_cover *cover,
                    void (*then)(struct smb_message *m, bool good));
/* Returns true if there are senders and this many bytes are worth the thread switch. */
bool smb_goes_away(const struct smb_conn *c, size_t bytes);

#endif
