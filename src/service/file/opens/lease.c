/* SPDX-License-Identifier: Apache-2.0 */
/* Client caches: granting, breaking, and the clients' answers ([MS-SMB2] 3.3.4.6, 3.3.4.7,
 * 3.3.5.9.8, 3.3.5.22; [MS-FSA] 2.1.5.18). */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "service/file/opens/internal.h"

/* ---- by key ---- */

static size_t bucket_of(const struct opens *t, const unsigned char *key)
{
    uint64_t hash = 0xCBF29CE484222325ULL;
    for (size_t i = 0; i < OPENS_LEASE_KEY_BYTES; i++)
        hash = (hash ^ key[i]) * 0x100000001B3ULL;
    return (size_t)(hash ^ hash >> 32) & (t->lease_bucket_count - 1);
}

struct opens_lease *opens_find_lease(const struct opens *t, const unsigned char *key)
{
    struct opens_lease *l = t->lease_buckets[bucket_of(t, key)];
    while (l != NULL && memcmp(l->key, key, sizeof l->key) != 0)
        l = l->chain;
    return l;
}

static void put_in_bucket(struct opens *t, struct opens_lease *l)
{
    size_t b = bucket_of(t, l->key);
    l->chain = t->lease_buckets[b];
    t->lease_buckets[b] = l;
}

static void grow(struct opens *t)
{
    struct opens_lease **old = t->lease_buckets;
    size_t old_count = t->lease_bucket_count;
    t->lease_bucket_count *= 2;
    t->lease_buckets = mem_calloc(t->lease_bucket_count, sizeof(struct opens_lease *));
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct opens_lease *l = old[i];
            old[i] = l->chain;
            put_in_bucket(t, l);
        }
    }
    free(old);
}

struct opens_lease *opens_new_lease(struct opens *t, struct opens_file *f,
                                    const struct opens_request *request)
{
    struct opens_lease *l = MEM_NEW(struct opens_lease);
    l->oplock = !request->lease;
    l->file = f;
    l->epoch = request->lease_epoch;
    l->counts = request->lease_counts;
    l->next = f->leases;
    f->leases = l;
    if (l->oplock)
        return l;
    memcpy(l->key, request->lease_key, sizeof l->key);
    if (t->lease_count >= t->lease_bucket_count)
        grow(t);
    put_in_bucket(t, l);
    t->lease_count++;
    return l;
}

void opens_drop_lease(struct opens *t, struct opens_lease *lease)
{
    assert(lease == NULL || lease->holders > 0);
    if (lease == NULL || --lease->holders > 0)
        return;
    struct opens_lease **link = &lease->file->leases;
    while (*link != lease)
        link = &(*link)->next;
    *link = lease->next;
    if (!lease->oplock) {
        link = &t->lease_buckets[bucket_of(t, lease->key)];
        while (*link != lease)
            link = &(*link)->chain;
        *link = lease->chain;
        t->lease_count--;
    }
    free(lease);
}

/* ---- granting ---- */

/* Returns the caching states of the other handles. */
struct company {
    bool others;  /* a handle that reads or writes, or has a lease, even a broken one */
    bool oplocks; /* an oplock */
    bool handles; /* a cache of handles */
    bool writes;  /* a cache of writes */
};

static struct company company_of(const struct opens_file *f, const struct opens_lease *own)
{
    struct company c = {0};
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next) {
        const struct opens_lease *l = h->lease;
        if (l != NULL && l == own)
            continue;
        bool leased = l != NULL && (!l->oplock || l->state != 0);
        c.others = c.others || leased || !opens_only_looks(h->access_mask, h->access);
        c.oplocks = c.oplocks || (l != NULL && l->oplock && l->state != 0);
        c.handles = c.handles || (l != NULL && (l->state & OPENS_CACHE_H) != 0);
        c.writes = c.writes || (l != NULL && (l->state & OPENS_CACHE_W) != 0);
    }
    return c;
}

static unsigned grantable(const struct opens_file *f, const struct opens_request *request,
                          const struct opens_lease *own)
{
    struct company c = company_of(f, own);
    unsigned wished = request->cache;
    /* Only R, RH, RW and RWH exist; a request without R gets nothing. Reads must observe locks, so
     * no client may cache a file with locks. */
    if ((wished & OPENS_CACHE_R) == 0 || request->directory || f->ranges != NULL)
        return OPENS_CACHE_NONE;
    if (c.others)
        wished &= ~(unsigned)OPENS_CACHE_W;
    if (request->lease)
        return c.oplocks ? wished & ~(unsigned)OPENS_CACHE_H : wished;
    if (c.handles || c.writes)
        return OPENS_CACHE_NONE;
    /* There is no oplock of RH. */
    return (wished & OPENS_CACHE_W) != 0 ? wished : wished & OPENS_CACHE_R;
}

static bool survives(const struct opens_lease *lease)
{
    for (const struct opens_handle *h = lease->file->handles; h != NULL; h = h->next)
        if (h->lease == lease && h->persistent)
            return true;
    return false;
}

/* An existing lease can only grow, and only to exactly what was requested: its other handles
 * rely on what it has. A lease that survives a restart grows only with a handle that also
 * survives and is stored; otherwise the client would get back less than it has. */
static void upgrade(struct opens_lease *own, const struct opens_request *request, unsigned granted)
{
    bool larger = (own->state & ~request->cache) == 0 && granted != own->state;
    if (own->breaking || !larger || granted != request->cache ||
        (!request->persistent && survives(own)))
        return;
    own->state = granted;
    own->epoch++;
}

struct opens_lease *opens_take_lease(struct opens *t, struct opens_file *f,
                                     const struct opens_request *request, struct opens_lease *own)
{
    unsigned granted = grantable(f, request, own);
    if (request->directory || (own == NULL && granted == 0 && !request->lease))
        return NULL;
    if (own == NULL) {
        own = opens_new_lease(t, f, request);
        own->state = granted;
        own->epoch++;
    } else {
        upgrade(own, request, granted);
    }
    own->holders++;
    return own;
}

/* ---- asking for it back ---- */

bool opens_lease_is_away(const struct opens_lease *lease)
{
    for (const struct opens_handle *h = lease->file->handles; h != NULL; h = h->next)
        if (h->lease == lease && !h->disconnected)
            return false;
    return true;
}

void opens_close_holders(const struct opens_lease *lease, struct opens_news *news)
{
    for (struct opens_handle *h = lease->file->handles; h != NULL; h = h->next)
        if (h->lease == lease)
            opens_ask_close(h, news);
}

/* Sends one notification per lease, to the oldest of its handles whose client is connected: a
 * client expects it on the connection that first took the lease. */
static void tell_break(const struct opens_file *f, const struct opens_lease *lease, unsigned to,
                       bool ack_needed, struct opens_news *news)
{
    const struct opens_handle *h = NULL;
    for (const struct opens_handle *one = f->handles; one != NULL; one = one->next)
        if (one->lease == lease && !one->disconnected)
            h = one; /* new ones are added in front */
    if (h == NULL)
        return;
    struct opens_break b = {.calls = h->calls, .owner = h->owner};
    b.notice = (struct opens_notice){.tag = h->tag,
                                     .from = lease->state,
                                     .to = to,
                                     .ack_needed = ack_needed,
                                     .epoch = lease->epoch,
                                     .lease = !lease->oplock};
    memcpy(b.notice.lease_key, lease->key, sizeof lease->key);
    opens_add_break(news, &b);
}

static bool needs_answer(unsigned state)
{
    return (state & (OPENS_CACHE_W | OPENS_CACHE_H)) != 0;
}

void opens_break_lease(struct opens_file *f, struct opens_lease *lease, unsigned to,
                       struct opens_news *news)
{
    to &= lease->state;
    if (lease->breaking) {
        /* Already requested; a further request follows the answer to the first. */
        lease->wanted &= to;
        return;
    }
    if (to == lease->state)
        return;
    lease->epoch++;
    tell_break(f, lease, to, needs_answer(lease->state), news);
    /* A disconnected client is informed when it reconnects, and cannot answer before. */
    if (needs_answer(lease->state) && !opens_lease_is_away(lease)) {
        lease->breaking = true;
        lease->break_to = to;
        lease->wanted = to;
    } else {
        lease->state = to;
    }
}

void opens_end_break(struct opens_lease *lease, struct opens_news *news)
{
    lease->state &= lease->break_to & lease->wanted;
    lease->breaking = false;
    opens_wake_all(lease->file, news);
}

/* ---- answers ---- */

/* The client has reduced its cache as requested, and more is needed: clients are reduced step by
 * step and keep their reads to the last. */
static void break_further(struct opens_file *f, struct opens_lease *lease, struct opens_news *news)
{
    bool answer = needs_answer(lease->state);
    unsigned to = lease->wanted | (answer ? lease->state & OPENS_CACHE_R : 0);
    tell_break(f, lease, to, answer, news);
    lease->break_to = to;
    if (!answer) {
        lease->state = to;
        lease->breaking = false;
    }
}

static struct err take_answer(struct opens_lease *lease, unsigned keeps, struct opens_news *news)
{
    if (lease == NULL || !lease->breaking)
        return err_new(ERR_INVALID_INPUT);
    if ((keeps & ~lease->break_to) != 0)
        return err_new(ERR_RESOURCE_TYPE_MISMATCH);
    lease->state = keeps;
    if ((keeps & ~lease->wanted) != 0)
        break_further(lease->file, lease, news);
    else
        lease->breaking = false;
    opens_wake_all(lease->file, news);
    return OK;
}

struct err opens_cache_ack(struct opens *t, struct opens_handle *h, unsigned keeps)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct err error = take_answer(h->lease, keeps, &news);
    opens_leave(t, &news);
    return error;
}

struct err opens_lease_ack(struct opens *t, const unsigned char key[OPENS_LEASE_KEY_BYTES],
                           unsigned keeps)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_lease *lease = opens_find_lease(t, key);
    struct err error =
        lease == NULL ? err_new(ERR_RESOURCE_NOT_FOUND) : take_answer(lease, keeps, &news);
    opens_leave(t, &news);
    return error;
}

struct opens_cache_info opens_cache_info(struct opens *t, struct opens_handle *h)
{
    struct opens_news news;
    struct opens_cache_info info = {0};
    opens_enter(t, &news);
    if (h->lease != NULL)
        info = (struct opens_cache_info){h->lease->state, h->lease->breaking, h->lease->counts,
                                         h->lease->epoch};
    opens_leave(t, &news);
    return info;
}

unsigned opens_cache_of(struct opens *t, struct opens_handle *h)
{
    return opens_cache_info(t, h).state;
}

/* ---- I/O and the end of patience ---- */

/* A level II oplock has no key that would identify its own handle's writes. */
bool opens_is_own_cache(const struct opens_lease *lease, const struct opens_handle *h)
{
    return lease == h->lease && (!lease->oplock || (lease->state & OPENS_CACHE_W) != 0);
}

void opens_io(struct opens *t, struct opens_handle *h, bool write)
{
    struct opens_news news;
    opens_enter(t, &news);
    for (struct opens_lease *l = h->file->leases; l != NULL; l = l->next) {
        unsigned keeps = write ? OPENS_CACHE_NONE : OPENS_CACHE_R | OPENS_CACHE_H;
        bool own = opens_is_own_cache(l, h) || (l == h->lease && !write);
        if (!own && (l->state & ~keeps) != 0)
            opens_break_lease(h->file, l, keeps, &news);
    }
    opens_leave(t, &news);
}

struct err opens_break_handles(struct opens *t, struct opens_handle *h, struct opens_wait *wait)
{
    struct opens_news news;
    bool waits = false;
    opens_enter(t, &news);
    for (struct opens_lease *l = h->file->leases; l != NULL; l = l->next) {
        if (l == h->lease || (l->state & OPENS_CACHE_H) == 0)
            continue;
        waits = true;
        if (opens_lease_is_away(l))
            opens_close_holders(l, &news);
        else
            opens_break_lease(h->file, l, l->oplock ? OPENS_CACHE_R : ~(unsigned)OPENS_CACHE_H,
                              &news);
    }
    if (waits)
        opens_queue_wait(h->file, wait, false);
    opens_leave(t, &news);
    return waits ? err_new(ERR_OTHERS_FIRST) : OK;
}

void opens_wait_over(struct opens *t, struct opens_wait *wait)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = wait->queued ? opens_find(t, wait->key) : NULL;
    if (f != NULL) {
        for (struct opens_lease *l = f->leases; l != NULL; l = l->next) {
            /* A client that does not answer loses the rest as well ([MS-SMB2] 3.3.6.5). */
            if (l->breaking)
                l->state = OPENS_CACHE_NONE;
            l->breaking = false;
        }
        opens_wake_all(f, &news);
        opens_file_tidy(t, f);
    }
    opens_leave(t, &news);
}

void opens_break_over(struct opens *t, struct opens_handle *h, uint16_t epoch)
{
    struct opens_news news;
    struct opens_lease *l = h->lease;
    opens_enter(t, &news);
    if (l != NULL && l->breaking && l->epoch == epoch) {
        l->state = OPENS_CACHE_NONE;
        l->breaking = false;
        opens_wake_all(l->file, &news);
    }
    opens_leave(t, &news);
}

bool opens_wait_cancel(struct opens *t, struct opens_wait *wait)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = wait->queued ? opens_find(t, wait->key) : NULL;
    bool found = f != NULL;
    if (found) {
        struct opens_wait **link = &f->waits;
        while (*link != wait)
            link = &(*link)->next;
        *link = wait->next;
        wait->queued = false;
        opens_file_tidy(t, f);
    }
    opens_leave(t, &news);
    return found;
}
