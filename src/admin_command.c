/* SPDX-License-Identifier: Apache-2.0 */
#include "admin_command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "ask.h"
#include "core/log.h"

enum { ARENA_BYTES_MAX = 256 << 20 };

struct str admin_command_url(const struct config *config, const char *given, struct arena *arena)
{
    bool six = strchr(config->admin_host, ':') != NULL;
    if (given != NULL)
        return str_of(given);
    if (config->admin_port == CONFIG_PORT_OFF)
        return arena_printf(arena, "http://%s:%u", config->host[0], (unsigned)config->port[0]);
    unsigned port = (uint16_t)config->admin_port;
    return arena_printf(arena, "http://%s%s%s:%u", six ? "[" : "", config->admin_host,
                        six ? "]" : "", port);
}

int admin_command_failed(struct str url, struct err error)
{
    if (error.code == ERR_INVALID_INPUT) {
        (void)fprintf(stderr, "lazuli: %.*s: %s\n", STR_ARG(url), error.detail);
        return 2;
    }
    (void)fprintf(stderr, "lazuli: %.*s cannot be asked: %s\n", STR_ARG(url),
                  error.cause > 0 ? strerrordesc_np(error.cause) : err_message(error.code));
    return 1;
}

int admin_command_print(const struct answered *answer)
{
    bool good = answer->status >= 200 && answer->status < 300;
    (void)fwrite(answer->body.p, 1, answer->body.n, good ? stdout : stderr);
    return good ? 0 : 1;
}

int health_command(const struct config *config)
{
    struct arena arena;
    const char *given = NULL;
    struct str path = STR("/_lazuli/readyz");
    for (unsigned i = 0; i < config->operand_count; i++) {
        if (strcmp(config->operands[i], "live") == 0)
            path = STR("/_lazuli/livez");
        else if (strcmp(config->operands[i], "ready") != 0)
            given = config->operands[i];
    }
    arena_init(&arena, ARENA_BYTES_MAX);
    struct ask what = {
        .method = "GET", .url = admin_command_url(config, given, &arena), .path = path};
    struct answered answer = {0};
    struct err error = ask(&arena, &what, &answer);
    int status =
        err_is(error) ? admin_command_failed(what.url, error) : admin_command_print(&answer);
    arena_release(&arena);
    return status;
}
