/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/opens/watch.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/buf.h"
#include "core/mem.h"

enum { BUCKETS = 1024 };

struct watch {
    struct watch *next; /* of the bucket */
    struct watch_request request;
    struct buf kept; /* struct kept and the path, one after the other */
    size_t last;     /* where the last of them begins */
    bool overflowed;
    bool doomed;
};

struct kept {
    enum change_action action;
    size_t path_n;
};

struct watches {
    pthread_mutex_t lock;
    struct watch *buckets[BUCKETS];
    atomic_size_t count;
};

struct watches *watches_new(void)
{
    struct watches *all = MEM_NEW(struct watches);
    (void)pthread_mutex_init(&all->lock, NULL);
    return all;
}

static void release(struct watch *w)
{
    buf_release(&w->kept);
    free(w);
}

void watches_free(struct watches *all)
{
    for (size_t i = 0; i < BUCKETS; i++) {
        while (all->buckets[i] != NULL) {
            struct watch *next = all->buckets[i]->next;
            release(all->buckets[i]);
            all->buckets[i] = next;
        }
    }
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

static size_t bucket_of(struct opens_key key)
{
    uint64_t mixed = (key.node ^ key.share * 0x9E3779B97F4A7C15ULL) * 0xBF58476D1CE4E5B9ULL;
    return (size_t)(mixed >> 32) % BUCKETS;
}

struct watch *watch_new(struct watches *all, const struct watch_request *request)
{
    assert(request != NULL);
    struct watch *w = MEM_NEW(struct watch);
    w->request = *request;
    w->kept = buf_heap();
    (void)pthread_mutex_lock(&all->lock);
    bool room = atomic_load(&all->count) < WATCHES_MAX;
    if (room) {
        size_t b = bucket_of(request->directory);
        w->next = all->buckets[b];
        all->buckets[b] = w;
        atomic_fetch_add(&all->count, 1);
    }
    (void)pthread_mutex_unlock(&all->lock);
    if (room)
        return w;
    release(w);
    return NULL;
}

void watch_free(struct watches *all, struct watch *w)
{
    (void)pthread_mutex_lock(&all->lock);
    struct watch **link = &all->buckets[bucket_of(w->request.directory)];
    while (*link != w)
        link = &(*link)->next;
    *link = w->next;
    atomic_fetch_sub(&all->count, 1);
    (void)pthread_mutex_unlock(&all->lock);
    release(w);
}

bool watches_any(const struct watches *all)
{
    return atomic_load(&all->count) > 0;
}

/* ---- telling ---- */

/* The callbacks to make after unlocking: copies, because the watches may be gone by then. */
struct calls {
    struct buf list; /* of struct watch_request, on the heap */
};

static void enter(struct watches *all, struct calls *calls)
{
    calls->list = buf_heap();
    (void)pthread_mutex_lock(&all->lock);
}

static void leave(struct watches *all, struct calls *calls)
{
    (void)pthread_mutex_unlock(&all->lock);
    for (size_t at = 0; at < calls->list.n; at += sizeof(struct watch_request)) {
        struct watch_request r;
        memcpy(&r, calls->list.p + at, sizeof r);
        r.ready(r.owner, r.id);
    }
    buf_release(&calls->list);
}

static void call_later(struct calls *calls, const struct watch *w)
{
    buf_put(&calls->list, (struct str){(const char *)&w->request, sizeof w->request});
}

static void overflow(struct watch *w)
{
    w->overflowed = true;
    buf_clear(&w->kept);
}

/* The same change of the same entry twice in a row is one. */
static bool is_repeated(const struct watch *w, enum change_action action, struct str path)
{
    struct kept last;
    if (w->kept.n == 0 || action != CHANGE_MODIFIED)
        return false;
    memcpy(&last, w->kept.p + w->last, sizeof last);
    return last.action == action &&
           str_eq((struct str){w->kept.p + w->last + sizeof last, last.path_n}, path);
}

static void keep(struct watch *w, enum change_action action, struct str path)
{
    struct kept head = {action, path.n};
    if (w->overflowed || is_repeated(w, action, path))
        return;
    if (w->kept.n + sizeof head + path.n > WATCH_BYTES_MAX) {
        overflow(w);
        return;
    }
    w->last = w->kept.n;
    buf_put(&w->kept, (struct str){(const char *)&head, sizeof head});
    buf_put(&w->kept, path);
}

static void tell_directory(struct watches *all, uint64_t share, const struct file_change *change,
                           size_t level, struct calls *calls)
{
    struct opens_key key = {share, change->directories[level]};
    bool direct = level + 1 == change->depth;
    for (struct watch *w = all->buckets[bucket_of(key)]; w != NULL; w = w->next) {
        const struct watch_request *r = &w->request;
        if (r->directory.share != key.share || r->directory.node != key.node ||
            (!direct && !r->recursive) || (r->what & change->what) == 0)
            continue;
        keep(w, change->action, str_from(change->path, change->starts[level]));
        call_later(calls, w);
    }
}

void watches_tell(struct watches *all, uint64_t share, const struct file_change *first)
{
    struct calls calls;
    enter(all, &calls);
    for (const struct file_change *c = first; c != NULL; c = c->next)
        for (size_t level = 0; level < c->depth; level++)
            tell_directory(all, share, c, level, &calls);
    leave(all, &calls);
}

void watches_tell_unknown(struct watches *all, uint64_t share)
{
    struct calls calls;
    enter(all, &calls);
    for (size_t i = 0; i < BUCKETS; i++) {
        for (struct watch *w = all->buckets[i]; w != NULL; w = w->next) {
            if (w->request.directory.share != share)
                continue;
            overflow(w);
            call_later(&calls, w);
        }
    }
    leave(all, &calls);
}

void watches_doom(struct watches *all, struct opens_key key)
{
    struct calls calls;
    enter(all, &calls);
    for (struct watch *w = all->buckets[bucket_of(key)]; w != NULL; w = w->next) {
        if (w->request.directory.share != key.share || w->request.directory.node != key.node)
            continue;
        w->doomed = true;
        call_later(&calls, w);
    }
    leave(all, &calls);
}

/* ---- asking ---- */

enum watch_news watch_take(struct watches *all, struct watch *w,
                           void (*visit)(void *arg, enum change_action action, struct str path),
                           void *arg)
{
    struct buf kept;
    enum watch_news news = WATCH_NOTHING;
    (void)pthread_mutex_lock(&all->lock);
    if (w->overflowed)
        news = WATCH_LOOK_ANEW;
    else if (w->kept.n > 0)
        news = WATCH_CHANGES;
    else if (w->doomed)
        news = WATCH_DOOMED;
    kept = w->kept;
    w->kept = buf_heap();
    w->overflowed = false;
    (void)pthread_mutex_unlock(&all->lock);
    for (size_t at = 0; at < kept.n;) {
        struct kept head;
        memcpy(&head, kept.p + at, sizeof head);
        at += sizeof head;
        visit(arg, head.action, (struct str){kept.p + at, head.path_n});
        at += head.path_n;
    }
    buf_release(&kept);
    return news;
}
