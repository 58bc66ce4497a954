/* SPDX-License-Identifier: Apache-2.0 */
/* The table: files, handles, waits, and the callbacks after unlocking. */
#include "service/file/opens/internal.h"

#include <assert.h>
#include <stdlib.h>

#include "core/mem.h"
#include "service/file/opens/watch.h"

enum { BUCKETS_FIRST = 1024 };

struct opens *opens_new(void)
{
    struct opens *t = MEM_NEW(struct opens);
    (void)pthread_mutex_init(&t->lock, NULL);
    t->bucket_count = BUCKETS_FIRST;
    t->buckets = mem_calloc(t->bucket_count, sizeof *t->buckets);
    t->lease_bucket_count = BUCKETS_FIRST;
    t->lease_buckets = mem_calloc(t->lease_bucket_count, sizeof(struct opens_lease *));
    t->watches = watches_new();
    return t;
}

struct watches *opens_watches(const struct opens *t)
{
    return t->watches;
}

static void free_handle(struct opens_handle *h)
{
    free(h->client);
    free(h->client_name);
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
    free(t->lease_buckets);
    watches_free(t->watches);
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
            b.calls->force_close(b.owner, b.notice.tag);
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

void opens_ask_close(struct opens_handle *h, struct opens_news *news)
{
    if (h->closing)
        return;
    h->closing = true;
    struct opens_break b = {.calls = h->calls, .owner = h->owner, .close = true};
    b.notice.tag = h->tag;
    opens_add_break(news, &b);
}

void opens_queue_wait(struct opens_file *f, struct opens_wait *wait, bool for_claims)
{
    wait->key = f->key;
    wait->queued = true;
    wait->again = true;
    wait->for_claims = for_claims;
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

void opens_link_handle(struct opens_handle **list, struct opens_handle *h)
{
    assert(h != NULL);
    h->next = *list;
    if (*list != NULL)
        (*list)->previous = h;
    *list = h;
}

void opens_unlink_handle(struct opens_handle **list, struct opens_handle *h)
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

static char *copy_text(struct str text, size_t *n)
{
    char *copy = mem_alloc(text.n);
    if (text.n > 0)
        memcpy(copy, text.p, text.n);
    *n = text.n;
    return copy;
}

struct opens_handle *opens_add_handle(struct opens *t, struct opens_file *f,
                                      const struct opens_request *request)
{
    struct opens_handle *h = MEM_NEW(struct opens_handle);
    set_path(f, request->path);
    f->parent = request->parent;
    h->file = f;
    h->access = request->access;
    h->sharing = request->sharing;
    h->access_mask = request->access_mask;
    h->directory = request->directory;
    h->delete_on_close = request->delete_on_close;
    h->calls = request->calls;
    h->owner = request->owner;
    h->tag = request->tag;
    h->session = request->session;
    h->persistent = request->persistent;
    h->client = copy_text(request->client, &h->client_n);
    h->client_name = copy_text(request->client_name, &h->client_name_n);
    h->opened_ticks = request->now_ticks;
    opens_link_handle(&f->handles, h);
    f->handle_count++;
    link_all(t, h);
    return h;
}

/* Finds the lease that the request's handle joins; *elsewhere: its key belongs to another file. */
static struct opens_lease *own_lease(const struct opens *t, const struct opens_file *f,
                                     const struct opens_request *request, bool *elsewhere)
{
    struct opens_lease *own = request->lease ? opens_find_lease(t, request->lease_key) : NULL;
    *elsewhere = own != NULL && own->file != f;
    return own;
}

static struct err check_limits(const struct opens *t, const struct opens_file *f,
                               const struct opens_request *request)
{
    bool changes = (request->access & (OPENS_WRITE | OPENS_DELETE)) != 0;
    if (f->delete_pending || f->removing)
        return err_new(ERR_SMB_DELETE_PENDING);
    if (request->read_only && (request->access & OPENS_WRITE) != 0)
        return err_new(ERR_READ_ONLY_ATTRIBUTE);
    if (request->rest_leased && changes)
        return err_new(ERR_SHARING_VIOLATION);
    if (f->handle_count >= OPENS_PER_FILE_MAX || t->handle_count >= OPENS_MAX)
        return err_new(ERR_SERVER_BUSY);
    return OK;
}

static struct err try_open(const struct opens *t, struct opens_file *f,
                           const struct opens_request *request, struct opens_wait *wait,
                           struct opens_news *news)
{
    enum { READ_CONTROL = 0x20000 };
    bool elsewhere;
    bool for_claims = false;
    struct opens_wish wish = {
        .access = request->access | (request->overwrites ? OPENS_WRITE : 0U),
        .sharing = request->sharing,
        .own = own_lease(t, f, request, &elsewhere),
        .looks = !request->overwrites && opens_only_looks(request->access_mask, request->access),
        .looks_at_rights =
            !request->overwrites &&
            opens_only_looks(request->access_mask & ~(uint32_t)READ_CONTROL, request->access),
        .empties = request->overwrites,
        .again = wait->again,
        .cache = request->directory ? OPENS_CACHE_NONE : request->cache,
    };
    if (elsewhere)
        return err_new(ERR_INVALID_INPUT);
    /* A request that made a handle close waits for the file to disappear with it, if it will. */
    if (f->removing && wait->again) {
        opens_queue_wait(f, wait, false);
        return err_new(ERR_OTHERS_FIRST);
    }
    TRY(check_limits(t, f, request));
    struct err error = opens_conflict(f, &wish, news, &for_claims);
    if (error.code == ERR_OTHERS_FIRST)
        opens_queue_wait(f, wait, for_claims);
    return error;
}

struct err opens_open(struct opens *t, const struct opens_request *request, struct opens_wait *wait,
                      struct opens_handle **out, unsigned *granted)
{
    assert(request != NULL && out != NULL);
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_file(t, request->key);
    struct err error = try_open(t, f, request, wait, &news);
    if (!err_is(error)) {
        bool elsewhere;
        struct opens_lease *own = own_lease(t, f, request, &elsewhere);
        own = opens_take_lease(t, f, request, own);
        *out = opens_add_handle(t, f, request);
        (*out)->lease = own;
        *granted = own == NULL ? OPENS_CACHE_NONE : own->state;
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
    opens_unlink_handle(&f->handles, h);
    f->handle_count--;
    unlink_all(t, h);
    drop_ranges(f, h);
    opens_drop_lease(t, h->lease);
    *remove = f->delete_pending && f->handles == NULL && !f->removing;
    if (*remove)
        opens_count_busy(t, true);
    f->removing = f->removing || *remove;
    opens_wake_all(f, &news);
    bool doomed = f->delete_pending;
    struct opens_key key = f->key;
    opens_file_tidy(t, f);
    opens_leave(t, &news);
    if (doomed)
        watches_doom(t->watches, key);
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
    struct opens_key key = h->file->key;
    opens_leave(t, &news);
    if (pending)
        watches_doom(t->watches, key);
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

void opens_set_path(struct opens *t, struct opens_key key, uint64_t parent, struct str path)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_file *f = opens_find(t, key);
    if (f != NULL) {
        set_path(f, path);
        f->parent = parent;
    }
    opens_leave(t, &news);
}

/* ---- clients that are away ---- */

bool opens_disconnect(struct opens *t, struct opens_handle *h)
{
    struct opens_news news;
    opens_enter(t, &news);
    const struct opens_lease *lease = h->lease;
    bool caches = lease != NULL && (lease->state & OPENS_CACHE_H) != 0;
    bool breaking = lease != NULL && lease->breaking;
    h->disconnected = !h->closing && (h->persistent || (caches && !breaking));
    bool stays = h->disconnected;
    /* No connected client can answer: the client is informed about its remaining cache when it
     * reconnects. */
    if (stays && breaking && opens_lease_is_away(lease))
        opens_end_break(h->lease, &news);
    opens_leave(t, &news);
    return stays;
}

bool opens_reconnect(struct opens *t, struct opens_handle *h, const struct opens_return *back)
{
    struct opens_news news;
    opens_enter(t, &news);
    bool returns = h->disconnected && !h->closing;
    if (returns) {
        free(h->client);
        free(h->client_name);
        h->client = copy_text(back->client, &h->client_n);
        h->client_name = copy_text(back->client_name, &h->client_name_n);
        h->session = back->session;
        h->reconnected_ticks = back->now_ticks;
        h->disconnected = false;
    }
    opens_leave(t, &news);
    return returns;
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
