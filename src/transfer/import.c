/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/crc/crc64.h"
#include "transfer/archive.h"
#include "transfer/resume.h"
#include "transfer/transfer.h"

enum { IMPORT_TRIES_MAX = 4, PATH_BYTES = 4096 };

struct importing {
    struct transfer *t;
    struct archive_reader archive;
    uint64_t archive_bytes; /* 0: it comes from a pipe */
    transfer_account *account;
    void *account_arg;
    struct remote *remote;
    struct remote *only_target; /* NULL: the target is a store, which `of` identifies */
    char account_name[64];
    struct crew *crew; /* NULL: none yet, or items from a pipe are created one by one */
    struct session session;
    struct target target;
    bool inline_ready;
    uint64_t number; /* items of the archive so far */
    struct resume resume;
};

static void reached(void *arg, const struct position *position, uint64_t number)
{
    struct importing *m = arg;
    resume_reached(&m->resume, position, number);
}

static void failed(void *arg, struct str line)
{
    struct importing *m = arg;
    if (m->t->failed != NULL)
        m->t->failed(m->t->arg, line);
}

static void add_counts(struct transfer *t, const struct crew_counts *more)
{
    struct crew_counts *sum = &t->counts.crew;
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        sum->done[i] += more->done[i];
    sum->bytes += more->bytes;
    sum->gone += more->gone;
    sum->failed += more->failed;
    sum->versions += more->versions;
    memcpy(sum->fatal, more->fatal, sizeof sum->fatal);
}

/* ---- accounts ---- */

static struct err end_account(struct importing *m)
{
    struct crew_counts counts;
    struct err error = OK;
    if (m->crew != NULL) {
        error = crew_end(m->crew, &counts);
        add_counts(m->t, &counts);
        if (err_is(error))
            error.detail = m->t->counts.crew.fatal;
    }
    m->crew = NULL;
    if (m->inline_ready) {
        m->t->counts.crew.bytes += m->target.bytes;
        m->t->counts.crew.versions += m->target.versions_left_out;
        target_release(&m->target);
        session_end(&m->session);
    }
    m->inline_ready = false;
    return error;
}

static struct err begin_account(struct importing *m, struct str name, const struct item *item)
{
    bool hierarchical = str_find_str(item->json, STR("\"hierarchical\":true")) < item->json.n;
    if (str_eq(str_of(m->account_name), name))
        return OK;
    TRY(end_account(m));
    if (name.n >= sizeof m->account_name)
        return err_detail(ERR_INVALID_INPUT, "an item names an account that cannot be");
    memcpy(m->account_name, name.p, name.n);
    m->account_name[name.n] = '\0';
    TRY(m->account(m->account_arg, name, hierarchical, &m->remote));
    if (m->archive_bytes > 0) {
        struct crew_options options = {.target = m->remote,
                                       .threads = m->t->threads,
                                       .failed = failed,
                                       .reached = reached,
                                       .arg = m};
        m->crew = crew_new(&options);
        return OK;
    }
    session_init(&m->session, m->remote);
    target_init(&m->target, &m->session);
    m->inline_ready = true;
    return OK;
}

/* ---- items ---- */

static bool is_wanted(const struct transfer *t, const struct position *position)
{
    static const char *const SERVICES[ITEM_KINDS] = {
        [ITEM_CONTAINER] = "blob", [ITEM_BLOB] = "blob",   [ITEM_QUEUE] = "queue",
        [ITEM_MESSAGES] = "queue", [ITEM_TABLE] = "table", [ITEM_ENTITIES] = "table",
        [ITEM_SHARE] = "file",     [ITEM_FILE] = "file",   [ITEM_DIRECTORY] = "file",
    };
    char service[16];
    if (position->kind == ITEM_ACCOUNT)
        return true;
    if (position->kind != ITEM_SERVICE)
        return selection_has(&t->selection, SERVICES[position->kind], position->container);
    (void)snprintf(service, sizeof service, "%.*s", STR_ARG(position->container));
    return selection_has(&t->selection, service, STR_NONE);
}

static struct err put_inline(struct importing *m, const struct item *item)
{
    struct err error = target_put(&m->target, item);
    struct crew_counts *counts = &m->t->counts.crew;
    if (err_is(error) && error.code != ERR_IO && error.detail != NULL) {
        counts->failed++;
        failed(m, str_of(error.detail));
        return OK;
    }
    if (!err_is(error))
        counts->done[item->kind]++;
    return error;
}

static struct err import_item(struct importing *m, struct arena *a, struct item *item,
                              uint64_t skip)
{
    struct position position;
    struct str account;
    TRY(archive_place(a, item, &position, &account));
    if (++m->number <= skip) {
        m->t->counts.resumed++;
        return OK;
    }
    TRY(begin_account(m, account, item));
    if (!is_wanted(m->t, &position))
        return OK;
    struct crew_work work = {.item = item, .position = &position, .number = m->number};
    return m->crew != NULL ? crew_give(m->crew, &work, a) : put_inline(m, item);
}

static struct err import_items(struct importing *m, uint64_t skip)
{
    bool found = true, whole = false;
    struct err error = OK;
    while (!err_is(error) && found) {
        struct arena a;
        struct item item;
        arena_init(&a, ITEM_ARENA_BYTES_MAX);
        error = archive_next(&m->archive, &a, &item, &found, &whole);
        if (!err_is(error) && found)
            error = import_item(m, &a, &item, skip);
        arena_release(&a);
        if (m->t->progress != NULL && m->archive_bytes > 0)
            m->t->progress(m->t->arg, "import", m->archive.whole, m->archive_bytes);
    }
    m->t->counts.cut_off = !err_is(error) && !whole;
    return error;
}

/* How many items of this archive an earlier run has created. */
static uint64_t already_done(struct importing *m)
{
    struct arena a;
    struct position position;
    uint64_t items = 0;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    bool ours =
        m->archive_bytes > 0 && resume_find(&m->resume, &a, m->only_target, &position, &items);
    arena_release(&a);
    return ours ? items : 0;
}

static struct err import_archive(struct importing *m)
{
    struct arena a;
    uint64_t skip = already_done(m);
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = archive_open(&m->archive, m->archive.tar.fd, &a);
    arena_release(&a);
    if (!err_is(error))
        error = import_items(m, skip);
    struct err ended = end_account(m);
    archive_close(&m->archive);
    return err_is(ended) ? ended : error;
}

/* An archive of the same name and size may be another one. */
static uint64_t sum_of_archive(uint64_t of, const struct stat *info)
{
    struct timespec written = info->st_mtim;
    of = crc64(of, (struct str){(const char *)&info->st_size, sizeof info->st_size});
    of = crc64(of, (struct str){(const char *)&written.tv_sec, sizeof written.tv_sec});
    return crc64(of, (struct str){(const char *)&written.tv_nsec, sizeof written.tv_nsec});
}

struct err transfer_import(struct transfer *t, const char *path, struct remote *target,
                           transfer_account *account, void *account_arg)
{
    struct importing m = {
        .t = t, .only_target = target, .account = account, .account_arg = account_arg};
    char state[PATH_BYTES];
    struct stat info = {.st_size = 0};
    bool pipe = strcmp(path, "-") == 0;
    int fd = pipe ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_cause(ERR_IO, errno);
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode))
        m.archive_bytes = (uint64_t)info.st_size;
    (void)snprintf(state, sizeof state, "%s.progress", path);
    resume_open(&m.resume, m.archive_bytes > 0 && !pipe ? state : NULL,
                sum_of_archive(t->of, &info));
    m.archive.tar.fd = fd;
    struct err error = import_archive(&m);
    resume_close(&m.resume, !err_is(error) && t->counts.crew.failed == 0);
    if (!pipe)
        (void)close(fd);
    return error;
}
