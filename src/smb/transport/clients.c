/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/transport/clients.h"

#include <pthread.h>
#include <stdlib.h>

#include "core/mem.h"

enum { BUCKETS = 1024 };

struct smb_clients {
    pthread_mutex_t lock;
    struct smb_conn *buckets[BUCKETS]; /* the newest first */
};

struct smb_clients *smb_clients_new(void)
{
    struct smb_clients *all = MEM_NEW(struct smb_clients);
    (void)pthread_mutex_init(&all->lock, NULL);
    return all;
}

void smb_clients_free(struct smb_clients *all)
{
    (void)pthread_mutex_destroy(&all->lock);
    free(all);
}

static struct smb_conn **bucket_of(struct smb_clients *all, const struct smb_conn *c)
{
    uint32_t hash = 0;
    for (size_t i = 0; i < SMB_GUID_BYTES; i++)
        hash = hash * 31 + c->client_guid[i];
    return &all->buckets[hash % BUCKETS];
}

static bool has_name(const struct smb_conn *c)
{
    static const unsigned char none[SMB_GUID_BYTES] = {0};
    return memcmp(c->client_guid, none, SMB_GUID_BYTES) != 0;
}

static bool same_client(const struct smb_conn *a, const struct smb_conn *b)
{
    return memcmp(a->client_guid, b->client_guid, SMB_GUID_BYTES) == 0;
}

struct loop *smb_clients_loop(struct smb_clients *all, const struct smb_conn *c)
{
    struct loop *loop = NULL;
    if (!has_name(c))
        return NULL;
    (void)pthread_mutex_lock(&all->lock);
    for (struct smb_conn *one = *bucket_of(all, c); one != NULL; one = one->client_next)
        if (same_client(one, c))
            loop = one->loop;
    (void)pthread_mutex_unlock(&all->lock);
    return loop;
}

void smb_clients_join(struct smb_clients *all, struct smb_conn *c)
{
    if (c->joined || !has_name(c))
        return;
    c->joined = true;
    (void)pthread_mutex_lock(&all->lock);
    struct smb_conn **bucket = bucket_of(all, c);
    c->client_next = *bucket;
    *bucket = c;
    (void)pthread_mutex_unlock(&all->lock);
}

void smb_clients_leave(struct smb_clients *all, struct smb_conn *c)
{
    if (!c->joined)
        return;
    c->joined = false;
    (void)pthread_mutex_lock(&all->lock);
    struct smb_conn **link = bucket_of(all, c);
    while (*link != c)
        link = &(*link)->client_next;
    *link = c->client_next;
    (void)pthread_mutex_unlock(&all->lock);
}

struct smb_conn *smb_clients_oldest(struct smb_clients *all, struct smb_conn *c)
{
    struct smb_conn *oldest = c;
    if (!c->joined)
        return c;
    (void)pthread_mutex_lock(&all->lock);
    for (struct smb_conn *one = *bucket_of(all, c); one != NULL; one = one->client_next)
        if (same_client(one, c) && one->loop == c->loop)
            oldest = one;
    (void)pthread_mutex_unlock(&all->lock);
    return oldest;
}
