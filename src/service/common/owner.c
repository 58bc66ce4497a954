/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/owner.h"

#include <stdlib.h>

static int order(const void *a, const void *b)
{
    const struct owner_wanted *x = a;
    const struct owner_wanted *y = b;
    if (x->incarnation != y->incarnation)
        return x->incarnation < y->incarnation ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id ? 1 : 0;
}

void owner_sort(struct owner_wanted *list, size_t count)
{
    if (count > 0)
        qsort(list, count, sizeof *list, order);
}

size_t owner_first(const struct owner_wanted *list, size_t count, const struct owner_wanted *like)
{
    size_t low = 0;
    size_t high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (order(&list[middle], like) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && owner_same(&list[low], like) ? low : count;
}

bool owner_same(const struct owner_wanted *a, const struct owner_wanted *b)
{
    return order(a, b) == 0;
}

void owner_tell_place(const struct owner_search *s, size_t key, const char *kind)
{
    struct buf b = buf_heap();
    buf_printf(&b, "%s %.*s", kind, STR_ARG(owner_place(s->partition)));
    owner_tell(s, key, buf_str(&b));
    buf_release(&b);
}
