/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/tunnel.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/mem.h"

struct pair {
    uint64_t share;
    int64_t since;
    struct str short_path, long_path; /* in one allocation, which begins with short_path */
};

struct smb_tunnel {
    pthread_mutex_t lock;
    unsigned next;
    struct pair pairs[SMB_TUNNEL_ENTRIES];
};

struct smb_tunnel *smb_tunnel_new(void)
{
    struct smb_tunnel *t = MEM_NEW(struct smb_tunnel);
    (void)pthread_mutex_init(&t->lock, NULL);
    return t;
}

static void drop(struct pair *p)
{
    free((void *)(uintptr_t)p->short_path.p);
    *p = (struct pair){0};
}

void smb_tunnel_free(struct smb_tunnel *t)
{
    for (unsigned i = 0; i < SMB_TUNNEL_ENTRIES; i++)
        drop(&t->pairs[i]);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
}

static struct pair *find(struct smb_tunnel *t, uint64_t share, struct str short_path)
{
    for (unsigned i = 0; i < SMB_TUNNEL_ENTRIES; i++) {
        struct pair *p = &t->pairs[i];
        if (p->share == share && str_given(p->short_path) && str_ieq(p->short_path, short_path))
            return p;
    }
    return NULL;
}

void smb_tunnel_keep(struct smb_tunnel *t, uint64_t share, struct str short_path,
                     struct str long_path, int64_t now_ticks)
{
    char *bytes = mem_alloc(short_path.n + long_path.n + 1);
    memcpy(bytes, short_path.p, short_path.n);
    memcpy(bytes + short_path.n, long_path.p, long_path.n);
    (void)pthread_mutex_lock(&t->lock);
    struct pair *p = find(t, share, short_path);
    if (p == NULL)
        p = &t->pairs[t->next++ % SMB_TUNNEL_ENTRIES];
    drop(p);
    *p = (struct pair){.share = share,
                       .since = now_ticks,
                       .short_path = {bytes, short_path.n},
                       .long_path = {bytes + short_path.n, long_path.n}};
    (void)pthread_mutex_unlock(&t->lock);
}

struct str smb_tunnel_find(struct smb_tunnel *t, struct arena *a, uint64_t share,
                           struct str short_path, int64_t now_ticks)
{
    struct str found = STR_NONE;
    (void)pthread_mutex_lock(&t->lock);
    const struct pair *p = find(t, share, short_path);
    if (p != NULL && now_ticks - p->since <= SMB_TUNNEL_SECONDS * TICKS_PER_SECOND)
        found = arena_copy(a, p->long_path);
    (void)pthread_mutex_unlock(&t->lock);
    return found;
}
