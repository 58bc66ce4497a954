/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP request of a command (`lazuli health`, `inspect`, `ctl`) to a server, plain and without
 * limits on who is reached: the operator says where to. Waits. */
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
    /* Given: signs it with the key (base64), as docs/admin-api.md has it. */
    struct str account, key;
    bool table; /* as the table service wants it */
};

struct answered {
    int status;
    struct str body;
};

/* What is answered lives in the arena. ERR_INVALID_INPUT for a URL that is none; ERR_IO with a
 * cause; ERR_BAD_REQUEST for an answer that is no HTTP. */
struct err ask(struct arena *arena, const struct ask *what, struct answered *out);

#endif
