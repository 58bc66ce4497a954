/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's access to a running server: a Unix socket in the data folder. Only the server's
 * own user and root can use it: the socket's mode excludes others, and the kernel reports the user
 * of each connection.
 *
 * A request is one line of words. The answer has "ok" or "error: why" on its first line, then the
 * result. While a backup or an import runs, lines of "progress DOING DONE OF" precede it. A
 * separate thread serves one connection at a time, so that an operator never delays a client. */
#ifndef CONTROL_H
#define CONTROL_H

#include "engine/local/local.h"
#include "import/azurite.h"
#include "service/account/registry.h"

struct control;

/* Other functions of the server for its operator; they may block. */
struct control_calls {
    struct err (*backup)(void *arg, struct engine_backup *backup);          /* NULL: it cannot */
    struct err (*import_azurite)(void *arg, struct azurite_import *import); /* the same */
    /* Where the services are, as "blob http://127.0.0.1:10000" in lines. */
    void (*endpoints)(void *arg, struct buf *out);
    void *arg;
};

/* Listens in the folder. ERR_IO. */
struct err control_new(const char *folder, struct registry *registry,
                       const struct control_calls *calls, struct control **out);
/* Stops the thread and removes the socket. NULL is allowed. */
void control_free(struct control *control);

enum { CONTROL_LINE_MAX = 1024, CONTROL_ANSWER_MAX = 256 << 10 };

/* Handles one line, without its newline; appends the answer to *answer. */
void control_answer(struct registry *registry, struct str line, struct buf *answer);

/* The other end: `lazuli account …` sends its words to the server of that folder and prints the
 * answer. The exit status. */
int control_command(const char *folder, const char *const *words, unsigned count);
/* Sends one line and reads its answer, for other commands. False if no server runs there, or if it
 * refuses: then the answer has the reason. */
bool control_ask(const char *folder, const char *line, struct buf *answer);
/* Returns true if a server runs on the folder. */
bool control_reaches(const char *folder);
/* `lazuli backup TO` with a running server: it makes the copy. `to` is absolute. */
int control_backup(const char *folder, const char *to);
/* `lazuli import azurite FROM` with a running server: it does the import. `from` is absolute. */
int control_import_azurite(const char *folder, const char *from);

#endif
