/* SPDX-License-Identifier: Apache-2.0 */
/* What is printed from the tables: --help, `lazuli CMD --help`, `lazuli config`, `--describe`. */
#include <stdio.h>
#include <string.h>

#include "config/flags.h"

enum { HELP_LEFT = 34, HELP_WIDTH = 100 };

/* Writes the words of the text in lines that begin at HELP_LEFT; the first line was already
 * begun. */
static void print_wrapped(const char *text)
{
    struct str rest = str_of(text);
    size_t column = HELP_LEFT;
    bool first = true;
    while (str_given(rest)) {
        struct str word = str_cut(&rest, ' ');
        size_t width = str_utf16_units(word);
        if (!first && column + 1 + width > HELP_WIDTH) {
            printf("\n%*s", HELP_LEFT, "");
            column = HELP_LEFT;
            first = true;
        }
        printf("%s%.*s", first ? "" : " ", STR_ARG(word));
        column += width + (first ? 0 : 1);
        first = false;
    }
    puts("");
}

static void print_flag(const struct flag *flag)
{
    char left[128];
    int n = snprintf(
        left, sizeof left, "  %s%s%s%s%s", flag->name, flag->short_name == NULL ? "" : ", ",
        flag->short_name == NULL ? "" : flag->short_name, flag->argument == NULL ? "" : " ",
        flag->argument == NULL ? "" : flag->argument);
    /* Columns, not bytes: "…" is one. */
    size_t width = str_utf16_units((struct str){left, (size_t)n});
    if (width + 2 > HELP_LEFT)
        printf("%s\n%*s", left, HELP_LEFT, "");
    else
        printf("%s%*s", left, (int)(HELP_LEFT - width), "");
    print_wrapped(flag->help);
}

void config_print_help(void)
{
    puts("lazuli: Azure Storage (Blob, Queue, Table, File) in one program.\n");
    printf("  %-40s %s\n", "lazuli [FLAGS]", "serve until SIGTERM or SIGINT");
    for (size_t i = 0; i < CONFIG_COMMAND_COUNT; i++) {
        const struct command *command = &CONFIG_COMMANDS[i];
        char left[160];
        int n = snprintf(left, sizeof left, "lazuli %s %s", command->name, command->operands);
        printf("  %-40s %s%s\n", left,
               n > 40 ? "\n                                           " : "", command->help);
    }
    puts(
        "\nlazuli COMMAND --help describes a command in full.\n\n"
        "With no flags: 127.0.0.1, ports 10000 (blob), 10001 (queue), 10002 (table), 10003 (file),\n"
        "10445 (SMB), data in ./lazuli-data, account devstoreaccount1 with its well-known key, so that\n"
        "UseDevelopmentStorage=true works. Other accounts: AZURITE_ACCOUNTS=\"name:key1[:key2];…\".");
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        if (flag->section != NULL)
            printf("\n%s\n", flag->section);
        if (flag->help != NULL)
            print_flag(flag);
    }
    puts(
        "\nAzurite's flags (--blobPort, --location, …) are known too; --FLAG=VALUE works as --FLAG VALUE.\n"
        "Each flag is also a line of --config FILE (blob-port = 10000) and a variable\n"
        "(LAZULI_BLOB_PORT=10000): flags win over variables, variables over the file. SIGHUP reads the\n"
        "file, the accounts and the certificate again. Run by the name azurite, azurite-blob,\n"
        "azurite-queue or azurite-table it starts as that program does.");
}

bool config_print_command_help(const char *name)
{
    const struct command *command = command_find(str_of(name));
    if (command == NULL)
        return false;
    printf("lazuli %s %s\n\n  %s\n\n%s\n", command->name, command->operands, command->help,
           command->text);
    struct str rest = str_of(command->flags);
    if (str_given(rest))
        puts("");
    while (str_given(rest)) {
        const struct flag *flag = flag_find(str_cut(&rest, ' '));
        if (flag != NULL && flag->help != NULL)
            print_flag(flag);
    }
    return true;
}

/* ---- what is in force ---- */

static void put_origin(struct buf *out, const struct config_origin *origin)
{
    switch (origin->source) {
    case CONFIG_BY_DEFAULT:
        buf_put(out, STR("default"));
        return;
    case CONFIG_BY_PROGRAM:
        buf_printf(out, "program name %s", origin->by);
        return;
    case CONFIG_BY_FILE:
        buf_printf(out, "%s:%u", origin->by, origin->line);
        return;
    case CONFIG_BY_VARIABLE:
        buf_printf(out, "variable %s", origin->by);
        return;
    case CONFIG_BY_FLAG:
        buf_printf(out, "flag %s", origin->by);
        return;
    }
}

/* Text that a file needs in quotes: blanks at the ends, a comment sign. */
static void put_setting(struct buf *line, const struct flag *flag, struct str value)
{
    bool quotes = value.n == 0 || str_trim(value).n < value.n || value.p[0] == '"' ||
                  str_find(value, '#', 0) < value.n;
    buf_printf(line, quotes ? "%s = \"%.*s\"" : "%s = %.*s", flag->name + 2, STR_ARG(value));
}

static void print_setting(const struct config *config, const struct flag *flag)
{
    struct buf value = buf_heap(), line = buf_heap(), origin = buf_heap();
    bool given = flag->kind != FLAG_TEXT ||
                 *(const char *const *)(const void *)((const char *)config + flag->offset) != NULL;
    put_origin(&origin, &config->origins[flag_index(flag)]);
    value_put(&value, config, flag);
    if (!given)
        buf_printf(&line, "# %s is not set", flag->name + 2);
    else if (flag->secret)
        buf_printf(&line, "# %s is set, and not shown", flag->name + 2);
    else
        put_setting(&line, flag, buf_str(&value));
    printf("%-40.*s # %.*s\n", STR_ARG(buf_str(&line)), STR_ARG(buf_str(&origin)));
    buf_release(&value);
    buf_release(&line);
    buf_release(&origin);
}

void config_print(const struct config *config)
{
    puts(
        "# What is in force, each with its source. Flags win over variables (LAZULI_…), variables\n"
        "# over --config FILE, the file over what is built in.");
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        bool setting = !flag->action && flag->kind != FLAG_NOTHING && flag->kind != FLAG_HOST &&
                       flag->offset != offsetof(struct config, config_file);
        if (setting)
            print_setting(config, flag);
    }
}

/* ---- for those who make man pages and completions of it ---- */

static const char *kind_name(const struct flag *flag)
{
    static const char *const NAMES[] = {
        [FLAG_BOOL] = "switch", [FLAG_TEXT] = "text",   [FLAG_NUMBER] = "number",
        [FLAG_MIB] = "number",  [FLAG_PORT] = "port",   [FLAG_HOST] = "text",
        [FLAG_CHOICE] = "word", [FLAG_EITHER] = "word", [FLAG_NOTHING] = "switch",
    };
    return NAMES[flag->kind];
}

static const char *or_dash(const char *text)
{
    return text == NULL || text[0] == '\0' ? "-" : text;
}

static void print_words(const struct flag *flag)
{
    if (flag->words == NULL)
        printf("-");
    for (size_t i = 0; flag->words != NULL && flag->words[i] != NULL; i++)
        printf("%s%s", i == 0 ? "" : ",", flag->words[i]);
}

static void describe_flag(const struct config *defaults, const struct flag *flag,
                          const char *section)
{
    char variable[FLAG_VARIABLE_BYTES];
    struct buf value = buf_heap();
    flag_variable(flag, variable);
    if (!flag->action)
        value_put(&value, defaults, flag);
    buf_putc(&value, '\0');
    printf("flag\t%s\t%s\t%s\t%s\t%s\t", flag->name, or_dash(flag->alias),
           or_dash(flag->short_name), kind_name(flag), or_dash(flag->argument));
    print_words(flag);
    printf("\t%s\t%s\t%s\t%s\t%s\n", or_dash(value.p), flag->action ? "-" : variable,
           flag->reload ? "reload" : "restart", or_dash(section), or_dash(flag->help));
    buf_release(&value);
}

void config_describe(const struct config *defaults)
{
    const char *section = NULL;
    puts("# program\tNAME\n# command\tNAME\tOPERANDS\tHELP\tTEXT with \\n\tFLAGS\n"
         "# flag\tNAME\tALIAS\tSHORT\tKIND\tARGUMENT\tWORDS\tDEFAULT\tVARIABLE\treload or restart\t"
         "SECTION\tHELP, - when it is hidden");
    for (unsigned i = 0; i < PROGRAM_COUNT; i++)
        printf("program\t%s\n", config_program_name((enum config_program)i));
    for (size_t i = 0; i < CONFIG_COMMAND_COUNT; i++) {
        const struct command *command = &CONFIG_COMMANDS[i];
        printf("command\t%s\t%s\t%s\t", command->name, command->operands, command->help);
        for (const char *c = command->text; *c != '\0'; c++)
            if (*c == '\n')
                printf("\\n");
            else
                putchar(*c);
        printf("\t%s\n", or_dash(command->flags));
    }
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        section = CONFIG_FLAGS[i].section != NULL ? CONFIG_FLAGS[i].section : section;
        describe_flag(defaults, &CONFIG_FLAGS[i], section);
    }
}
