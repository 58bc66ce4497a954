/* SPDX-License-Identifier: Apache-2.0 */
/* The table itself: files, handles, waits, and the telling after the lock is given up. */
#include "service/file/opens_internal.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"

enum { BUCKETS_FIRST = 1024 };

struct opens *opens_new(void)
{
    struct opens *t = MEM_NEW(struct opens);
    (void)pthread_mutex_init(&t->lock, NULL);
    t->bucket_count = BUCKETS_FIRST;
    t->buckets = mem_calloc(t->bucket_count, sizeof *t->buckets);
    return t;
}

static void free_handle(struct opens_handle *h)
{
    free(h->client);
    free(h);
}

static void free_list(struct opens_handle *h)
{
    while (h != NULL) {
        struct opens_handle *next = h->next;
        free_handle(h);
        h = next;
    }
}

static void free_file(struct opens_file *f)
{
    while (f->leases != NULL) {
        struct opens_lease *next = f->leases->next;
        free(f->leases);
        f->leases = next;
    }
    while (f->ranges != NULL) {
        struct opens_range *next = f->ranges->next;
        free(f->ranges);
        f->ranges = next;
    }
    free_list(f->handles);
    free_list(f->claims);
    free(f->path);
    free(f);
}

void opens_free(struct opens *t)
{
    for (size_t i = 0; i < t->bucket_count; i++) {
        while (t->buckets[i] != NULL) {
            struct opens_file *next = t->buckets[i]->chain;
            free_file(t->buckets[i]);
            t->buckets[i] = next;
        }
    }
    (void)pthread_mutex_destroy(&t->lock);
    free(t->buckets);
    free(t);
}

/* ---- the lock, and what is told behind it ---- */

void opens_enter(struct opens *t, struct opens_news *news)
{
    *news = (struct opens_news){.breaks = buf_heap()};
    (void)pthread_mutex_lock(&t->lock);
}

void opens_leave(struct opens *t, struct opens_news *news)
{
    (void)pthread_mutex_unlock(&t->lock);
    for (size_t at = 0; at < news->breaks.n; at += sizeof(struct opens_break)) {
        struct opens_break b;
        memcpy(&b, news->breaks.p + at, sizeof b);
        if (b.close)
            b.calls->force_close(b.owner, b.notice.id);
        else
            b.calls->break_cache(b.owner, &b.notice);
    }
    buf_release(&news->breaks);
    while (news->woken != NULL) {
        struct opens_wait *w = news->woken;
        news->woken = w->next;
        w->done(w);
    }
}

void opens_add_break(struct opens_news *news, const struct opens_break *b)
{
    buf_put(&news->breaks, (struct str){(const char *)b, sizeof *b});
}

void opens_queue_wait(struct opens_file *f, struct opens_wait *wait)
{
    wait->key = f->key;
    wait->queued = true;
    wait->next = f->waits;
    f->waits = wait;
}

void opens_wake_all(struct opens_file *f, struct opens_news *news)
{
    while (f->waits != NULL) {
        struct opens_wait *w = f->waits;
        f->waits = w->next;
        w->queued = false;
        w->next = news->woken;
        news->woken = w;
    }
}

/* ---- files ---- */

static size_t bucket_of(const struct opens *t, struct opens_key key)
{
    uint64_t mixed = (key.node ^ key.share * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
    return (size_t)(mixed >> 32) & (t->bucket_count - 1);
}

static bool same_key(struct opens_key a, struct opens_key b)
{
    return a.share == b.share && a.node == b.node;
}

struct opens_file *opens_find(struct opens *t, struct opens_key key)
{
    struct opens_file *f = t->buckets[bucket_of(t, key)];
    while (f != NULL && !same_key(f->key, key))
        f = f->chain;
    return f;
}

static void grow(struct opens *t)
{
    struct opens_file **old = t->buckets;
    size_t old_count = t->bucket_count;
    t->bucket_count *= 2;
    t->buckets = mem_calloc(t->bucket_count, sizeof *t->buckets);
    for (size_t i = 0; i < old_count; i++) {
        while (old[i] != NULL) {
            struct opens_file *f = old[i];
            old[i] = f->chain;
            size_t b = bucket_of(t, f->key);
            f->chain = t->buckets[b];
            t->buckets[b] = f;
        }
    }
    free(old);
}

struct opens_file *opens_file(struct opens *t, struct opens_key key)
{
    struct opens_file *f = opens_find(t, key);
    if (f != NULL)
        return f;
    if (t->file_count >= t->bucket_count)
        grow(t);
    f = MEM_NEW(struct opens_file);
    f->key = key;
    size_t b = bucket_of(t, key);
    f->chain = t->buckets[b];
    t->buckets[b] = f;
    t->file_count++;
    return f;
}

void opens_file_tidy(struct opens *t, struct opens_file *f)
{
    if (f->handles != NULL || f->claims != NULL || f->waits != NULL || f->removing)
        return;
    struct opens_file **link = &t->buckets[bucket_of(t, f->key)];
    while (*link != f)
        link = &(*link)->chain;
    *link = f->chain;
    t->file_count--;
    free_file(f);
}

static void set_path(struct opens_file *f, struct str path)
{
    f->path = mem_realloc(f->path, path.n);
    if (path.n > 0)
        memcpy(f->path, path.p, path.n);
    f->path_n = path.n;
}

/* ---- handles ---- */

static void link_handle(struct opens_handle **list, struct opens_handle *h)
{
    h->next = *list;
    if (*list != NULL)
        (*list)->previous = h;
    *list = h;
}

static void unlink_handle(struct opens_handle **list, struct opens_handle *h)
{
    if (h->previous != NULL)
        h->previous->next = h->next;
    else
        *list = h->next;
    if (h->next != NULL)
        h->next->previous = h->previous;
}

void opens_count_busy(struct opens *t, bool come)
{
    if (come)
        atomic_fetch_add(&t->busy, 1);
    else
        atomic_fetch_sub(&t->busy, 1);
    atomic_fetch_add(&t->epoch, 1);
}

uint64_t opens_epoch(struct opens *t)
{
    return atomic_load(&t->epoch);
}

bool opens_quiet_since(struct opens *t, uint64_t epoch)
{
    return atomic_load(&t->busy) == 0 && atomic_load(&t->epoch) == epoch;
}

static void link_all(struct opens *t, struct opens_handle *h)
{
    opens_count_busy(t, true);
    h->id = ++t->last_id;
    h->all_previous = t->last;
    if (t->last != NULL)
        t->last->all_next = h;
    else
        t->first = h;
    t->last = h;
    t->handle_count++;
}

static void unlink_all(struct opens *t, struct opens_handle *h)
{
    opens_count_busy(t, false);
    if (h->all_previous != NULL)
        h->all_previous->all_next = h->all_next;
    else
        t->first = h->all_next;
    if (h->all_next != NULL)
        h->all_next->all_previous = h->all_previous;
    else
        t->last = h->all_previous;
    t->handle_count--;
}

static struct opens_lease *find_lease(struct opens_file *f, const struct opens_request *request)
{
    struct opens_lease *l = request->lease ? f->leases : NULL;
    while (l != NULL && (l->oplock || memcmp(l->key, request->lease_key, sizeof l->key) != 0))
        l = l->next;
    return l;
}

/* A lease that exists may only grow: its other handles rely on what it has. */
static struct opens_lease *take_lease(struct opens_file *f, const struct opens_request *request,
                                      struct opens_lease *own)
{
    unsigned state = opens_grant(f, request, own);
    if (own == NULL && state == 0)
        return NULL;
    if (own == NULL) {
        own = MEM_NEW(struct opens_lease);
        own->oplock = !request->lease;
        memcpy(own->key, request->lease_key, sizeof own->key);
        own->next = f->leases;
        f->leases = own;
    }
    if (!own->breaking)
        own->state |= state;
    own->holders++;
    return own;
}

static void drop_lease(struct opens_file *f, struct opens_lease *lease)
{
    if (lease == NULL || --lease->holders > 0)
        return;
    struct opens_lease **link = &f->leases;
    while (*link != lease)
        link = &(*link)->next;
    *link = lease->next;
    free(lease);
}

static void drop_ranges(struct opens_file *f, const struct opens_handle *h)
{
    for (struct opens_range **link = &f->ranges; *link != NULL;) {
        struct opens_range *range = *link;
        if (range->handle != h) {
            link = &range->next;
            continue;
        }
        *link = range->next;
        f->range_count--;
        free(range);
    }
}

static struct opens_handle *new_handle(struct opens *t, struct opens_file *f,
                                       const struct opens_request *request)
{
    struct opens_handle *h = MEM_NEW(struct opens_handle);
    h->file = f;
    h->access = request->access;
    h->sharing = request->sharing;
    h->access_mask = request->access_mask;
    h->directory = request->directory;
    h->delete_on_close = request->delete_on_close;
    h->calls = request->calls;
    h->owner = request->owner;
    h->session = request->session;
    h->client = mem_alloc(request->client.n);
    if (request->client.n > 0)
        memcpy(h->client, request->client.p, request->client.n);
    h->client_n = request->client.n;
    h->opened_ticks = request->now_ticks;
    link_handle(&f->handles, h);
    f->handle_count++;
    link_all(t, h);
    return h;
}

static struct err try_open(struct opens *t, struct opens_file *f,
                           const struct opens_request *request, struct opens_news *news)
{
    struct opens_lease *own = find_lease(f, request);
    struct opens_wish wish = {
        .access = request->access,
        .sharing = request->sharing,
        .own = own,
        .keeps = request->overwrites ? OPENS_CACHE_NONE : OPENS_CACHE_R | OPENS_CACHE_H,
        .waits_for_write_cache = true,
    };
    bool changes = (request->access & (OPENS_WRITE | OPENS_DELETE)) != 0;
    if (f->delete_pending || f->removing)
        return err_new(ERR_SMB_DELETE_PENDING);
    if (request->read_only && (request->access & OPENS_WRITE) != 0)
        return err_new(ERR_READ_ONLY_ATTRIBUTE);
    if (request->rest_leased && changes)
        return err_new(ERR_SHARING_VIOLATION);
    if (f->handle_count >= OPENS_PER_FILE_MAX || t->handle_count >= OPENS_MAX)
        return err_new(ERR_SERVER_BUSY);
    return opens_conflict(f, &wish, news);
}

struct err opens_open(struct opens *t, const struct opens_request *request, struct opens_wait *wait,
                      struct opens_handle **out, unsigned *granted)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_file(t, request->key);
    struct err error = try_open(t, f, request, &news);
    if (!err_is(error)) {
        struct opens_lease *own = take_lease(f, request, find_lease(f, request));
        set_path(f, request->path);
        *out = new_handle(t, f, request);
        (*out)->lease = own;
        *granted = own == NULL ? OPENS_CACHE_NONE : own->state;
    } else if (error.code == ERR_WOULD_BLOCK) {
        opens_queue_wait(f, wait);
    }
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    return error;
}

void opens_close(struct opens *t, struct opens_handle *h, bool *remove)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = h->file;
    assert(!h->claim);
    f->delete_pending = f->delete_pending || h->delete_on_close;
    unlink_handle(&f->handles, h);
    f->handle_count--;
    unlink_all(t, h);
    drop_ranges(f, h);
    drop_lease(f, h->lease);
    *remove = f->delete_pending && f->handles == NULL && !f->removing;
    if (*remove)
        opens_count_busy(t, true);
    f->removing = f->removing || *remove;
    opens_wake_all(f, &news);
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    free_handle(h);
}

void opens_removed(struct opens *t, struct opens_key key)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_find(t, key);
    if (f != NULL) {
        if (f->removing)
            opens_count_busy(t, false);
        f->removing = false;
        f->delete_pending = false;
        opens_wake_all(f, &news);
        opens_file_tidy(t, f);
    }
    opens_leave(t, &news);
}

struct err opens_set_delete(struct opens *t, struct opens_handle *h, bool pending)
{
    struct opens_news news;
    if ((h->access & OPENS_DELETE) == 0)
        return err_new(ERR_AUTHORIZATION_FAILURE);
    opens_enter(t, &news);
    h->file->delete_pending = pending;
    if (!pending)
        h->delete_on_close = false;
    opens_wake_all(h->file, &news);
    opens_leave(t, &news);
    return OK;
}

bool opens_delete_pending(struct opens *t, struct opens_key key)
{
    struct opens_news news;
    opens_enter(t, &news);
    const struct opens_file *f = opens_find(t, key);
    bool pending = f != NULL && (f->delete_pending || f->removing);
    for (const struct opens_handle *h = f == NULL ? NULL : f->handles; h != NULL; h = h->next)
        pending = pending || h->delete_on_close;
    opens_leave(t, &news);
    return pending;
}

struct opens_key opens_key_of(const struct opens_handle *h)
{
    return h->file->key;
}

uint64_t opens_id_of(const struct opens_handle *h)
{
    return h->id;
}

unsigned opens_access_of(const struct opens_handle *h)
{
    return h->access;
}

void opens_set_path(struct opens *t, struct opens_key key, struct str path)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_find(t, key);
    if (f != NULL)
        set_path(f, path);
    opens_leave(t, &news);
}

size_t opens_count(struct opens *t, struct opens_key key)
{
    struct opens_news news;
    opens_enter(t, &news);
    const struct opens_file *f = opens_find(t, key);
    size_t count = f == NULL ? 0 : f->handle_count;
    opens_leave(t, &news);
    return count;
}

/* ---- REST ---- */

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
    static const unsigned keeps[] = {
        [OPENS_REST_LIST] = OPENS_CACHE_R | OPENS_CACHE_H | OPENS_CACHE_W,
        [OPENS_REST_GET_PROPERTIES] = OPENS_CACHE_R | OPENS_CACHE_H,
        [OPENS_REST_GET] = OPENS_CACHE_R | OPENS_CACHE_H,
        [OPENS_REST_WRITE] = OPENS_CACHE_NONE,
        [OPENS_REST_CREATE] = OPENS_CACHE_NONE,
        [OPENS_REST_DELETE] = OPENS_CACHE_R | OPENS_CACHE_W,
        [OPENS_REST_LEASE] = OPENS_CACHE_R | OPENS_CACHE_H,
        [OPENS_REST_RENAME] = OPENS_CACHE_R | OPENS_CACHE_W,
    };
    *wish = (struct opens_wish){
        .access = access[op],
        /* A REST lease shares reading only; all else lets others do as they like. */
        .sharing = op == OPENS_REST_LEASE ? OPENS_READ : OPENS_ALL,
        .keeps = keeps[op],
        .waits_for_write_cache = true,
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

/* A write wants the whole file free of locks, a read wants it free of exclusive ones. */
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

static struct err try_claim(struct opens_file *f, const struct opens_rest_request *request,
                            struct opens_news *news)
{
    struct opens_wish wish;
    bool changes = request->op == OPENS_REST_WRITE || request->op == OPENS_REST_CREATE;
    fill_wish(request->op, &wish);
    if (request->op == OPENS_REST_LIST)
        return OK;
    if (rest_pending(f))
        return err_new(ERR_SMB_DELETE_PENDING);
    if (request->read_only && changes)
        return err_new(ERR_READ_ONLY_ATTRIBUTE);
    TRY(opens_conflict(f, &wish, news));
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
        link_handle(&f->claims, h);
        *out = h;
    } else if (error.code == ERR_WOULD_BLOCK) {
        opens_queue_wait(f, wait);
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
    unlink_handle(&f->claims, claim);
    opens_wake_all(f, &news);
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    free_handle(claim);
}
