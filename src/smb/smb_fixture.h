/* SPDX-License-Identifier: Apache-2.0 */
/* A whole server in memory with one share, its loop on a separate thread, and clients that send raw
 * bytes. Most tests use sessions made without a key (smb_peer_in_session): they are neither signed
 * nor encrypted. Tests of signatures and encryption log in (smb_peer_logged_in). */
#ifndef SMB_FIXTURE_H
#define SMB_FIXTURE_H

#include <pthread.h>

#include "core/test.h"
#include "smb/open.h"
#include "smb/server.h"
#include "smb/smb_user.h"
#include "smb/transport/conn.h"

enum { SMB_TREE_DISK = 1, SMB_TREE_IPC = 2, SMB_ALL_SHARED = 7, SMB_FIXTURE_USERS = 64 };

/* The keys of the fixture's account "acct". */
#define SMB_FIXTURE_KEY1 "Zmlyc3Qga2V5IG9mIHRoZSBmaXh0dXJl"
#define SMB_FIXTURE_KEY2 "c2Vjb25kIGtleSBvZiB0aGUgZml4dHVyZQ=="

struct smb_fixture {
    struct clock clock;
    struct store store;
    struct accounts *accounts;
    struct loop *loop;
    struct pool *pool, *senders, *storers;
    struct smb_server *server;
    pthread_t thread;
    struct arena arena;
    struct str partition;
    uint64_t incarnation;
    uint64_t last_session;
    struct smb_user *users[SMB_FIXTURE_USERS]; /* for the end */
    unsigned user_count;
};

struct smb_peer {
    struct smb_fixture *f;
    int fd;
    uint64_t session; /* 0: none */
    uint64_t message_id;
    struct smb_user *user; /* NULL: neither signs nor encrypts */
    bool signs, seals;     /* what it sends */
    unsigned char guid[SMB_GUID_BYTES];
    uint8_t mode;
};

struct smb_answer {
    struct smb_header header;
    struct str packet; /* header and body */
    struct str body;
    struct str rest; /* further answers of a compound */
    bool sealed;     /* it was encrypted */
};

void smb_fixture_begin(struct smb_fixture *f);
void smb_fixture_begin_with(struct smb_fixture *f, const struct smb_options *options);
void smb_fixture_end(struct smb_fixture *f);

/* With a session and its two trees, in dialect 3.0.2; or before the negotiation. */
struct smb_peer smb_peer_in_session(struct smb_fixture *f);
struct smb_peer smb_peer_new(struct smb_fixture *f);

/* How a client negotiates and logs in. Zero means: 3.1.1, GMAC, no encryption, signing enabled, the
 * first key, its own GUID. */
struct smb_login {
    enum smb_dialect dialect;
    enum smb_signing signing;
    bool signs_otherwise; /* with `signing`, though that is 0 */
    enum smb_cipher cipher;
    uint8_t mode;
    const char *key;
    const unsigned char *guid;
};
/* A peer after the negotiation; or with a session and the two trees, signing its requests. */
struct smb_peer smb_peer_greeted(struct smb_fixture *f, const struct smb_login *login);
struct smb_peer smb_peer_logged_in(struct smb_fixture *f, const struct smb_login *login);
/* Both SESSION_SETUPs; the answer to the last one that was sent. With SMB_SESSION_BINDING, the
 * peer's session and user are those of the session to be bound to. */
struct smb_answer smb_peer_log_in(struct smb_peer *p, uint8_t flags, uint64_t previous);
/* Connects to p's session with a further connection, stored in *out also on failure. */
struct smb_answer smb_peer_bind(const struct smb_peer *p, const struct smb_login *login,
                                struct smb_peer *out);
/* Returns true if the answer is signed with the peer's key. An unsigned one may still have the flag
 * and the signature of its request. */
bool smb_answer_verifies(const struct smb_peer *p, const struct smb_answer *a);

/* Ends the connection; returns when the server is done with it. */
void smb_peer_cut(struct smb_peer *p);
/* Returns true if the server has closed it. */
bool smb_peer_is_cut(struct smb_peer *p);

void smb_peer_send_raw(struct smb_peer *p, struct str bytes);
void smb_peer_send(struct smb_peer *p, struct str message);
/* Appends a command, aligned, with the one before pointing at it. */
void smb_peer_add(struct smb_peer *p, struct buf *message, const struct smb_header *like,
                  struct str body);
/* Waits for the next message. */
struct smb_answer smb_peer_receive(struct smb_peer *p);
struct smb_answer smb_answer_next(const struct smb_answer *a);
/* One command to the disk's tree, and its answer. */
struct smb_answer smb_peer_ask(struct smb_peer *p, uint16_t command, struct str body);

/* ---- bodies; in the fixture's arena ---- */

struct smb_wanted {
    const char *name; /* ASCII */
    uint32_t access;  /* 0: all */
    uint32_t sharing;
    uint32_t disposition;
    uint32_t options;
    uint8_t oplock;
    struct str contexts;
};
struct str smb_body_create(struct smb_fixture *f, const struct smb_wanted *w);
struct str smb_body_context(struct smb_fixture *f, const char *name, struct str data);
struct str smb_body_close(struct smb_fixture *f, struct smb_file_id id);
struct str smb_body_read(struct smb_fixture *f, struct smb_file_id id, uint64_t offset,
                         uint32_t length);
struct str smb_body_write(struct smb_fixture *f, struct smb_file_id id, uint64_t offset,
                          struct str bytes);
/* QUERY_INFO of a file. */
struct smb_asked {
    uint8_t class;
    uint32_t room;
    uint32_t parts, flags;
    struct str input;
};
struct str smb_body_query(struct smb_fixture *f, struct smb_file_id id, const struct smb_asked *w);
/* SET_INFO of a file. */
struct str smb_body_set(struct smb_fixture *f, struct smb_file_id id, uint8_t class,
                        struct str data);
struct smb_range {
    uint64_t offset, length;
    uint32_t flags;
};
struct str smb_body_lock(struct smb_fixture *f, struct smb_file_id id, const struct smb_range *list,
                         uint16_t count);

/* The id in the answer to a CREATE, which has succeeded. */
struct smb_file_id smb_created(const struct smb_answer *a);
/* Opens or makes a file that all share. */
struct smb_file_id smb_peer_open(struct smb_peer *p, const char *name);
/* The file id of a related command in a compound: the handle of the command before it. */
extern const struct smb_file_id SMB_ID_OF_BEFORE;

#endif
