/* SPDX-License-Identifier: Apache-2.0 */
/* A whole server in memory with one share, its loop on a thread of its own, and clients that speak
 * bytes to it. Sessions are made without a key, so that tests need not log in; they are neither
 * signed nor encrypted. */
#ifndef SMB_FIXTURE_H
#define SMB_FIXTURE_H

#include <pthread.h>

#include "core/test.h"
#include "smb/conn.h"
#include "smb/open.h"
#include "smb/server.h"

enum { SMB_TREE_DISK = 1, SMB_TREE_IPC = 2, SMB_ALL_SHARED = 7 };

struct smb_fixture {
    struct clock clock;
    struct store store;
    struct accounts *accounts;
    struct loop *loop;
    struct pool *pool;
    struct smb_server *server;
    pthread_t thread;
    struct arena arena;
    struct str partition;
    uint64_t incarnation;
    uint64_t last_session;
};

struct smb_peer {
    struct smb_fixture *f;
    int fd;
    uint64_t session; /* 0: none */
    uint64_t message_id;
};

struct smb_answer {
    struct smb_header header;
    struct str body;
    struct str rest; /* further answers of a compound */
};

void smb_fixture_begin(struct smb_fixture *f);
void smb_fixture_end(struct smb_fixture *f);

/* With a session and its two trees, in dialect 3.0.2; or as a client that has said nothing yet. */
struct smb_peer smb_peer_in_session(struct smb_fixture *f);
struct smb_peer smb_peer_new(struct smb_fixture *f);
/* Ends the connection; comes back when the server has done with it. */
void smb_peer_cut(struct smb_peer *p);
/* Whether the server has ended it. */
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
/* What all ids but those of a CREATE before it in a compound look like. */
extern const struct smb_file_id SMB_ID_OF_BEFORE;

#endif
