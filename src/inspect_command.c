/* SPDX-License-Identifier: Apache-2.0 */
/* lazuli inspect [--timeline] [--follow] [RESOURCE]: the last refusals, and the requests that
 * caused them. lazuli inspect --explain ID: the refusal with the id that a response has named. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin_command.h"
#include "ask.h"
#include "core/text/json.h"
#include "core/text/uri.h"
#include "core/time.h"
#include "service/account/account.h"

enum { PAIRS_MAX = 64, FOLLOW_SECONDS = 25, ARENA_BYTES_MAX = 128 << 20 };

/* An event's members by their paths: "met.etag". */
struct pairs {
    struct {
        struct str path;
        struct str value;
    } list[PAIRS_MAX];
    size_t count;
};

/* Nested objects become paths; events contain no arrays. */
static void read_object(struct json_reader *r, struct arena *arena, struct str before,
                        struct pairs *out)
{
    struct str name;
    while (json_member(r, &name)) {
        struct json_value v = json_value(r);
        struct str path =
            before.n == 0 ? name : arena_printf(arena, "%.*s.%.*s", STR_ARG(before), STR_ARG(name));
        if (v.kind == JSON_OBJECT)
            read_object(r, arena, path, out);
        else if (v.kind == JSON_ARRAY)
            json_skip(r, v);
        else if (out->count < PAIRS_MAX) {
            out->list[out->count].path = path;
            out->list[out->count++].value =
                v.kind == JSON_BOOL ? (v.boolean ? STR("true") : STR("false")) : v.text;
        }
    }
}

static struct str get(const struct pairs *p, const char *path)
{
    for (size_t i = 0; i < p->count; i++)
        if (str_eq(p->list[i].path, str_of(path)))
            return p->list[i].value;
    return STR("");
}

static void print_if(const struct pairs *p, const char *before, const char *path)
{
    struct str value = get(p, path);
    if (value.n > 0)
        printf("%s%.*s", before, STR_ARG(value));
}

/* How long before the event the other request was served. */
static void print_age(const struct pairs *p)
{
    int64_t then, now;
    if (!time_parse_iso(get(p, "madeBy.time"), &then) || !time_parse_iso(get(p, "time"), &now))
        return;
    double ms = (double)(now - then) / 1e4;
    if (ms < 1000)
        printf(", %.1f ms before", ms);
    else
        printf(", %.1f s before", ms / 1000);
}

static void print_event(const struct pairs *p)
{
    printf("%.*s %.*s %.*s %.*s /%.*s", STR_ARG(get(p, "time")), STR_ARG(get(p, "status")),
           STR_ARG(get(p, "error").n > 0 ? get(p, "error") : get(p, "kind")),
           STR_ARG(get(p, "operation")), STR_ARG(get(p, "container")));
    print_if(p, "/", "object");
    print_if(p, "  rule ", "rule");
    print_if(p, "  ETag ", "etag");
    print_if(p, "\n    sent    ", "check");
    print_if(p, ": ", "sent");
    if (get(p, "met.etag").n > 0 || get(p, "met.lease").n > 0 || get(p, "met.holder").n > 0)
        printf("\n    met    ");
    print_if(p, " ETag ", "met.etag");
    print_if(p, ", last modified ", "met.lastModified");
    print_if(p, " a lease that is ", "met.lease");
    print_if(p, ", ends in seconds: ", "met.leaseSecondsLeft");
    print_if(p, ", id sent: ", "met.leaseId");
    print_if(p, " ", "met.holder");
    if (get(p, "madeBy.operation").n > 0) {
        print_if(p, "\n    made by ", "madeBy.operation");
        print_age(p);
        print_if(p, ", request ", "madeBy.requestId");
        print_if(p, ", client's id ", "madeBy.clientRequestId");
        print_if(p, ", ", "madeBy.userAgent");
        print_if(p, " from ", "madeBy.address");
        if (str_eq(get(p, "madeBy.current"), STR("false")))
            printf(" (the last writer known of; the state met is of another)");
    }
    /* An SMB client's has no id. */
    printf(
        "\n    request %.*s",
        STR_ARG(get(p, "request.requestId").n > 0 ? get(p, "request.requestId") : STR("by SMB")));
    print_if(p, ", client's id ", "request.clientRequestId");
    print_if(p, ", ", "request.userAgent");
    print_if(p, " from ", "request.address");
    putchar('\n');
}

/* Prints all events; *next is set to the position to continue from. False if the answer is
 * invalid. */
static bool print_events(struct arena *arena, struct str body, uint64_t *next)
{
    struct json_reader r = json_reader_of(arena, body);
    struct json_value top = json_value(&r);
    struct str name;
    while (top.kind == JSON_OBJECT && json_member(&r, &name)) {
        struct json_value v = json_value(&r);
        if (str_eq(name, STR("next")))
            (void)str_to_u64(v.text, next);
        while (v.kind == JSON_ARRAY && json_element(&r)) {
            struct pairs p = {.count = 0};
            if (json_value(&r).kind == JSON_OBJECT)
                read_object(&r, arena, STR(""), &p);
            print_event(&p);
        }
    }
    (void)fflush(stdout);
    return json_done(&r);
}

static struct str path_of(const struct config *config, struct arena *arena, uint64_t after,
                          bool wait)
{
    struct buf path = buf_in(arena);
    buf_printf(&path, "/api/v1/inspect/events?after=%llu&limit=1000", (unsigned long long)after);
    if (wait)
        buf_printf(&path, "&wait=%d", FOLLOW_SECONDS);
    if (config->timeline)
        buf_put(&path, STR("&kind=refusal,write,read"));
    if (config->operand_count > 0 && config->explain) {
        buf_put(&path, STR("&id="));
        uri_encode(&path, str_of(config->operands[0]), URI_KEEP_NONE);
    } else if (config->operand_count > 0) {
        buf_put(&path, STR("&resource="));
        uri_encode(&path, str_of(config->operands[0]), URI_KEEP_NONE);
    }
    return buf_str(&path);
}

static struct str from_environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return str_of(value != NULL && value[0] != '\0' ? value : otherwise);
}

/* Sends one request for events; advances *next. */
static int inspect_once(const struct config *config, uint64_t *next, bool wait)
{
    struct arena arena;
    struct answered answer = {0};
    arena_init(&arena, ARENA_BYTES_MAX);
    struct ask what = {
        .method = "GET",
        .url = admin_command_url(config, NULL, &arena),
        .path = path_of(config, &arena, *next, wait),
        .account = from_environment("AZURE_STORAGE_ACCOUNT", ACCOUNT_WELL_KNOWN_NAME),
        .key = from_environment("AZURE_STORAGE_KEY", ACCOUNT_WELL_KNOWN_KEY),
    };
    struct err error = ask(&arena, &what, &answer);
    int status = 0;
    if (err_is(error))
        status = admin_command_failed(what.url, error);
    else if (answer.status != 200 || !print_events(&arena, answer.body, next)) {
        (void)fprintf(stderr, "lazuli: %.*s\n", STR_ARG(answer.body));
        status = 1;
    }
    arena_release(&arena);
    return status;
}

int inspect_command(const struct config *config)
{
    uint64_t next = 0;
    if (config->operand_count > 1 || (config->explain && config->operand_count == 0)) {
        (void)fprintf(stderr, "lazuli: inspect takes at most one resource, CONTAINER[/OBJECT], "
                              "or --explain ID\n");
        return 2;
    }
    int status = inspect_once(config, &next, false);
    while (status == 0 && config->follow)
        status = inspect_once(config, &next, true);
    return status;
}
