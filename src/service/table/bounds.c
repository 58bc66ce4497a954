/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/bounds.h"

const struct key_span KEY_SPAN_ALL = {STR_INIT(""), {NULL, 0}};

struct str key_after(struct arena *a, struct str s)
{
    char *p = arena_bytes(a, s.n + 1);
    if (s.n > 0)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    return (struct str){p, s.n + 1};
}

static bool before_end(const struct key_span *span, struct str key)
{
    return !str_given(span->to) || str_cmp(key, span->to) < 0;
}

bool key_span_holds(const struct key_span *span, struct str key)
{
    return (span->from.n == 0 || str_cmp(key, span->from) >= 0) && before_end(span, key);
}

bool key_box_holds(const struct key_box *box, const struct key_position *at)
{
    return key_span_holds(&box->pk, at->pk) && key_span_holds(&box->rk, at->rk);
}

int key_position_cmp(const struct key_position *a, const struct key_position *b)
{
    int pk = str_cmp(a->pk, b->pk);
    return pk != 0 ? pk : str_cmp(a->rk, b->rk);
}

/* ---- combining ---- */

struct bounds bounds_box(struct arena *a, struct key_box box)
{
    struct bounds b = {ARENA_NEW(a, struct key_box), 1};
    b.boxes[0] = box;
    return b;
}

struct bounds bounds_all(struct arena *a)
{
    return bounds_box(a, (struct key_box){KEY_SPAN_ALL, KEY_SPAN_ALL});
}

/* False if the two have nothing in common. */
static bool span_and(const struct key_span *x, const struct key_span *y, struct key_span *out)
{
    out->from = str_cmp(x->from, y->from) > 0 ? x->from : y->from;
    if (!str_given(x->to))
        out->to = y->to;
    else
        out->to = !str_given(y->to) || str_cmp(x->to, y->to) < 0 ? x->to : y->to;
    return before_end(out, out->from);
}

static struct key_span span_hull(const struct key_span *x, const struct key_span *y)
{
    struct key_span hull = {str_cmp(x->from, y->from) < 0 ? x->from : y->from, STR_NONE};
    if (str_given(x->to) && str_given(y->to))
        hull.to = str_cmp(x->to, y->to) > 0 ? x->to : y->to;
    return hull;
}

struct bounds bounds_and(struct arena *a, struct bounds x, struct bounds y)
{
    size_t most = x.count * y.count < BOUNDS_BOXES_MAX ? x.count * y.count : BOUNDS_BOXES_MAX;
    struct bounds both = {ARENA_ARRAY(a, struct key_box, most), 0};
    for (size_t i = 0; i < x.count; i++) {
        for (size_t j = 0; j < y.count; j++) {
            struct key_box box;
            if (!span_and(&x.boxes[i].pk, &y.boxes[j].pk, &box.pk) ||
                !span_and(&x.boxes[i].rk, &y.boxes[j].rk, &box.rk))
                continue;
            /* Either side alone is a valid, wider bound. */
            if (both.count == BOUNDS_BOXES_MAX)
                return x.count < y.count ? x : y;
            both.boxes[both.count++] = box;
        }
    }
    return both;
}

static struct bounds bounds_hull(struct arena *a, struct bounds x, struct bounds y)
{
    struct bounds all = bounds_box(a, x.boxes[0]);
    struct key_box *hull = all.boxes;
    for (size_t i = 1; i < x.count + y.count; i++) {
        const struct key_box *box = i < x.count ? &x.boxes[i] : &y.boxes[i - x.count];
        hull->pk = span_hull(&hull->pk, &box->pk);
        hull->rk = span_hull(&hull->rk, &box->rk);
    }
    return all;
}

struct bounds bounds_or(struct arena *a, struct bounds x, struct bounds y)
{
    if (x.count == 0 || y.count == 0)
        return x.count == 0 ? y : x;
    if (x.count + y.count > BOUNDS_BOXES_MAX)
        return bounds_hull(a, x, y);
    struct bounds either = {ARENA_ARRAY(a, struct key_box, x.count + y.count), x.count + y.count};
    memcpy(either.boxes, x.boxes, x.count * sizeof *x.boxes);
    memcpy(either.boxes + x.count, y.boxes, y.count * sizeof *y.boxes);
    return either;
}

/* ---- walking ---- */

/* The first position of one box from `at` on; past_pk is the first key past at's. */
static bool box_next(const struct key_box *box, struct str past_pk, const struct key_position *at,
                     struct key_position *out)
{
    *out = *at;
    if (str_cmp(at->pk, box->pk.from) < 0) {
        *out = (struct key_position){box->pk.from, box->rk.from};
        return true;
    }
    if (!before_end(&box->pk, at->pk))
        return false;
    if (str_cmp(at->rk, box->rk.from) < 0)
        out->rk = box->rk.from;
    if (before_end(&box->rk, out->rk))
        return true;
    *out = (struct key_position){past_pk, box->rk.from};
    return before_end(&box->pk, out->pk);
}

bool bounds_next(const struct bounds *b, struct buf *scratch, const struct key_position *at,
                 struct key_position *out, const struct key_box **box)
{
    bool found = false;
    buf_clear(scratch);
    buf_put(scratch, at->pk);
    buf_putc(scratch, '\0');
    for (size_t i = 0; i < b->count; i++) {
        struct key_position next;
        if (!box_next(&b->boxes[i], buf_str(scratch), at, &next))
            continue;
        if (found && key_position_cmp(&next, out) >= 0)
            continue;
        *out = next;
        *box = &b->boxes[i];
        found = true;
    }
    return found;
}
