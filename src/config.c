/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include <stddef.h>
#include <stdio.h>

#include "memory.h"

enum flag_kind {
    FLAG_BOOL,
    FLAG_TEXT,
    FLAG_NUMBER,
    FLAG_PORT, /* a number, or "off" */
    FLAG_HOST,
    FLAG_DURABILITY,
    FLAG_ENGINE,
    FLAG_LOG,
    FLAG_SMB_ENCRYPTION,
    FLAG_IGNORED,
    FLAG_IGNORED_TEXT
};

struct flag {
    const char *name;
    const char *alias; /* Azurite's name or the short one */
    enum flag_kind kind;
    size_t offset;
    uint64_t max;
    const char *argument;
    const char *help; /* NULL: not shown */
};

#define AT(field) offsetof(struct config, field)
#define PORT      65535

// clang-format off
static const struct flag FLAGS[] = {
    {"--data", "--location", FLAG_TEXT, AT(data), 0, "DIR", "where the data lives (also -l); default ./lazuli-data"},
    {"--in-memory", "--inMemoryPersistence", FLAG_BOOL, AT(in_memory), 0, NULL, "keep everything in memory, no files"},
    {"--durability", NULL, FLAG_DURABILITY, AT(relaxed), 0, "full|relaxed", "acknowledge after (full) or before the flush"},
    {"--host", NULL, FLAG_HOST, 0, 0, "ADDR", "address for all services; default 127.0.0.1"},
    {"--blob-host", "--blobHost", FLAG_TEXT, AT(host[0]), 0, "ADDR", NULL},
    {"--queue-host", "--queueHost", FLAG_TEXT, AT(host[1]), 0, "ADDR", NULL},
    {"--table-host", "--tableHost", FLAG_TEXT, AT(host[2]), 0, "ADDR", NULL},
    {"--file-host", "--fileHost", FLAG_TEXT, AT(host[3]), 0, "ADDR", NULL},
    {"--smb-host", "--smbHost", FLAG_TEXT, AT(smb_host), 0, "ADDR", NULL},
    {"--blob-port", "--blobPort", FLAG_NUMBER, AT(port[0]), PORT, "N", "default 10000; 0 turns the service off"},
    {"--queue-port", "--queuePort", FLAG_NUMBER, AT(port[1]), PORT, "N", "default 10001"},
    {"--table-port", "--tablePort", FLAG_NUMBER, AT(port[2]), PORT, "N", "default 10002"},
    {"--file-port", "--filePort", FLAG_NUMBER, AT(port[3]), PORT, "N", "default 10003"},
    {"--smb-port", "--smbPort", FLAG_NUMBER, AT(smb_port), PORT, "N", "default 10445; the shares of the file service over SMB"},
    {"--admin-port", NULL, FLAG_PORT, AT(admin_port), PORT, "N|off", "default 10004: console, metrics, health, inspector; 0 picks a free port"},
    {"--admin-host", NULL, FLAG_TEXT, AT(admin_host), 0, "ADDR", "address for it; default 127.0.0.1, also with --host"},
    {"--admin-hosts", NULL, FLAG_TEXT, AT(admin_hosts), 0, "NAME,…", "names by which it is reached besides localhost"},
    {"--metrics-token", NULL, FLAG_TEXT, AT(metrics_token), 0, "TEXT", "what /metrics wants as a bearer token; needed beyond loopback"},
    {"--cert", NULL, FLAG_TEXT, AT(cert), 0, "FILE", "certificate (PEM, or PFX with --pwd): HTTPS beside HTTP"},
    {"--key", NULL, FLAG_TEXT, AT(key), 0, "FILE", "its private key (PEM)"},
    {"--pwd", NULL, FLAG_TEXT, AT(pwd), 0, "TEXT", "password of the PFX file"},
    {"--oauth", NULL, FLAG_TEXT, AT(oauth), 0, "HOW", "basic, or jwks=FILE|URL,issuer=…,audience=…,roles=FILE (docs/SECURITY.md)"},
    {"--accounts", NULL, FLAG_TEXT, AT(accounts_file), 0, "FILE", "accounts, in the form of AZURITE_ACCOUNTS"},
    {"--insecure-well-known-key", NULL, FLAG_BOOL, AT(insecure_well_known_key), 0, NULL, "serve devstoreaccount1's public key beyond loopback"},
    {"--disable-product-style-url", "--disableProductStyleUrl", FLAG_BOOL, AT(path_style_only), 0, NULL, "host names never name an account"},
    {"--skip-api-version-check", "--skipApiVersionCheck", FLAG_BOOL, AT(any_version), 0, NULL, "serve any x-ms-version"},
    {"--loose", "-L", FLAG_BOOL, AT(loose), 0, NULL, "pass over headers and parameters that are not supported"},
    {"--silent", "-s", FLAG_BOOL, AT(silent), 0, NULL, "no access log"},
    {"--log-level", NULL, FLAG_LOG, AT(log_level), 0, "LEVEL", "error, warn, info, debug"},
    {"--max-connections", NULL, FLAG_NUMBER, AT(connections_max), 1 << 20, "N", "default 10000"},
    {"--max-connections-per-address", NULL, FLAG_NUMBER, AT(connections_per_address), 1 << 20, "N", "default 0: no limit"},
    {"--threads", NULL, FLAG_NUMBER, AT(threads), 256, "N", "event loops; default one per core that may be used"},
    {"--cache-mib", NULL, FLAG_NUMBER, AT(cache_mib), 1 << 20, "N", "memory for cached rows; default 1/32 of what there is, 64 to 512"},
    {"--container-delete-seconds", NULL, FLAG_NUMBER, AT(container_delete_seconds), 86400, "N", "how long a deleted container's name stays taken; default 0"},
    {"--queue-delete-seconds", NULL, FLAG_NUMBER, AT(queue_delete_seconds), 86400, "N", "the same for queues (QueueBeingDeleted)"},
    {"--share-delete-seconds", NULL, FLAG_NUMBER, AT(share_delete_seconds), 86400, "N", "the same for file shares (ShareBeingDeleted)"},
    {"--table-delete-seconds", NULL, FLAG_NUMBER, AT(table_delete_seconds), 86400, "N", "the same for tables (TableBeingDeleted)"},
    {"--container-retention-days", NULL, FLAG_NUMBER, AT(container_retention_days), 365, "N", "how long a deleted container can be restored; default 0: not at all"},
    {"--blob-versioning", NULL, FLAG_TEXT, AT(blob_versioning), 0, "on|off|ACCOUNT,…", "keep previous versions of blobs, of all accounts or of these; default off"},
    {"--rehydrate-seconds", NULL, FLAG_NUMBER, AT(rehydrate_seconds), 604800, "N", "how long a blob takes to leave the archive tier; default 0"},
    {"--track-last-access", NULL, FLAG_BOOL, AT(track_last_access), 0, NULL, "keep when blobs were last read, to a day"},
    {"--copy-sources", NULL, FLAG_TEXT, AT(copy_sources), 0, "HOST|CIDR,…", "other servers that copies from a URL may reach, by name, *.name, address or net; * is all but loopback and link-local; default: none"},
    {"--smb-encryption", NULL, FLAG_SMB_ENCRYPTION, AT(smb_encryption), 0, "HOW", "required, preferred (default: as the client likes) or off"},
    {"--clock-file", NULL, FLAG_TEXT, AT(clock_file), 0, "FILE", "shift the server's time by the milliseconds in FILE (int64): tests of leases need not wait"},
    {"--engine", NULL, FLAG_ENGINE, AT(in_memory), 0, "local|mem", "where rows and extents live; default local"},
    {"--ops", NULL, FLAG_BOOL, AT(ops), 0, NULL, "print the operations as Markdown"},
    {"--version", "-v", FLAG_BOOL, AT(version), 0, NULL, "print the version"},
    {"--help", "-h", FLAG_BOOL, AT(help), 0, NULL, "print this"},
    /* Azurite's, without a meaning here. */
    {"--debug", "-d", FLAG_IGNORED_TEXT, 0, 0, NULL, NULL},
    {"--disableTelemetry", NULL, FLAG_IGNORED, 0, 0, NULL, NULL},
    {"--extentMemoryLimit", NULL, FLAG_IGNORED_TEXT, 0, 0, NULL, NULL},
    {"--blobKeepAliveTimeout", NULL, FLAG_IGNORED_TEXT, 0, 0, NULL, NULL},
    {"--queueKeepAliveTimeout", NULL, FLAG_IGNORED_TEXT, 0, 0, NULL, NULL},
    {"--tableKeepAliveTimeout", NULL, FLAG_IGNORED_TEXT, 0, 0, NULL, NULL},
};
static const char *const COMMANDS[] = {"check", "backup", "account", "cert", "health"};
// clang-format on

struct parse {
    struct config *config;
    char *text;
    size_t size;
};

static struct err complain(struct parse *p, const char *format, const char *what)
{
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    (void)snprintf(p->text, p->size, format, what);
#pragma GCC diagnostic pop
    return err_detail(ERR_INVALID_INPUT, p->text);
}

static const struct flag *find_flag(struct str name)
{
    if (str_eq(name, STR("-l")))
        name = STR("--data");
    for (size_t i = 0; i < sizeof FLAGS / sizeof FLAGS[0]; i++)
        if (str_eq(name, str_of(FLAGS[i].name)) ||
            (FLAGS[i].alias != NULL && str_eq(name, str_of(FLAGS[i].alias))))
            return &FLAGS[i];
    return NULL;
}

static struct err set_number(struct parse *p, const struct flag *flag, const char *value)
{
    uint64_t number;
    if (!str_to_u64(str_of(value), &number) || number > flag->max)
        return complain(p, "%s: not a number in range", flag->name);
    *(uint64_t *)(void *)((char *)p->config + flag->offset) = number;
    return OK;
}

static struct err set_port(struct parse *p, const struct flag *flag, const char *value)
{
    if (!str_eq(str_of(value), STR("off")))
        return set_number(p, flag, value);
    *(uint64_t *)(void *)((char *)p->config + flag->offset) = CONFIG_PORT_OFF;
    return OK;
}

/* One of two words, the second of which sets the flag. */
static struct err set_choice(struct parse *p, const struct flag *flag, const char *value,
                             const char *const words[2])
{
    bool second = str_eq(str_of(value), str_of(words[1]));
    if (!second && !str_eq(str_of(value), str_of(words[0])))
        return complain(p, "%s: not a value it knows (see --help)", flag->name);
    *(bool *)((char *)p->config + flag->offset) = second;
    return OK;
}

/* Which of the words it is. */
static struct err find_word(struct parse *p, const struct flag *flag, const char *value,
                            const char *const *words, unsigned *out)
{
    for (unsigned i = 0; words[i] != NULL; i++) {
        if (str_ieq(str_of(value), str_of(words[i]))) {
            *out = i;
            return OK;
        }
    }
    return complain(p, "%s: not a value it knows (see --help)", flag->name);
}

static struct err set_log_level(struct parse *p, const struct flag *flag, const char *value)
{
    static const char *const names[] = {"error", "warn", "info", "debug", NULL};
    unsigned level;
    TRY(find_word(p, flag, value, names, &level));
    p->config->log_level = (enum log_level)level;
    return OK;
}

static struct err set_smb_encryption(struct parse *p, const struct flag *flag, const char *value)
{
    static const char *const names[] = {"off", "preferred", "required", NULL};
    unsigned how;
    TRY(find_word(p, flag, value, names, &how));
    p->config->smb_encryption = (enum smb_encryption)how;
    return OK;
}

static struct err set_value(struct parse *p, const struct flag *flag, const char *value)
{
    static const char *const durability[] = {"full", "relaxed"};
    static const char *const engine[] = {"local", "mem"};
    switch (flag->kind) {
    case FLAG_TEXT:
        *(const char **)(void *)((char *)p->config + flag->offset) = value;
        return OK;
    case FLAG_NUMBER:
        return set_number(p, flag, value);
    case FLAG_PORT:
        return set_port(p, flag, value);
    case FLAG_HOST:
        for (size_t i = 0; i < CONFIG_SERVICES; i++)
            p->config->host[i] = value;
        p->config->smb_host = value;
        return OK;
    case FLAG_DURABILITY:
        return set_choice(p, flag, value, durability);
    case FLAG_ENGINE:
        return set_choice(p, flag, value, engine);
    case FLAG_LOG:
        return set_log_level(p, flag, value);
    case FLAG_SMB_ENCRYPTION:
        return set_smb_encryption(p, flag, value);
    case FLAG_BOOL:
    case FLAG_IGNORED:
    case FLAG_IGNORED_TEXT:
        break;
    }
    return OK;
}

static struct err take_operand(struct parse *p, const char *word)
{
    struct config *c = p->config;
    if (c->command != NULL) {
        if (c->operand_count == sizeof c->operands / sizeof c->operands[0])
            return complain(p, "%s: too many words", word);
        c->operands[c->operand_count++] = word;
        return OK;
    }
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++) {
        if (str_eq(str_of(word), str_of(COMMANDS[i]))) {
            c->command = COMMANDS[i];
            return OK;
        }
    }
    return complain(p, "%s: not a command or flag (see --help)", word);
}

/* argv[*at] is a flag: takes its value from behind '=' or from the next word. */
static struct err take_flag(struct parse *p, int argc, char **argv, int *at)
{
    struct str word = str_of(argv[*at]);
    struct str value = word;
    struct str name = str_cut(&value, '=');
    const struct flag *flag = find_flag(name);
    if (flag == NULL)
        return complain(p, "%s: no such flag (see --help)", argv[*at]);
    if (flag->kind == FLAG_BOOL || flag->kind == FLAG_IGNORED) {
        if (str_given(value))
            return complain(p, "%s: takes no value", flag->name);
        if (flag->kind == FLAG_BOOL)
            *(bool *)((char *)p->config + flag->offset) = true;
        return OK;
    }
    if (str_given(value))
        return set_value(p, flag, value.p);
    if (*at + 1 >= argc)
        return complain(p, "%s: wants a value", flag->name);
    *at += 1;
    return set_value(p, flag, argv[*at]);
}

struct err config_parse(int argc, char **argv, struct config *out, char *text, size_t size)
{
    static const char *const loopback = "127.0.0.1";
    *out = (struct config){
        .host = {loopback, loopback, loopback, loopback},
        .smb_host = loopback,
        .port = {10000, 10001, 10002, 10003},
        .smb_port = 10445,
        .admin_host = loopback,
        .admin_port = CONFIG_PORT_UNSET,
        .log_level = LOG_INFO,
        .smb_encryption = SMB_ENCRYPTION_PREFERRED,
        .cache_mib = memory_cache_mib(memory_bytes()),
        .connections_max = 10000,
    };
    struct parse p = {out, text, size};
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '-')
            TRY(take_flag(&p, argc, argv, &i));
        else
            TRY(take_operand(&p, argv[i]));
    }
    out->data_given = out->data != NULL;
    if (!out->data_given)
        out->data = "lazuli-data";
    return OK;
}

void config_print_help(void)
{
    puts(
        "lazuli: Azure Storage (Blob, Queue, Table, File) in one program.\n\n"
        "  lazuli [FLAGS]                 serve until SIGTERM or SIGINT\n"
        "  lazuli check [DIR]             verify a store that no server has open; DIR or --data DIR\n"
        "  lazuli backup TO [DIR]         a consistent copy of the store, also while a server runs on it\n"
        "  lazuli account add NAME [KEY1 [KEY2]] | list | rotate-key NAME 1|2 | delete NAME\n"
        "                                 accounts of the server that runs on --data DIR\n"
        "  lazuli health [live] [URL]     exit status 0 when a server is ready (or alive)\n\n"
        "With no flags: 127.0.0.1, ports 10000 (blob), 10001 (queue), 10002 (table), 10003 (file),\n"
        "10445 (SMB), data in ./lazuli-data, account devstoreaccount1 with its well-known key, so that\n"
        "UseDevelopmentStorage=true works. Other accounts: AZURITE_ACCOUNTS=\"name:key1[:key2];…\".\n");
    for (size_t i = 0; i < sizeof FLAGS / sizeof FLAGS[0]; i++) {
        const struct flag *flag = &FLAGS[i];
        char left[64];
        if (flag->help == NULL)
            continue;
        (void)snprintf(left, sizeof left, "%s %s", flag->name,
                       flag->argument == NULL ? "" : flag->argument);
        printf("  %-30s %s\n", left, flag->help);
        if (flag->alias != NULL)
            printf("  %-30s (also %s)\n", "", flag->alias);
    }
    puts(
        "\nAzurite's --blobHost, --queuePort and so on are known too; --FLAG=VALUE works as --FLAG VALUE.");
}
