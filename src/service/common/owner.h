/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what rows belong to, in a user's terms. `lazuli check` finds unreadable rows and
 * damaged extents, and knows only keys. */
#ifndef SERVICE_COMMON_OWNER_H
#define SERVICE_COMMON_OWNER_H

#include "core/time.h"
#include "engine/engine.h"

/* The argument of a service's search, which runs as a view of the partition. It looks for many
 * keys at once, because a service may have to scan the whole partition. */
struct owner_search {
    struct str partition;
    const struct str *keys;
    size_t count;
    bool *told;               /* for each key: something was found */
    const struct str *unread; /* keys of rows that cannot be read, in order */
    size_t unread_count;
    void (*found)(void *sink, size_t key, struct str owner);
    void *sink;
};

static inline void owner_tell(const struct owner_search *s, size_t key, struct str owner)
{
    s->told[key] = true;
    s->found(s->sink, key, owner);
}

/* Visits all readable rows of the partition whose keys start with the prefix. */
typedef void owner_visit(void *arg, struct str key, struct str value);
struct err owner_each_row(struct txn *t, const struct owner_search *s, struct str prefix,
                          owner_visit *visit, void *arg);

/* The owner of a row of a map, by the ids in its key. */
struct owner_wanted {
    uint64_t incarnation;
    uint64_t id;
    char kind; /* the service's: which ids these are */
    size_t key;
};

/* Sorts by incarnation, kind and id, for owner_first. */
void owner_sort(struct owner_wanted *list, size_t count);
/* Returns the first entry with these ids, or `count`; equal ones follow it. */
size_t owner_first(const struct owner_wanted *list, size_t count, const struct owner_wanted *like);
bool owner_same(const struct owner_wanted *a, const struct owner_wanted *b);

/* "account/name" of a partition whose name begins with a letter and a slash. */
static inline struct str owner_container(struct str partition)
{
    return str_from(partition, 2);
}
/* "kind account/name": the whole partition, if nothing more exact is known. */
void owner_tell_container(const struct owner_search *s, size_t key, const char *kind);

#endif
