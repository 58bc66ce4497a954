/* SPDX-License-Identifier: Apache-2.0 */
#include "announce.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "complain.h"
#include "core/text/json.h"

static const char *const TITLES[CONFIG_SERVICES] = {"Blob", "Queue", "Table", "File"};
static const char *const NAMES[CONFIG_SERVICES] = {"blob", "queue", "table", "file"};

/* Azurite has no file service, so no program waits for lines about it. */
static const char *product_of(const struct config *config, size_t service)
{
    return config->program != PROGRAM_LAZULI && service < 3 ? "Azurite" : "Lazuli";
}

static bool is_single(const struct config *config)
{
    return config->program != PROGRAM_LAZULI && config->program != PROGRAM_AZURITE;
}

/* "http://127.0.0.1:10000". */
static void put_url(struct buf *out, const struct config *config, const char *host, uint16_t port)
{
    bool six = strchr(host, ':') != NULL;
    buf_printf(out, "%s://%s%s%s:%u", config->cert != NULL ? "https" : "http", six ? "[" : "", host,
               six ? "]" : "", port);
}

/* In one write, bypassing the C library's buffer, which would delay the line. */
static void say(struct buf *line)
{
    buf_putc(line, '\n');
    (void)!write(STDOUT_FILENO, line->p, line->n);
    buf_clear(line);
}

/* Azurite's programs for one service print other words. */
static void put_started(struct buf *line, const struct config *config, size_t i, uint16_t port)
{
    buf_printf(line, "%s %s service ", product_of(config, i), TITLES[i]);
    if (config->program == PROGRAM_AZURITE_TABLE && i == 2) {
        buf_printf(line, "successfully started on %s:%u", config->host[i], port);
        return;
    }
    buf_put(line, is_single(config) ? STR("successfully listens on ")
                                    : STR("is successfully listening at "));
    put_url(line, config, config->host[i], port);
}

static void put_starting(struct buf *line, const struct config *config, size_t i)
{
    uint16_t wanted = (uint16_t)config->port[i];
    buf_printf(line, "%s %s service is starting ", product_of(config, i), TITLES[i]);
    if (is_single(config)) {
        buf_printf(line, "on %s:%u", config->host[i], wanted);
        return;
    }
    buf_put(line, STR("at "));
    put_url(line, config, config->host[i], wanted);
}

void announce_started(const struct config *config, const struct announce_ports *ports)
{
    struct buf line = buf_heap();
    for (size_t i = 0; i < CONFIG_SERVICES; i++) {
        if (ports->service[i] == 0)
            continue;
        put_starting(&line, config, i);
        say(&line);
        put_started(&line, config, i, ports->service[i]);
        say(&line);
    }
    buf_release(&line);
}

static void announce_each(const struct config *config, const struct announce_ports *ports,
                          const char *what)
{
    struct buf line = buf_heap();
    for (size_t i = 0; i < CONFIG_SERVICES; i++) {
        if (ports->service[i] == 0)
            continue;
        buf_printf(&line, "%s %s service %s", product_of(config, i), TITLES[i], what);
        say(&line);
    }
    buf_release(&line);
}

void announce_closing(const struct config *config, const struct announce_ports *ports)
{
    announce_each(config, ports, "is closing...");
}

void announce_closed(const struct config *config, const struct announce_ports *ports)
{
    announce_each(config, ports, "successfully closed");
}

/* ---- the file ---- */

/* A service without a port is left out. */
static void put_endpoint(struct json_writer *w, const struct config *config, const char *name,
                         const char *host, uint16_t port)
{
    struct buf url = buf_heap();
    if (port == 0)
        return;
    json_name(w, str_of(name));
    json_open(w, '{');
    json_name(w, STR("host"));
    json_string(w, str_of(host));
    json_name(w, STR("port"));
    json_i64(w, port);
    if (strcmp(name, "smb") != 0) {
        put_url(&url, config, host, port);
        json_name(w, STR("url"));
        json_string(w, buf_str(&url));
    }
    json_close(w, '}');
    buf_release(&url);
}

static void put_ports(struct buf *out, const struct config *config,
                      const struct announce_ports *ports)
{
    struct json_writer w = json_writer_of(out);
    json_open(&w, '{');
    for (size_t i = 0; i < CONFIG_SERVICES; i++)
        put_endpoint(&w, config, NAMES[i], config->host[i], ports->service[i]);
    put_endpoint(&w, config, "dfs", config->dfs_host, ports->dfs);
    put_endpoint(&w, config, "smb", config->smb_host, ports->smb);
    put_endpoint(&w, config, "admin", config->admin_host, ports->admin);
    json_close(&w, '}');
    buf_putc(out, '\n');
}

/* Renamed into place, so that a program that waits for the file reads it complete. */
int announce_write_ports(const struct config *config, const struct announce_ports *ports)
{
    char part[PATH_MAX];
    if (config->ports_file == NULL)
        return 0;
    if (snprintf(part, sizeof part, "%s.part", config->ports_file) >= (int)sizeof part)
        return complain(config->ports_file, "too long a name");
    struct buf text = buf_heap();
    put_ports(&text, config, ports);
    FILE *file = fopen(part, "we");
    bool written = file != NULL && fwrite(text.p, 1, text.n, file) == text.n;
    if (file != NULL && fclose(file) != 0)
        written = false;
    buf_release(&text);
    if (written && rename(part, config->ports_file) == 0)
        return 0;
    return complain(config->ports_file, strerrordesc_np(errno));
}
