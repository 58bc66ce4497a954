/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/owner.h"

#include <assert.h>
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

/* Visits the readable rows with from <= key < to; *last is the key of the last one. */
static struct err each_between(struct txn *t, struct str from, struct str to, struct buf *last,
                               owner_visit *visit, void *arg)
{
    struct cursor *c;
    TRY(cursor_open_range(t, from, to, &c));
    struct err e = OK;
    for (; !err_is(e) && c->valid; e = cursor_next(c)) {
        buf_clear(last);
        buf_put(last, c->key);
        visit(arg, c->key, c->value);
    }
    cursor_close(c);
    return e;
}

/* Returns the key that ended the walk: the first unreadable one after all that were read. */
static struct str unread_after(const struct owner_search *s, struct str from, struct str last)
{
    for (size_t i = 0; i < s->unread_count; i++) {
        if (str_cmp(s->unread[i], from) >= 0 && str_cmp(s->unread[i], last) > 0)
            return s->unread[i];
    }
    return STR_NONE;
}

struct err owner_each_row(struct txn *t, const struct owner_search *s, struct str prefix,
                          owner_visit *visit, void *arg)
{
    assert(visit != NULL);
    struct buf from = buf_heap();
    struct buf last = buf_heap();
    struct buf to = buf_heap();
    buf_put(&from, prefix);
    buf_put(&to, prefix);
    to.p[to.n - 1]++; /* a letter */
    struct err e = each_between(t, buf_str(&from), buf_str(&to), &last, visit, arg);
    while (e.code == ERR_CORRUPT) {
        struct str bad = unread_after(s, buf_str(&from), buf_str(&last));
        if (!str_given(bad))
            break;
        buf_clear(&from);
        buf_put(&from, bad);
        buf_putc(&from, '\0');
        e = each_between(t, buf_str(&from), buf_str(&to), &last, visit, arg);
    }
    buf_release(&from);
    buf_release(&last);
    buf_release(&to);
    return e;
}

void owner_tell_container(const struct owner_search *s, size_t key, const char *kind)
{
    struct buf b = buf_heap();
    buf_printf(&b, "%s %.*s", kind, STR_ARG(owner_container(s->partition)));
    owner_tell(s, key, buf_str(&b));
    buf_release(&b);
}
