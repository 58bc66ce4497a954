/* SPDX-License-Identifier: Apache-2.0 */
/* Claims of REST operations on a file while they run. */
#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "service/file/opens/internal.h"

static void fill_wish(enum opens_rest op, struct opens_wish *wish)
{
    static const unsigned access[] = {
        [OPENS_REST_LIST] = 0,
        [OPENS_REST_GET_PROPERTIES] = 0,
        [OPENS_REST_GET] = OPENS_READ,
        [OPENS_REST_WRITE] = OPENS_WRITE,
        [OPENS_REST_CREATE] = OPENS_WRITE | OPENS_DELETE,
        [OPENS_REST_DELETE] = OPENS_DELETE,
        [OPENS_REST_LEASE] = OPENS_ALL,
        [OPENS_REST_RENAME] = OPENS_DELETE,
    };
    *wish = (struct opens_wish){
        .access = access[op],
        /* A REST lease shares reading only; all other operations share everything. */
        .sharing = op == OPENS_REST_LEASE ? OPENS_READ : OPENS_ALL,
        .empties = op == OPENS_REST_WRITE || op == OPENS_REST_CREATE,
        .no_handles = op == OPENS_REST_DELETE || op == OPENS_REST_RENAME,
        .rest = true,
    };
}

static bool rest_pending(const struct opens_file *f)
{
    if (f->delete_pending || f->removing)
        return true;
    for (const struct opens_handle *h = f->handles; h != NULL; h = h->next)
        if (h->delete_on_close)
            return true;
    return false;
}

/* A write needs a file without locks, a read one without exclusive locks. */
static bool locked_against(const struct opens_file *f, enum opens_rest op)
{
    bool write = op == OPENS_REST_WRITE || op == OPENS_REST_CREATE;
    if (!write && op != OPENS_REST_GET)
        return false;
    for (const struct opens_range *r = f->ranges; r != NULL; r = r->next)
        if (write || r->exclusive)
            return true;
    return false;
}

/* An SMB open or lock that waits for claims goes first; otherwise it might wait for ever. */
static bool others_go_first(const struct opens_file *f)
{
    for (const struct opens_wait *w = f->waits; w != NULL; w = w->next)
        if (w->for_claims)
            return true;
    return false;
}

static struct err try_claim(struct opens_file *f, const struct opens_rest_request *request,
                            struct opens_news *news)
{
    struct opens_wish wish;
    bool for_claims;
    bool changes = request->op == OPENS_REST_WRITE || request->op == OPENS_REST_CREATE;
    fill_wish(request->op, &wish);
    if (request->op == OPENS_REST_LIST)
        return OK;
    if (rest_pending(f))
        return err_new(ERR_SMB_DELETE_PENDING);
    if (request->read_only && changes)
        return err_new(ERR_READ_ONLY_ATTRIBUTE);
    if (others_go_first(f))
        return err_new(ERR_OTHERS_FIRST);
    TRY(opens_conflict(f, &wish, news, &for_claims));
    return locked_against(f, request->op) ? err_new(ERR_FILE_LOCK_CONFLICT) : OK;
}

struct err opens_claim(struct opens *t, const struct opens_rest_request *request,
                       struct opens_wait *wait, struct opens_handle **out)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_file(t, request->key);
    struct err error = try_claim(f, request, &news);
    if (!err_is(error)) {
        struct opens_wish wish;
        fill_wish(request->op, &wish);
        struct opens_handle *h = MEM_NEW(struct opens_handle);
        h->file = f;
        h->claim = true;
        h->access = wish.access;
        h->sharing = wish.sharing;
        opens_link_handle(&f->claims, h);
        *out = h;
    } else if (error.code == ERR_OTHERS_FIRST) {
        opens_queue_wait(f, wait, false);
    }
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    return error;
}

void opens_unclaim(struct opens *t, struct opens_handle *claim)
{
    struct opens_news news;
    if (claim == NULL)
        return;
    assert(claim->claim);
    opens_enter(t, &news);
    struct opens_file *f = claim->file;
    opens_unlink_handle(&f->claims, claim);
    opens_wake_all(f, &news);
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    free(claim);
}
