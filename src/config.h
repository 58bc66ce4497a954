/* SPDX-License-Identifier: Apache-2.0 */
/* All settings: Azurite's flags and our own. They are one table (config/flags.c), from which
 * --help, the configuration file and the variables LAZULI_… are derived. */
#ifndef CONFIG_H
#define CONFIG_H

#include "core/arena.h"
#include "core/buf.h"
#include "core/err.h"
#include "core/log.h"
#include "core/str.h"
#include "smb/server.h"

enum {
    CONFIG_SERVICES = 4, /* in the order of enum service_kind */
    CONFIG_ADMIN_PORT = 10004,
    CONFIG_DFS_PORT = 10005,
    CONFIG_PORT_OFF = 1 << 16,
    /* Added to a port that nobody has set: the default, which is skipped if another program uses
     * it. */
    CONFIG_PORT_UNSET = 1 << 17,
    CONFIG_FLAGS_MAX = 128,
    CONFIG_TEXTS_BYTES_MAX = 1 << 20, /* of the texts that are kept from one configuration file */
};

/* The name under which the program was started. */
enum config_program {
    PROGRAM_LAZULI,
    PROGRAM_AZURITE,
    PROGRAM_AZURITE_BLOB,
    PROGRAM_AZURITE_QUEUE,
    PROGRAM_AZURITE_TABLE,
    PROGRAM_COUNT,
};

/* Where a value comes from. */
enum config_source {
    CONFIG_BY_DEFAULT,
    CONFIG_BY_PROGRAM,
    CONFIG_BY_FILE,
    CONFIG_BY_VARIABLE,
    CONFIG_BY_FLAG,
};

/* The order is that of the words of --engine. */
enum config_engine { CONFIG_ENGINE_LOCAL, CONFIG_ENGINE_MEM, CONFIG_ENGINE_CLUSTER };

struct config_origin {
    enum config_source source;
    unsigned line;  /* of the file */
    const char *by; /* the file, the variable or the flag */
};

struct config {
    const char *data;
    bool data_given;
    const char *azurite; /* NULL, or the folder that --data names, if it is Azurite's: `data` is
                            then a subfolder */
    const char *host[CONFIG_SERVICES];
    const char *smb_host;
    uint64_t port[CONFIG_SERVICES];
    uint64_t smb_port;
    /* Any port may be CONFIG_PORT_OFF, or be marked CONFIG_PORT_UNSET; 0 asks for a free one. */
    uint64_t admin_port;
    uint64_t dfs_port;
    const char *dfs_host;
    const char *hns; /* NULL, "on", or accounts whose containers are hierarchical */
    const char *admin_host;
    const char *admin_hosts; /* NULL, or names with commas between */
    const char *metrics_token;
    bool no_inspector;
    bool explain; /* refusals name their event of the inspector */
    bool json_log;
    uint64_t slow_ms; /* 0: none is slow */
    bool test_control;
    const char *test_control_token;
    const char *seed; /* a file or folder; NULL: none */
    const char *ports_file;
    uint64_t keep_alive_s[CONFIG_SERVICES];
    uint64_t memory_limit; /* of the memory engine, in bytes */
    const char *debug_file;
    const char *config_file;
    enum config_program program;
    enum config_engine engine;
    const char *rows;         /* of the cluster engine: PostgreSQL URIs, with spaces between */
    const char *extents;      /* "rados:POOL,…" */
    const char *gateway_host; /* where other gateways reach this one; NULL: smb_host */
    uint64_t gateway_port;
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
    bool follow;   /* of inspect */
    bool timeline; /* the same */
    const char *migrate_from, *migrate_to;
    const char *only; /* of transfers */
    uint64_t parallel;
    bool help, version, ops, describe;
    const char *command;      /* the name of one in CONFIG_COMMANDS; NULL: serve */
    const char *operands[16]; /* of the command */
    unsigned operand_count;
    struct config_origin origins[CONFIG_FLAGS_MAX]; /* by the flag's index in CONFIG_FLAGS */
    struct arena texts;                             /* what was read from the file */
    int argc;
    char **argv;
};

/* Reads the command line, the environment and the configuration file that either names. argv must
 * outlive the result. ERR_INVALID_INPUT with the sentence to print in `detail` (static or in
 * `text`, of `size` bytes). Call config_release in any case. */
struct err config_parse(int argc, char **argv, struct config *out, char *text, size_t size);
void config_release(struct config *config);

/* Reads everything again. */
struct err config_again(const struct config *old, struct config *out, char *text, size_t size);
/* Restores the values of settings that cannot change while the server runs, and appends the names
 * of their flags to `kept`; appends the names of all other flags that differ to `changed`. */
void config_keep(struct config *fresh, const struct config *old, struct buf *changed,
                 struct buf *kept);

/* Warns about settings that contradict each other. */
void config_check(const struct config *config);

const char *config_program_name(enum config_program program);
void config_print_help(void);
/* False when there is no such command. */
bool config_print_command_help(const char *name);
/* Every setting with its source, as a configuration file. */
void config_print(const struct config *config);
/* The tables, one row a line with tabs between its parts, for man pages and completions. */
void config_describe(const struct config *defaults);

#endif
