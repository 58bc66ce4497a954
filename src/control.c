/* SPDX-License-Identifier: Apache-2.0 */
#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "complain.h"
#include "core/log.h"
#include "core/mem.h"
#include "progress.h"

#define SOCKET_NAME "control.sock"
#define PROGRESS    "progress "
#define IMPORT      "import azurite "
enum { PATIENCE_SECONDS = 5, BACKLOG = 8, PROGRESS_MS = 100 };

struct control {
    struct registry *registry;
    struct control_calls calls;
    int folder;   /* the data folder */
    int listener; /* the socket in it */
    int stop;     /* an eventfd: written to end the thread */
    pthread_t thread;
    bool running;
};

/* ---- answers ---- */

static void put_error(struct buf *answer, struct err error)
{
    const char *reason = err_message(error.code);
    if (error.detail != NULL && strncmp(error.detail, "Reason\t", 7) == 0)
        reason = error.detail + 7;
    buf_printf(answer, "error: %s\n", reason);
}

/* The only place where keys leave the server: to its own user, on request. */
static void put_keys(struct buf *answer, struct accounts *accounts, struct str name)
{
    struct account *account = accounts_get(accounts, name);
    for (unsigned i = 0; account != NULL && i < account->key_count; i++)
        buf_printf(answer, "%.*s key%u %.*s\n", STR_ARG(account->name), i + 1,
                   STR_ARG(account->keys_base64[i]));
    account_put(account);
}

static void answer_change(struct registry *registry, struct err error, struct str name,
                          struct buf *answer)
{
    if (err_is(error)) {
        put_error(answer, error);
        return;
    }
    buf_put(answer, STR("ok\n"));
    put_keys(answer, registry->accounts, name);
}

static void answer_list(struct registry *registry, struct buf *answer)
{
    buf_put(answer, STR("ok\n"));
    for (size_t i = 0;; i++) {
        struct arena arena;
        arena_init(&arena, ACCOUNT_NAME_MAX);
        struct str name = accounts_name(registry->accounts, &arena, i);
        bool more = str_given(name);
        if (more)
            buf_printf(answer, "%.*s\n", STR_ARG(name));
        arena_release(&arena);
        if (!more)
            return;
    }
}

static bool is(struct str word, const char *wanted)
{
    return str_eq(word, str_of(wanted));
}

void control_answer(struct registry *registry, struct str line, struct buf *answer)
{
    struct str words[5] = {{0}};
    size_t count = 0;
    bool hierarchical = false;
    while (str_given(line) && count < sizeof words / sizeof words[0]) {
        struct str word = str_cut(&line, ' ');
        if (is(word, "--hns"))
            hierarchical = true;
        else if (word.n > 0)
            words[count++] = word;
    }
    struct registry_new account = {words[2], words[3], words[4], hierarchical};
    struct str verb = count < 2 || !is(words[0], "account") ? STR("") : words[1], name = words[2];
    if (is(verb, "list") && count == 2)
        answer_list(registry, answer);
    else if (is(verb, "add") && count >= 3)
        answer_change(registry, registry_add(registry, &account), name, answer);
    else if (is(verb, "rotate-key") && count == 4)
        answer_change(registry,
                      registry_rotate_key(registry, name,
                                          is(words[3], "1")   ? 1
                                          : is(words[3], "2") ? 2
                                                              : 0),
                      name, answer);
    else if (is(verb, "delete") && count == 3)
        answer_change(registry, registry_delete(registry, name), name, answer);
    else
        buf_put(answer, STR("error: account add NAME [KEY1 [KEY2]] [--hns] | account list | "
                            "account rotate-key NAME 1|2 | account delete NAME\n"));
}

/* ---- the socket ---- */

/* A path may be longer than a socket's name can be: so it is named through the folder's
 * descriptor. */
static void socket_name(int folder, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    (void)snprintf(out->sun_path, sizeof out->sun_path, "/proc/self/fd/%d/" SOCKET_NAME, folder);
}

static bool is_welcome(int connection)
{
    struct ucred who;
    socklen_t n = sizeof who;
    return getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &who, &n) == 0 &&
           (who.uid == geteuid() || who.uid == 0);
}

static void be_patient(int connection)
{
    struct timeval patience = {PATIENCE_SECONDS, 0};
    (void)setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    (void)setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

/* Reads up to the newline; false if none arrives. */
static bool read_line(int connection, char *line, size_t size, size_t *n)
{
    size_t used = 0;
    while (used < size) {
        ssize_t got = read(connection, line + used, size - used);
        if (got <= 0)
            return false;
        char *end = memchr(line + used, '\n', (size_t)got);
        used += (size_t)got;
        if (end != NULL) {
            *n = (size_t)(end - line);
            return true;
        }
    }
    return false;
}

static bool write_all(int fd, struct str text)
{
    while (text.n > 0) {
        ssize_t put = send(fd, text.p, text.n, MSG_NOSIGNAL);
        if (put <= 0)
            return false;
        text = str_from(text, (size_t)put);
    }
    return true;
}

/* The progress of a backup or an import that runs in the server, as the other end sees it. */
struct told_progress {
    int connection;
    int stop; /* of an import: readable when the server stops */
    int64_t told_ms;
};

static void tell_progress(void *arg, const char *doing, uint64_t done, uint64_t of)
{
    struct told_progress *told = arg;
    int64_t now = clock_mono_ms();
    char line[128];
    if (told->connection < 0 || (done < of && now - told->told_ms < PROGRESS_MS))
        return;
    int n = snprintf(line, sizeof line, PROGRESS "%s %" PRIu64 " %" PRIu64 "\n", doing, done, of);
    told->told_ms = now;
    if (!write_all(told->connection, (struct str){line, (size_t)n}))
        told->connection = -1; /* the client has gone: the backup continues */
}

static void put_reason(struct buf *answer, const char *path, struct err error)
{
    const char *why = error.detail != NULL                      ? error.detail
                      : error.code == ERR_IO && error.cause > 0 ? strerrordesc_np(error.cause)
                                                                : err_message(error.code);
    buf_printf(answer, "error: %s: %s\n", path, why);
}

static void answer_backup(struct control *control, struct str to, int connection,
                          struct buf *answer)
{
    char path[CONTROL_LINE_MAX + 1];
    struct told_progress told = {.connection = connection};
    struct engine_backup backup = {.folder = path, .progress = tell_progress, .arg = &told};
    struct err error = err_new(ERR_NOT_IMPLEMENTED);
    int64_t began = clock_mono_ms();
    memcpy(path, to.p, to.n);
    path[to.n] = '\0';
    if (control->calls.backup != NULL)
        error = control->calls.backup(control->calls.arg, &backup);
    if (!err_is(error)) {
        buf_put(answer, STR("ok\n"));
        progress_put_backup(answer, &backup, clock_mono_ms() - began);
        buf_putc(answer, '\n');
    } else {
        put_reason(answer, path, error);
    }
}

/* The server stops without waiting for an import to end. */
static bool is_stopping(void *arg)
{
    const struct told_progress *told = arg;
    struct pollfd stop = {.fd = told->stop, .events = POLLIN};
    return poll(&stop, 1, 0) > 0;
}

static void answer_import(struct control *control, struct str from, int connection,
                          struct buf *answer)
{
    char path[CONTROL_LINE_MAX + 1];
    struct report report;
    struct told_progress told = {.connection = connection, .stop = control->stop};
    struct azurite_import import = {.folder = path,
                                    .progress = tell_progress,
                                    .stopped = is_stopping,
                                    .arg = &told,
                                    .report = &report};
    struct err error = err_new(ERR_NOT_IMPLEMENTED);
    memcpy(path, from.p, from.n);
    path[from.n] = '\0';
    report_init(&report);
    if (control->calls.import_azurite != NULL)
        error = control->calls.import_azurite(control->calls.arg, &import);
    if (err_is(error)) {
        put_reason(answer, path, error);
    } else {
        buf_put(answer, STR("ok\n"));
        report_put(&report, answer);
    }
    report_release(&report);
}

/* The server's endpoints and an account for access: for transfers, which use REST. */
static void answer_endpoints(struct control *control, struct buf *answer)
{
    if (control->calls.endpoints == NULL) {
        buf_put(answer, STR("error: this server does not say where it is\n"));
        return;
    }
    buf_put(answer, STR("ok\n"));
    control->calls.endpoints(control->calls.arg, answer);
    for (size_t i = 0;; i++) {
        struct arena arena;
        arena_init(&arena, ACCOUNT_NAME_MAX);
        struct str name = accounts_name(control->registry->accounts, &arena, i);
        struct account *account =
            str_given(name) ? accounts_get(control->registry->accounts, name) : NULL;
        if (account != NULL && account->key_count > 0)
            buf_printf(answer, "account %.*s %.*s\n", STR_ARG(name),
                       STR_ARG(account->keys_base64[0]));
        account_put(account);
        bool more = str_given(name);
        arena_release(&arena);
        if (!more)
            return;
    }
}

static void serve_one(struct control *control, int connection)
{
    char line[CONTROL_LINE_MAX];
    size_t n = 0;
    be_patient(connection);
    if (!is_welcome(connection)) {
        log_line(LOG_WARN, "the control socket refused another user");
        return;
    }
    if (!read_line(connection, line, sizeof line, &n))
        return;
    struct buf answer = buf_heap();
    if (str_starts((struct str){line, n}, STR("backup ")))
        answer_backup(control, str_from((struct str){line, n}, 7), connection, &answer);
    else if (str_starts((struct str){line, n}, STR(IMPORT)))
        answer_import(control, str_from((struct str){line, n}, strlen(IMPORT)), connection,
                      &answer);
    else if (str_eq((struct str){line, n}, STR("endpoints")))
        answer_endpoints(control, &answer);
    else
        control_answer(control->registry, (struct str){line, n}, &answer);
    (void)write_all(connection, buf_str(&answer));
    explicit_bzero(line, sizeof line);
    explicit_bzero(answer.p, answer.n);
    buf_release(&answer);
}

static void *serve(void *arg)
{
    struct control *control = arg;
    struct pollfd wait[2] = {{.fd = control->listener, .events = POLLIN},
                             {.fd = control->stop, .events = POLLIN}};
    for (;;) {
        if (poll(wait, 2, -1) < 0 && errno != EINTR)
            return NULL;
        if (wait[1].revents != 0)
            return NULL;
        int connection = accept4(control->listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0)
            continue;
        serve_one(control, connection);
        (void)close(connection);
    }
}

static int open_folder(const char *folder)
{
    return open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The engine has locked the folder, so an existing socket belongs to a dead server. Nobody can
 * connect between bind and listen, so the mode is set in time. */
static bool listen_in_folder(struct control *control)
{
    struct sockaddr_un name;
    socket_name(control->folder, &name);
    (void)unlinkat(control->folder, SOCKET_NAME, 0);
    control->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return control->listener >= 0 &&
           bind(control->listener, (struct sockaddr *)&name, sizeof name) == 0 &&
           fchmodat(control->folder, SOCKET_NAME, S_IRUSR | S_IWUSR, 0) == 0 &&
           listen(control->listener, BACKLOG) == 0;
}

struct err control_new(const char *folder, struct registry *registry,
                       const struct control_calls *calls, struct control **out)
{
    struct control *control = MEM_NEW(struct control);
    control->registry = registry;
    control->calls = *calls;
    control->listener = control->stop = -1;
    control->folder = open_folder(folder);
    bool made = control->folder >= 0 && listen_in_folder(control);
    if (made)
        control->stop = eventfd(0, EFD_CLOEXEC);
    if (made && control->stop >= 0)
        control->running = pthread_create(&control->thread, NULL, serve, control) == 0;
    if (!control->running) {
        int cause = errno;
        control_free(control);
        return err_cause(ERR_IO, cause);
    }
    *out = control;
    return OK;
}

void control_free(struct control *control)
{
    if (control == NULL)
        return;
    if (control->running) {
        uint64_t one = 1;
        (void)!write(control->stop, &one, sizeof one);
        (void)pthread_join(control->thread, NULL);
        (void)unlinkat(control->folder, SOCKET_NAME, 0);
    }
    const int fds[] = {control->listener, control->stop, control->folder};
    for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
        if (fds[i] >= 0)
            (void)close(fds[i]);
    free(control);
}

/* ---- the command ---- */

static int connect_to(const char *folder)
{
    struct sockaddr_un name;
    int fd = open_folder(folder);
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0)
        socket_name(fd, &name);
    if (fd < 0 || connection < 0 ||
        connect(connection, (struct sockaddr *)&name, sizeof name) != 0) {
        if (connection >= 0)
            (void)close(connection);
        connection = -1;
    }
    if (fd >= 0)
        (void)close(fd);
    return connection;
}

/* Prints what follows "ok" to stdout, and an error to stderr. */
static int print_answer(struct str answer)
{
    struct str rest = answer;
    struct str first = str_cut(&rest, '\n');
    if (!str_eq(first, STR("ok"))) {
        (void)fprintf(stderr, "lazuli: %.*s\n", STR_ARG(first));
        return 1;
    }
    if (rest.n > 0)
        (void)fwrite(rest.p, 1, rest.n, stdout);
    return 0;
}

static bool put_words(struct buf *line, const char *const *words, unsigned count)
{
    buf_put(line, STR("account"));
    for (unsigned i = 0; i < count; i++) {
        if (strpbrk(words[i], " \n") != NULL)
            return false;
        buf_printf(line, " %s", words[i]);
    }
    buf_putc(line, '\n');
    return line->n <= CONTROL_LINE_MAX;
}

/* Prints and removes the progress lines at the start of the input. */
static void show_progress(struct progress *progress, struct buf *answer)
{
    struct str rest = buf_str(answer);
    while (str_starts(rest, STR(PROGRESS)) && memchr(rest.p, '\n', rest.n) != NULL) {
        struct str line = str_cut(&rest, '\n');
        struct str words = str_from(line, strlen(PROGRESS));
        struct str doing = str_cut(&words, ' ');
        struct str done_text = str_cut(&words, ' ');
        uint64_t done;
        uint64_t of;
        char name[32];
        (void)snprintf(name, sizeof name, "%.*s", STR_ARG(doing));
        if (str_to_u64(done_text, &done) && str_to_u64(words, &of) && done <= of)
            progress_show(progress, name, done, of);
        if (!str_given(rest))
            rest = STR("");
    }
    if (rest.n > 0)
        memmove(answer->p, rest.p, rest.n);
    answer->n = rest.n;
}

/* Sends the line (absent: it could not be made) and prints the answer. */
static int exchange(const char *folder, struct str line)
{
    struct buf answer = buf_heap();
    int status = 1;
    int connection = connect_to(folder);
    if (connection < 0)
        (void)complain(folder, "no server is running here (or it is not yours)");
    else if (!str_given(line) || !write_all(connection, line))
        (void)complain(folder, "the server does not take this");
    else {
        struct progress progress;
        ssize_t got = 1;
        progress_begin(&progress);
        while (got > 0 && answer.n < CONTROL_ANSWER_MAX) {
            got = read(connection, buf_reserve(&answer, CONTROL_LINE_MAX), CONTROL_LINE_MAX);
            answer.n += got > 0 ? (size_t)got : 0;
            show_progress(&progress, &answer);
        }
        progress_clear(&progress);
        status = print_answer(buf_str(&answer));
    }
    if (connection >= 0)
        (void)close(connection);
    buf_release(&answer);
    return status;
}

int control_command(const char *folder, const char *const *words, unsigned count)
{
    struct buf line = buf_heap();
    bool made = put_words(&line, words, count);
    int status = exchange(folder, made ? buf_str(&line) : STR_NONE);
    buf_release(&line);
    return status;
}

bool control_ask(const char *folder, const char *line, struct buf *answer)
{
    int connection = connect_to(folder);
    ssize_t got = connection < 0 || !write_all(connection, str_of(line)) ? 0 : 1;
    while (got > 0 && answer->n < CONTROL_ANSWER_MAX) {
        got = read(connection, buf_reserve(answer, CONTROL_LINE_MAX), CONTROL_LINE_MAX);
        answer->n += got > 0 ? (size_t)got : 0;
    }
    if (connection >= 0)
        (void)close(connection);
    return str_starts(buf_str(answer), STR("ok\n"));
}

bool control_reaches(const char *folder)
{
    int connection = connect_to(folder);
    if (connection >= 0)
        (void)close(connection);
    return connection >= 0;
}

/* A line of a word and a path. */
static int send_path(const char *folder, const char *word, const char *path)
{
    struct buf line = buf_heap();
    buf_printf(&line, "%s%s\n", word, path);
    bool made = strchr(path, '\n') == NULL && line.n <= CONTROL_LINE_MAX;
    int status = exchange(folder, made ? buf_str(&line) : STR_NONE);
    buf_release(&line);
    return status;
}

int control_backup(const char *folder, const char *to)
{
    return send_path(folder, "backup ", to);
}

int control_import_azurite(const char *folder, const char *from)
{
    return send_path(folder, IMPORT, from);
}
