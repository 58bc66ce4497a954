/* SPDX-License-Identifier: Apache-2.0 */
/* How the inspector keeps what was done. Every write is recorded, and most of the cost is that of
 * the cache lines it touches: so the texts of a record stand one after the other, and a usual
 * record touches two lines of its slot. They become strings only when somebody looks. */
#ifndef REST_WATCH_INSPECTOR_NOTE_H
#define REST_WATCH_INSPECTOR_NOTE_H

#include "rest/watch/inspector.h"

enum {
    NOTE_ALIGN = 64, /* a cache line */
    NOTE_CLIENT_ID_MAX = 47,
    NOTE_AGENT_MAX = 63,
    NOTE_ADDRESS_MAX = 16,
    NOTE_CONTAINER_MAX = 64,
    NOTE_FORGOTTEN = 31, /* a kind that no filter asks for */
};

/* Texts in the order in which they are kept. Those of a writer come first. */
enum note_text {
    NOTE_REQUEST_ID,
    NOTE_CLIENT_ID,
    NOTE_AGENT,
    NOTE_ADDRESS, /* as on the wire */
    NOTE_ACCOUNT,
    NOTE_WRITER_TEXTS,
    NOTE_CONTAINER = NOTE_WRITER_TEXTS,
    NOTE_OBJECT,
    NOTE_TEXTS
};

enum {
    NOTE_WRITER_BYTES_MAX =
        GUID_TEXT_BYTES + NOTE_CLIENT_ID_MAX + NOTE_AGENT_MAX + NOTE_ADDRESS_MAX + ACCOUNT_NAME_MAX,
    NOTE_BYTES_MAX = NOTE_WRITER_BYTES_MAX + NOTE_CONTAINER_MAX + INSPECTOR_NAME_MAX,
};

/* What a request did, or tried to do. */
struct note {
    _Alignas(NOTE_ALIGN) uint64_t sequence;
    uint64_t hash;
    int64_t at;
    int64_t etag;
    const struct op *op;
    uint16_t status;
    unsigned char kind;
    unsigned char service;
    unsigned char family; /* of the address; 0: none */
    unsigned char sizes[NOTE_TEXTS];
    char text[NOTE_BYTES_MAX];
};

/* The last writer of an object, or the holder of its lease. Names with equal hashes can be
 * constructed, so the account is stored too: each account sees only its own clients. */
struct note_writer {
    _Alignas(NOTE_ALIGN) uint64_t hash; /* 0: nobody */
    int64_t at;
    int64_t etag;
    const struct op *op;
    unsigned char family;
    unsigned char sizes[NOTE_WRITER_TEXTS];
    char text[NOTE_WRITER_BYTES_MAX];
};

/* What a note is made of. */
struct note_source {
    enum inspector_kind kind;
    enum service_kind service;
    const struct op *op;
    int status;
    uint64_t hash;
    int64_t at, etag;
    struct str account, container, object;
    struct str pk, rk; /* of an entity; else absent */
    struct str request_id, client_id, agent;
    const struct sockaddr_storage *peer; /* NULL: unknown */
};

/* Fills in everything but the sequence. Texts that are too long are cut. */
void note_fill(struct note *n, const struct note_source *from);
struct str note_account(const struct note *n);
/* As an event without the members of refusals. */
void note_show(const struct note *n, struct inspector_event *out);
/* As the cause of a refusal. */
void note_show_maker(const struct note *n, struct inspector_maker *out);

void note_writer_set(struct note_writer *w, const struct note *n);
struct str note_writer_account(const struct note_writer *w);
void note_writer_show(const struct note_writer *w, struct inspector_maker *out);

/* Copies text that is cut, where it must be, between two characters; ends it with NUL. */
void note_copy_text(char *to, size_t size, struct str from);

#endif
