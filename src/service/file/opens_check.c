/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that says whether an open or a REST operation may go on beside the handles there
 * are, and which caches have to be given up for it. */
#include "service/file/opens_internal.h"

/* An open for attributes alone takes no part in sharing and breaks nothing. */
bool opens_is_stat(const struct opens_handle *h)
{
    return h->access == 0;
}

/* One notice for a lease, to whichever of its handles comes first. */
static void tell_break(const struct opens_file *f, const struct opens_lease *lease, unsigned to,
                       bool ack_needed, struct opens_news *news)
{
    const struct opens_handle *h = f->handles;
    while (h != NULL && h->lease != lease)
        h = h->next;
    if (h == NULL)
        return;
    struct opens_break b = {.calls = h->calls, .owner = h->owner};
    b.notice = (struct opens_notice){.id = h->id,
                                     .from = lease->state,
                                     .to = to,
                                     .ack_needed = ack_needed,
                                     .lease = !lease->oplock};
    memcpy(b.notice.lease_key, lease->key, sizeof lease->key);
    opens_add_break(news, &b);
}

bool opens_break_lease(struct opens_file *f, struct opens_lease *lease, unsigned keeps,
                       struct opens_news *news)
{
    unsigned to = lease->state & keeps;
    /* An oplock knows no RH and no W without R: it goes to level II, or to nothing. */
    if (lease->oplock && to != lease->state)
        to &= OPENS_CACHE_R;
    if (to == lease->state)
        return false;
    bool waits = (lease->state & (OPENS_CACHE_W | OPENS_CACHE_H)) != 0;
    if (lease->breaking) {
        /* Asked already; a further demand is told when the first is answered. */
        return waits;
    }
    tell_break(f, lease, to, waits, news);
    if (waits) {
        lease->breaking = true;
        lease->break_to = to;
    } else {
        lease->state = to;
    }
    return waits;
}

static bool clash(const struct opens_wish *wish, const struct opens_handle *h)
{
    if (wish->access == 0 || opens_is_stat(h))
        return wish->no_handles;
    return wish->no_handles || (wish->access & ~h->sharing) != 0 ||
           (h->access & ~wish->sharing) != 0;
}

/* A clash with a handle that is kept open for caching alone may go away: its client is asked. */
static struct err clash_or_wait(struct opens_file *f, struct opens_handle *h,
                                struct opens_news *news)
{
    struct opens_lease *lease = h->lease;
    if (lease != NULL && (lease->state & OPENS_CACHE_H) != 0) {
        (void)opens_break_lease(f, lease, OPENS_CACHE_R | OPENS_CACHE_W, news);
        return err_new(ERR_WOULD_BLOCK);
    }
    return err_new(ERR_SHARING_VIOLATION);
}

static struct err check_sharing(struct opens_file *f, const struct opens_wish *wish,
                                struct opens_news *news)
{
    struct err first = OK;
    for (struct opens_handle *h = f->handles; h != NULL; h = h->next) {
        if (!clash(wish, h))
            continue;
        struct err error = clash_or_wait(f, h, news);
        if (error.code == ERR_SHARING_VIOLATION)
            return error;
        first = error;
    }
    return first;
}

/* Claims never refuse an open; it waits for those that it does not share with. */
static bool claims_in_the_way(const struct opens_file *f, const struct opens_wish *wish)
{
    if (wish->rest || wish->access == 0)
        return false;
    for (const struct opens_handle *c = f->claims; c != NULL; c = c->next)
        if ((c->access & ~wish->sharing) != 0 || (wish->access & ~c->sharing) != 0)
            return true;
    return false;
}

static bool break_caches(struct opens_file *f, const struct opens_wish *wish,
                         struct opens_news *news)
{
    bool waits = false;
    for (struct opens_lease *l = f->leases; l != NULL; l = l->next) {
        if (l == wish->own)
            continue;
        bool had_write = (l->state & OPENS_CACHE_W) != 0;
        bool had_handle = (l->state & OPENS_CACHE_H) != 0;
        bool asked = opens_break_lease(f, l, wish->keeps, news);
        /* What was written and not sent has to come first. A handle cache is waited for where
         * handles are in the way (delete), not where reads merely go stale (write): smb.md. */
        waits = waits || (asked && (had_write || (had_handle && wish->no_handles)));
        waits = waits || (asked && !wish->rest && had_handle && wish->keeps == OPENS_CACHE_NONE);
    }
    return waits;
}

struct err opens_conflict(struct opens_file *f, const struct opens_wish *wish,
                          struct opens_news *news)
{
    struct err error = check_sharing(f, wish, news);
    if (error.code == ERR_SHARING_VIOLATION)
        return error;
    /* Looking at attributes flushes nothing over SMB; over REST it does, since the size may be in
     * a client's cache alone. */
    bool looks_only = wish->access == 0 && !wish->rest;
    if (!looks_only && break_caches(f, wish, news))
        error = err_new(ERR_WOULD_BLOCK);
    if (claims_in_the_way(f, wish))
        error = err_new(ERR_WOULD_BLOCK);
    return error;
}

/* ---- granting ---- */

static bool others_open(const struct opens_file *f, const struct opens_lease *own)
{
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next)
        if (!opens_is_stat(h) && (own == NULL || h->lease != own))
            return true;
    return false;
}

static bool others_have(const struct opens_file *f, const struct opens_lease *own, unsigned what)
{
    for (const struct opens_lease *l = f->leases; l != NULL; l = l->next)
        if (l != own && (l->state & what) != 0)
            return true;
    return false;
}

unsigned opens_grant(const struct opens_file *f, const struct opens_request *request,
                     const struct opens_lease *own)
{
    unsigned wished = request->cache;
    /* Only R, RH, RW and RWH exist; a wish without R is no wish. */
    if ((wished & OPENS_CACHE_R) == 0 || request->access == 0)
        return OPENS_CACHE_NONE;
    if (f->ranges != NULL)
        return OPENS_CACHE_NONE; /* reads must meet the locks, so nobody caches them */
    if (others_open(f, own)) {
        wished &= ~(unsigned)OPENS_CACHE_W;
        if (!request->lease)
            wished = others_have(f, own, OPENS_CACHE_H) ? OPENS_CACHE_NONE : OPENS_CACHE_R;
    }
    return wished;
}

/* ---- answers to breaks ---- */

struct err opens_cache_ack(struct opens *t, struct opens_handle *h, unsigned keeps)
{
    struct opens_news news;
    struct err error = OK;
    opens_enter(t, &news);
    struct opens_lease *lease = h->lease;
    if (lease == NULL || !lease->breaking)
        error = err_new(ERR_INVALID_INPUT);
    else if ((keeps & ~lease->break_to) != 0)
        error = err_new(ERR_RESOURCE_TYPE_MISMATCH); /* keeps more than it was left */
    if (!err_is(error)) {
        lease->state = keeps;
        lease->breaking = false;
        opens_wake_all(h->file, &news);
    }
    opens_leave(t, &news);
    return error;
}

unsigned opens_cache_of(struct opens *t, struct opens_handle *h)
{
    struct opens_news news;
    opens_enter(t, &news);
    unsigned state = h->lease == NULL ? OPENS_CACHE_NONE : h->lease->state;
    opens_leave(t, &news);
    return state;
}

void opens_io(struct opens *t, struct opens_handle *h, bool write)
{
    struct opens_news news;
    opens_enter(t, &news);
    unsigned keeps = write ? OPENS_CACHE_NONE : OPENS_CACHE_R | OPENS_CACHE_H;
    for (struct opens_lease *l = h->file->leases; l != NULL; l = l->next)
        if (l != h->lease)
            (void)opens_break_lease(h->file, l, keeps, &news);
    opens_leave(t, &news);
}

void opens_wait_over(struct opens *t, struct opens_wait *wait)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = wait->queued ? opens_find(t, wait->key) : NULL;
    if (f != NULL) {
        for (struct opens_lease *l = f->leases; l != NULL; l = l->next) {
            if (l->breaking)
                l->state = l->break_to;
            l->breaking = false;
        }
        opens_wake_all(f, &news);
        opens_file_tidy(t, f);
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
