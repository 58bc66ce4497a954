/* SPDX-License-Identifier: Apache-2.0 */
/* Large messages away from the event loop. A megabyte takes a loop some tenths of a millisecond to
 * send, and more to sign or encrypt; small requests on the same loop would wait for that.
 *
 * Sending: a sender (a thread that gives way to the loops) protects and sends the first block of
 * the connection's output. Meanwhile the stream and that block belong to it: the loop only collects
 * the stream's events and adds answers behind. Checking: a sender verifies or decrypts a large
 * message. Meanwhile nothing is read, so that messages begin in their order. */
#ifndef SMB_AWAY_H
#define SMB_AWAY_H

#include "smb/conn.h"

enum {
    SMB_AWAY_BYTES_MIN = 64 << 10, /* less is sent, signed and so on by the loop */
    SMB_RECEIVE_HEAD = 256, /* of a large message, that the loop receives to know what it is */
    SMB_RECEIVE_BYTES = 256 << 10, /* at a time: it stays in the processor's cache */
    SMB_AWAY_BYTES_MAX = 2 << 20,  /* in one go, before the threads' next task */
};

/* Has a sender send the first block, if it is large or needs a cover. False: the loop is to do it.
 */
bool smb_send_away(struct smb_conn *c);
/* After it is back, on the loop's thread; in conn.c. */
void smb_conn_sent_away(struct smb_conn *c, ssize_t sent);

/* Returns true if c->incoming is so large that another thread is to receive it, after its head; and
 * if that has come. */
bool smb_is_received_away(const struct smb_conn *c);
bool smb_receives_away(const struct smb_conn *c);
/* Has it do so, as far as there is something to be received. */
void smb_receive_away(struct smb_conn *c);
/* After it is back: STREAM_FAILED, or c->incoming_have says how much there is; in conn.c. */
void smb_conn_received_away(struct smb_conn *c, ssize_t received);

/* Runs the cover of a message on a sender; `then` follows on the loop's thread. Takes the cover.
 * The message is under way, and smb_goes_away. */
void smb_check_away(struct smb_message *m, struct smb_cover *cover,
                    void (*then)(struct smb_message *m, bool good));
/* Returns true if there are senders, and so many bytes are worth it. */
bool smb_goes_away(const struct smb_conn *c, size_t bytes);

#endif
