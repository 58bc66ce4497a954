/* SPDX-License-Identifier: Apache-2.0 */
/* The one place that decides whether an open or a REST operation may proceed beside the existing
 * handles, and which caches must be given up for it ([MS-FSA] 2.1.5.1.2, 2.1.4.12). */
#include "service/file/opens/internal.h"

bool opens_only_looks(uint32_t access_mask, unsigned access)
{
    enum { READ_ATTRIBUTES = 0x80, WRITE_ATTRIBUTES = 0x100, SYNCHRONIZE = 0x100000 };
    const uint32_t looks = READ_ATTRIBUTES | WRITE_ATTRIBUTES | SYNCHRONIZE;
    return access == 0 && (access_mask & ~looks) == 0;
}

static bool clashes(const struct opens_wish *wish, const struct opens_handle *h)
{
    if (wish->no_handles)
        return true;
    if (wish->access == 0 || h->access == 0)
        return false;
    return (wish->access & ~h->sharing) != 0 || (h->access & ~wish->sharing) != 0;
}

static bool violates(const struct opens_file *f, const struct opens_wish *wish)
{
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next)
        if (clashes(wish, h))
            return true;
    return false;
}

/* ---- caches ---- */

/* Returns what the lease may keep. A sharing violation may disappear when handles that are kept
 * open only for caching are closed; otherwise cached writes must be flushed. */
static unsigned may_keep(const struct opens_lease *lease, const struct opens_wish *wish,
                         unsigned needed)
{
    if (wish->looks || (wish->looks_at_rights && !lease->oplock))
        return lease->state;
    if (wish->empties && needed == OPENS_CACHE_W)
        return OPENS_CACHE_NONE;
    unsigned to = lease->state & ~needed;
    /* An oplock has neither RH nor W without R: it is broken to level II or to none. */
    return lease->oplock && to != lease->state ? to & OPENS_CACHE_R : to;
}

/* True if the answer must be awaited. */
static bool break_one(struct opens_file *f, struct opens_lease *lease,
                      const struct opens_wish *wish, unsigned needed, struct opens_news *news)
{
    unsigned to = may_keep(lease, wish, needed);
    bool was_breaking = lease->breaking;
    if (to == lease->state)
        return was_breaking && !wish->rest && !wish->looks && !wish->looks_at_rights;
    if (opens_lease_is_away(lease)) {
        opens_close_holders(lease, news);
        return true;
    }
    bool waits = (lease->state & needed) != 0 || (was_breaking && wish->again);
    opens_break_lease(f, lease, to, news);
    return waits;
}

static bool break_caches(struct opens_file *f, const struct opens_wish *wish, unsigned needed,
                         struct opens_news *news)
{
    bool waits = false;
    for (struct opens_lease *l = f->leases; l != NULL; l = l->next)
        if (l != wish->own)
            waits = break_one(f, l, wish, needed, news) || waits;
    return waits;
}

/* A persistent handle is kept for its client while the client is disconnected. */
static bool unavailable(const struct opens_file *f, const struct opens_wish *wish, unsigned needed)
{
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next) {
        if (!h->persistent || !h->disconnected)
            continue;
        if (clashes(wish, h))
            return true;
        if (h->lease != NULL && h->lease != wish->own &&
            may_keep(h->lease, wish, needed) != h->lease->state)
            return true;
    }
    return false;
}

/* ---- claims ---- */

/* Claims never make an open fail. It waits for claims that it does not share with, and for those
 * whose result a new cache would not see. */
static bool claims_in_the_way(const struct opens_file *f, const struct opens_wish *wish)
{
    const unsigned changes = OPENS_WRITE | OPENS_DELETE;
    if (wish->rest)
        return false;
    for (const struct opens_handle *c = f->claims; c != NULL; c = c->next) {
        if (wish->access != 0 &&
            ((c->access & ~wish->sharing) != 0 || (wish->access & ~c->sharing) != 0))
            return true;
        if (wish->cache != 0 && ((c->access & changes) != 0 || (wish->cache & OPENS_CACHE_W) != 0))
            return true;
    }
    return false;
}

struct err opens_conflict(struct opens_file *f, const struct opens_wish *wish,
                          struct opens_news *news, bool *for_claims)
{
    bool violated = violates(f, wish);
    unsigned needed = violated ? OPENS_CACHE_H : OPENS_CACHE_W;
    *for_claims = false;
    if (unavailable(f, wish, needed))
        return err_new(ERR_HANDLE_UNAVAILABLE);
    if (break_caches(f, wish, needed, news))
        return err_new(ERR_OTHERS_FIRST);
    if (violated)
        return err_new(ERR_SHARING_VIOLATION);
    *for_claims = claims_in_the_way(f, wish);
    return *for_claims ? err_new(ERR_OTHERS_FIRST) : OK;
}
