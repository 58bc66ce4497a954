/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all flags and the table of commands. --help, the man page, shell completion, the
 * configuration file and the variables LAZULI_… follow from them: `lazuli config --describe`. */
#include "config.h"

#include <assert.h>
#include <stddef.h>

#include "config/flags.h"

#define AT(field) offsetof(struct config, field)
#define PORT      65535

static const char *const DURABILITY[] = {"full", "relaxed", NULL};
static const char *const ENGINES[] = {"local", "mem", "cluster", NULL};
static const char *const LOG_FORMATS[] = {"text", "json", NULL};
static const char *const LEVELS[] = {"error", "warn", "info", "debug", NULL};
static const char *const ENCRYPTIONS[] = {"off", "preferred", "required", NULL};

// clang-format off
/* A field that a row does not name is absent. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
const struct flag CONFIG_FLAGS[] = {
    {"--data", "--location", FLAG_TEXT, AT(data), 0, "DIR", "folder for the data; default ./lazuli-data", .short_name = "-l", .section = "Storage"},
    {"--in-memory", "--inMemoryPersistence", FLAG_BOOL, AT(in_memory), 0, NULL, "keep everything in memory, no files"},
    {"--memory-limit-mib", "--extentMemoryLimit", FLAG_MIB, AT(memory_limit), 1 << 24, "N", "with --in-memory: refuse writes beyond this size; default half of the memory"},
    {"--engine", NULL, FLAG_CHOICE, AT(engine), 0, "local|mem|cluster", "store data in --data (local), in memory (mem), or in PostgreSQL and Ceph (cluster); default local", .words = ENGINES},
    {"--rows", NULL, FLAG_TEXT, AT(rows), 0, "URI", "with --engine cluster: PostgreSQL, as postgresql://USER@HOST[,HOST]/DATABASE; once for each shard", .secret = true, .repeats = true},
    {"--extents", NULL, FLAG_TEXT, AT(extents), 0, "rados:POOL", "with --engine cluster: Ceph, as rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]"},
    {"--gateway-host", NULL, FLAG_TEXT, AT(gateway_host), 0, "ADDR", "with --engine cluster: the address at which other gateways reach this one; default that of SMB"},
    {"--gateway-port", NULL, FLAG_NUMBER, AT(gateway_port), 65535, "N", "port for other gateways; default 0: any free port"},
    {"--durability", NULL, FLAG_EITHER, AT(relaxed), 0, "full|relaxed", "acknowledge after (full) or before the flush", .words = DURABILITY},
    {"--host", NULL, FLAG_HOST, 0, 0, "ADDR", "address for all services; default 127.0.0.1", .section = "Addresses"},
    {"--blob-host", "--blobHost", FLAG_TEXT, AT(host[0]), 0, "ADDR", "address for the blob service"},
    {"--queue-host", "--queueHost", FLAG_TEXT, AT(host[1]), 0, "ADDR", "address for the queue service"},
    {"--table-host", "--tableHost", FLAG_TEXT, AT(host[2]), 0, "ADDR", "address for the table service"},
    {"--file-host", "--fileHost", FLAG_TEXT, AT(host[3]), 0, "ADDR", "address for the file service"},
    {"--smb-host", "--smbHost", FLAG_TEXT, AT(smb_host), 0, "ADDR", "address for the file service over SMB"},
    {"--dfs-host", "--dfsHost", FLAG_TEXT, AT(dfs_host), 0, "ADDR", "address for Data Lake Storage"},
    {"--blob-port", "--blobPort", FLAG_PORT, AT(port[0]), PORT, "N|off", "default 10000; 0 picks a free port, off turns the service off"},
    {"--queue-port", "--queuePort", FLAG_PORT, AT(port[1]), PORT, "N|off", "default 10001"},
    {"--table-port", "--tablePort", FLAG_PORT, AT(port[2]), PORT, "N|off", "default 10002"},
    {"--file-port", "--filePort", FLAG_PORT, AT(port[3]), PORT, "N|off", "default 10003"},
    {"--dfs-port", "--dfsPort", FLAG_PORT, AT(dfs_port), PORT, "N|off", "default 10005: Data Lake Storage Gen2, which the blob port serves too"},
    {"--smb-port", "--smbPort", FLAG_PORT, AT(smb_port), PORT, "N|off", "default 10445; the shares of the file service over SMB"},
    {"--ports-file", NULL, FLAG_TEXT, AT(ports_file), 0, "FILE", "write the ports in use to FILE, as JSON, once all services listen"},
    {"--admin-port", NULL, FLAG_PORT, AT(admin_port), PORT, "N|off", "default 10004: console, metrics, health, inspector; 0 picks a free port"},
    {"--admin-host", NULL, FLAG_TEXT, AT(admin_host), 0, "ADDR", "address for the admin listener; default 127.0.0.1, also with --host"},
    {"--admin-hosts", NULL, FLAG_TEXT, AT(admin_hosts), 0, "NAME,…", "host names that the admin listener accepts besides localhost"},
    {"--test-control", NULL, FLAG_BOOL, AT(test_control), 0, NULL, "let tests reset, seed, save and restore data, move the clock, inject faults and hold requests (docs/admin-api.md)"},
    {"--test-control-token", NULL, FLAG_TEXT, AT(test_control_token), 0, "TEXT", "bearer token that test control requires; needed beyond loopback", .secret = true},
    {"--seed", NULL, FLAG_TEXT, AT(seed), 0, "FILE|FOLDER", "load data at the start: a manifest, or containers as folders of blobs"},
    {"--no-inspector", NULL, FLAG_BOOL, AT(no_inspector), 0, NULL, "do not record recent refusals and writers for the inspector (saves 10 to 20 MiB)"},
    {"--explain", NULL, FLAG_BOOL, AT(explain), 0, NULL, "add x-lazuli-explain: ID to responses that concurrency control refused; `lazuli inspect --explain ID` prints the reason"},
    {"--metrics-token", NULL, FLAG_TEXT, AT(metrics_token), 0, "TEXT", "bearer token that /metrics requires; needed beyond loopback", .secret = true},
    {"--blob-keep-alive", "--blobKeepAliveTimeout", FLAG_NUMBER, AT(keep_alive_s[0]), 86400, "N", "seconds until an idle connection is closed; default 120", .reload = true},
    {"--queue-keep-alive", "--queueKeepAliveTimeout", FLAG_NUMBER, AT(keep_alive_s[1]), 86400, "N", "seconds until an idle connection is closed; default 120", .reload = true},
    {"--table-keep-alive", "--tableKeepAliveTimeout", FLAG_NUMBER, AT(keep_alive_s[2]), 86400, "N", "seconds until an idle connection is closed; default 120", .reload = true},
    {"--file-keep-alive", NULL, FLAG_NUMBER, AT(keep_alive_s[3]), 86400, "N", "seconds until an idle connection is closed; default 120", .reload = true},
    {"--cert", NULL, FLAG_TEXT, AT(cert), 0, "FILE", "certificate (PEM, or PFX with --pwd): HTTPS beside HTTP", .section = "Access", .reload = true},
    {"--key", NULL, FLAG_TEXT, AT(key), 0, "FILE", "private key of the certificate (PEM)", .reload = true},
    {"--pwd", NULL, FLAG_TEXT, AT(pwd), 0, "TEXT", "password of the PFX file", .reload = true, .secret = true},
    {"--oauth", NULL, FLAG_TEXT, AT(oauth), 0, "HOW", "basic, or jwks=FILE|URL,issuer=…,audience=…,roles=FILE (docs/SECURITY.md)"},
    {"--accounts", NULL, FLAG_TEXT, AT(accounts_file), 0, "FILE", "file with accounts, in the format of AZURITE_ACCOUNTS", .reload = true},
    {"--insecure-well-known-key", NULL, FLAG_BOOL, AT(insecure_well_known_key), 0, NULL, "serve devstoreaccount1's public key beyond loopback"},
    {"--disable-product-style-url", "--disableProductStyleUrl", FLAG_BOOL, AT(path_style_only), 0, NULL, "never take the account from the host name"},
    {"--skip-api-version-check", "--skipApiVersionCheck", FLAG_BOOL, AT(any_version), 0, NULL, "serve any x-ms-version", .reload = true},
    {"--loose", NULL, FLAG_BOOL, AT(loose), 0, NULL, "ignore headers and parameters that are not supported", .short_name = "-L", .section = "Answers", .reload = true},
    {"--silent", NULL, FLAG_BOOL, AT(silent), 0, NULL, "no access log", .short_name = "-s", .section = "Log", .reload = true},
    {"--log-format", NULL, FLAG_EITHER, AT(json_log), 0, "text|json", "format of the access log: a line of text or a JSON object", .words = LOG_FORMATS},
    {"--slow-ms", NULL, FLAG_NUMBER, AT(slow_ms), 3600000, "N", "log requests that take longer than N ms; default 0: none"},
    {"--log-level", NULL, FLAG_CHOICE, AT(log_level), 0, "LEVEL", "error, warn, info, debug", .words = LEVELS, .reload = true},
    {"--debug", NULL, FLAG_TEXT, AT(debug_file), 0, "FILE", "write the log (at level debug) and the access log to FILE", .short_name = "-d", .reload = true},
    {"--max-connections", NULL, FLAG_NUMBER, AT(connections_max), 1 << 20, "N", "default 10000", .section = "Limits", .reload = true},
    {"--max-connections-per-address", NULL, FLAG_NUMBER, AT(connections_per_address), 1 << 20, "N", "default 0: no limit", .reload = true},
    {"--threads", NULL, FLAG_NUMBER, AT(threads), 256, "N", "number of event loops; default one per available core"},
    {"--cache-mib", NULL, FLAG_NUMBER, AT(cache_mib), 1 << 20, "N", "memory for cached rows; default 1/32 of the memory, 64 to 512"},
    {"--container-delete-seconds", NULL, FLAG_NUMBER, AT(container_delete_seconds), 86400, "N", "how long a deleted container's name stays taken; default 0", .section = "Behaviour of the services", .reload = true},
    {"--queue-delete-seconds", NULL, FLAG_NUMBER, AT(queue_delete_seconds), 86400, "N", "the same for queues (QueueBeingDeleted)", .reload = true},
    {"--share-delete-seconds", NULL, FLAG_NUMBER, AT(share_delete_seconds), 86400, "N", "the same for file shares (ShareBeingDeleted)", .reload = true},
    {"--table-delete-seconds", NULL, FLAG_NUMBER, AT(table_delete_seconds), 86400, "N", "the same for tables (TableBeingDeleted)", .reload = true},
    {"--container-retention-days", NULL, FLAG_NUMBER, AT(container_retention_days), 365, "N", "how long a deleted container can be restored; default 0: not at all", .reload = true},
    {"--hns", NULL, FLAG_TEXT, AT(hns), 0, "on|ACCOUNT,…", "accounts with a hierarchical namespace (Data Lake Storage), all or these; default none"},
    {"--blob-versioning", NULL, FLAG_TEXT, AT(blob_versioning), 0, "on|off|ACCOUNT,…", "keep previous versions of blobs, of all accounts or of these; default off", .reload = true},
    {"--rehydrate-seconds", NULL, FLAG_NUMBER, AT(rehydrate_seconds), 604800, "N", "how long a blob takes to leave the archive tier; default 0", .reload = true},
    {"--track-last-access", NULL, FLAG_BOOL, AT(track_last_access), 0, NULL, "record the day when a blob was last read"},
    {"--copy-sources", NULL, FLAG_TEXT, AT(copy_sources), 0, "HOST|CIDR,…", "other servers that copies from a URL may read from: a name, *.name, an address or a network; * means all except loopback and link-local; default none"},
    {"--smb-encryption", NULL, FLAG_CHOICE, AT(smb_encryption), 0, "HOW", "required, preferred (the client decides; default) or off", .words = ENCRYPTIONS},
    {"--config", NULL, FLAG_TEXT, AT(config_file), 0, "FILE", "read settings from FILE, one \"flag = value\" a line, without the dashes", .section = "Tests and tools"},
    {"--clock-file", NULL, FLAG_TEXT, AT(clock_file), 0, "FILE", "shift the server's time by the milliseconds in FILE (text or int64), so that tests of leases need not wait"},
    {"--follow", NULL, FLAG_BOOL, AT(follow), 0, NULL, "with `lazuli inspect`: wait for further events", .action = true},
    {"--timeline", NULL, FLAG_BOOL, AT(timeline), 0, NULL, "with `lazuli inspect`: print writers and readers too", .action = true},
    {"--from", NULL, FLAG_TEXT, AT(migrate_from), 0, "DIR|cluster", "with `lazuli migrate`: the store to copy", .action = true},
    {"--to", NULL, FLAG_TEXT, AT(migrate_to), 0, "DIR|cluster", "with `lazuli migrate`: the new store", .action = true},
    {"--only", NULL, FLAG_TEXT, AT(only), 0, "PART,…", "with export, import and copy: transfer only these, as blob, queue, table, file, or blob/NAME and so on", .action = true},
    {"--parallel", NULL, FLAG_NUMBER, AT(parallel), 64, "N", "with import and copy: the number of items to transfer at a time; default 8", .action = true},
    {"--ops", NULL, FLAG_BOOL, AT(ops), 0, NULL, "print the operations as Markdown", .action = true},
    {"--describe", NULL, FLAG_BOOL, AT(describe), 0, NULL, NULL, .action = true},
    {"--version", NULL, FLAG_BOOL, AT(version), 0, NULL, "print the version", .short_name = "-v", .action = true},
    {"--help", NULL, FLAG_BOOL, AT(help), 0, NULL, "print this", .short_name = "-h", .action = true},
    {"--disable-telemetry", "--disableTelemetry", FLAG_NOTHING, 0, 0, NULL, "accepted because Azurite has it; nothing is ever sent"},
};
#pragma GCC diagnostic pop

const struct command CONFIG_COMMANDS[] = {
    {"check", "[DIR]", "verify a store while no server runs on it; DIR or --data DIR",
     "Reads every row and every extent of the store and verifies checksums. The exit status is 0 only\n"
     "if no problem was found.", "--data"},
    {"backup", "TO [DIR]", "copy the store consistently, also while a server runs on it",
     "Creates the folder TO. If a server runs on the data, that server makes the copy.", "--data"},
    {"export", "FILE [FROM]", "write all data of a store or a server to a tar of plain files and JSON",
     "FROM is a data folder (default: --data; a server that runs on it continues to serve) or a connection\n"
     "string of any server, also as env:VARIABLE or @FILE. FILE may be -, the standard output. An\n"
     "interrupted export leaves FILE.part; run it again to continue. docs/archive.md describes the format.",
     "--data --only"},
    {"import", "FILE [TO] | azurite FOLDER [DIR]", "load an archive of `lazuli export`, or data of another program, into the store",
     "FILE is an archive, or - for the standard input; TO is a data folder (default: --data) or a\n"
     "connection string. Existing objects of the same name are replaced. After an interruption, run it\n"
     "again to continue.\n\n"
     "azurite: reads a folder of Azurite without changing it, and prints a table of objects imported,\n"
     "already there, left out and damaged. If a server runs on the data, that server imports it. After an\n"
     "interruption, run it again to continue: existing objects are not replaced. ETags, times, ids of\n"
     "messages and times of snapshots are new; leases are not imported.",
     "--data --only --parallel"},
    {"copy", "FROM TO", "copy an account from one server to another, over REST, with checksums",
     "FROM and TO are connection strings, with an AccountKey or a SharedAccessSignature, also as\n"
     "env:VARIABLE or @FILE, so that no key shows in the list of processes; or data folders whose servers\n"
     "run. Objects that change meanwhile are read again. After an interruption, run it again in the same\n"
     "folder to continue.", "--only --parallel"},
    {"migrate", "--from DIR|cluster --to DIR|cluster", "copy a store to another engine and verify it; resumable",
     "Copies every row and every extent from the store in DIR, or from the cluster that --rows and --extents\n"
     "name, to a new one, and compares both at the end. ETags, times and leases stay as they are. No server\n"
     "may run on either meanwhile. After an interruption, run it again to continue. No server serves the new\n"
     "store before the command has succeeded.", "--from --to --rows --extents"},
    {"cluster", "init|status|rebalance|drain", "manage the tables, gateways and shards of --engine cluster",
     "`init` creates missing tables in the databases of --rows, and checks that the pool of --extents works.\n"
     "`status` prints the gateways, the shards, the extents, the garbage collector and moves in progress.\n"
     "`rebalance` moves data between shards until all hold the same amount; `drain` moves all data of the\n"
     "last --rows to the others, so that it can be removed. Gateways continue to serve. After an\n"
     "interruption, run it again to continue. Give --rows once for each shard, always in the same order.", "--rows --extents"},
    {"account", "add NAME [KEY1 [KEY2]] [--hns] | list | rotate-key NAME 1|2 | delete NAME",
     "manage accounts of the server that runs on --data DIR",
     "Asks the running server over the socket in its data folder. Keys are base64; the server\n"
     "creates and prints keys that are not given. With --hns the account has a hierarchical namespace.", "--data"},
    {"cert", "[CERTIFICATE KEY]", "create a self-signed certificate for development",
     "Writes lazuli-cert.pem and lazuli-key.pem, or the two files named, for localhost, and prints how to\n"
     "serve with it and how to make clients trust it.", NULL},
    {"health", "[live] [URL]", "exit status 0 when a server is ready (or alive)",
     "Asks /readyz (or /livez) of the admin listener, or of the URL. For health checks of containers.",
     "--admin-port --admin-host"},
    {"ctl", "account|accounts|reset|seed|clock|snapshot|fault|hold …", "test control of a server that runs with --test-control",
     "Asks the admin listener; LAZULI_TEST_CONTROL_TOKEN has the token, if one is needed. Without\n"
     "arguments it prints the available commands.", "--admin-port --admin-host"},
    {"inspect", "[--timeline] [--follow] [CONTAINER[/OBJECT]]", "print the last conflicts of an account, and who caused them",
     "Asks the admin listener, as the account of AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_KEY, or else the\n"
     "well-known one. --follow waits for further events. --timeline also prints writers and, from then on,\n"
     "readers. With --explain ID it prints the refusal whose id a response has named.",
     "--follow --timeline --admin-port --admin-host"},
    {"config", "[FLAGS]", "print the settings in effect, and where each value comes from",
     "Prints a configuration file of all settings as the flags, the variables and --config FILE give\n"
     "them, each with its source. Nothing is started.", "--config"},
};
// clang-format on
const size_t CONFIG_FLAG_COUNT = sizeof CONFIG_FLAGS / sizeof CONFIG_FLAGS[0];
const size_t CONFIG_COMMAND_COUNT = sizeof CONFIG_COMMANDS / sizeof CONFIG_COMMANDS[0];
static_assert(sizeof CONFIG_FLAGS / sizeof CONFIG_FLAGS[0] <= CONFIG_FLAGS_MAX, "raise the limit");

static bool is_named(const char *name, struct str wanted)
{
    return name != NULL && str_eq(str_of(name), wanted);
}

const struct flag *flag_find(struct str name)
{
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        if (is_named(flag->name, name) || is_named(flag->alias, name) ||
            is_named(flag->short_name, name))
            return flag;
    }
    return NULL;
}

const struct command *command_find(struct str name)
{
    for (size_t i = 0; i < CONFIG_COMMAND_COUNT; i++)
        if (is_named(CONFIG_COMMANDS[i].name, name))
            return &CONFIG_COMMANDS[i];
    return NULL;
}
