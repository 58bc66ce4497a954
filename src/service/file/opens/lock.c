/* SPDX-License-Identifier: Apache-2.0 */
/* Byte-range locks ([MS-FSA] 2.1.4.10): mandatory, per handle. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "service/file/opens/internal.h"

/* An empty range overlaps another only strictly inside it. */
static bool meets(const struct opens_range *r, uint64_t offset, uint64_t length)
{
    uint64_t end = offset + length; /* one past; 0 means 2^64 */
    uint64_t r_end = r->offset + r->length;
    if (length == 0 || r->length == 0) {
        uint64_t point = length == 0 ? offset : r->offset;
        uint64_t from = length == 0 ? r->offset : offset;
        uint64_t to = length == 0 ? r_end : end;
        return (length != 0 || r->length != 0) && point > from && (to == 0 || point < to);
    }
    return (end == 0 || r->offset < end) && (r_end == 0 || offset < r_end);
}

/* A shared lock may overlap the handle's own exclusive lock; any other overlap with an exclusive
 * lock conflicts. */
static bool lock_clashes(const struct opens_range *r, const struct opens_handle *h,
                         const struct opens_lock *lock)
{
    if (!meets(r, lock->offset, lock->length))
        return false;
    return lock->exclusive || (r->exclusive && r->handle != h);
}

/* A running REST operation has already checked the locks, so a new lock waits for its end: any
 * lock waits for operations that write, and an exclusive one also for those that read. */
static bool claimed_against(const struct opens_file *f, bool exclusive)
{
    for (const struct opens_handle *c = f->claims; c != NULL; c = c->next)
        if ((c->access & OPENS_WRITE) != 0 || (exclusive && (c->access & OPENS_READ) != 0))
            return true;
    return false;
}

void opens_add_range(struct opens_file *f, struct opens_handle *h, const struct opens_lock *lock)
{
    struct opens_range *r = MEM_NEW(struct opens_range);
    *r = (struct opens_range){f->ranges, h, lock->offset, lock->length, lock->exclusive};
    f->ranges = r;
    f->range_count++;
}

static void take_range(struct opens_file *f, struct opens_handle *h, const struct opens_lock *lock,
                       struct opens_news *news)
{
    opens_add_range(f, h, lock);
    /* From now on reads must observe the lock, so no other client may cache them. */
    for (struct opens_lease *l = f->leases; l != NULL; l = l->next)
        if (!opens_is_own_cache(l, h))
            opens_break_lease(f, l, OPENS_CACHE_NONE, news);
}

struct err opens_lock(struct opens *t, struct opens_handle *h, const struct opens_lock *lock,
                      bool patient, struct opens_wait *wait)
{
    assert(lock != NULL);
    struct opens_news news;
    struct err error = OK;
    opens_enter(t, &news);
    struct opens_file *f = h->file;
    bool for_claims = claimed_against(f, lock->exclusive);
    for (const struct opens_range *r = f->ranges; r != NULL && !err_is(error); r = r->next)
        if (lock_clashes(r, h, lock))
            error = err_new(patient ? ERR_OTHERS_FIRST : ERR_FILE_LOCK_CONFLICT);
    if (!err_is(error) && f->range_count >= OPENS_LOCKS_PER_FILE_MAX)
        error = err_new(ERR_SERVER_BUSY);
    if (!err_is(error) && for_claims)
        error = err_new(ERR_OTHERS_FIRST);
    if (error.code == ERR_OTHERS_FIRST)
        opens_queue_wait(f, wait, for_claims);
    if (!err_is(error))
        take_range(f, h, lock, &news);
    opens_leave(t, &news);
    return error;
}

/* Finds the range exactly as it was taken; if there are several, the exclusive one first. */
static struct opens_range **find_range(struct opens_file *f, const struct opens_handle *h,
                                       uint64_t offset, uint64_t length)
{
    struct opens_range **found = NULL;
    for (struct opens_range **link = &f->ranges; *link != NULL; link = &(*link)->next) {
        const struct opens_range *r = *link;
        if (r->handle != h || r->offset != offset || r->length != length)
            continue;
        if (found == NULL || (r->exclusive && !(*found)->exclusive))
            found = link;
    }
    return found;
}

struct err opens_unlock(struct opens *t, struct opens_handle *h, uint64_t offset, uint64_t length)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = h->file;
    struct opens_range **link = find_range(f, h, offset, length);
    if (link != NULL) {
        struct opens_range *r = *link;
        *link = r->next;
        f->range_count--;
        free(r);
        opens_wake_all(f, &news);
    }
    opens_leave(t, &news);
    return link == NULL ? err_new(ERR_RESOURCE_NOT_FOUND) : OK;
}

struct err opens_lock_check(struct opens *t, struct opens_handle *h, uint64_t offset,
                            uint64_t length, bool write)
{
    struct opens_news news;
    struct err error = OK;
    if (length == 0)
        return OK;
    opens_enter(t, &news);
    for (const struct opens_range *r = h->file->ranges; r != NULL && !err_is(error); r = r->next) {
        bool own_exclusive = r->exclusive && r->handle == h;
        /* Reads ignore shared locks; writes ignore only the handle's own exclusive lock. */
        if (meets(r, offset, length) && !own_exclusive && (write || r->exclusive))
            error = err_new(ERR_FILE_LOCK_CONFLICT);
    }
    opens_leave(t, &news);
    return error;
}
