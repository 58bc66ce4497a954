/* SPDX-License-Identifier: Apache-2.0 */
/* lazuli ctl …: test control from a terminal or a script. Each row is one request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin_command.h"
#include "ask.h"
#include "core/text/json.h"
#include "core/text/uri.h"

enum { WORDS_MAX = 4, ARENA_BYTES_MAX = 256 << 20 };

/* In path and body, the first %s stands for the first word that the row leaves open, the next one
 * for the second. */
struct row {
    const char *words[WORDS_MAX]; /* "?" is any word */
    const char *method;
    const char *path;
    const char *body;  /* NULL: none; "@": the open word itself; "@@": the file that it names */
    const char *usage; /* shown by a wrong command */
};

// clang-format off
static const struct row ROWS[] = {
    {{"accounts"},                     "GET",    "accounts", NULL, "accounts"},
    {{"account", "add"},               "POST",   "accounts", "{}", "account add [NAME]"},
    {{"account", "add", "?"},          "POST",   "accounts", "{\"name\":\"%s\"}", NULL},
    {{"account", "delete", "?"},       "DELETE", "accounts/%s", NULL, "account delete NAME"},
    {{"reset"},                        "POST",   "reset", "{}", "reset [ACCOUNT [SERVICE]]"},
    {{"reset", "?"},                   "POST",   "reset", "{\"account\":\"%s\",\"keep\":true}", NULL},
    {{"reset", "?", "?"},              "POST",   "reset", "{\"account\":\"%s\",\"service\":\"%s\",\"keep\":true}", NULL},
    {{"seed", "?"},                    "POST",   "seed", "@@", "seed MANIFEST.json"},
    {{"clock"},                        "GET",    "clock", NULL, "clock [advance MS | set TIME | freeze | run]"},
    {{"clock", "advance", "?"},        "POST",   "clock", "{\"advanceMs\":%s}", NULL},
    {{"clock", "set", "?"},            "POST",   "clock", "{\"setTo\":\"%s\"}", NULL},
    {{"clock", "freeze"},              "POST",   "clock", "{\"freeze\":true}", NULL},
    {{"clock", "run"},                 "POST",   "clock", "{\"freeze\":false}", NULL},
    {{"snapshot", "list"},             "GET",    "snapshots", NULL, "snapshot list | save NAME | restore NAME | delete NAME"},
    {{"snapshot", "save", "?"},        "PUT",    "snapshots/%s", "{}", NULL},
    {{"snapshot", "restore", "?"},     "POST",   "snapshots/%s/restore", "{}", NULL},
    {{"snapshot", "delete", "?"},      "DELETE", "snapshots/%s", NULL, NULL},
    {{"fault", "list"},                "GET",    "faults", NULL, "fault list | add JSON | delete ID | clear"},
    {{"fault", "add", "?"},            "POST",   "faults", "@", NULL},
    {{"fault", "delete", "?"},         "DELETE", "faults/%s", NULL, NULL},
    {{"fault", "clear"},               "PUT",    "faults", "[]", NULL},
    {{"hold", "list"},                 "GET",    "holds", NULL, "hold list | add JSON | wait ID COUNT | release ID | delete ID"},
    {{"hold", "add", "?"},             "POST",   "holds", "@", NULL},
    {{"hold", "wait", "?", "?"},       "GET",    "holds/%s?arrived=%s", NULL, NULL},
    {{"hold", "release", "?"},         "POST",   "holds/%s/release", "{}", NULL},
    {{"hold", "delete", "?"},          "DELETE", "holds/%s", NULL, NULL},
    {{"request", "list"},              "GET",    "requests", NULL, "request list [OPERATION] | wait OPERATION COUNT | clear"},
    {{"request", "list", "?"},         "GET",    "requests?operation=%s", NULL, NULL},
    {{"request", "wait", "?", "?"},    "GET",    "requests?operation=%s&wait=count:%s", NULL, NULL},
    {{"request", "clear"},             "DELETE", "requests", NULL, NULL},
};
// clang-format on

static bool fits(const struct row *row, const struct config *config, const char *open[WORDS_MAX])
{
    size_t opens = 0;
    open[0] = open[1] = "";
    for (unsigned i = 0; i < WORDS_MAX; i++) {
        const char *wanted = row->words[i];
        const char *given = i < config->operand_count ? config->operands[i] : NULL;
        if (wanted == NULL || given == NULL)
            return wanted == NULL && given == NULL;
        if (strcmp(wanted, "?") == 0)
            open[opens++] = given;
        else if (strcmp(wanted, given) != 0)
            return false;
    }
    return config->operand_count == WORDS_MAX;
}

static int usage(void)
{
    (void)fprintf(stderr, "lazuli: ctl takes one of\n");
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++)
        if (ROWS[i].usage != NULL)
            (void)fprintf(stderr, "  %s\n", ROWS[i].usage);
    return 2;
}

/* Puts the open words where the pattern has %s, escaped for a path or for JSON. */
static struct str fill(struct arena *arena, const char *pattern, const char *const *open, bool path)
{
    struct buf out = buf_in(arena);
    for (size_t used = 0; *pattern != '\0'; pattern++) {
        if (strncmp(pattern, "%s", 2) != 0) {
            buf_putc(&out, *pattern);
            continue;
        }
        struct str word = str_of(open[used++]);
        struct buf quoted = buf_in(arena);
        struct json_writer w = json_writer_of(&quoted);
        pattern++;
        if (path) {
            uri_encode(&out, word, URI_KEEP_NONE);
        } else {
            json_string(&w, word);
            buf_put(&out, (struct str){quoted.p + 1, quoted.n - 2});
        }
    }
    return buf_str(&out);
}

static bool read_file(struct arena *arena, const char *path, struct str *out)
{
    FILE *file = fopen(path, "re");
    struct buf b = buf_in(arena);
    size_t got = 1;
    if (file == NULL)
        return false;
    while (got > 0 && b.n < ARENA_BYTES_MAX / 4) {
        got = fread(buf_reserve(&b, 1 << 16), 1, 1 << 16, file);
        b.n += got;
    }
    (void)fclose(file);
    *out = buf_str(&b);
    return true;
}

static int send_row(const struct config *config, const struct row *row, const char *const *open,
                    struct arena *arena)
{
    const char *token = getenv("LAZULI_TEST_CONTROL_TOKEN");
    struct ask_header headers[2] = {{STR("x-lazuli-control"), STR("1")}};
    struct str path = fill(arena, row->path, open, true);
    struct ask what = {.method = row->method,
                       .url = admin_command_url(config, NULL, arena),
                       .path = arena_printf(arena, "/_lazuli/control/v1/%.*s", STR_ARG(path)),
                       .headers = headers,
                       .header_count = 1};
    struct answered answer = {0};
    if (token != NULL && token[0] != '\0') {
        headers[1] =
            (struct ask_header){STR("Authorization"), arena_printf(arena, "Bearer %s", token)};
        what.header_count = 2;
    }
    if (row->body != NULL && strcmp(row->body, "@@") == 0) {
        if (!read_file(arena, open[0], &what.body)) {
            (void)fprintf(stderr, "lazuli: %s cannot be read\n", open[0]);
            return 1;
        }
    } else if (row->body != NULL) {
        what.body =
            strcmp(row->body, "@") == 0 ? str_of(open[0]) : fill(arena, row->body, open, false);
    }
    struct err error = ask(arena, &what, &answer);
    return err_is(error) ? admin_command_failed(what.url, error) : admin_command_print(&answer);
}

int ctl_command(const struct config *config)
{
    const char *open[WORDS_MAX];
    const struct row *found = NULL;
    struct arena arena;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0] && found == NULL; i++)
        if (fits(&ROWS[i], config, open))
            found = &ROWS[i];
    if (found == NULL)
        return usage();
    arena_init(&arena, ARENA_BYTES_MAX);
    int status = send_row(config, found, open, &arena);
    arena_release(&arena);
    return status;
}
