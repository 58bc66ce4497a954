/* SPDX-License-Identifier: Apache-2.0 */
/* A connection, its messages and their requests. Only the thread of the connection's loop touches
 * its state.
 *
 * A message holds one command, or several (a compound). Its commands run one after the other; each
 * ends with smb_complete, at once or later. When the last has ended, the answers are sent as one
 * message. When a command has to wait for an event that may never come (a lock, a change), the
 * client gets an interim answer and may cancel it (smb_wait_for in drive.h). */
#ifndef SMB_TRANSPORT_CONN_H
#define SMB_TRANSPORT_CONN_H

#include <stdatomic.h>
#include <sys/socket.h>

#include "auth/spnego.h"
#include "core/arena.h"
#include "engine/engine.h"
#include "net/loop.h"
#include "net/stream.h"
#include "run/run.h"
#include "service/file/opens/change.h"
#include "smb/crypto/crypto.h"
#include "smb/header.h"
#include "smb/transport/block.h"
#include "smb/transport/window.h"

enum {
    SMB_IO_BYTES_MAX = 8 << 20, /* of one READ, WRITE or information */
    SMB_MESSAGE_BYTES_MAX = (8 << 20) + (64 << 10),
    SMB_SESSIONS_PER_CONNECTION = 64,
    SMB_CHANNELS_PER_SESSION = 32, /* as with Windows */
    SMB_TREES_PER_SESSION = 1024,
    SMB_COMPOUND_MAX = 128,
    SMB_OUTPUT_BYTES_MAX = 64 << 20, /* unsent answers; above it, reading stops */
    SMB_GUID_BYTES = 16,

    /* Limits until a client has proved a key on this connection. */
    SMB_EARLY_MS = 30000, /* to prove it */
    SMB_EARLY_MESSAGE_BYTES_MAX = 64 << 10,
    SMB_EARLY_OUTPUT_BYTES_MAX = 64 << 10,
    SMB_EARLY_SESSIONS_MAX = 4,
    SMB_EARLY_BYTES_MAX = 32 << 20, /* of all such connections together */
};

struct smb_server;
struct smb_channel;
struct smb_session;
struct smb_tree;
struct smb_open;
struct smb_control;
struct smb_message;
struct smb_early;
struct smb_cover;
struct smb_wait;

struct smb_conn {
    struct loop_watch watch; /* first, because the loop passes it back */
    struct smb_server *server;
    struct loop *loop;
    struct stream stream;
    struct sockaddr_storage peer;
    struct smb_conn *previous, *next; /* the server's list of this loop */
    struct loop_timer early;
    bool proved;        /* its client has proved a key */
    size_t early_bytes; /* its share of the bytes of all unproved connections */

    unsigned char length_bytes[4];
    size_t length_have;
    struct smb_message *incoming;
    size_t incoming_have;

    struct smb_blocks *blocks; /* the loop's */
    atomic_uint *calls;        /* the same: calls to handles of the loop that are under way */
    struct loop_task read_on;  /* resumes reading after them */
    bool reads_later;          /* it is posted */
    struct smb_block *output, **output_tail;
    size_t output_bytes;
    struct loop_task away; /* the task of another thread that sends or receives (away.h) */
    bool is_away;
    uint32_t missed;    /* events meanwhile */
    ssize_t away_bytes; /* the bytes it sent or received; 0: the end; or STREAM_AGAIN, _FAILED */
    unsigned held;      /* messages that must advance before the next is read */
    struct loop_task close_later; /* closes it after a failed send */
    bool broken;                  /* close_later is posted; nothing more is sent */

    /* Results of the negotiation. */
    enum smb_dialect dialect;
    uint16_t client_security_mode;
    uint32_t client_capabilities;
    unsigned char client_guid[SMB_GUID_BYTES];
    uint16_t client_dialects_hash_count;
    enum smb_signing signing;
    enum smb_cipher cipher;
    unsigned char preauth[SMB_PREAUTH_BYTES];
    struct smb_window window;

    bool joined; /* registered with its client (clients.h) */
    struct smb_conn *client_next;
    struct smb_channel *channels; /* its part in sessions */
    unsigned channel_count;
    struct smb_request *waiting; /* pending ones, for CANCEL */
    uint64_t last_async_id;
    unsigned under_way;         /* messages not answered yet; they keep the connection alive */
    struct smb_request *moving; /* waits until the connection is on another loop */
    struct loop *moves_to;
    bool closed;  /* the socket is gone */
    bool counted; /* in the connections of its address */
};

struct smb_request {
    struct smb_message *message;
    struct smb_conn *conn;
    struct arena *arena; /* the message's */
    struct smb_header header;
    struct str packet;           /* header and body, as signed */
    struct str body;             /* after the header */
    struct smb_channel *channel; /* the connection's part in the session */
    struct smb_session *session;
    struct smb_tree *tree;
    struct smb_open *open; /* the handle it works on; held until the request ends */

    struct buf out;           /* the answer's body, made by the command */
    struct smb_block *block;  /* the block of `out`, if the command reserved it; else none */
    uint32_t related;         /* the status inherited from the previous command of a compound */
    bool checked, check_good; /* the signature was checked by another thread, with this result */
    bool verified;            /* its own signature or encryption has proved the session's key */
    struct smb_signer
        *borrowed_signer; /* of a session that the connection has not joined (bind.h) */
    bool keeps_body;      /* `out` is also the answer's body with an error */
    char *error_data;     /* four bytes of error data; NULL: none */
    uint32_t status;
    /* For a CREATE that other handles blocked: the file, and the requested access (told.h). */
    struct opens_key met;
    struct str met_path, met_wish;
    const char *why;            /* reason for a refusal, for the log; NULL: the status is enough */
    int64_t started_us;         /* for the log; monotonic */
    bool counted;               /* in the open's count of requests (sequence.h) */
    uint64_t answer_session_id; /* SESSION_SETUP and TREE_CONNECT make new ids */
    uint32_t answer_tree_id;
    bool no_answer;         /* CANCEL */
    int64_t doubt_until_ms; /* when the wait for a heartbeat ends (home.h); 0: no wait yet */

    /* Pending. */
    bool pending;
    uint64_t async_id;
    bool interrupted; /* by closing its handle, not by CANCEL */
    bool outlives;    /* continues without its connection while its session has another */
    struct smb_waiting *waiting; /* in the open-file table (waiting.h) */
    struct smb_request *wait_previous, *wait_next;
    void *work;                  /* the command's state between its steps */
    struct smb_control *control; /* of an IOCTL whose work is a pipe's */

    /* Its steps (drive.h). */
    struct run run;
    struct file_changes changes; /* made by an update; reported after its commit */
    struct err (*off_loop)(struct smb_request *request);
    const struct smb_wait *wait;
    void (*then)(struct smb_request *request, struct err outcome);
};

/* Returns the request whose step runs. */
static inline struct smb_request *smb_request_of(struct run *r)
{
    return CONTAINER_OF(r, struct smb_request, run);
}

struct smb_message {
    struct smb_conn *conn;
    struct arena arena;
    struct {
        struct loop_task task;
        struct smb_cover *cover;
        bool good;
        void (*then)(struct smb_message *m, bool good);
    } check;                 /* of its signature or encryption, by another thread (away.h) */
    struct smb_block *input; /* as received; decrypted in place */
    struct smb_early *early; /* the part already written to the disk (write.h) */
    bool early_asked;
    struct str plain;            /* the SMB2 part still to be run */
    struct smb_session *sealing; /* the session whose key decrypted the message; held. Answers are
                                    encrypted with it. NULL: not encrypted */
    struct smb_request request;  /* the current one */
    struct smb_header previous;  /* of the previous command, for related ones */
    uint64_t related_file[2];    /* the file id that related commands inherit */
    bool related_file_given;
    uint32_t related_status; /* a failed CREATE also fails the related commands after it */
    struct buf answer;       /* all answers so far */
    struct smb_block *block; /* where they are, with SMB_FRAME_BYTES and a transform header's space
                                before them; none: in the arena */
    size_t last_answer;      /* where the last answer begins */
    unsigned count;
};

/* Opens a connection on its loop; NULL if it could not be watched. Takes the descriptor. */
struct smb_conn *smb_conn_open(struct smb_server *server, struct loop *loop, int fd,
                               const struct sockaddr_storage *peer);
/* Closes the connection; requests in progress end without an answer. */
void smb_conn_close(struct smb_conn *c);
/* Called when its client has proved a key: lifts the limits for unproved clients. */
void smb_conn_proved(struct smb_conn *c);

/* Moves the request's connection to another loop, together with the request, and calls `then`
 * there. False if the connection has other work; it then stays. */
bool smb_conn_move(struct smb_request *request, struct loop *to,
                   void (*then)(struct smb_request *request, struct err outcome));

/* Reserves space in request->out from which a large answer is sent without a copy. */
void smb_reserve_answer(struct smb_request *request, size_t bytes);
/* Returns true if the answer is sent alone, neither signed nor sealed: then parts of files may
 * follow request->block as its tail. After smb_reserve_answer. */
bool smb_answer_is_bare(const struct smb_request *request);
/* Ends a request with its status; request->out is its answer's body (ignored for errors, except
 * with STATUS_BUFFER_OVERFLOW, STATUS_MORE_PROCESSING_REQUIRED and STATUS_STOPPED_ON_SYMLINK). On
 * the connection's thread. */
void smb_complete(struct smb_request *request, uint32_t status);
/* The same with a service error. */
void smb_complete_err(struct smb_request *request, struct err error);
/* Sends a message without a request (oplock and lease breaks) and writes its header and body.
 * Unsigned; encrypted if the session is. */
void smb_notify(struct smb_conn *c, struct smb_session *session, uint16_t command, struct str body);

#endif
