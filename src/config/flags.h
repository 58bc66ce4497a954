/* SPDX-License-Identifier: Apache-2.0 */
/* A row of the table of flags, and of the table of commands. */
#ifndef CONFIG_FLAGS_H
#define CONFIG_FLAGS_H

#include "config.h"
#include "core/buf.h"

enum flag_kind {
    FLAG_BOOL,
    FLAG_TEXT,    /* const char *, NULL when not given */
    FLAG_NUMBER,  /* uint64_t, up to max */
    FLAG_MIB,     /* uint64_t, bytes; given in MiB, which may have a fraction */
    FLAG_PORT,    /* uint64_t, a number or CONFIG_PORT_OFF */
    FLAG_HOST,    /* the address of all services */
    FLAG_CHOICE,  /* an enum whose values are the places of `words` */
    FLAG_EITHER,  /* bool: the second of two words sets it */
    FLAG_NOTHING, /* accepted because Azurite has it; ignored */
};

struct flag {
    const char *name;  /* with its dashes; without them it is the key of a configuration file, and
                          as LAZULI_NAME a variable */
    const char *alias; /* Azurite's name; NULL: none */
    enum flag_kind kind;
    size_t offset; /* in struct config */
    uint64_t max;
    const char *argument; /* what --help calls its value; NULL: it has none */
    const char *help;     /* NULL: not shown */
    /* Designated in the rows that need them. */
    const char *short_name;
    const char *const *words; /* up to a NULL */
    const char *section;      /* of --help and the man page: begins with this row */
    bool reload;              /* SIGHUP puts a new value in force */
    bool secret;              /* the value is never printed */
    bool repeats;             /* a text that may be given several times, joined by spaces */
    bool action; /* selects something other than serving: allowed on the command line only */
};

struct command {
    const char *name;
    const char *operands; /* as --help shows them */
    const char *help;     /* in a few words */
    const char *text;     /* in full, lines of at most 100 characters */
    const char *flags;    /* the flags that apply to it, separated by spaces; NULL: none */
};

extern const struct flag CONFIG_FLAGS[];
extern const size_t CONFIG_FLAG_COUNT;
extern const struct command CONFIG_COMMANDS[];
extern const size_t CONFIG_COMMAND_COUNT;

/* Finds a flag by any of its names, dashes included; NULL if there is none. */
const struct flag *flag_find(struct str name);
const struct command *command_find(struct str name);

static inline size_t flag_index(const struct flag *flag)
{
    return (size_t)(flag - CONFIG_FLAGS);
}

/* LAZULI_BLOB_PORT of --blob-port; `out` has FLAG_VARIABLE_BYTES. */
enum { FLAG_VARIABLE_BYTES = 64 };
void flag_variable(const struct flag *flag, char *out);

/* Sets the flag's value from text: false if the text is not a valid value. A text must outlive the
 * config; the value of a FLAG_BOOL may be absent, which sets it. */
bool value_set(struct config *config, const struct flag *flag, struct str value);
/* The valid values, for an error. */
const char *value_wanted(const struct flag *flag);
/* Writes the value as a command line would give it; nothing if none is set. */
void value_put(struct buf *out, const struct config *config, const struct flag *flag);
/* Returns true if two configurations have the same value from the same source. */
bool value_same(const struct config *a, const struct config *b, const struct flag *flag);
void value_copy(struct config *to, const struct config *from, const struct flag *flag);
/* Returns true if setting one also sets the other: --host and --blob-host, for example. */
bool value_is_shared(const struct flag *set, const struct flag *other);

/* The lines of a configuration file, one after the other. */
struct config_line {
    struct str key, value;
    unsigned number;
};
enum { CONFIG_FILE_BYTES_MAX = 64 << 10 };
/* ERR_IO; ERR_INVALID_INPUT for a file that is too long. The text lives in the arena. */
struct err config_file_read(struct arena *arena, const char *path, struct str *text);
/* False at the end, or with *wrong set at a line that is no "key = value". */
bool config_file_next(struct str *rest, struct config_line *line, bool *wrong);

#endif
