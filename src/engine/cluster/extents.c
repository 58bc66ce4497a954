/* SPDX-License-Identifier: Apache-2.0 */
/* The connection to RADOS, names of objects, and their removal. */
#include "engine/cluster/extents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/log.h"
#include "core/mem.h"

#define OPERATION_SECONDS "20" /* librados itself would wait for ever */

void extent_name(char name[EXTENT_NAME_BYTES], uint64_t segment, uint64_t offset)
{
    (void)snprintf(name, EXTENT_NAME_BYTES, "lz.%" PRIx64 ".%" PRIx64, segment, offset);
}

/* With the hint an OSD keeps a checksum of each chunk, which is read whole, not of each 4 KiB. */
int extents_write(const struct extents *x, const char *name, const char *bytes, uint32_t length,
                  rados_done done)
{
    const uint32_t flags =
        RADOS_SEQUENTIAL_WRITE | RADOS_SEQUENTIAL_READ | RADOS_APPEND_ONLY | RADOS_IMMUTABLE;
    rados_writing w = x->lib.writing_create();
    x->lib.writing_hint(w, length, EXTENT_CHUNK, flags);
    x->lib.writing_full(w, bytes, length);
    int result = x->lib.writing_start(w, x->io, done, name, NULL, 0);
    x->lib.writing_release(w);
    return result;
}

/* ---- removal ---- */

static void remove_called(rados_done done, void *arg)
{
    struct extents *x = arg;
    int result = x->lib.done_result(done);
    x->lib.done_release(done);
    if (result < 0 && result != -ENOENT)
        log_line(LOG_WARN, "extents: an object was not removed, error %d", -result);
    pthread_mutex_lock(&x->lock);
    x->removing--;
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
}

/* The lock is held. An object that is left behind is found by its intent row after the gateway has
 * ended. */
void extents_remove(struct extents *x, uint64_t segment, uint64_t offset)
{
    char name[EXTENT_NAME_BYTES];
    rados_done done;
    extent_name(name, segment, offset);
    if (x->lib.done_create(x, remove_called, &done) < 0)
        return;
    x->removing++;
    if (x->lib.remove(x->io, name, done) < 0) {
        x->removing--;
        x->lib.done_release(done);
    }
}

int extents_remove_all(struct extents *x, const uint64_t *segments, const uint64_t *offsets,
                       size_t count)
{
    int first = 0;
    rados_done *done = mem_calloc(count + 1, sizeof *done);
    for (size_t i = 0; i < count; i++) {
        char name[EXTENT_NAME_BYTES];
        extent_name(name, segments[i], offsets[i]);
        int result = x->lib.done_create(NULL, NULL, &done[i]);
        if (result >= 0 && (result = x->lib.remove(x->io, name, done[i])) < 0) {
            x->lib.done_release(done[i]);
            done[i] = NULL;
        }
        first = result < 0 && first == 0 ? result : first;
    }
    for (size_t i = 0; i < count; i++) {
        if (done[i] == NULL)
            continue;
        (void)x->lib.done_wait(done[i]);
        int result = x->lib.done_result(done[i]);
        if (result < 0 && result != -ENOENT && first == 0)
            first = result;
        x->lib.done_release(done[i]);
    }
    free(done);
    return first;
}

/* ---- opening ---- */

static char *copy_of(struct str s)
{
    char *copy = mem_alloc(s.n + 1);
    if (s.n > 0)
        memcpy(copy, s.p, s.n);
    copy[s.n] = '\0';
    return copy;
}

static bool parse_option(struct extents *x, struct str option)
{
    struct str value = option;
    struct str key = str_cut(&value, '=');
    char **to = str_eq(key, STR("conf"))        ? &x->conf
                : str_eq(key, STR("id"))        ? &x->id
                : str_eq(key, STR("namespace")) ? &x->space
                                                : NULL;
    if (to == NULL || value.n == 0)
        return false;
    free(*to);
    *to = copy_of(value);
    return true;
}

static bool parse_uri(struct extents *x, struct str uri)
{
    if (!str_starts(uri, STR("rados:")))
        return false;
    struct str rest = str_from(uri, 6);
    struct str pool = str_cut(&rest, ',');
    if (pool.n == 0)
        return false;
    x->pool = copy_of(pool);
    while (str_given(rest) && rest.n > 0)
        if (!parse_option(x, str_cut(&rest, ',')))
            return false;
    return true;
}

static const char *reason(int result)
{
    const char *text = strerrordesc_np(-result);
    return text != NULL ? text : "an error that has no name";
}

static int dial(struct extents *x, struct buf *text)
{
    static const char *const options[][2] = {
        {"rados_osd_op_timeout", OPERATION_SECONDS},
        {"rados_mon_op_timeout", OPERATION_SECONDS},
        {"client_mount_timeout", OPERATION_SECONDS},
        /* Above our own limits: a full throttle would block librados' callbacks, which start
         * operations too. */
        {"objecter_inflight_op_bytes", "1073741824"},
        {"objecter_inflight_ops", "65536"},
    };
    int result = x->lib.create(&x->cluster, x->id);
    if (result < 0) {
        buf_printf(text, "librados cannot be used: %s", reason(result));
        return result;
    }
    result = x->lib.conf_read_file(x->cluster, x->conf);
    if (result < 0) {
        buf_printf(text, "the Ceph configuration %s cannot be read: %s",
                   x->conf == NULL ? "(/etc/ceph/ceph.conf and the other usual places)" : x->conf,
                   reason(result));
        return result;
    }
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++)
        (void)x->lib.conf_set(x->cluster, options[i][0], options[i][1]);
    result = x->lib.connect(x->cluster);
    if (result < 0) {
        buf_printf(text, "the Ceph cluster cannot be reached: %s", reason(result));
        return result;
    }
    result = x->lib.io_create(x->cluster, x->pool, &x->io);
    if (result < 0)
        buf_printf(text, "the pool %s cannot be opened: %s", x->pool, reason(result));
    return result;
}

struct err rados_extents_open(struct extents *x, struct str uri, struct buf *text)
{
    pthread_mutex_init(&x->lock, NULL);
    pthread_cond_init(&x->changed, NULL);
    if (!parse_uri(x, uri)) {
        buf_put(text, STR("not of the form rados:POOL[,conf=FILE][,id=NAME][,namespace=NAME]"));
        return err_new(ERR_INVALID_INPUT);
    }
    struct err error = radoslib_load(&x->lib);
    if (err_is(error)) {
        buf_put(text, str_of(error.detail));
        return error;
    }
    if (dial(x, text) < 0)
        return err_new(ERR_IO);
    x->lib.set_full_try(x->io);
    if (x->space != NULL)
        x->lib.set_namespace(x->io, x->space);
    return OK;
}

static void wait_for_operations(struct extents *x)
{
    pthread_mutex_lock(&x->lock);
    while (x->removing > 0 || x->flying_bytes > 0)
        pthread_cond_wait(&x->changed, &x->lock);
    pthread_mutex_unlock(&x->lock);
}

static void free_lists(struct extents *x)
{
    for (size_t i = 0; i < sizeof x->flights / sizeof x->flights[0]; i++) {
        for (struct extent_flight *f = x->flights[i], *next; f != NULL; f = next) {
            next = f->next;
            free(f);
        }
    }
    for (struct extent_names *n = x->names, *next; n != NULL; n = next) {
        next = n->next;
        free(n);
    }
}

void rados_extents_close(struct extents *x)
{
    if (x->io != NULL) {
        wait_for_operations(x);
        extents_end_prefetches(x);
        x->lib.io_destroy(x->io);
    }
    if (x->cluster != NULL)
        x->lib.shutdown(x->cluster);
    extent_cache_release(x);
    free_lists(x);
    free(x->pool);
    free(x->conf);
    free(x->id);
    free(x->space);
    pthread_cond_destroy(&x->changed);
    pthread_mutex_destroy(&x->lock);
}
