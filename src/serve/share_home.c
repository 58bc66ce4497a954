/* SPDX-License-Identifier: Apache-2.0 */
/* With --engine cluster: the open files of shares are at one gateway at a time, and connections are
 * passed on to it. */
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "complain.h"
#include "core/log.h"
#include "serve/server.h"
#include "service/file/keys.h"
#include "service/file/opens/opens.h"
#include "smb/server.h"

/* ---- which process ---- */

/* The first line of a file, without its newline; empty if it cannot be read. */
static void read_line(const char *path, char *out, size_t size)
{
    FILE *file = fopen(path, "re");
    out[0] = '\0';
    if (file == NULL)
        return;
    if (fgets(out, (int)size, file) == NULL)
        out[0] = '\0';
    (void)fclose(file);
    out[strcspn(out, "\n")] = '\0';
}

/* When a process began, in ticks since the machine's start; 0: it does not exist. */
static uint64_t began_at(uint64_t pid)
{
    enum {
        STATE = 3,
        BEGAN = 22
    }; /* fields of proc(5); the 2nd, the name, may have anything in it */
    char path[64];
    char line[1024];
    uint64_t ticks = 0;
    (void)snprintf(path, sizeof path, "/proc/%llu/stat", (unsigned long long)pid);
    read_line(path, line, sizeof line);
    const char *end = strrchr(line, ')');
    if (end == NULL || end[1] != ' ')
        return 0;
    struct str rest = str_of(end + 2);
    for (unsigned field = STATE; field < BEGAN; field++)
        (void)str_cut(&rest, ' ');
    return str_given(rest) && str_to_u64(str_cut(&rest, ' '), &ticks) ? ticks : 0;
}

/* Identifies this boot of the machine and this process namespace: a missing process id proves the
 * end of the process only within the same namespace. */
static void host_text(char *out, size_t size)
{
    char boot[64];
    struct stat space = {0};
    read_line("/proc/sys/kernel/random/boot_id", boot, sizeof boot);
    (void)stat("/proc/self/ns/pid", &space);
    (void)snprintf(out, size, "%s/%llu", boot, (unsigned long long)space.st_ino);
}

static void identity_text(char *out, size_t size)
{
    char host[96];
    host_text(host, sizeof host);
    (void)snprintf(out, size, "%s %ld %llu", host, (long)getpid(),
                   (unsigned long long)began_at((uint64_t)getpid()));
}

static bool process_is_dead(void *arg, struct str identity)
{
    char host[96];
    uint64_t pid, began;
    struct str rest = identity;
    (void)arg;
    host_text(host, sizeof host);
    return str_eq(str_cut(&rest, ' '), str_of(host)) && str_given(rest) &&
           str_to_u64(str_cut(&rest, ' '), &pid) && str_given(rest) && str_to_u64(rest, &began) &&
           pid != 0 && began != 0 && began_at(pid) != began;
}

/* ---- coming and going ---- */

static bool is_empty(void *arg)
{
    const struct server *s = arg;
    return opens_usage(s->store.opens).handles == 0;
}

static struct err move_in(void *arg)
{
    const struct server *s = arg;
    return smb_server_move_in(s->smb);
}

static void move_out(void *arg)
{
    const struct server *s = arg;
    smb_server_move_out(s->smb);
}

static void moved(void *arg)
{
    const struct server *s = arg;
    forward_moved(s->forward);
}

int serve_start_forward(struct server *s)
{
    const struct config *c = s->config;
    if (c->engine != CONFIG_ENGINE_CLUSTER)
        return 0;
    struct forward_options options = {.loops = s->loops,
                                      .loop_count = s->loop_count,
                                      .host =
                                          c->gateway_host != NULL ? c->gateway_host : c->smb_host,
                                      .port = (uint16_t)c->gateway_port};
    struct err error = forward_new(&options, &s->forward);
    if (err_is(error))
        return complain_err("--gateway-host, --gateway-port", error);
    log_line(LOG_INFO, "other gateways reach this one at %s", forward_address(s->forward));
    char identity[160];
    identity_text(identity, sizeof identity);
    struct home_options home = {.store = &s->store,
                                .lease = STR("g/files"),
                                .prefix = FILE_SPACE,
                                .mark = FILE_KEY_HOME,
                                .hot = FILE_KEY_SHARE,
                                .address = forward_address(s->forward),
                                .identity = str_of(identity),
                                .may_own = c->smb_port != CONFIG_PORT_OFF,
                                .is_dead = process_is_dead,
                                .is_empty = is_empty,
                                .move_in = move_in,
                                .move_out = move_out,
                                .moved = moved,
                                .arg = s};
    error = home_new(&home, &s->store.home);
    return err_is(error) ? complain_err("open files", error) : 0;
}

int serve_start_home(struct server *s)
{
    if (s->store.home == NULL)
        return 0;
    struct forward_ends ends = {.home = s->store.home, .smb = s->smb, .http = s->http};
    for (unsigned i = 0; i < SERVICE_KIND_COUNT; i++)
        if (s->ports.service[i] != 0)
            ends.contexts[i] = &s->listeners[i];
    if (s->ports.dfs != 0)
        ends.contexts[FORWARD_DFS] = &s->dfs_listener;
    struct err error = forward_open(s->forward, &ends);
    if (!err_is(error)) {
        s->rest.hand_over = forward_hand_over;
        s->rest.hand_over_arg = s->forward;
        home_turn(s->store.home);
        error = home_start(s->store.home);
    }
    return err_is(error) ? complain_err("open files", error) : 0;
}
