/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/mem.h"
#include "transfer/archive.h"
#include "transfer/resume.h"
#include "transfer/transfer.h"

enum { EXPORT_TRIES_MAX = 4, PATH_BYTES = 4096 };

struct exporting {
    struct transfer *t;
    struct tar_writer tar;
    bool seekable;
    struct session session;
    char *piece;
    uint64_t total; /* entries there are; 0: not counted */
    /* Of an earlier run: */
    struct resume resume;
    struct arena kept;
    struct position after;
    struct str after_account;
    bool resuming;
};

/* ---- one item ---- */

/* Removes what was written of an item that could not be read to its end. */
static struct err cut(struct exporting *x, uint64_t offset)
{
    if (x->tar.offset == offset)
        return OK;
    if (!x->seekable)
        return err_detail(ERR_INVALID_INPUT,
                          "a blob or file changed while it was read, and what has gone into a pipe "
                          "cannot be taken back: export to a file");
    if (ftruncate(x->tar.fd, (off_t)offset) != 0 || lseek(x->tar.fd, (off_t)offset, SEEK_SET) < 0)
        return err_cause(ERR_IO, errno);
    x->tar.offset = offset;
    return OK;
}

static void tell(struct exporting *x, const struct entry *e, struct err error)
{
    char line[1024];
    int n = snprintf(line, sizeof line, "%s %.*s%s%.*s: %s", ITEM_KIND_NAMES[e->position.kind],
                     STR_ARG(e->position.container), e->position.name.n > 0 ? "/" : "",
                     STR_ARG(str_head(e->position.name, 300)),
                     error.detail != NULL ? error.detail : err_message(error.code));
    x->t->counts.crew.failed++;
    if (x->t->failed != NULL && n > 0)
        x->t->failed(x->t->arg,
                     (struct str){line, n < (int)sizeof line ? (size_t)n : sizeof line - 1});
}

static struct err put_once(struct exporting *x, const struct entry *entry)
{
    struct arena a;
    struct item item;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = source_describe(&x->session, &a, entry, &item);
    if (!err_is(error))
        error = archive_put_item(&x->tar, &a, &item, x->piece, &x->t->counts.crew.bytes);
    arena_release(&a);
    return error;
}

static struct err put_entry(void *arg, const struct entry *entry)
{
    struct exporting *x = arg;
    struct crew_counts *counts = &x->t->counts.crew;
    uint64_t offset = x->tar.offset;
    struct err error = OK;
    uint64_t sum = 0;
    for (unsigned tries = 0; tries < EXPORT_TRIES_MAX; tries++) {
        error = put_once(x, entry);
        if (!err_is(error))
            break;
        TRY(cut(x, offset));
        if (error.code != ERR_CONDITION_NOT_MET && error.code != ERR_MD5_MISMATCH)
            break;
    }
    if (error.code == ERR_IO)
        return error;
    if (error.code == ERR_BLOB_NOT_FOUND)
        counts->gone++;
    else if (err_is(error))
        tell(x, entry, error);
    else
        counts->done[entry->position.kind]++;
    for (unsigned i = 0; i < ITEM_KINDS; i++)
        sum += counts->done[i];
    if (x->t->progress != NULL)
        x->t->progress(x->t->arg, "export", sum, sum > x->total ? sum : x->total);
    return OK;
}

/* ---- going on ---- */

/* Finds the last complete item that an earlier run wrote. */
static struct err find_end(struct exporting *x, int fd)
{
    struct archive_reader r;
    struct arena a;
    bool found = true, whole;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = archive_open(&r, fd, &a);
    while (!err_is(error) && found) {
        struct item item;
        struct position position;
        struct str account;
        arena_reset(&a);
        error = archive_next(&r, &a, &item, &found, &whole);
        if (err_is(error) || !found)
            break;
        error = archive_place(&a, &item, &position, &account);
        arena_reset(&x->kept);
        x->after = (struct position){position.kind, arena_copy(&x->kept, position.container),
                                     arena_copy(&x->kept, position.name)};
        x->after_account = arena_copy(&x->kept, account);
        x->resuming = true;
        x->t->counts.resumed++;
    }
    /* Everything after the last complete item is overwritten. */
    uint64_t end = r.whole;
    archive_close(&r);
    arena_release(&a);
    x->tar.offset = end;
    return ftruncate(fd, (off_t)end) == 0 && lseek(fd, (off_t)end, SEEK_SET) >= 0
               ? OK
               : err_cause(ERR_IO, errno);
}

/* A file that another export has left under this name is not continued. */
static struct err go_on(struct exporting *x)
{
    bool same = resume_is_same(&x->resume);
    resume_reached(&x->resume, NULL, 0);
    if (!same && (ftruncate(x->tar.fd, 0) != 0 || lseek(x->tar.fd, 0, SEEK_SET) < 0))
        return err_cause(ERR_IO, errno);
    return same && lseek(x->tar.fd, 0, SEEK_END) > 0 ? find_end(x, x->tar.fd) : OK;
}

static struct err open_output(struct exporting *x, const char *part)
{
    struct arena a;
    bool pipe = strcmp(part, "-") == 0;
    x->tar.fd = pipe ? STDOUT_FILENO : open(part, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (x->tar.fd < 0)
        return err_cause(ERR_IO, errno);
    x->seekable = !pipe && lseek(x->tar.fd, 0, SEEK_END) >= 0;
    TRY(x->seekable ? go_on(x) : OK);
    if (x->tar.offset > 0)
        return OK;
    arena_init(&a, ITEM_ARENA_BYTES_MAX);
    struct err error = archive_put_header(&x->tar, &a);
    arena_release(&a);
    return error;
}

/* ---- the accounts ---- */

static struct err count_entry(void *arg, const struct entry *entry)
{
    uint64_t *total = arg;
    (void)entry;
    ++*total;
    return OK;
}

static struct err export_account(struct exporting *x, struct remote *remote,
                                 struct err (*visit)(void *, const struct entry *), void *arg)
{
    session_init(&x->session, remote);
    struct walk walk = {
        .session = &x->session, .selection = &x->t->selection, .visit = visit, .arg = arg};
    bool last = x->resuming && str_eq(x->after_account, remote->account);
    if (last)
        walk.after = &x->after;
    struct err error = source_walk(&walk);
    if (err_is(error) && error.detail != NULL) {
        (void)snprintf(x->t->counts.text, sizeof x->t->counts.text, "%s", error.detail);
        error.detail = x->t->counts.text;
    }
    session_end(&x->session);
    if (last && visit == put_entry)
        x->resuming = false;
    return error;
}

static struct err export_accounts(struct exporting *x, struct remote *const *accounts, size_t count)
{
    bool known = false;
    for (size_t i = 0; i < count; i++)
        known = known || str_eq(accounts[i]->account, x->after_account);
    x->resuming = x->resuming && known;
    for (size_t i = 0; i < count && x->t->progress != NULL; i++)
        TRY(export_account(x, accounts[i], count_entry, &x->total));
    for (size_t i = 0; i < count; i++)
        if (!x->resuming || str_eq(accounts[i]->account, x->after_account))
            TRY(export_account(x, accounts[i], put_entry, x));
    return tar_finish(&x->tar);
}

static struct err close_output(struct exporting *x, const char *part, const char *path)
{
    bool synced = !x->seekable || fsync(x->tar.fd) == 0;
    if (!synced)
        return err_cause(ERR_IO, errno);
    if (!x->seekable)
        return OK;
    return rename(part, path) == 0 ? OK : err_cause(ERR_IO, errno);
}

struct err transfer_export(struct transfer *t, struct remote *const *accounts, size_t count,
                           const char *path)
{
    struct exporting x = {.t = t, .tar = {.fd = -1}, .piece = mem_alloc(ITEM_PIECE_BYTES)};
    char part[PATH_BYTES], state[PATH_BYTES + 16];
    bool pipe = strcmp(path, "-") == 0;
    arena_init(&x.kept, ITEM_ARENA_BYTES_MAX);
    (void)snprintf(part, sizeof part, "%s%s", path, pipe ? "" : ".part");
    (void)snprintf(state, sizeof state, "%s.progress", part);
    resume_open(&x.resume, pipe ? NULL : state, t->of);
    struct err error = open_output(&x, part);
    if (!err_is(error))
        error = export_accounts(&x, accounts, count);
    if (!err_is(error))
        error = close_output(&x, part, path);
    resume_close(&x.resume, !err_is(error));
    if (x.tar.fd >= 0 && !pipe)
        (void)close(x.tar.fd);
    arena_release(&x.kept);
    free(x.piece);
    return error;
}
