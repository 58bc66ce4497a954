/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/folder.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"
#include "core/str.h"
#include "engine/local/local.h"

#define MARKER      "LAZULI"
#define MARKER_NEW  "LAZULI.new"
#define MARKER_HEAD "lazuli store, format "

/* Format 2 added bodies of rows, 3 whole rows in the journal, 4 a new MANIFEST for each change.
 * Older data is read as it is. */
enum { FORMAT_OLDEST = 1, FORMAT_WHOLE_MANIFESTS = 4, FORMAT = 4, MARKER_BYTES_MAX = 64 };

unsigned engine_local_format(void)
{
    return FORMAT;
}

static struct err folder_error(const char *folder, const char *doing)
{
    int cause = errno;
    log_line(LOG_DEBUG, "%s: %s: %s", folder, doing, strerrorname_np(cause));
    return err_cause(cause == ENOSPC || cause == EDQUOT ? ERR_NO_SPACE : ERR_IO, cause);
}

/* The error carries the reason: the caller that opens the store prints it once. */
static struct err foreign(const char *why)
{
    return err_detail(ERR_FOREIGN_STORE, why);
}

char *folder_path(const char *folder, const char *name)
{
    size_t n = strlen(folder) + strlen(name) + 2;
    char *path = mem_alloc(n);
    (void)snprintf(path, n, "%s/%s", folder, name);
    return path;
}

struct err folder_sync(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return folder_error(folder, "open");
    struct err e = fsync(fd) == 0 ? OK : folder_error(folder, "flush");
    (void)close(fd);
    return e;
}

/* ---- the marker ---- */

static struct err write_marker(const char *folder, const char *path)
{
    char text[MARKER_BYTES_MAX];
    int n = snprintf(text, sizeof text, MARKER_HEAD "%d\n", FORMAT);
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return folder_error(folder, "make the marker");
    struct err e = OK;
    if (write(fd, text, (size_t)n) != n || fsync(fd) != 0)
        e = folder_error(folder, "write the marker");
    (void)close(fd);
    return e;
}

/* Written under a temporary name first: a marker is complete or absent. */
struct err folder_mark(const char *folder)
{
    char *fresh = folder_path(folder, MARKER_NEW);
    char *path = folder_path(folder, MARKER);
    struct err e = write_marker(folder, fresh);
    if (!err_is(e) && rename(fresh, path) != 0)
        e = folder_error(folder, "name the marker");
    if (!err_is(e))
        e = folder_sync(folder);
    free(path);
    free(fresh);
    return e;
}

static struct err check_marker(const char *folder, int fd, uint64_t *format)
{
    char text[MARKER_BYTES_MAX];
    ssize_t n = pread(fd, text, sizeof text, 0);
    if (n < 0)
        return folder_error(folder, "read the marker");
    struct str rest = {text, (size_t)n};
    if (!str_starts(rest, STR(MARKER_HEAD)) || rest.p[rest.n - 1] != '\n' ||
        !str_to_u64(str_from(str_head(rest, rest.n - 1), strlen(MARKER_HEAD)), format))
        return foreign("the marker is not one of this program's");
    if (*format < FORMAT_OLDEST || *format > FORMAT)
        return foreign("the store is of another format");
    return OK;
}

/* Overwritten in place, because the file carries the lock: one byte, which is written or not. */
struct err folder_raise_format(const char *folder, uint64_t format)
{
    if (format == FORMAT)
        return OK;
    char digit = '0' + FORMAT;
    static_assert(FORMAT < 10, "the number is one digit");
    char *path = folder_path(folder, MARKER);
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    free(path);
    if (fd < 0)
        return folder_error(folder, "open the marker");
    struct err e = OK;
    if (pwrite(fd, &digit, 1, (off_t)strlen(MARKER_HEAD)) != 1 || fsync(fd) != 0)
        e = folder_error(folder, "write the marker");
    (void)close(fd);
    return e;
}

/* ---- opening ---- */

/* A folder without a marker may become a store only if it is empty. */
static struct err check_empty(const char *folder)
{
    DIR *dir = opendir(folder);
    if (dir == NULL)
        return folder_error(folder, "open");
    static const char *const harmless[] = {".", "..", "lost+found", MARKER_NEW};
    bool empty = true;
    for (const struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        bool known = false;
        for (size_t i = 0; i < sizeof harmless / sizeof harmless[0]; i++)
            known = known || strcmp(entry->d_name, harmless[i]) == 0;
        empty = empty && known;
    }
    (void)closedir(dir);
    return empty ? OK : foreign("the folder holds something else");
}

static struct err make_folder(const char *folder)
{
    if (mkdir(folder, 0700) != 0 && errno != EEXIST)
        return folder_error(folder, "make");
    return OK;
}

static struct err make_subfolder(const char *folder, const char *name)
{
    char *path = folder_path(folder, name);
    struct err e = make_folder(path);
    free(path);
    return e;
}

static struct err lock_marker(const char *folder, int fd)
{
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return OK;
    if (errno != EWOULDBLOCK)
        return folder_error(folder, "lock");
    return err_new(ERR_STORE_IN_USE);
}

/* Opens the marker; creates it if the folder is new. */
static struct err open_marker(const char *folder, bool make, int *fd)
{
    char *path = folder_path(folder, MARKER);
    struct err e = OK;
    *fd = open(path, O_RDONLY | O_CLOEXEC);
    if (*fd < 0 && errno == ENOENT) {
        e = check_empty(folder);
        if (!err_is(e) && !make)
            e = foreign("there is no store");
        if (!err_is(e))
            e = folder_mark(folder);
        if (!err_is(e))
            *fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (!err_is(e) && *fd < 0)
        e = folder_error(folder, "open the marker");
    free(path);
    return e;
}

bool folder_grew_manifests(uint64_t format)
{
    return format < FORMAT_WHOLE_MANIFESTS;
}

struct err folder_open(const char *folder, enum folder_use use, int *lock_fd, uint64_t *format)
{
    bool read_only = use == FOLDER_READ;
    if (use == FOLDER_MAKE)
        TRY(make_folder(folder));
    TRY(open_marker(folder, use == FOLDER_MAKE, lock_fd));
    struct err e = check_marker(folder, *lock_fd, format);
    if (!err_is(e))
        e = lock_marker(folder, *lock_fd);
    if (!err_is(e) && !read_only)
        e = make_subfolder(folder, "rows");
    if (!err_is(e) && !read_only)
        e = make_subfolder(folder, "journal");
    if (!err_is(e) && !read_only)
        e = make_subfolder(folder, "segments");
    if (!err_is(e) && !read_only)
        e = folder_sync(folder);
    if (err_is(e)) {
        (void)close(*lock_fd);
        *lock_fd = -1;
    }
    return e;
}
