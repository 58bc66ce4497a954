/* SPDX-License-Identifier: Apache-2.0 */
/* Flags → configuration → engine → listeners → run. */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "complain.h"
#include "config.h"
#include "rest/ops_doc.h"
#include "serve.h"
#include "version.h"

/* The C library would create an arena for each thread that finds the others locked, up to eight per
 * core, each fragmented: memory would grow over time under load. Two arenas are as fast for our few
 * threads. */
enum { MALLOC_ARENAS = 2 };

/* Handles --help and the like; false if none was given. */
static bool print_asked(const struct config *config)
{
    bool of_command = config->help && config->command != NULL;
    if (of_command && config_print_command_help(config->command))
        return true;
    if (config->help)
        config_print_help();
    else if (config->version)
        version_print();
    else if (config->ops)
        ops_doc_print();
    else if (config->describe)
        config_describe(config);
    return config->help || config->version || config->ops || config->describe;
}

static int work(struct config *config)
{
    (void)signal(SIGPIPE, SIG_IGN);
    log_set_level(config->log_level);
    if (config->debug_file != NULL) {
        struct err error = log_set_file(config->debug_file);
        if (err_is(error))
            return complain_err(config->debug_file, error);
    }
    return config->command == NULL ? serve(config, version_server_name()) : serve_command(config);
}

int main(int argc, char **argv)
{
    struct config config;
    char text[768];
    (void)mallopt(M_ARENA_MAX, MALLOC_ARENAS);
    struct err error = config_parse(argc, argv, &config, text, sizeof text);
    int status = 2;
    if (err_is(error))
        (void)fprintf(stderr, "lazuli: %s\n", error.detail);
    else if (print_asked(&config))
        status = 0;
    else
        status = work(&config);
    config_release(&config);
    return status;
}
