/* SPDX-License-Identifier: Apache-2.0 */
#include "net/address_count.h"

#include <assert.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/hash/fnv.h"
#include "core/mem.h"

enum { BUCKETS = 1024 };

/* An address without its port. Only the first 64 bits of IPv6: a client with one address of a /64
 * has them all, and could otherwise open any number of connections. */
struct address {
    uint8_t bytes[16];
};

struct entry {
    struct entry *next;
    struct address address;
    unsigned count;
};

struct address_counts {
    pthread_mutex_t lock;
    struct entry *buckets[BUCKETS];
};

struct address_counts *address_counts_new(void)
{
    struct address_counts *a = MEM_NEW(struct address_counts);
    (void)pthread_mutex_init(&a->lock, NULL);
    return a;
}

void address_counts_free(struct address_counts *a)
{
    for (size_t i = 0; i < BUCKETS; i++)
        while (a->buckets[i] != NULL) {
            struct entry *entry = a->buckets[i];
            a->buckets[i] = entry->next;
            free(entry);
        }
    (void)pthread_mutex_destroy(&a->lock);
    free(a);
}

static struct address address_of(const struct sockaddr_storage *peer)
{
    struct address address = {0};
    if (peer->ss_family == AF_INET6)
        memcpy(address.bytes, &((const struct sockaddr_in6 *)peer)->sin6_addr, 8);
    else
        memcpy(address.bytes + 8, &((const struct sockaddr_in *)peer)->sin_addr, 4);
    return address;
}

static uint32_t hash_of(const struct address *address)
{
    return fnv_of((struct str){(const char *)address->bytes, sizeof address->bytes});
}

uint32_t address_hash(const struct sockaddr_storage *peer)
{
    struct address address = address_of(peer);
    return hash_of(&address);
}

/* Returns the link to the address's entry, or the link where it belongs. */
static struct entry **find(struct address_counts *a, const struct address *address)
{
    struct entry **link = &a->buckets[hash_of(address) % BUCKETS];
    while (*link != NULL && memcmp(&(*link)->address, address, sizeof *address) != 0)
        link = &(*link)->next;
    return link;
}

bool address_counts_add(struct address_counts *a, const struct sockaddr_storage *peer,
                        unsigned most)
{
    assert(peer != NULL);
    struct address address = address_of(peer);
    (void)pthread_mutex_lock(&a->lock);
    struct entry **link = find(a, &address);
    if (*link == NULL) {
        *link = MEM_NEW(struct entry);
        (*link)->address = address;
    }
    bool admitted = most == 0 || (*link)->count < most;
    if (admitted)
        (*link)->count++;
    (void)pthread_mutex_unlock(&a->lock);
    return admitted;
}

void address_counts_drop(struct address_counts *a, const struct sockaddr_storage *peer)
{
    struct address address = address_of(peer);
    (void)pthread_mutex_lock(&a->lock);
    struct entry **link = find(a, &address);
    assert(*link != NULL && (*link)->count > 0);
    struct entry *entry = *link;
    if (--entry->count == 0) {
        *link = entry->next;
        free(entry);
    }
    (void)pthread_mutex_unlock(&a->lock);
}
