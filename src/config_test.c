/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "config/flags.h"
#include "core/test.h"

static char message[768];

static struct err parse_as(struct config *out, const char *const *argv)
{
    int argc = 0;
    while (argv[argc] != NULL)
        argc++;
    return config_parse(argc, (char **)(uintptr_t)argv, out, message, sizeof message);
}

#define PARSE(out, ...) parse_as(out, (const char *const[]){"lazuli", __VA_ARGS__, NULL})
#define START(out, ...) parse_as(out, (const char *const[]){__VA_ARGS__, NULL})

static const struct config_origin *origin(const struct config *c, const char *name)
{
    return &c->origins[flag_index(flag_find(str_of(name)))];
}

void test_config_defaults(void)
{
    struct config c;
    CHECK_OK(START(&c, "lazuli"));
    CHECK_STR(str_of(c.data), STR("lazuli-data"));
    CHECK(!c.data_given);
    CHECK_INT(c.port[0], 10000);
    CHECK_INT(c.smb_port, 10445);
    CHECK(!c.in_memory && !c.relaxed && c.command == NULL);
    config_release(&c);
}

void test_config_azurite_flags(void)
{
    struct config c;
    CHECK_OK(PARSE(&c, "-l", "/d", "--blobPort", "1", "--queueHost=::1", "-s", "-L",
                   "--inMemoryPersistence", "--disableTelemetry", "--extentMemoryLimit",
                   "64.500000", "-d", "/dev/stderr", "--tableKeepAliveTimeout", "600"));
    CHECK_STR(str_of(c.data), STR("/d"));
    CHECK(c.data_given);
    CHECK_STR(str_of(c.host[1]), STR("::1"));
    CHECK(c.silent && c.loose && c.in_memory && c.port[0] == 1);
    CHECK_INT(c.memory_limit, (64 << 20) + (1 << 19));
    CHECK_STR(str_of(c.debug_file), STR("/dev/stderr"));
    CHECK(c.keep_alive_s[2] == 600 && c.keep_alive_s[0] == 120);
    config_release(&c);
}

void test_config_switches_take_a_truth(void)
{
    struct config c;
    CHECK_OK(PARSE(&c, "--silent=true", "--loose=false", "--skipApiVersionCheck", "true",
                   "--disableProductStyleUrl=TRUE", "--disableTelemetry=true"));
    CHECK(c.silent && !c.loose && c.any_version && c.path_style_only);
    config_release(&c);
    CHECK_OK(PARSE(&c, "-s", "false"));
    CHECK(!c.silent);
    config_release(&c);
    CHECK_ERR(PARSE(&c, "--silent=perhaps"), ERR_INVALID_INPUT);
    config_release(&c);
}

void test_config_ports(void)
{
    struct config c;
    CHECK_OK(PARSE(&c, "--blobPort", "0", "--queue-port", "off", "--table-port=OFF"));
    CHECK_INT(c.port[0], 0);
    CHECK(c.port[1] == CONFIG_PORT_OFF && c.port[2] == CONFIG_PORT_OFF && c.port[3] == 10003);
    config_release(&c);
}

void test_config_program_names(void)
{
    struct config c;
    CHECK_OK(START(&c, "/usr/bin/azurite"));
    CHECK(c.program == PROGRAM_AZURITE && c.port[0] == 10000);
    CHECK(c.port[3] == (10003 | CONFIG_PORT_UNSET) && c.smb_port == (10445 | CONFIG_PORT_UNSET));
    config_release(&c);
    CHECK_OK(START(&c, "azurite-queue", "--filePort", "7"));
    CHECK(c.port[0] == CONFIG_PORT_OFF && c.port[1] == 10001 && c.port[2] == CONFIG_PORT_OFF);
    CHECK(c.smb_port == CONFIG_PORT_OFF && c.port[3] == 7);
    config_release(&c);
    /* As of an image with an entry point. */
    CHECK_OK(START(&c, "lazuli", "azurite", "-l", "/data"));
    CHECK(c.program == PROGRAM_AZURITE && c.command == NULL);
    CHECK_STR(str_of(c.data), STR("/data"));
    config_release(&c);
    CHECK_OK(START(&c, "azurite", "azurite-table"));
    CHECK(c.program == PROGRAM_AZURITE_TABLE && c.port[0] == CONFIG_PORT_OFF);
    config_release(&c);
}

void test_config_refuses(void)
{
    struct config c;
    CHECK_ERR(PARSE(&c, "--what"), ERR_INVALID_INPUT);
    config_release(&c);
    CHECK_ERR(PARSE(&c, "--blob-port", "70000"), ERR_INVALID_INPUT);
    config_release(&c);
    CHECK_ERR(PARSE(&c, "--data"), ERR_INVALID_INPUT);
    config_release(&c);
    CHECK_ERR(PARSE(&c, "fly"), ERR_INVALID_INPUT);
    config_release(&c);
    CHECK_ERR(PARSE(&c, "--extentMemoryLimit", "-1"), ERR_INVALID_INPUT);
    config_release(&c);
    (void)setenv("AZURITE_DB", "mysql://x", 1);
    CHECK_ERR(START(&c, "lazuli"), ERR_INVALID_INPUT);
    config_release(&c);
    (void)unsetenv("AZURITE_DB");
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

void test_config_sources_in_their_order(void)
{
    static const char *const path = "sources.conf";
    struct config c;
    write_file(path, "# a comment\n"
                     "blob-port = 1\r\n"
                     "queuePort=2 # Azurite's name\n"
                     "  table-port = off\n"
                     "data = \" blanks # and all \" # kept\n"
                     "host = 10.0.0.1\n"
                     "in-memory = yes\n");
    (void)setenv("LAZULI_QUEUE_PORT", "3", 1);
    (void)setenv("LAZULI_FILE_PORT", "4", 1);
    (void)setenv("LAZULI_CONFIG", path, 1);
    (void)setenv("AZURITE_SKIP_API_VERSION_CHECK", "true", 1);
    CHECK_OK(PARSE(&c, "--file-port", "5", "--blob-host", "::1"));
    CHECK(c.port[0] == 1 && c.port[1] == 3 && c.port[2] == CONFIG_PORT_OFF && c.port[3] == 5);
    CHECK_STR(str_of(c.data), STR(" blanks # and all "));
    CHECK_STR(str_of(c.host[0]), STR("::1"));
    CHECK_STR(str_of(c.host[1]), STR("10.0.0.1"));
    CHECK(c.in_memory && c.any_version);
    CHECK(origin(&c, "--blob-port")->source == CONFIG_BY_FILE);
    CHECK_INT(origin(&c, "--blob-port")->line, 2);
    CHECK(origin(&c, "--queue-port")->source == CONFIG_BY_VARIABLE);
    CHECK(origin(&c, "--file-port")->source == CONFIG_BY_FLAG);
    CHECK(origin(&c, "--blob-host")->source == CONFIG_BY_FLAG);
    CHECK(origin(&c, "--smb-host")->source == CONFIG_BY_FILE);
    CHECK(origin(&c, "--engine")->source == CONFIG_BY_FILE);
    CHECK(origin(&c, "--threads")->source == CONFIG_BY_DEFAULT);
    config_release(&c);
    (void)unlink(path);
}

void test_config_file_errors_name_their_line(void)
{
    static const struct {
        const char *text, *want;
    } CASES[] = {
        {"data = x\nblob-prot = 1\n", "wrong.conf:2: blob-prot: no such setting"},
        {"\n\nblob-port = x\n", "wrong.conf:3: blob-port: a port, 0 for a free one, or off"},
        {"blob-port\n", "wrong.conf:1: a line is"},
        {"data = \"x\" y\n", "wrong.conf:1: a line is"},
        {"data = \"\n", "wrong.conf:1: a line is"},
        {"help = true\n", "wrong.conf:1: help: no such setting"},
        {"config = other\n", "wrong.conf:1: config: no such setting"},
    };
    struct config c;
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        write_file("wrong.conf", CASES[i].text);
        CHECK_ERR(PARSE(&c, "--config", "wrong.conf"), ERR_INVALID_INPUT);
        CHECK_STR(str_head(str_of(message), str_of(CASES[i].want).n), str_of(CASES[i].want));
        config_release(&c);
    }
    CHECK_ERR(PARSE(&c, "--config", "no/such.conf"), ERR_INVALID_INPUT);
    config_release(&c);
    (void)unlink("wrong.conf");
}

void test_config_again_keeps_what_cannot_change(void)
{
    static const char *const path = "again.conf";
    struct config old, fresh;
    write_file(path, "threads = 2\nlog-level = warn\n");
    CHECK_OK(PARSE(&old, "--config", path));
    write_file(path, "threads = 3\nlog-level = debug\nmax-connections = 7\n");
    CHECK_OK(config_again(&old, &fresh, message, sizeof message));
    struct buf changed = buf_heap(), kept = buf_heap();
    config_keep(&fresh, &old, &changed, &kept);
    CHECK_STR(buf_str(&changed), STR("--log-level, --max-connections"));
    CHECK_STR(buf_str(&kept), STR("--threads"));
    CHECK(fresh.threads == 2 && fresh.log_level == LOG_DEBUG && fresh.connections_max == 7);
    buf_release(&changed);
    buf_release(&kept);
    config_release(&fresh);
    config_release(&old);
    (void)unlink(path);
}

/* Each name means one flag, and every flag can be set by a variable. */
void test_config_names_are_unambiguous(void)
{
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        CHECK(flag_find(str_of(flag->name)) == flag);
        CHECK(flag->alias == NULL || flag_find(str_of(flag->alias)) == flag);
        CHECK(flag->short_name == NULL || flag_find(str_of(flag->short_name)) == flag);
        CHECK(str_of(flag->name).n + sizeof "LAZULI_" < FLAG_VARIABLE_BYTES);
        bool words = flag->kind == FLAG_CHOICE || flag->kind == FLAG_EITHER;
        CHECK(words == (flag->words != NULL));
    }
}
