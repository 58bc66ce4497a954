/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers use REST, with any server. A data folder stands for the server that runs on it; if none
 * runs, one is started for the duration of the transfer. */
#include "transfer_command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "complain.h"
#include "control.h"
#include "core/crc/crc64.h"
#include "core/mem.h"
#include "progress.h"
#include "transfer/transfer.h"

enum {
    END_ACCOUNTS_MAX = 1000,
    TEXT_BYTES = 16 << 10,
    START_SECONDS_MAX = 120,
    CHILD_WORDS_MAX = 40,
};

/* One end of a transfer. */
struct end {
    const char *folder; /* NULL: a connection string was given */
    struct remote *accounts[END_ACCOUNTS_MAX];
    size_t count;
    pid_t server; /* that was started; 0: none */
    char why[TEXT_BYTES];
};

static struct err no_end(struct end *end, const char *what, const char *why)
{
    (void)snprintf(end->why, sizeof end->why, "%.200s: %s", what, why);
    return err_detail(ERR_INVALID_INPUT, end->why);
}

/* Keys are not left behind in freed memory. */
static void release_secret(struct buf *text)
{
    if (text->p != NULL)
        explicit_bzero(text->p, text->n);
    buf_release(text);
}

/* ---- connection strings ---- */

static bool is_connection(const char *word)
{
    return strncmp(word, "env:", 4) == 0 || word[0] == '@' || strchr(word, ';') != NULL ||
           strncasecmp(word, "UseDevelopmentStorage=", 22) == 0 ||
           strstr(word, "Endpoint=") != NULL;
}

/* Resolves env:VARIABLE or @FILE. */
static bool read_connection(const char *word, char *out, size_t size)
{
    if (strncmp(word, "env:", 4) == 0) {
        const char *value = getenv(word + 4);
        return value != NULL && snprintf(out, size, "%s", value) < (int)size;
    }
    if (word[0] != '@')
        return snprintf(out, size, "%s", word) < (int)size;
    int fd = open(word + 1, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, out, size - 1);
    if (fd >= 0)
        (void)close(fd);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    return n > 0;
}

static struct err add_account(struct end *end, struct str connection)
{
    if (end->count == END_ACCOUNTS_MAX)
        return err_detail(ERR_INVALID_INPUT, "there are too many accounts");
    struct remote *remote = MEM_NEW(struct remote);
    end->accounts[end->count++] = remote;
    return remote_open(connection, remote);
}

/* ---- folders ---- */

static void put_endpoint(struct buf *out, struct str service, struct str url, struct str account)
{
    static const char *const NAMES[][2] = {{"blob", "BlobEndpoint"},
                                           {"queue", "QueueEndpoint"},
                                           {"table", "TableEndpoint"},
                                           {"file", "FileEndpoint"}};
    for (unsigned i = 0; i < 4; i++)
        if (str_eq(service, str_of(NAMES[i][0])))
            buf_printf(out, ";%s=%.*s/%.*s", NAMES[i][1], STR_ARG(url), STR_ARG(account));
}

/* A connection string for one account of the server's answer. */
static void put_connection(struct buf *out, struct str answer, struct str account, struct str key)
{
    buf_printf(out, "AccountName=%.*s;AccountKey=%.*s", STR_ARG(account), STR_ARG(key));
    while (str_given(answer) && answer.n > 0) {
        struct str line = str_cut(&answer, '\n');
        struct str word = str_cut(&line, ' ');
        put_endpoint(out, word, line, account);
    }
}

static bool has_account(const struct end *end, struct str name)
{
    for (size_t i = 0; i < end->count; i++)
        if (str_eq(end->accounts[i]->account, name))
            return true;
    return false;
}

/* Asks the folder's server for its addresses, and adds accounts that are not known yet. *ready is
 * false if it does not listen yet. */
static struct err ask_server(struct end *end, bool *ready)
{
    struct buf answer = buf_heap();
    struct err error = OK;
    *ready = control_ask(end->folder, "endpoints\n", &answer);
    struct str all = str_from(buf_str(&answer), 3);
    *ready = *ready && str_find_str(all, STR("http://")) < all.n;
    for (struct str rest = all; *ready && rest.n > 0 && !err_is(error);) {
        struct str line = str_cut(&rest, '\n');
        struct str word = str_cut(&line, ' ');
        struct str name = str_cut(&line, ' ');
        if (!str_eq(word, STR("account")) || has_account(end, name))
            continue;
        struct buf connection = buf_heap();
        put_connection(&connection, all, name, line);
        error = add_account(end, buf_str(&connection));
        release_secret(&connection);
    }
    release_secret(&answer);
    return error;
}

static void add_flag(char **words, unsigned *count, const char *flag, const char *value)
{
    if (value == NULL)
        return;
    words[(*count)++] = (char *)(uintptr_t)flag;
    words[(*count)++] = (char *)(uintptr_t)value;
}

/* Starts a server for this transfer only, on free ports of loopback; it ends with this process. */
static void become_server(const struct config *config, const char *folder)
{
    static const char *const FIXED[] = {
        "--host",       "127.0.0.1", "--blob-port",  "0",   "--queue-port", "0",
        "--table-port", "0",         "--file-port",  "0",   "--dfs-port",   "off",
        "--smb-port",   "off",       "--admin-port", "off", "--log-level",  "error",
    };
    char *words[CHILD_WORDS_MAX];
    unsigned count = 0;
    int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    words[count++] = (char *)(uintptr_t) "lazuli";
    for (size_t i = 0; i < sizeof FIXED / sizeof FIXED[0]; i++)
        words[count++] = (char *)(uintptr_t)FIXED[i];
    words[count++] = (char *)(uintptr_t) "--silent";
    words[count++] = (char *)(uintptr_t) "--no-inspector";
    add_flag(words, &count, "--data", folder);
    add_flag(words, &count, "--config", config->config_file);
    add_flag(words, &count, "--accounts", config->accounts_file);
    add_flag(words, &count, "--hns", config->hns);
    add_flag(words, &count, "--blob-versioning", config->blob_versioning);
    words[count] = NULL;
    if (nowhere >= 0)
        (void)dup2(nowhere, STDOUT_FILENO);
    (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
    (void)execv("/proc/self/exe", words);
    _exit(127);
}

static struct err wait_for_server(struct end *end)
{
    for (unsigned i = 0; i < START_SECONDS_MAX * 20; i++) {
        struct timespec pause = {0, 50000000};
        bool ready;
        int status;
        TRY(ask_server(end, &ready));
        if (ready)
            return OK;
        if (waitpid(end->server, &status, WNOHANG) == end->server) {
            end->server = 0;
            return no_end(end, end->folder, "cannot be served");
        }
        (void)nanosleep(&pause, NULL);
    }
    return no_end(end, end->folder, "its server does not start");
}

static struct err open_folder(struct end *end, const struct config *config, const char *folder,
                              bool existing)
{
    char marker[4096];
    bool ready;
    end->folder = folder;
    TRY(ask_server(end, &ready));
    if (ready)
        return OK;
    if (control_reaches(folder))
        return no_end(end, folder, "its server does not say where it is");
    (void)snprintf(marker, sizeof marker, "%s/LAZULI", folder);
    if (existing && access(marker, F_OK) != 0)
        return no_end(end, folder, "there is no store here");
    end->server = fork();
    if (end->server == 0)
        become_server(config, folder);
    if (end->server < 0)
        return err_cause(ERR_IO, errno);
    return wait_for_server(end);
}

static struct err open_end(struct end *end, const struct config *config, const char *word,
                           bool existing)
{
    char text[TEXT_BYTES];
    *end = (struct end){.folder = NULL};
    if (!is_connection(word))
        return open_folder(end, config, word, existing);
    if (!read_connection(word, text, sizeof text))
        return no_end(end, word, "there is no connection string");
    struct err error = add_account(end, str_of(text));
    explicit_bzero(text, sizeof text);
    return error;
}

static void close_end(struct end *end)
{
    for (size_t i = 0; i < end->count; i++) {
        remote_close(end->accounts[i]);
        free(end->accounts[i]);
    }
    if (end->server > 0) {
        (void)kill(end->server, SIGTERM);
        (void)waitpid(end->server, NULL, 0);
    }
}

/* ---- accounts of an archive ---- */

static struct remote *find_account(const struct end *end, struct str name)
{
    for (size_t i = 0; i < end->count; i++)
        if (str_eq(end->accounts[i]->account, name))
            return end->accounts[i];
    return NULL;
}

static struct err make_account(struct end *end, struct str name, bool hierarchical)
{
    char line[CONTROL_LINE_MAX];
    struct buf answer = buf_heap();
    bool ready;
    struct err error = OK;
    (void)snprintf(line, sizeof line, "account add %.*s%s\n", STR_ARG(str_head(name, 64)),
                   hierarchical ? " --hns" : "");
    if (!control_ask(end->folder, line, &answer)) {
        struct str rest = buf_str(&answer);
        char why[256];
        (void)snprintf(why, sizeof why, "%.*s", STR_ARG(str_cut(&rest, '\n')));
        error = no_end(end, "an account of the archive cannot be made", why);
    }
    release_secret(&answer);
    TRY(error);
    return ask_server(end, &ready);
}

/* A server that is named by a connection string has one account, whatever the account's name in the
 * archive is. */
static struct err account_of(void *arg, struct str name, bool hierarchical, struct remote **out)
{
    struct end *end = arg;
    if (end->folder == NULL) {
        *out = end->accounts[0];
        return OK;
    }
    if (find_account(end, name) == NULL)
        TRY(make_account(end, name, hierarchical));
    *out = find_account(end, name);
    return *out != NULL ? OK : no_end(end, "an account of the archive", "is not there");
}

/* ---- what is said ---- */

static void tell_failure(void *arg, struct str line)
{
    progress_clear(arg);
    (void)fprintf(stderr, "lazuli: left out: %.*s\n", STR_ARG(line));
}

static void tell_counts(const struct transfer *t, const struct progress *p, const char *did)
{
    static const char *const NAMES[ITEM_KINDS] = {NULL,         NULL,
                                                  "containers", "blobs",
                                                  "queues",     "parts of messages",
                                                  "tables",     "parts of entities",
                                                  "shares",     "files",
                                                  "directories"};
    const struct crew_counts *c = &t->counts.crew;
    (void)fprintf(stderr, "%s", did);
    const char *before = ":";
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        if (NAMES[i] != NULL && c->done[i] > 0) {
            (void)fprintf(stderr, "%s %llu %s", before, (unsigned long long)c->done[i], NAMES[i]);
            before = ",";
        }
    (void)fprintf(stderr, "%s %llu bytes of content in %.1f s\n", before,
                  (unsigned long long)c->bytes, (double)progress_ms(p) / 1000);
    if (t->counts.resumed > 0)
        (void)fprintf(stderr, "went on where an earlier run was cut off\n");
    if (c->gone > 0)
        (void)fprintf(stderr, "%llu were deleted meanwhile\n", (unsigned long long)c->gone);
    if (c->versions > 0)
        (void)fprintf(stderr, "%llu versions left out: the server keeps none (--blob-versioning)\n",
                      (unsigned long long)c->versions);
    if (c->failed > 0)
        (void)fprintf(stderr, "%llu left out\n", (unsigned long long)c->failed);
    if (t->counts.cut_off)
        (void)fprintf(stderr, "the archive ends early: what is whole of it was taken\n");
}

/* "blob", "table/NAME", …: any other text would select nothing. */
static bool is_part(struct str part)
{
    static const struct str SERVICES[] = {STR_INIT("blob"), STR_INIT("queue"), STR_INIT("table"),
                                          STR_INIT("file")};
    struct str service = str_cut(&part, '/');
    bool named = str_given(part) ? part.n > 0 && str_find(part, '/', 0) == part.n : true;
    for (unsigned i = 0; i < 4; i++)
        if (str_eq(service, SERVICES[i]))
            return named;
    return false;
}

/* No container, queue, table or share with a name of the selection was found. */
static bool found_nothing(const struct transfer *t)
{
    uint64_t sum = t->counts.resumed;
    bool by_name = t->selection.count > 0;
    for (size_t i = 0; i < t->selection.count; i++)
        by_name = by_name && str_find(t->selection.parts[i], '/', 0) < t->selection.parts[i].n;
    for (unsigned i = ITEM_CONTAINER; i < ITEM_KINDS; i++)
        sum += t->counts.crew.done[i];
    return by_name && sum == 0;
}

static bool prepare(const struct config *config, struct transfer *t, struct progress *p)
{
    struct str rest = str_of(config->only);
    *t = (struct transfer){.threads =
                               config->parallel > 0 ? (unsigned)config->parallel : CREW_DEFAULT,
                           .failed = tell_failure,
                           .arg = p};
    progress_begin(p);
    if (p->shown)
        t->progress = progress_show;
    while (str_given(rest)) {
        struct str part = str_cut(&rest, ',');
        if (t->selection.count == SELECTION_MAX || !is_part(part)) {
            (void)complain("--only", "takes blob, queue, table and file, or one of their names as "
                                     "in blob/NAME, with commas between");
            return false;
        }
        t->selection.parts[t->selection.count++] = part;
    }
    return true;
}

static int finish(const struct transfer *t, struct progress *p, const char *what, struct err error,
                  const char *did)
{
    progress_clear(p);
    if (err_is(error))
        return error.detail != NULL ? complain(what, error.detail) : complain_err(what, error);
    tell_counts(t, p, did);
    if (found_nothing(t))
        return complain("--only", "there is nothing of that name");
    return t->counts.crew.failed == 0 && !t->counts.cut_off ? 0 : 1;
}

/* ---- which transfer it is ---- */

static uint64_t add_text(uint64_t sum, struct str text)
{
    return crc64(crc64(sum, text), STR("\n"));
}

/* Identifies a server by its address, and a folder by the store in it, so that a new store in its
 * place counts as another one. Contains no secrets. */
static uint64_t add_end(uint64_t sum, const struct end *end)
{
    char marker[4096];
    struct stat info;
    for (size_t i = 0; i < end->count && end->folder == NULL; i++) {
        const struct remote *r = end->accounts[i];
        sum = add_text(sum, r->account);
        for (unsigned k = 0; k < REMOTE_SERVICES; k++) {
            sum = add_text(sum, r->endpoint[k].host);
            sum = crc64(sum, (struct str){(const char *)&r->endpoint[k].port, 2});
        }
    }
    if (end->folder == NULL)
        return sum;
    (void)snprintf(marker, sizeof marker, "%s/LAZULI", end->folder);
    if (stat(marker, &info) != 0)
        return add_text(sum, str_of(end->folder));
    sum = crc64(sum, (struct str){(const char *)&info.st_dev, sizeof info.st_dev});
    sum = crc64(sum, (struct str){(const char *)&info.st_ino, sizeof info.st_ino});
    sum = crc64(sum, (struct str){(const char *)&info.st_mtim.tv_sec, sizeof(time_t)});
    return crc64(sum, (struct str){(const char *)&info.st_mtim.tv_nsec, sizeof(long)});
}

static uint64_t sum_of(const struct transfer *t, const char *what, const struct end *from,
                       const struct end *to)
{
    uint64_t sum = add_text(0, str_of(what));
    sum = from == NULL ? sum : add_end(sum, from);
    sum = to == NULL ? sum : add_end(sum, to);
    for (size_t i = 0; i < t->selection.count; i++)
        sum = add_text(sum, t->selection.parts[i]);
    return sum;
}

/* ---- the commands ---- */

/* Returns the word after the file, or --data. NULL: too many words. */
static const char *other_end(const struct config *config)
{
    return config->operand_count == 1   ? config->data
           : config->operand_count == 2 ? config->operands[1]
                                        : NULL;
}

int transfer_export_command(const struct config *config)
{
    struct transfer t;
    struct progress progress;
    const char *from = other_end(config);
    if (from == NULL)
        return complain("export", "takes a file, and what to export: export FILE [FROM]");
    if (!prepare(config, &t, &progress))
        return 1;
    struct end *end = MEM_NEW(struct end);
    struct err error = open_end(end, config, from, true);
    t.of = sum_of(&t, "export", end, NULL);
    if (!err_is(error))
        error = transfer_export(&t, end->accounts, end->count, config->operands[0]);
    int status = finish(&t, &progress, "export", error, "exported");
    close_end(end);
    free(end);
    return status;
}

int transfer_import_command(const struct config *config)
{
    struct transfer t;
    struct progress progress;
    const char *to = other_end(config);
    if (to == NULL)
        return complain("import", "takes an archive and where to: import FILE [TO], or "
                                  "import azurite FOLDER [DIR]");
    if (!prepare(config, &t, &progress))
        return 1;
    if (strcmp(config->operands[0], "-") != 0 && access(config->operands[0], R_OK) != 0)
        return complain_err(config->operands[0], err_cause(ERR_IO, errno));
    struct end *end = MEM_NEW(struct end);
    struct err error = open_end(end, config, to, false);
    t.of = sum_of(&t, "import", NULL, end);
    if (!err_is(error))
        error = transfer_import(&t, config->operands[0],
                                end->folder == NULL ? end->accounts[0] : NULL, account_of, end);
    int status = finish(&t, &progress, "import", error, "imported");
    close_end(end);
    free(end);
    return status;
}

/* Chooses the account of the folder that is copied to one account of a server. */
static struct err account_to_copy(const struct end *from, const struct end *to, struct remote **out)
{
    *out = find_account(from, to->accounts[0]->account);
    if (from->folder == NULL || from->count == 1)
        *out = from->accounts[0];
    return *out != NULL
               ? OK
               : err_detail(ERR_INVALID_INPUT,
                            "the folder has several accounts, and none has the name of the one to "
                            "copy to: name one by a connection string, or export and import");
}

/* Copies the accounts one after the other, each with its own state file. */
static struct err copy_account(struct transfer *t, struct remote *from, struct remote *to)
{
    uint64_t of = t->of;
    char state[64];
    t->of = add_text(add_text(of, from->account), to->account);
    (void)snprintf(state, sizeof state, "lazuli-copy-%08llx.progress",
                   (unsigned long long)(t->of & 0xFFFFFFFF));
    struct err error = transfer_copy(t, from, to, state);
    t->of = of;
    return error;
}

static struct err copy_accounts(struct transfer *t, struct end *from, struct end *to)
{
    struct remote *source;
    if (from->count == 0 || to->count == 0)
        return err_detail(ERR_INVALID_INPUT, "a server has no account");
    t->of = sum_of(t, "copy", from, to);
    if (from->folder == NULL || to->folder == NULL) {
        TRY(account_to_copy(from, to, &source));
        struct remote *same = find_account(to, source->account);
        return copy_account(t, source, same != NULL ? same : to->accounts[0]);
    }
    for (size_t i = 0; i < from->count; i++) {
        struct remote *target;
        TRY(account_of(to, from->accounts[i]->account, false, &target));
        TRY(copy_account(t, from->accounts[i], target));
    }
    return OK;
}

int transfer_copy_command(const struct config *config)
{
    struct transfer t;
    struct progress progress;
    if (config->operand_count != 2)
        return complain("copy", "takes two servers, by connection strings: copy FROM TO");
    if (!prepare(config, &t, &progress))
        return 1;
    struct end *from = MEM_NEW(struct end);
    struct end *to = MEM_NEW(struct end);
    struct err error = open_end(from, config, config->operands[0], true);
    if (!err_is(error))
        error = open_end(to, config, config->operands[1], false);
    if (!err_is(error))
        error = copy_accounts(&t, from, to);
    int status = finish(&t, &progress, "copy", error, "copied");
    close_end(to);
    close_end(from);
    free(to);
    free(from);
    return status;
}
