/* SPDX-License-Identifier: Apache-2.0 */
#include "core/line_log.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/log.h"
#include "core/mem.h"

enum { GATHERED_BYTES = 32 << 10 };

struct line_log {
    pthread_mutex_t lock;
    struct buf lines;
    int fd;
    atomic_bool muted;
};

struct line_log *line_log_new(int fd)
{
    struct line_log *log = MEM_NEW(struct line_log);
    (void)pthread_mutex_init(&log->lock, NULL);
    log->lines = buf_heap();
    log->fd = fd;
    return log;
}

void line_log_mute(struct line_log *log, bool muted)
{
    atomic_store(&log->muted, muted);
}

bool line_log_wants(const struct line_log *log)
{
    return log != NULL &&
           (!atomic_load_explicit(&log->muted, memory_order_relaxed) || log_file() >= 0);
}

static void write_to(int fd, struct str rest)
{
    while (rest.n > 0) {
        ssize_t n = write(fd, rest.p, rest.n);
        if (n <= 0)
            break; /* if the log cannot be written, there is no place to report it */
        rest = str_from(rest, (size_t)n);
    }
}

static void write_lines(struct line_log *log)
{
    if (!atomic_load(&log->muted))
        write_to(log->fd, buf_str(&log->lines));
    if (log_file() >= 0)
        write_to(log_file(), buf_str(&log->lines));
    buf_clear(&log->lines);
}

struct buf *line_log_begin(struct line_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    return &log->lines;
}

void line_log_end(struct line_log *log)
{
    if (log->lines.n > GATHERED_BYTES)
        write_lines(log);
    (void)pthread_mutex_unlock(&log->lock);
}

void line_log_flush(struct line_log *log)
{
    (void)pthread_mutex_lock(&log->lock);
    write_lines(log);
    (void)pthread_mutex_unlock(&log->lock);
}

void line_log_free(struct line_log *log)
{
    if (log == NULL)
        return;
    line_log_flush(log);
    buf_release(&log->lines);
    (void)pthread_mutex_destroy(&log->lock);
    free(log);
}

void line_log_put_visible(struct buf *out, struct str text)
{
    for (size_t i = 0; i < text.n; i++)
        buf_putc(out, text.p[i] > 0x20 && text.p[i] < 0x7F ? text.p[i] : '?');
}

void line_log_put_client(struct buf *out, const struct sockaddr_storage *peer)
{
    char text[INET6_ADDRSTRLEN] = "-";
    const void *address = NULL;
    if (peer != NULL && peer->ss_family == AF_INET)
        address = &((const struct sockaddr_in *)peer)->sin_addr;
    else if (peer != NULL && peer->ss_family == AF_INET6)
        address = &((const struct sockaddr_in6 *)peer)->sin6_addr;
    if (address != NULL)
        (void)inet_ntop(peer->ss_family, address, text, sizeof text);
    buf_put(out, STR(" client="));
    buf_put(out, str_of(text));
}
