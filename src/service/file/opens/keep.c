/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/keep.h"

#include <assert.h>

#include "service/file/opens/internal.h"

/* A client compares the epochs of notifications with the one it knows. Breaks since the open was
 * last stored have advanced it, so the restored epoch is ahead of all of them. */
enum { EPOCH_AHEAD = 4096 };

/* ---- writing down ---- */

static void keep_locks(const struct opens_handle *h, struct arena *a, struct opens_kept *out)
{
    size_t count = 0;
    for (const struct opens_range *r = h->file->ranges; r != NULL; r = r->next)
        count += r->handle == h;
    out->locks = ARENA_ARRAY(a, struct opens_lock, count + 1);
    for (const struct opens_range *r = h->file->ranges; r != NULL; r = r->next)
        if (r->handle == h)
            out->locks[out->lock_count++] = (struct opens_lock){r->offset, r->length, r->exclusive};
}

void opens_keep(struct opens *t, struct opens_handle *h, struct arena *a, struct opens_kept *out)
{
    assert(out != NULL);
    struct opens_news news;
    opens_enter(t, &news);
    *out = (struct opens_kept){
        .key = h->file->key,
        .access = h->access,
        .sharing = h->sharing,
        .access_mask = h->access_mask,
        .delete_on_close = h->delete_on_close,
        .delete_pending = h->file->delete_pending,
        .session = h->session,
        .client = arena_copy(a, (struct str){h->client, h->client_n}),
        .client_name = arena_copy(a, (struct str){h->client_name, h->client_name_n}),
        .opened_ticks = h->opened_ticks,
    };
    if (h->lease != NULL) {
        out->cache = h->lease->state;
        out->lease = !h->lease->oplock;
        out->lease_epoch = h->lease->epoch;
        out->lease_counts = h->lease->counts;
        memcpy(out->lease_key, h->lease->key, sizeof out->lease_key);
    }
    keep_locks(h, a, out);
    opens_leave(t, &news);
}

/* ---- coming back ---- */

static struct opens_request request_of(const struct opens_kept *kept,
                                       const struct opens_reclaim_as *given)
{
    struct opens_request request = {
        .key = kept->key,
        .path = given->path,
        .parent = given->parent,
        .access = kept->access,
        .sharing = kept->sharing,
        .access_mask = kept->access_mask,
        .delete_on_close = kept->delete_on_close,
        .cache = kept->cache,
        .lease = kept->lease,
        .lease_epoch = (uint16_t)(kept->lease_epoch + EPOCH_AHEAD),
        .lease_counts = kept->lease_counts,
        .persistent = given->persistent,
        .calls = given->calls,
        .owner = given->owner,
        .tag = given->tag,
        .session = kept->session,
        .client = kept->client,
        .client_name = kept->client_name,
        .now_ticks = kept->opened_ticks,
    };
    memcpy(request.lease_key, kept->lease_key, sizeof request.lease_key);
    return request;
}

/* Several opens share a lease. The last one stored was the most recent, so the client may hold
 * the union. */
static struct opens_lease *restore_lease(struct opens *t, struct opens_file *f,
                                         const struct opens_request *request)
{
    if (!request->lease && request->cache == OPENS_CACHE_NONE)
        return NULL;
    struct opens_lease *l = request->lease ? opens_find_lease(t, request->lease_key) : NULL;
    if (l != NULL && l->file != f)
        return NULL;
    if (l == NULL)
        l = opens_new_lease(t, f, request);
    l->state |= request->cache;
    if ((int16_t)(request->lease_epoch - l->epoch) > 0)
        l->epoch = request->lease_epoch;
    l->holders++;
    return l;
}

struct opens_handle *opens_restore(struct opens *t, const struct opens_kept *kept,
                                   const struct opens_reclaim_as *given)
{
    struct opens_news news;
    struct opens_request request = request_of(kept, given);
    opens_enter(t, &news);
    struct opens_file *f = opens_file(t, kept->key);
    struct opens_lease *lease = restore_lease(t, f, &request);
    struct opens_handle *h = opens_add_handle(t, f, &request);
    h->lease = lease;
    h->disconnected = true;
    f->delete_pending = f->delete_pending || kept->delete_pending;
    for (size_t i = 0; i < kept->lock_count; i++)
        opens_add_range(f, h, &kept->locks[i]);
    opens_leave(t, &news);
    return h;
}

/* An open that was stored later made the others give up what conflicted with it: write caches,
 * and, if it writes itself, all read caches. */
static void settle_lease(const struct opens_file *f, struct opens_lease *lease)
{
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next) {
        if (h->lease == lease || opens_only_looks(h->access_mask, h->access))
            continue;
        lease->state &= ~(unsigned)OPENS_CACHE_W;
        if ((h->access & OPENS_WRITE) != 0)
            lease->state = OPENS_CACHE_NONE;
    }
    if (lease->oplock && (lease->state & OPENS_CACHE_W) == 0)
        lease->state &= OPENS_CACHE_R;
}

void opens_restored(struct opens *t)
{
    struct opens_news news;
    opens_enter(t, &news);
    for (const struct opens_handle *h = t->first; h != NULL; h = h->all_next)
        if (h->lease != NULL)
            settle_lease(h->file, h->lease);
    opens_leave(t, &news);
}

bool opens_is_doomed(struct opens *t, struct opens_key key)
{
    struct opens_news news;
    opens_enter(t, &news);
    const struct opens_file *f = opens_find(t, key);
    bool doomed = f != NULL && f->delete_pending;
    opens_leave(t, &news);
    return doomed;
}

bool opens_any_persistent(struct opens *t, struct opens_key key)
{
    struct opens_news news;
    bool found = false;
    opens_enter(t, &news);
    const struct opens_file *f = opens_find(t, key);
    for (const struct opens_handle *h = f == NULL ? NULL : f->handles; h != NULL; h = h->next)
        found = found || h->persistent;
    opens_leave(t, &news);
    return found;
}
