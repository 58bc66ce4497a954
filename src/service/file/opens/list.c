/* SPDX-License-Identifier: Apache-2.0 */
/* Listings of open handles, closing by others, and the checks of a rename. */
#include <assert.h>

#include "service/file/opens/internal.h"

static struct str path_of(const struct opens_file *f)
{
    return (struct str){f->path, f->path_n};
}

/* Paths are compared in folded form. Callers pass them folded or as stored, always the same way.
 * The root is the empty path. */
static bool below(struct str path, struct str top)
{
    if (top.n == 0)
        return path.n > 0;
    return path.n > top.n && str_starts(path, top) && path.p[top.n] == '/';
}

static bool selected(const struct opens_select *s, const struct opens_handle *h)
{
    const struct opens_file *f = h->file;
    if (f->key.share != s->share || h->id <= s->after)
        return false;
    if (s->all || f->key.node == s->node)
        return true;
    return s->recursive && below(path_of(f), s->path);
}

static struct opens_info info_of(const struct opens_handle *h)
{
    struct opens_info info = {
        .id = h->id,
        .key = h->file->key,
        .parent = h->file->parent,
        .path = path_of(h->file),
        .client = {h->client, h->client_n},
        .client_name = {h->client_name, h->client_name_n},
        .session = h->session,
        .opened_ticks = h->opened_ticks,
        .reconnected_ticks = h->reconnected_ticks,
        .access_mask = h->access_mask,
        .directory = h->directory,
        .access = h->access,
        .sharing = h->sharing,
        .cache = h->lease == NULL ? OPENS_CACHE_NONE : h->lease->state,
        .disconnected = h->disconnected,
        .delete_pending = h->file->delete_pending,
    };
    for (const struct opens_range *r = h->file->ranges; r != NULL; r = r->next) {
        if (r->handle != h)
            continue;
        if (info.lock_count < OPENS_INFO_LOCKS)
            info.locks[info.lock_count] = (struct opens_lock){r->offset, r->length, r->exclusive};
        info.lock_count++;
    }
    return info;
}

void opens_list(struct opens *t, const struct opens_select *select,
                bool (*visit)(void *arg, const struct opens_info *info), void *arg)
{
    assert(visit != NULL);
    struct opens_news news;
    bool more = true;
    opens_enter(t, &news);
    for (const struct opens_handle *h = t->first; h != NULL && more; h = h->all_next) {
        if (!selected(select, h))
            continue;
        struct opens_info info = info_of(h);
        more = visit(arg, &info);
    }
    opens_leave(t, &news);
}

struct opens_usage opens_usage(struct opens *t)
{
    struct opens_news news;
    opens_enter(t, &news);
    struct opens_usage usage = {.handles = t->handle_count, .files = t->file_count};
    for (const struct opens_handle *h = t->first; h != NULL; h = h->all_next) {
        usage.disconnected += h->disconnected ? 1 : 0;
        /* A file's locks are counted with its first handle. */
        usage.locks += h->previous == NULL ? h->file->range_count : 0;
    }
    opens_leave(t, &news);
    return usage;
}

size_t opens_force_close(struct opens *t, const struct opens_select *select, uint64_t id,
                         size_t max, uint64_t *next)
{
    struct opens_news news;
    size_t count = 0;
    uint64_t last = 0;
    *next = 0;
    opens_enter(t, &news);
    for (struct opens_handle *h = t->first; h != NULL && *next == 0; h = h->all_next) {
        if (!selected(select, h) || (id != 0 && h->id != id) || h->closing)
            continue;
        if (count == max) {
            *next = last;
            break;
        }
        opens_ask_close(h, &news);
        count++;
        last = h->id;
    }
    opens_leave(t, &news);
    return count;
}

void opens_force_close_all(struct opens *t)
{
    struct opens_news news;
    opens_enter(t, &news);
    for (struct opens_handle *h = t->first; h != NULL; h = h->all_next)
        if (!h->closing)
            opens_ask_close(h, &news);
    opens_leave(t, &news);
}

bool opens_any_below(struct opens *t, uint64_t share, struct str path)
{
    struct opens_news news;
    bool found = false;
    opens_enter(t, &news);
    for (const struct opens_handle *h = t->first; h != NULL && !found; h = h->all_next)
        found = h->file->key.share == share && below(path_of(h->file), path);
    opens_leave(t, &news);
    return found;
}

bool opens_any_in_share(struct opens *t, uint64_t share)
{
    struct opens_news news;
    bool found = false;
    opens_enter(t, &news);
    for (const struct opens_handle *h = t->first; h != NULL && !found; h = h->all_next)
        found = h->file->key.share == share;
    opens_leave(t, &news);
    return found;
}
