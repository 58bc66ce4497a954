/* SPDX-License-Identifier: Apache-2.0 */
/* Sends one HTTP request of a command (`lazuli health`, `inspect`, `ctl`) to the server that the
 * operator names: without TLS, and to any address. Blocks. */
#ifndef ASK_H
#define ASK_H

#include "core/arena.h"
#include "core/err.h"

enum { ASK_ANSWER_BYTES_MAX = 64 << 20, ASK_SECONDS = 60 };

struct ask_header {
    struct str name, value;
};

struct ask {
    const char *method;
    struct str url;                   /* "http://host:port", without a path */
    struct str path;                  /* with its query, encoded */
    struct str body;                  /* absent: none */
    const struct ask_header *headers; /* further ones */
    size_t header_count;
    /* If given, the request is signed with this key (base64), as docs/admin-api.md describes. */
    struct str account, key;
    bool table; /* signed as for the table service */
};

struct answered {
    int status;
    struct str body;
};

/* The answer is in the arena. ERR_INVALID_INPUT for an invalid URL; ERR_IO with a cause;
 * ERR_BAD_REQUEST for an answer that is not HTTP. */
struct err ask(struct arena *arena, const struct ask *what, struct answered *out);

#endif
