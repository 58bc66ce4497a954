/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/cluster/hot.h"

#include <stddef.h>

#include "core/hash/fnv.h"

void hot_init(struct hot_rows *h)
{
    *h = (struct hot_rows){0};
    pthread_mutex_init(&h->lock, NULL);
}

void hot_release(struct hot_rows *h)
{
    for (size_t i = 0; i < HOT_SLOTS; i++)
        if (h->slots[i] != NULL)
            row_put(h->slots[i]);
    pthread_mutex_destroy(&h->lock);
}

static struct row **slot_of(struct hot_rows *h, struct str name)
{
    return &h->slots[fnv_of(name) % HOT_SLOTS];
}

struct row *hot_find(struct hot_rows *h, struct str name)
{
    pthread_mutex_lock(&h->lock);
    struct row *row = *slot_of(h, name);
    if (row != NULL)
        row = str_eq(row_key(row), name) ? row_get(row) : NULL;
    pthread_mutex_unlock(&h->lock);
    return row;
}

void hot_put(struct hot_rows *h, struct row *row)
{
    if (row->deleted || row->body_n > 0 || row->value_n > HOT_VALUE_MAX)
        return;
    row_get(row);
    pthread_mutex_lock(&h->lock);
    struct row **slot = slot_of(h, row_key(row));
    struct row *old = *slot;
    *slot = row;
    pthread_mutex_unlock(&h->lock);
    if (old != NULL)
        row_put(old);
}
