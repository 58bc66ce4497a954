/* SPDX-License-Identifier: Apache-2.0 */
/* What rows belong to, in the words of those who put it there: for `lazuli check`, which finds rows
 * that cannot be read and extents that are damaged, and knows keys alone. */
#ifndef SERVICE_COMMON_OWNER_H
#define SERVICE_COMMON_OWNER_H

#include "core/time.h"
#include "engine/engine.h"

/* The argument of a service's search, which runs as a view of the partition. Many keys are looked
 * for at once: a service may have to go through all that is in the partition. */
struct owner_search {
    struct str partition;
    const struct str *keys;
    size_t count;
    bool *told;               /* for each key, whether anything was found */
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

/* All rows of the partition whose keys begin so, but for those that cannot be read. */
typedef void owner_visit(void *arg, struct str key, struct str value);
struct err owner_each_row(struct txn *t, const struct owner_search *s, struct str prefix,
                          owner_visit *visit, void *arg);

/* What a row of a map is part of, by the ids in its key. */
struct owner_wanted {
    uint64_t incarnation;
    uint64_t id;
    char kind; /* the service's: which ids these are */
    size_t key;
};

/* In the order of incarnation, kind and id, for owner_first. */
void owner_sort(struct owner_wanted *list, size_t count);
/* The first that is wanted of these ids, `count` when none is: the others follow it. */
size_t owner_first(const struct owner_wanted *list, size_t count, const struct owner_wanted *like);
bool owner_same(const struct owner_wanted *a, const struct owner_wanted *b);

/* "account/name" of a partition whose name begins with a letter and a slash. */
static inline struct str owner_place(struct str partition)
{
    return str_from(partition, 2);
}
/* "kind account/name": the whole partition, when it cannot be told more exactly. */
void owner_tell_place(const struct owner_search *s, size_t key, const char *kind);

#endif
