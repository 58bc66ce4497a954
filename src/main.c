/* SPDX-License-Identifier: Apache-2.0 */
/* Flags → configuration → engine → listeners → run. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "rest/ops_doc.h"
#include "serve.h"

#ifndef LAZULI_VERSION
#define LAZULI_VERSION "0.1.0"
#endif

/* The C library would make an arena for each thread that finds the others in use, up to eight per
 * core, each with holes of its own: memory would grow with the time that a server runs under load.
 * Two serve our few threads as fast. */
enum { MALLOC_ARENAS = 2 };

int main(int argc, char **argv)
{
    struct config config;
    char text[256];
    (void)mallopt(M_ARENA_MAX, MALLOC_ARENAS);
    struct err error = config_parse(argc, argv, &config, text, sizeof text);
    if (err_is(error)) {
        (void)fprintf(stderr, "lazuli: %s\n", error.detail);
        return 2;
    }
    if (config.help) {
        config_print_help();
        return 0;
    }
    if (config.version) {
        puts("lazuli " LAZULI_VERSION);
        return 0;
    }
    if (config.ops) {
        ops_doc_print();
        return 0;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(config.log_level);
    if (config.command == NULL)
        return serve(&config, "Lazuli/" LAZULI_VERSION);
    return serve_command(&config);
}
