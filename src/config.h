/* SPDX-License-Identifier: Apache-2.0 */
/* The command line: Azurite's flags and our own, in one table that also prints --help. */
#ifndef CONFIG_H
#define CONFIG_H

#include "core/err.h"
#include "core/log.h"
#include "core/str.h"
#include "smb/server.h"

enum {
    CONFIG_SERVICES = 4, /* in the order of enum service_kind */
    CONFIG_ADMIN_PORT = 10004,
    CONFIG_PORT_OFF = 1 << 16,
    CONFIG_PORT_UNSET = 1 << 17, /* the default, which is done without when another has it */
};

struct config {
    const char *data;
    bool data_given;
    const char *host[CONFIG_SERVICES];
    const char *smb_host;
    uint64_t port[CONFIG_SERVICES];
    uint64_t smb_port;
    uint64_t admin_port; /* or CONFIG_PORT_OFF, CONFIG_PORT_UNSET */
    const char *admin_host;
    const char *admin_hosts; /* NULL, or names with commas between */
    const char *metrics_token;
    bool in_memory;
    bool relaxed;
    bool silent;
    bool loose;
    bool any_version;
    bool path_style_only;
    bool insecure_well_known_key;
    const char *cert, *key, *pwd, *oauth;
    const char *clock_file;
    const char *accounts_file;
    const char *copy_sources; /* address ranges that server-side copies may reach besides our own */
    enum smb_encryption smb_encryption;
    enum log_level log_level;
    uint64_t threads; /* 0: one per core */
    uint64_t connections_max;
    uint64_t connections_per_address; /* 0: no limit */
    uint64_t container_delete_seconds, queue_delete_seconds, share_delete_seconds,
        table_delete_seconds;
    uint64_t rehydrate_seconds;
    bool track_last_access;
    uint64_t container_retention_days;
    const char *blob_versioning; /* "on", "off", or the accounts whose blobs have versions */
    uint64_t cache_mib;
    bool help, version, ops;
    const char *command;      /* "check", "backup", "account", "cert"; NULL: serve */
    const char *operands[16]; /* of the command */
    unsigned operand_count;
};

/* ERR_INVALID_INPUT with the sentence to print in `detail` (static or in `text`, of `size` bytes).
 */
struct err config_parse(int argc, char **argv, struct config *out, char *text, size_t size);
void config_print_help(void);

#endif
