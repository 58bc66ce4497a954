/* SPDX-License-Identifier: Apache-2.0 */
#include "transfer/bookmark.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "core/clock.h"

void bookmark_open(struct bookmark *s, const char *path)
{
    *s = (struct bookmark){.n = 0};
    (void)snprintf(s->path, sizeof s->path, "%s", path == NULL ? "" : path);
}

size_t bookmark_read(const struct bookmark *s, char *out, size_t size)
{
    int fd = s->path[0] == '\0' ? -1 : open(s->path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, out, size);
    if (fd >= 0)
        (void)close(fd);
    return n > 0 ? (size_t)n : 0;
}

/* Replaces the old file atomically. Without the file a transfer starts again, so an error here is
 * ignored. */
static void write_now(struct bookmark *s)
{
    char fresh[sizeof s->path + 1];
    (void)snprintf(fresh, sizeof fresh, "%s~", s->path);
    int fd = s->path[0] == '\0' ? -1 : open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    bool written = write(fd, s->text, s->n) == (ssize_t)s->n;
    (void)close(fd);
    if (written)
        (void)rename(fresh, s->path);
    s->dirty = false;
    s->written_ms = clock_mono_ms();
}

void bookmark_set(struct bookmark *s, struct str text)
{
    if (text.n > sizeof s->text)
        return;
    memcpy(s->text, text.p, text.n);
    s->n = text.n;
    s->dirty = true;
    if (clock_mono_ms() - s->written_ms >= BOOKMARK_EVERY_MS)
        write_now(s);
}

void bookmark_close(struct bookmark *s)
{
    if (s->dirty)
        write_now(s);
}

void bookmark_remove(struct bookmark *s)
{
    s->dirty = false;
    if (s->path[0] != '\0')
        (void)unlink(s->path);
}
