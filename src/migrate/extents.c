/* SPDX-License-Identifier: Apache-2.0 */
/* Copies extents, and keeps the map from their old names to the new ones.
 *
 * The map is in the destination, one row for each extent, which adopts the copy. So each extent is
 * copied once, however many rows name it, and none is lost or copied twice if the process is
 * killed. */
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/thread.h"
#include "engine/wait.h"
#include "migrate/migrate_internal.h"

enum { PAIR_KEY_BYTES = 1 + 16 };

/* ---- several at a time ---- */

struct crew {
    const struct migrate *migrate;
    struct extent_pair *pairs;
    size_t count;
    extent_work *work;
    atomic_size_t next;
    pthread_mutex_t lock;
    struct err first; /* under the lock */
};

static void *crew_member(void *arg)
{
    struct crew *c = arg;
    char *memory = mem_alloc(2 * (size_t)EXTENT_BYTES_MAX);
    struct err error = OK;
    while (!err_is(error)) {
        size_t i = atomic_fetch_add(&c->next, 1);
        if (i >= c->count)
            break;
        error = c->work(c->migrate, &c->pairs[i], memory);
    }
    if (err_is(error)) {
        (void)pthread_mutex_lock(&c->lock);
        if (!err_is(c->first))
            c->first = error;
        (void)pthread_mutex_unlock(&c->lock);
        atomic_store(&c->next, c->count);
    }
    free(memory);
    return NULL;
}

struct err migrate_extents_each(const struct migrate *m, struct extent_pair *pairs, size_t count,
                                extent_work *work)
{
    struct crew crew = {.migrate = m,
                        .pairs = pairs,
                        .count = count,
                        .work = work,
                        .lock = PTHREAD_MUTEX_INITIALIZER};
    pthread_t threads[COPY_THREADS];
    size_t started = 0;
    while (started + 1 < COPY_THREADS && started + 1 < count &&
           thread_start(&threads[started], crew_member, &crew) == 0)
        started++;
    (void)crew_member(&crew);
    for (size_t i = 0; i < started; i++)
        (void)pthread_join(threads[i], NULL);
    (void)pthread_mutex_destroy(&crew.lock);
    return crew.first;
}

/* ---- the map of a page ---- */

static int pair_order(const void *a, const void *b)
{
    const struct extent_pair *x = a;
    const struct extent_pair *y = b;
    return extent_order(&x->old, &y->old);
}

/* The extents that the page names, each once. */
static void gather_pairs(struct extent_map *map, struct page *p)
{
    map->pairs = ARENA_ARRAY(&p->arena, struct extent_pair, p->extent_count + 1);
    for (size_t i = 0; i < p->extent_count; i++)
        map->pairs[i].old = p->extents[i];
    qsort(map->pairs, p->extent_count, sizeof *map->pairs, pair_order);
    map->count = 0;
    for (size_t i = 0; i < p->extent_count; i++)
        if (i == 0 || extent_order(&map->pairs[i].old, &map->pairs[map->count - 1].old) != 0)
            map->pairs[map->count++] = map->pairs[i];
}

const struct extent *migrate_map_find(const struct extent_map *map, const struct extent *old)
{
    struct extent_pair wanted = {.old = *old};
    const struct extent_pair *pair =
        bsearch(&wanted, map->pairs, map->count, sizeof *map->pairs, pair_order);
    if (pair == NULL || !pair->known || pair->old.length != old->length ||
        pair->old.check != old->check)
        return NULL;
    return &pair->new;
}

/* ---- its rows: "x" and the old place, to the old and the new name ---- */

static struct str pair_key(struct arena *a, const struct extent *old)
{
    struct buf b = buf_in(a);
    buf_putc(&b, 'x');
    buf_put_be64(&b, old->segment);
    buf_put_be64(&b, old->offset);
    return buf_str(&b);
}

static struct str pair_value(struct arena *a, const struct extent_pair *pair)
{
    struct buf b = buf_in(a);
    extent_encode(&b, &pair->old);
    extent_encode(&b, &pair->new);
    return buf_str(&b);
}

static struct err pair_decode(struct str value, struct extent_pair *pair)
{
    struct reader r = reader_of(value);
    pair->old = extent_decode(&r);
    pair->new = extent_decode(&r);
    pair->known = true;
    return reader_done(&r) ? OK : migrate_failed("the map of extents cannot be read");
}

/* A part of a map: what one transaction reads or writes. */
struct step {
    struct extent_pair *pairs;
    size_t count;
};

static struct err load_pairs(struct txn *t, void *arg)
{
    struct step *s = arg;
    struct engine_read reads[MAP_STEP] = {0};
    for (size_t i = 0; i < s->count; i++)
        reads[i].key = pair_key(txn_arena(t), &s->pairs[i].old);
    TRY(txn_get_many(t, reads, s->count));
    for (size_t i = 0; i < s->count; i++) {
        struct extent_pair found;
        if (!str_given(reads[i].value))
            continue;
        TRY(pair_decode(reads[i].value, &found));
        if (found.old.length != s->pairs[i].old.length || found.old.check != s->pairs[i].old.check)
            return migrate_failed("the source has changed since the migration began");
        s->pairs[i] = found;
    }
    return OK;
}

static size_t step_of(size_t first, size_t count)
{
    return count - first < MAP_STEP ? count - first : MAP_STEP;
}

struct err migrate_map_load(struct extent_map *map, const struct migrate *m, struct page *p)
{
    gather_pairs(map, p);
    for (size_t i = 0; i < map->count; i += MAP_STEP) {
        struct step step = {map->pairs + i, step_of(i, map->count)};
        TRY(engine_view(m->to, MIGRATE_PARTITION, ENGINE_WAIT, load_pairs, &step));
    }
    return OK;
}

/* ---- copying ---- */

static struct err copy_extent(const struct migrate *m, struct extent_pair *pair, char *memory)
{
    struct extent_writer *w;
    uint32_t length = pair->old.length;
    if (length == 0 || length > EXTENT_BYTES_MAX)
        return migrate_failed("a row of the source names an extent of an impossible length");
    TRY(extent_read(m->from, &pair->old, 0, length, ENGINE_WAIT, memory));
    TRY(extent_begin(m->to, length, 0, &w));
    struct err e = extent_append(w, (struct str){memory, length});
    if (err_is(e)) {
        extent_abandon(w);
        return e;
    }
    TRY(extent_finish(w, &pair->new));
    pair->known = true;
    return OK;
}

static struct err adopt_pairs(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct step *s = arg;
    for (size_t i = 0; i < s->count; i++) {
        struct engine_row row = {.key = pair_key(txn_arena(t), &s->pairs[i].old),
                                 .value = pair_value(txn_arena(t), &s->pairs[i])};
        TRY(txn_insert(t, &row));
        TRY(txn_extent(t, EXTENT_ADOPT, &s->pairs[i].new));
    }
    return OK;
}

/* Copies a few and adopts them together. After an error, frees copies that no row names; if the
 * outcome is unknown, the engine finds out. */
static struct err copy_step(const struct migrate *m, struct step *s)
{
    struct err e = migrate_extents_each(m, s->pairs, s->count, copy_extent);
    if (!err_is(e))
        e = engine_update_wait(m->to, MIGRATE_PARTITION, adopt_pairs, s);
    if (err_is(e) && e.code != ERR_UNKNOWN_OUTCOME)
        for (size_t i = 0; i < s->count; i++)
            if (s->pairs[i].known)
                extent_discard(m->to, &s->pairs[i].new);
    return e;
}

struct err migrate_map_complete(struct extent_map *map, const struct migrate *m,
                                const struct migrate_state *state)
{
    uint64_t bytes = state->copied_bytes;
    struct extent_pair missing[MAP_STEP];
    size_t index[MAP_STEP];
    size_t count = 0;
    struct engine_pin *pin = engine_pin(m->from);
    struct err e = OK;
    for (size_t i = 0; i < map->count && !err_is(e); i++) {
        if (!map->pairs[i].known) {
            missing[count] = map->pairs[i];
            index[count++] = i;
        }
        if (count == 0 || (count < MAP_STEP && i + 1 < map->count))
            continue;
        struct step step = {missing, count};
        e = copy_step(m, &step);
        for (size_t k = 0; k < count && !err_is(e); k++) {
            map->pairs[index[k]] = missing[k];
            bytes += missing[k].old.length;
        }
        migrate_tell(m, "copying", bytes, state->total_bytes + state->of_extents);
        count = 0;
    }
    engine_unpin(m->from, pin);
    return e;
}

/* ---- all pairs ---- */

struct walk {
    char after[PAIR_KEY_BYTES];
    size_t after_n;
    struct extent_pair pairs[MAP_STEP];
    size_t count;
};

static struct err read_pairs(struct txn *t, void *arg)
{
    struct walk *w = arg;
    struct cursor *c;
    w->count = 0;
    TRY(cursor_open(t, STR("x"), &c));
    if (w->after_n > 0) {
        TRY(cursor_seek(c, (struct str){w->after, w->after_n}));
        if (c->valid && str_eq(c->key, (struct str){w->after, w->after_n}))
            TRY(cursor_next(c));
    }
    while (c->valid && w->count < MAP_STEP) {
        TRY(pair_decode(c->value, &w->pairs[w->count++]));
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

struct err migrate_pairs_each(const struct migrate *m, extent_pairs_visit *visit, void *arg)
{
    struct walk *w = MEM_NEW(struct walk);
    struct err e = OK;
    do {
        e = engine_view(m->to, MIGRATE_PARTITION, ENGINE_WAIT, read_pairs, w);
        if (err_is(e) || w->count == 0)
            break;
        struct arena arena;
        arena_init(&arena, SIZE_MAX);
        struct str last = pair_key(&arena, &w->pairs[w->count - 1].old);
        memcpy(w->after, last.p, last.n);
        w->after_n = last.n;
        arena_release(&arena);
        e = visit(w->pairs, w->count, arg);
    } while (!err_is(e));
    free(w);
    return e;
}

static struct err remove_pairs(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    const struct step *s = arg;
    for (size_t i = 0; i < s->count; i++) {
        TRY(txn_del(t, pair_key(txn_arena(t), &s->pairs[i].old)));
        TRY(txn_extent(t, EXTENT_DROP, &s->pairs[i].new));
    }
    return OK;
}

static struct err clear_some(struct extent_pair *pairs, size_t count, void *arg)
{
    const struct migrate *m = arg;
    struct step step = {pairs, count};
    return engine_update_wait(m->to, MIGRATE_PARTITION, remove_pairs, &step);
}

struct err migrate_pairs_clear(const struct migrate *m)
{
    struct migrate copy = *m;
    return migrate_pairs_each(m, clear_some, &copy);
}
