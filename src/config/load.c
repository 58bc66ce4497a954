/* SPDX-License-Identifier: Apache-2.0 */
/* Where settings come from: defaults, the program's name, the configuration file, variables, the
 * command line; later ones take precedence. */
#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config/flags.h"
#include "import/azurite.h"
#include "memory.h"

struct load {
    struct config *config;
    char *text;
    size_t size;
    const char *config_file; /* given on the command line; found by the first pass */
};

static struct err refuse(struct load *l, const char *what, const char *why)
{
    (void)snprintf(l->text, l->size, "%s: %s", what, why);
    return err_detail(ERR_INVALID_INPUT, l->text);
}

static struct err assign(struct load *l, const struct flag *flag, struct str value,
                         struct config_origin origin)
{
    if (!value_set(l->config, flag, value))
        return refuse(l, origin.by, value_wanted(flag));
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++)
        if (value_is_shared(flag, &CONFIG_FLAGS[i]))
            l->config->origins[i] = origin;
    return OK;
}

/* ---- what is built in ---- */

static void set_defaults(struct config *c)
{
    static const char *const loopback = "127.0.0.1";
    enum { KEEP_ALIVE_SECONDS = 120 };
    *c = (struct config){
        .data = "lazuli-data",
        .host = {loopback, loopback, loopback, loopback},
        .smb_host = loopback,
        .port = {10000, 10001, 10002, 10003},
        .smb_port = 10445,
        .dfs_host = loopback,
        .dfs_port = CONFIG_PORT_UNSET | CONFIG_DFS_PORT,
        .admin_host = loopback,
        .admin_port = CONFIG_PORT_UNSET | CONFIG_ADMIN_PORT,
        .keep_alive_s = {KEEP_ALIVE_SECONDS, KEEP_ALIVE_SECONDS, KEEP_ALIVE_SECONDS,
                         KEEP_ALIVE_SECONDS},
        .log_level = LOG_INFO,
        .smb_encryption = SMB_ENCRYPTION_PREFERRED,
        .cache_mib = memory_cache_mib(memory_bytes()),
        .memory_limit = memory_bytes() / 2,
        .connections_max = 10000,
    };
}

/* ---- the program's name ---- */

static const char *const PROGRAMS[] = {
    [PROGRAM_LAZULI] = "lazuli",
    [PROGRAM_AZURITE] = "azurite",
    [PROGRAM_AZURITE_BLOB] = "azurite-blob",
    [PROGRAM_AZURITE_QUEUE] = "azurite-queue",
    [PROGRAM_AZURITE_TABLE] = "azurite-table",
};

const char *config_program_name(enum config_program program)
{
    return PROGRAMS[program];
}

static bool find_program(const char *path, enum config_program *out)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    for (unsigned i = 0; i < sizeof PROGRAMS / sizeof PROGRAMS[0]; i++) {
        if (strcmp(name, PROGRAMS[i]) == 0) {
            *out = (enum config_program)i;
            return true;
        }
    }
    return false;
}

static void set_port(struct config *c, const struct flag *flag, uint64_t port)
{
    *(uint64_t *)(void *)((char *)c + flag->offset) = port;
    c->origins[flag_index(flag)] =
        (struct config_origin){.source = CONFIG_BY_PROGRAM, .by = PROGRAMS[c->program]};
}

/* Azurite has no file service, so users of a program with its name do not expect these ports: they
 * are skipped if another program uses them. Azurite's other programs serve one service each. */
static void apply_program(struct config *c)
{
    static const struct {
        const char *flag;
        enum config_program alone;
    } PORTS[] = {
        {"--blob-port", PROGRAM_AZURITE_BLOB},   {"--queue-port", PROGRAM_AZURITE_QUEUE},
        {"--table-port", PROGRAM_AZURITE_TABLE}, {"--file-port", PROGRAM_LAZULI},
        {"--smb-port", PROGRAM_LAZULI},
    };
    if (c->program == PROGRAM_LAZULI)
        return;
    for (size_t i = 0; i < sizeof PORTS / sizeof PORTS[0]; i++) {
        const struct flag *flag = flag_find(str_of(PORTS[i].flag));
        uint64_t port = *(uint64_t *)(void *)((char *)c + flag->offset);
        if (c->program == PROGRAM_AZURITE && PORTS[i].alone == PROGRAM_LAZULI)
            set_port(c, flag, port | CONFIG_PORT_UNSET);
        else if (c->program != PROGRAM_AZURITE && c->program != PORTS[i].alone)
            set_port(c, flag, CONFIG_PORT_OFF);
    }
}

/* ---- the file ---- */

static const struct flag *find_key(struct str key)
{
    char name[FLAG_VARIABLE_BYTES];
    if (key.n + 3 > sizeof name)
        return NULL;
    (void)snprintf(name, sizeof name, "--%.*s", STR_ARG(key));
    const struct flag *flag = flag_find(str_of(name));
    return flag == NULL || flag->action || flag->offset == offsetof(struct config, config_file)
               ? NULL
               : flag;
}

static struct err take_line(struct load *l, const struct config_line *line)
{
    struct config *c = l->config;
    const struct flag *flag = find_key(line->key);
    char where[512];
    (void)snprintf(where, sizeof where, "%.300s:%u: %.*s", c->config_file, line->number,
                   STR_ARG(str_head(line->key, 80)));
    if (flag == NULL)
        return refuse(l, where, "no such setting (lazuli config lists them)");
    struct config_origin origin = {.source = CONFIG_BY_FILE, .line = line->number, .by = where};
    TRY(assign(l, flag, str_of(arena_cstr(&c->texts, line->value)), origin));
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++)
        if (c->origins[i].by == where)
            c->origins[i].by = c->config_file;
    return OK;
}

static struct err apply_file(struct load *l)
{
    struct config *c = l->config;
    struct config_line line = {.number = 0};
    struct str rest;
    bool wrong = false;
    if (c->config_file == NULL)
        return OK;
    struct err error = config_file_read(&c->texts, c->config_file, &rest);
    if (err_is(error))
        return refuse(l, c->config_file,
                      error.detail != NULL ? error.detail : strerrordesc_np(error.cause));
    while (config_file_next(&rest, &line, &wrong))
        TRY(take_line(l, &line));
    if (!wrong)
        return OK;
    char where[512];
    (void)snprintf(where, sizeof where, "%.300s:%u", c->config_file, line.number);
    return refuse(l, where, "a line is \"flag = value\"");
}

/* ---- variables ---- */

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Azurite's variables that correspond to our flags. */
static struct err apply_azurite_variables(struct load *l)
{
    static const char *const skip = "AZURITE_SKIP_API_VERSION_CHECK";
    const char *value = variable(skip);
    if (variable("AZURITE_DB") != NULL)
        return refuse(l, "AZURITE_DB", "metadata in an SQL database is not supported: unset it");
    if (value == NULL || strcmp(value, "true") != 0)
        return OK;
    return assign(l, flag_find(STR("--skip-api-version-check")), STR("true"),
                  (struct config_origin){.source = CONFIG_BY_VARIABLE, .by = skip});
}

static struct err apply_variables(struct load *l)
{
    TRY(apply_azurite_variables(l));
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        char name[FLAG_VARIABLE_BYTES];
        flag_variable(flag, name);
        const char *value = flag->action ? NULL : variable(name);
        if (value == NULL || flag->kind == FLAG_NOTHING)
            continue;
        const char *by = arena_cstr(&l->config->texts, str_of(name));
        TRY(assign(l, flag, str_of(value),
                   (struct config_origin){.source = CONFIG_BY_VARIABLE, .by = by}));
    }
    return OK;
}

/* ---- the command line ---- */

/* The command line is read twice: the first pass finds only the configuration file, because
 * everything else overrides the file. */
struct walk {
    struct load *load;
    int argc;
    char **argv;
    int at;
    bool for_file;
};

static struct err take_operand(struct walk *w, const char *word)
{
    struct config *c = w->load->config;
    if (w->for_file)
        return OK;
    if (c->command == NULL) {
        const struct command *command = command_find(str_of(word));
        if (command == NULL)
            return refuse(w->load, word, "not a command or flag (see --help)");
        c->command = command->name;
        return OK;
    }
    if (c->operand_count == sizeof c->operands / sizeof c->operands[0])
        return refuse(w->load, word, "too many words");
    c->operands[c->operand_count++] = word;
    return OK;
}

/* Azurite ignores such a word after a switch. */
static bool is_truth(const char *word)
{
    return strcmp(word, "true") == 0 || strcmp(word, "false") == 0;
}

/* Appends the value to those of the same flag earlier on the command line. */
static struct str join(struct walk *w, const struct flag *flag, struct str value)
{
    struct config *c = w->load->config;
    if (c->origins[flag_index(flag)].source != CONFIG_BY_FLAG)
        return value;
    struct buf all = buf_in(&c->texts);
    value_put(&all, c, flag);
    buf_putc(&all, ' ');
    buf_put(&all, value);
    return str_of(arena_cstr(&c->texts, buf_str(&all)));
}

/* argv[at] is a flag: its value follows after '=' or is the next word. */
static struct err take_flag(struct walk *w)
{
    const char *word = w->argv[w->at];
    struct str value = str_of(word);
    struct str name = str_cut(&value, '=');
    const struct flag *flag = flag_find(name);
    const char *command = w->load->config->command;
    /* After `account add`, --hns is an operand: it applies to that account only. */
    if (command != NULL && strcmp(command, "account") == 0 && strcmp(word, "--hns") == 0)
        return take_operand(w, word);
    if (flag == NULL)
        return refuse(w->load, word, "no such flag (see --help)");
    bool is_switch = flag->kind == FLAG_BOOL || flag->kind == FLAG_NOTHING;
    bool more = w->at + 1 < w->argc;
    if (!str_given(value) && more && (!is_switch || is_truth(w->argv[w->at + 1])))
        value = str_of(w->argv[++w->at]);
    if (!str_given(value) && !is_switch)
        return refuse(w->load, flag->name, "wants a value");
    if (w->for_file) {
        if (flag->offset == offsetof(struct config, config_file) && flag->kind == FLAG_TEXT)
            w->load->config_file = value.p;
        return OK;
    }
    if (flag->repeats)
        value = join(w, flag, value);
    return assign(w->load, flag, value,
                  (struct config_origin){.source = CONFIG_BY_FLAG, .by = flag->name});
}

static struct err walk_words(struct walk *w)
{
    for (; w->at < w->argc; w->at++) {
        if (w->argv[w->at][0] == '-' && w->argv[w->at][1] != '\0')
            TRY(take_flag(w));
        else
            TRY(take_operand(w, w->argv[w->at]));
    }
    return OK;
}

/* If the first word names one of the programs, as in an image with an entry point, it replaces the
 * program's own name. */
static int skip_program(struct config *c, int argc, char **argv)
{
    enum config_program named;
    if (argc > 0)
        (void)find_program(argv[0], &c->program);
    if (argc > 1 && find_program(argv[1], &named) && named != PROGRAM_LAZULI) {
        c->program = named;
        return 2;
    }
    return 1;
}

/* A user who replaces Azurite may pass Azurite's folder. The store then goes into a subfolder, and
 * Azurite's data stay as they are. */
static void stand_beside_azurite(struct config *c)
{
    char marker[PATH_MAX];
    bool fits = snprintf(marker, sizeof marker, "%s/LAZULI", c->data) < (int)sizeof marker;
    if (c->engine != CONFIG_ENGINE_LOCAL || !fits || access(marker, F_OK) == 0 ||
        !azurite_is_folder(c->data))
        return;
    c->azurite = c->data;
    c->data = arena_cstr(&c->texts, arena_printf(&c->texts, "%s/lazuli", c->azurite));
}

/* --engine mem and --in-memory mean the same. If they contradict each other, the stronger source
 * decides; if both are flags, either one selects memory. */
static void settle_engine(struct config *c)
{
    struct config_origin *engine = &c->origins[flag_index(flag_find(STR("--engine")))];
    struct config_origin *memory = &c->origins[flag_index(flag_find(STR("--in-memory")))];
    if (engine->source > memory->source) {
        c->in_memory = c->engine == CONFIG_ENGINE_MEM;
        *memory = *engine;
    } else {
        c->in_memory |= engine->source == memory->source && c->engine == CONFIG_ENGINE_MEM;
        c->engine = c->in_memory ? CONFIG_ENGINE_MEM : CONFIG_ENGINE_LOCAL;
        *engine = *memory;
    }
}

static struct err load_all(struct load *l, int argc, char **argv)
{
    struct config *c = l->config;
    int first = skip_program(c, argc, argv);
    struct walk walk = {.load = l, .argc = argc, .argv = argv, .at = first, .for_file = true};
    TRY(walk_words(&walk));
    apply_program(c);
    c->config_file = l->config_file != NULL ? l->config_file : variable("LAZULI_CONFIG");
    TRY(apply_file(l));
    TRY(apply_variables(l));
    walk.at = first;
    walk.for_file = false;
    TRY(walk_words(&walk));
    settle_engine(c);
    stand_beside_azurite(c);
    c->data_given = c->origins[flag_index(flag_find(STR("--data")))].source != CONFIG_BY_DEFAULT;
    return OK;
}

struct err config_parse(int argc, char **argv, struct config *out, char *text, size_t size)
{
    assert(out != NULL);
    struct load l = {.config = out, .text = text, .size = size};
    set_defaults(out);
    arena_init(&out->texts, CONFIG_TEXTS_BYTES_MAX);
    out->argc = argc;
    out->argv = argv;
    return load_all(&l, argc, argv);
}

void config_release(struct config *config)
{
    arena_release(&config->texts);
}

struct err config_again(const struct config *old, struct config *out, char *text, size_t size)
{
    return config_parse(old->argc, old->argv, out, text, size);
}

void config_keep(struct config *fresh, const struct config *old, struct buf *changed,
                 struct buf *kept)
{
    for (size_t i = 0; i < CONFIG_FLAG_COUNT; i++) {
        const struct flag *flag = &CONFIG_FLAGS[i];
        if (flag->action || value_same(fresh, old, flag))
            continue;
        struct buf *names = flag->reload ? changed : kept;
        buf_printf(names, "%s%s", names->n > 0 ? ", " : "", flag->name);
        if (!flag->reload)
            value_copy(fresh, old, flag);
    }
}
