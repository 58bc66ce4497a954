/* SPDX-License-Identifier: Apache-2.0 */
/* A storage account of some server (this program, the cloud, Azurite) as a client sees it: its
 * endpoints and credentials from a connection string, and signed requests to it. */
#ifndef TRANSFER_REMOTE_H
#define TRANSFER_REMOTE_H

#include "core/hash/hmac.h"
#include "http/client.h"

enum remote_service {
    REMOTE_BLOB,
    REMOTE_QUEUE,
    REMOTE_TABLE,
    REMOTE_FILE,
    REMOTE_DFS, /* Data Lake Storage: the blob endpoint, or its sibling in the cloud */
    REMOTE_SERVICES,
};

enum {
    REMOTE_TRIES_MAX = 6,
    REMOTE_BODY_BYTES_MAX = 32 << 20, /* of an answer that is kept in memory */
    REMOTE_QUERY_MAX = 12,
    REMOTE_HEADERS_MAX = 256,
    REMOTE_HEADERS_OWN = 3, /* headers that every request gets: date, version and signature */
    REMOTE_TEXT_BYTES = 768,
};

/* Old enough for Azurite, new enough for versions, tags and change times of files. */
#define REMOTE_VERSION "2021-12-02"

struct remote {
    struct str account;
    struct hmac_key key;
    bool has_key;
    struct str sas; /* a query without its '?'; absent: none */
    struct uri endpoint[REMOTE_SERVICES];
    bool has[REMOTE_SERVICES];
    struct dialer *dialer;
    struct arena texts;
};

/* Reads a connection string, as SDKs take it. The remote is released by remote_close in any case.
 * ERR_INVALID_INPUT with a detail. */
struct err remote_open(struct str connection, struct remote *out);
void remote_close(struct remote *remote);

/* Requests of one thread. */
struct session {
    struct remote *remote;
    struct http_kept kept[2];     /* two, because blob and dfs are different hosts in the cloud */
    char text[REMOTE_TEXT_BYTES]; /* of the last error */
    int refused;                  /* the status of the last answer that was refused */
    bool lazuli;                  /* the server identified itself as this program */
};
void session_init(struct session *s, struct remote *remote);
void session_end(struct session *s);

struct remote_pair {
    struct str name, value;
};

struct remote_call {
    enum remote_service service;
    struct str method;
    struct str container; /* decoded; absent: the account */
    struct str object;    /* decoded; absent: none. May hold slashes */
    struct remote_pair query[REMOTE_QUERY_MAX];
    size_t query_count;
    struct http_header headers[REMOTE_HEADERS_MAX];
    size_t header_count;
    bool overfull; /* more headers were added than fit: the request is not sent */
    bool has_body;
    uint64_t body_bytes;
    http_client_source *source;
    void *source_arg;
    unsigned tries_max; /* 0: REMOTE_TRIES_MAX; 1 for requests that must not be repeated */
    /* The answer: */
    struct http_answer answer;
    struct str body; /* in the arena */
    struct str code; /* of an error */
    unsigned tries;
};

struct remote_call remote_call_of(enum remote_service service, const char *method,
                                  struct str container, struct str object);
void remote_query(struct remote_call *c, const char *name, struct str value);
/* Does nothing for an absent value. */
void remote_header(struct remote_call *c, const char *name, struct str value);
void remote_header_u64(struct remote_call *c, struct arena *a, const char *name, uint64_t value);
/* A body that is in memory, with its MD5. */
void remote_body(struct remote_call *c, struct arena *a, struct str body);

/* Sends the request, with retries after failures of the connection or the server, and reads the
 * whole answer. OK for any deliberate answer: see answer.status. ERR_IO. */
struct err session_ask(struct session *s, struct arena *a, struct remote_call *c);
/* The same, but anything except 2xx is ERR_INVALID_INPUT, with the server's message as detail. */
struct err session_expect(struct session *s, struct arena *a, struct remote_call *c);
/* The error for an answer that was not expected. */
struct err session_refused(struct session *s, const struct remote_call *c);
struct str remote_answer(const struct remote_call *c, const char *header);

#endif
