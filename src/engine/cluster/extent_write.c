/* SPDX-License-Identifier: Apache-2.0 */
/* Writing extents, and the list of extents that no row names yet. After a time-out of RADOS the
 * outcome of a write is unknown. That does no harm, because the retry writes the same bytes under
 * the same name. */
#include <errno.h>
#include <stdlib.h>

#include "core/crc/crc32c.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "engine/cluster/cluster_internal.h"

/* ---- names ---- */

/* The lock is held. NULL if all are used up. */
static struct extent_names *names_left(struct extents *x, uint32_t at_least)
{
    struct extent_names *n = x->names;
    while (n != NULL && (n->gateway != x->gateway || EXTENT_NAMES_EACH - n->given < at_least))
        n = n->next;
    return n;
}

void extents_rename(struct extents *x, uint64_t gateway)
{
    pthread_mutex_lock(&x->lock);
    x->gateway = gateway;
    pthread_mutex_unlock(&x->lock);
}

static struct err add_names(struct extents *x)
{
    struct extent_names *names = MEM_NEW(struct extent_names);
    struct err error = x->reserve(x->reserve_arg, &names->gateway, &names->first);
    if (err_is(error)) {
        free(names);
        return error;
    }
    pthread_mutex_lock(&x->lock);
    names->next = x->names;
    x->names = names;
    pthread_mutex_unlock(&x->lock);
    return OK;
}

void extents_stock(struct extents *x)
{
    pthread_mutex_lock(&x->lock);
    bool enough = names_left(x, EXTENT_NAMES_EACH / 2) != NULL;
    pthread_mutex_unlock(&x->lock);
    if (!enough)
        (void)add_names(x).code; /* the next heartbeat retries, or a writer that needs it */
}

static struct err take_name(struct extents *x, uint64_t *gateway, uint64_t *offset)
{
    struct extent_names *names;
    pthread_mutex_lock(&x->lock);
    while ((names = names_left(x, 1)) == NULL) {
        pthread_mutex_unlock(&x->lock);
        TRY(add_names(x));
        pthread_mutex_lock(&x->lock);
    }
    *gateway = names->gateway;
    *offset = names->first + names->given++;
    pthread_mutex_unlock(&x->lock);
    return OK;
}

/* The lock is held. The name is settled: a row has it, or it will never be used. */
static void settle_name(struct extents *x, const struct extent *extent, bool sure)
{
    for (struct extent_names *n = x->names; n != NULL; n = n->next) {
        if (n->gateway != extent->segment || extent->offset < n->first ||
            extent->offset >= n->first + EXTENT_NAMES_EACH)
            continue;
        n->settled++;
        n->unsure |= !sure;
        return;
    }
}

bool extents_retire(struct extents *x, bool closing, uint64_t *gateway, uint64_t *first)
{
    bool found = false;
    pthread_mutex_lock(&x->lock);
    for (struct extent_names **link = &x->names; *link != NULL && !found; link = &(*link)->next) {
        struct extent_names *n = *link;
        if (n->settled < (closing ? n->given : EXTENT_NAMES_EACH) || n->unsure)
            continue;
        found = true;
        *gateway = n->gateway;
        *first = n->first;
        *link = n->next;
        free(n);
        break;
    }
    pthread_mutex_unlock(&x->lock);
    return found;
}

/* ---- flights ---- */

static struct extent_flight **flight_link(struct extents *x, uint64_t segment, uint64_t offset)
{
    struct extent_flight **link =
        &x->flights[(segment * 31 + offset) % (sizeof x->flights / sizeof x->flights[0])];
    while (*link != NULL &&
           ((*link)->extent.segment != segment || (*link)->extent.offset != offset))
        link = &(*link)->next;
    return link;
}

/* The lock is held. */
static void flight_end(struct extents *x, struct extent_flight *f)
{
    *flight_link(x, f->extent.segment, f->extent.offset) = f->next;
    x->flight_count--;
    x->unnamed_bytes -= f->extent.length;
    settle_name(x, &f->extent, f->tries <= 1 && f->state == FLIGHT_DONE);
    free(f);
}

static void flight_start(struct extent_flight *f);

static void flight_landed(struct extents *x, struct extent_flight *f, int result)
{
    pthread_mutex_lock(&x->lock);
    x->flying_bytes -= f->extent.length;
    extent_bytes_put(f->held);
    f->held = NULL;
    f->result = result;
    f->state = result < 0 ? FLIGHT_FAILED : FLIGHT_DONE;
    if (result >= 0)
        x->written_ms = clock_mono_ms();
    if (f->discarded) {
        extents_remove(x, f->extent.segment, f->extent.offset);
        flight_end(x, f);
    }
    pthread_cond_broadcast(&x->changed);
    pthread_mutex_unlock(&x->lock);
    x->landed(x->landed_arg);
}

/* On a thread of librados, which may start the next operation but must not wait for one. */
static void write_called(rados_done done, void *arg)
{
    struct extent_flight *f = arg;
    struct extents *x = f->owner;
    int result = x->lib.done_result(done);
    x->lib.done_release(done);
    bool again = result == -ETIMEDOUT && f->tries < EXTENT_TRIES;
    if (result < 0)
        log_line(LOG_WARN, "extents: a write failed with error %d%s", -result,
                 again ? ", trying again" : "");
    if (again) {
        flight_start(f);
        return;
    }
    flight_landed(x, f, result);
}

static void flight_start(struct extent_flight *f)
{
    struct extents *x = f->owner;
    char name[EXTENT_NAME_BYTES];
    extent_name(name, f->extent.segment, f->extent.offset);
    f->tries++;
    rados_done done = NULL;
    int result = x->lib.done_create(f, write_called, &done);
    if (result >= 0)
        result = extents_write(x, name, f->held->bytes,
                               f->extent.length + extent_chunks(f->extent.length) * 4U, done);
    if (result >= 0)
        return;
    if (done != NULL)
        x->lib.done_release(done);
    flight_landed(x, f, result);
}

struct extent_bytes *extents_flying(struct extents *x, const struct extent *extent)
{
    pthread_mutex_lock(&x->lock);
    const struct extent_flight *f = *flight_link(x, extent->segment, extent->offset);
    struct extent_bytes *b = NULL;
    if (f != NULL && f->held != NULL && f->extent.length == extent->length &&
        f->extent.check == extent->check)
        b = extent_bytes_get(f->held);
    pthread_mutex_unlock(&x->lock);
    return b;
}

/* ---- the commit's side ---- */

enum flight_state extents_state(struct extents *x, struct str deltas, struct err *error)
{
    enum flight_state state = FLIGHT_DONE;
    pthread_mutex_lock(&x->lock);
    for (size_t at = 0; at < deltas.n && state != FLIGHT_FAILED;
         at += sizeof(struct extent_delta)) {
        struct extent_delta delta;
        memcpy(&delta, deltas.p + at, sizeof delta);
        if (delta.change != EXTENT_ADOPT)
            continue;
        const struct extent_flight *f = *flight_link(x, delta.extent.segment, delta.extent.offset);
        if (f == NULL || f->state == FLIGHT_DONE)
            continue;
        state = f->state;
        if (state == FLIGHT_FAILED)
            *error = err_of_rados(f->result);
    }
    pthread_mutex_unlock(&x->lock);
    return state;
}

void extents_adopted(struct extents *x, const struct extent *extent)
{
    pthread_mutex_lock(&x->lock);
    struct extent_flight *f = *flight_link(x, extent->segment, extent->offset);
    if (f != NULL)
        flight_end(x, f);
    pthread_mutex_unlock(&x->lock);
}

void cluster_extent_discard(struct engine *e, const struct extent *extent)
{
    struct extents *x = &cluster_of(e)->extents;
    pthread_mutex_lock(&x->lock);
    struct extent_flight *f = *flight_link(x, extent->segment, extent->offset);
    if (f != NULL && f->state == FLIGHT_UNDER_WAY) {
        f->discarded = true;
    } else if (f != NULL) {
        extents_remove(x, extent->segment, extent->offset);
        flight_end(x, f);
    }
    pthread_mutex_unlock(&x->lock);
}

/* ---- writers ---- */

struct cluster_writer {
    struct extent_writer base;
    struct extents *extents;
    char *bytes;
};

static struct cluster_writer *writer_of(struct extent_writer *w)
{
    return (struct cluster_writer *)(void *)w;
}

static struct err writer_append(struct extent_writer *w, struct str bytes)
{
    memcpy(writer_of(w)->bytes + w->length, bytes.p, bytes.n);
    w->length += (uint32_t)bytes.n;
    return OK;
}

static void writer_abandon(struct extent_writer *w)
{
    free(writer_of(w)->bytes);
    free(w);
}

/* Appends the checksums to the bytes; returns the checksum of the checksums. */
static uint32_t put_sums(char *bytes, uint32_t length)
{
    char *sums = bytes + length;
    for (uint32_t i = 0; i < extent_chunks(length); i++) {
        uint32_t at = i * EXTENT_CHUNK;
        uint32_t n = length - at < EXTENT_CHUNK ? length - at : EXTENT_CHUNK;
        uint32_t sum = crc32c(0, (struct str){bytes + at, n});
        for (unsigned k = 0; k < 4; k++)
            sums[i * 4 + k] = (char)(sum >> (8 * k));
    }
    return crc32c(0, (struct str){sums, extent_chunks(length) * 4U});
}

/* Back-pressure: writers that are faster than RADOS wait here, but not while it hangs. Small
 * extents never wait, because event loops write them. The lock is held. */
static bool wait_for_room(struct extents *x, uint32_t length)
{
    if (x->flying_bytes == 0)
        x->written_ms = clock_mono_ms();
    while (length > EXTENT_CHUNK && x->flying_bytes > EXTENT_FLYING_BYTES) {
        int64_t until = x->written_ms + EXTENT_STALLED_MS;
        if (clock_mono_ms() >= until)
            return false;
        (void)thread_wait_until(&x->changed, &x->lock, until);
    }
    return true;
}

/* NULL: RADOS hangs. */
static struct extent_flight *flight_new(struct extents *x, struct extent_bytes *held)
{
    struct extent_flight *f = MEM_NEW(struct extent_flight);
    *f = (struct extent_flight){.owner = x, .extent = held->extent, .held = held};
    pthread_mutex_lock(&x->lock);
    if (!wait_for_room(x, f->extent.length)) {
        settle_name(x, &f->extent, true);
        pthread_mutex_unlock(&x->lock);
        free(f);
        return NULL;
    }
    x->flying_bytes += f->extent.length;
    x->unnamed_bytes += f->extent.length;
    x->flight_count++;
    *flight_link(x, f->extent.segment, f->extent.offset) = f;
    pthread_mutex_unlock(&x->lock);
    return f;
}

static struct err writer_finish(struct extent_writer *base, struct extent *out)
{
    struct cluster_writer *w = writer_of(base);
    struct extents *x = w->extents;
    struct extent extent = {.length = base->length};
    struct err error = take_name(x, &extent.segment, &extent.offset);
    if (err_is(error)) {
        writer_abandon(base);
        return error;
    }
    extent.check = put_sums(w->bytes, base->length);
    struct extent_bytes *held = MEM_NEW(struct extent_bytes);
    *held = (struct extent_bytes){
        .refs = 1, .extent = extent, .length = extent.length, .bytes = w->bytes};
    free(w);
    struct extent_flight *flight = flight_new(x, held);
    if (flight == NULL) {
        extent_bytes_put(held);
        return err_new(ERR_SERVER_BUSY);
    }
    extent_cache_add(x, held);
    flight_start(flight);
    *out = extent;
    return OK;
}

static const struct extent_writer_ops WRITER_OPS = {
    .append = writer_append,
    .finish = writer_finish,
    .abandon = writer_abandon,
};

struct err cluster_extent_begin(struct engine *e, uint32_t size_max, unsigned hints,
                                struct extent_writer **out)
{
    (void)hints;
    struct cluster_writer *w = MEM_NEW(struct cluster_writer);
    w->base.ops = &WRITER_OPS;
    w->base.size_max = size_max;
    w->extents = &cluster_of(e)->extents;
    w->bytes = mem_alloc(size_max + extent_chunks(size_max) * 4U);
    *out = &w->base;
    return OK;
}
