/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/home.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/guid.h"
#include "core/log.h"
#include "core/mem.h"
#include "core/thread.h"
#include "engine/wait.h"

enum {
    LEASE_FORMAT = 1,
    MARK_FORMAT = 1,
    MARKS_AT_ONCE = 32,
    PARTITIONS_AT_ONCE = 256,
    IDENTITY_MAX = 128,
    TURN_ARENA_MAX = 1 << 24,
};

#define KEY_LEASE  STR("l")
#define KEY_SECRET STR("k")

/* The lease row. */
struct lease_row {
    uint64_t epoch; /* 0: there is no row */
    uint64_t beat;
    bool given_back;
    char address[HOME_ADDRESS_MAX];
    char identity[IDENTITY_MAX];
    struct guid holder;
};

struct home {
    struct home_options options;
    struct guid me; /* this process, this time */
    char address[HOME_ADDRESS_MAX];
    char identity[IDENTITY_MAX];
    unsigned char secret[HOME_SECRET_BYTES];
    /* Read by any thread. */
    atomic_uint_fast64_t own_epoch; /* 0: not the home */
    atomic_int_fast64_t valid_until_ms;
    pthread_mutex_t lock; /* for `there`, and the thread's end */
    struct home_where there;
    /* Used only by the thread that renews the lease. */
    struct lease_row seen;
    int64_t seen_ms; /* when this state of the row was first seen, plus the time not counted */
    pthread_t thread;
    bool running;
    bool stopping;
    pthread_cond_t wake;
};

static int64_t mono_ms(const struct home *h)
{
    return h->options.mono_ms != NULL ? h->options.mono_ms(h->options.arg) : clock_mono_ms();
}

/* ---- rows ---- */

static void copy_text(char *to, size_t size, struct str text)
{
    size_t n = text.n < size ? text.n : size - 1;
    memcpy(to, text.p, n);
    to[n] = '\0';
}

static struct err lease_read(struct str row, struct lease_row *out)
{
    struct reader r = reader_of(row);
    *out = (struct lease_row){0};
    if (!str_given(row))
        return OK;
    bool known = read_u8(&r) == LEASE_FORMAT;
    out->epoch = read_le64(&r);
    out->beat = read_le64(&r);
    out->given_back = read_u8(&r) != 0;
    copy_text(out->address, sizeof out->address, read_bytes(&r));
    copy_text(out->identity, sizeof out->identity, read_bytes(&r));
    struct str holder = read_raw(&r, sizeof out->holder.bytes);
    if (!known || !reader_done(&r))
        return err_new(ERR_CORRUPT);
    memcpy(out->holder.bytes, holder.p, sizeof out->holder.bytes);
    return OK;
}

static struct err lease_put(struct txn *t, const struct lease_row *row)
{
    struct buf b = buf_in(txn_arena(t));
    buf_put_u8(&b, LEASE_FORMAT);
    buf_put_le64(&b, row->epoch);
    buf_put_le64(&b, row->beat);
    buf_put_u8(&b, row->given_back);
    buf_put_bytes(&b, str_of(row->address));
    buf_put_bytes(&b, str_of(row->identity));
    buf_put(&b, (struct str){(const char *)row->holder.bytes, sizeof row->holder.bytes});
    return txn_put(t, KEY_LEASE, buf_str(&b));
}

static uint64_t mark_read(struct str row)
{
    struct reader r = reader_of(row);
    if (!str_given(row))
        return 0;
    bool known = read_u8(&r) == MARK_FORMAT;
    uint64_t epoch = read_le64(&r);
    /* An unreadable mark belongs to no home, so the partition is not served without the table. */
    return known && reader_done(&r) ? epoch : UINT64_MAX;
}

static struct err mark_put(struct txn *t, struct str key, uint64_t epoch)
{
    struct buf b = buf_in(txn_arena(t));
    buf_put_u8(&b, MARK_FORMAT);
    buf_put_le64(&b, epoch);
    return txn_put(t, key, buf_str(&b));
}

/* ---- the fence ---- */

bool home_is_ours(struct home *h)
{
    return h == NULL || atomic_load(&h->own_epoch) != 0;
}

bool home_holds(struct home *h)
{
    return h == NULL || (home_is_ours(h) && mono_ms(h) < atomic_load(&h->valid_until_ms));
}

struct err home_check(struct home *h, struct txn *t, struct str partition, bool strict)
{
    if (h == NULL || !str_starts(partition, h->options.prefix))
        return OK;
    struct engine_read reads[2] = {{.key = h->options.mark, .hints = HINT_SOON},
                                   {.key = h->options.hot, .hints = HINT_SOON}};
    TRY(txn_get_many(t, reads, 2));
    uint64_t mark = mark_read(reads[0].value);
    if (mark == 0 && !strict)
        return OK;
    return mark != 0 && mark == atomic_load(&h->own_epoch) ? OK : err_new(ERR_HOME_ELSEWHERE);
}

struct err home_guard(struct txn *t, void *arg)
{
    const struct home_guarded *g = arg;
    TRY(home_check(g->home, t, g->partition, g->strict));
    return g->fn(t, g->arg);
}

struct err home_read(const struct home_guarded *guarded, struct store *store, enum engine_wait wait)
{
    struct home_guarded copy = *guarded;
    if (copy.home == NULL)
        return store_read(store, copy.partition, wait, copy.fn, copy.arg);
    return store_read(store, copy.partition, wait, home_guard, &copy);
}

/* A mark only ever goes to a later home. */
static struct err mark_as(struct home *h, struct txn *t, uint64_t epoch)
{
    struct str row;
    TRY(txn_get(t, h->options.mark, &row));
    uint64_t mark = mark_read(row);
    if (mark == epoch)
        return OK;
    return mark < epoch ? mark_put(t, h->options.mark, epoch) : err_new(ERR_HOME_ELSEWHERE);
}

struct err home_mark(struct txn *t, void *arg)
{
    struct home *h = arg;
    if (h == NULL)
        return OK;
    uint64_t epoch = atomic_load(&h->own_epoch);
    /* Not while in doubt: a new home may already have rewritten the marks, and would miss this
     * one. */
    return epoch == 0 || !home_holds(h) ? err_new(ERR_HOME_ELSEWHERE) : mark_as(h, t, epoch);
}

/* ---- where it is ---- */

void home_where(struct home *h, struct home_where *out)
{
    assert(out != NULL);
    *out = (struct home_where){.location = HOME_HERE};
    if (h == NULL)
        return;
    out->epoch = atomic_load(&h->own_epoch);
    if (home_holds(h))
        return;
    (void)pthread_mutex_lock(&h->lock);
    *out = h->there;
    (void)pthread_mutex_unlock(&h->lock);
    if (out->location == HOME_HERE)
        out->location = HOME_UNKNOWN; /* in doubt */
}

const unsigned char *home_secret(const struct home *h)
{
    return h->secret;
}

static void publish_there(struct home *h, enum home_location location, const struct lease_row *row)
{
    struct home_where there = {.location = location, .epoch = row->epoch};
    copy_text(there.address, sizeof there.address, str_of(row->address));
    (void)pthread_mutex_lock(&h->lock);
    bool moved = h->there.location != location || h->there.epoch != row->epoch;
    h->there = there;
    (void)pthread_mutex_unlock(&h->lock);
    if (moved && h->options.moved != NULL)
        h->options.moved(h->options.arg);
}

/* ---- turns ---- */

struct turn {
    struct home *home;
    struct lease_row row; /* the row to write, and the one found in its place */
    uint64_t beat_before;
    bool done;
};

/* True if nothing was written in between: every write raises the beat or the epoch. */
static bool is_same_row(const struct lease_row *a, const struct lease_row *b)
{
    return a->epoch == b->epoch && a->beat == b->beat &&
           memcmp(&a->holder, &b->holder, sizeof a->holder) == 0;
}

/* Writes only if the row is still the one that this turn has read. */
static struct err put_next(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct turn *turn = arg;
    struct lease_row found;
    struct str row;
    TRY(txn_get(t, KEY_LEASE, &row));
    TRY(lease_read(row, &found));
    turn->done = is_same_row(&found, &turn->home->seen);
    return turn->done ? lease_put(t, &turn->row) : OK;
}

static struct err put_lease(struct home *h, const struct lease_row *row, bool *done)
{
    struct turn turn = {.home = h, .row = *row};
    TRY(engine_update_wait(h->options.store->engine, h->options.lease, put_next, &turn));
    *done = turn.done;
    if (turn.done)
        h->seen = *row;
    return OK;
}

static struct err look(struct txn *t, void *arg)
{
    struct str row;
    TRY(txn_get(t, KEY_LEASE, &row));
    return lease_read(row, arg);
}

static bool is_ours(const struct home *h, const struct lease_row *row)
{
    return row->epoch != 0 && memcmp(&row->holder, &h->me, sizeof h->me) == 0;
}

static void lose(struct home *h)
{
    log_line(LOG_WARN, "the open files of all shares have gone to another gateway");
    atomic_store(&h->own_epoch, 0);
    h->seen = (struct lease_row){0};
    h->seen_ms = mono_ms(h);
    publish_there(h, HOME_UNKNOWN, &h->seen);
    h->options.move_out(h->options.arg);
}

/* False: another gateway has the lease. An update with an unknown outcome does not change the
 * validity; the next turn reads the row again. */
static bool renew(struct home *h)
{
    int64_t started = mono_ms(h);
    struct lease_row next = h->seen;
    bool done = false;
    next.beat++;
    struct err error = put_lease(h, &next, &done);
    if (!err_is(error) && done) {
        atomic_store(&h->valid_until_ms, started + HOME_VALID_MS);
        return true;
    }
    struct lease_row now;
    if (err_is(error) ||
        err_is(engine_view(h->options.store->engine, h->options.lease, ENGINE_WAIT, look, &now)))
        return true; /* the store is unreachable: no other gateway can take the lease either */
    if (!is_ours(h, &now))
        return false;
    h->seen = now; /* an update of ours with an unknown outcome */
    return true;
}

/* ---- moving in ---- */

struct found_marks {
    struct arena arena;
    struct str names[PARTITIONS_AT_ONCE];
    size_t count;
};

static bool note_partition(struct str partition, struct str value, void *arg)
{
    struct found_marks *f = arg;
    (void)value;
    f->names[f->count++] = arena_copy(&f->arena, partition);
    return f->count < PARTITIONS_AT_ONCE;
}

struct marking {
    struct grouped_update grouped;
    struct home *home;
    uint64_t epoch;
};

static struct err mark_one(struct txn *t, void *arg)
{
    struct marking *m = arg;
    return mark_as(m->home, t, m->epoch);
}

static struct err mark_some(struct home *h, const struct str *names, size_t count)
{
    struct marking steps[MARKS_AT_ONCE];
    struct grouped_update *updates[MARKS_AT_ONCE];
    for (size_t i = 0; i < count; i++) {
        steps[i] = (struct marking){.home = h, .epoch = h->seen.epoch};
        steps[i].grouped.update =
            (struct engine_update){.partition = names[i], .fn = mark_one, .arg = &steps[i]};
        updates[i] = &steps[i].grouped;
    }
    engine_updates_wait(h->options.store->engine, updates, count);
    for (size_t i = 0; i < count; i++)
        TRY(steps[i].grouped.update.result);
    return OK;
}

static struct err mark_found(struct home *h, const struct found_marks *f)
{
    for (size_t i = 0; i < f->count; i += MARKS_AT_ONCE) {
        size_t left = f->count - i;
        TRY(mark_some(h, f->names + i, left < MARKS_AT_ONCE ? left : MARKS_AT_ONCE));
        if (!renew(h))
            return err_new(ERR_HOME_ELSEWHERE);
    }
    return OK;
}

static struct err mark_all(struct home *h)
{
    struct found_marks *f = MEM_NEW(struct found_marks);
    char after[ENGINE_PARTITION_MAX];
    struct str last = STR_NONE;
    struct err error = OK;
    do {
        f->count = 0;
        arena_init(&f->arena, TURN_ARENA_MAX);
        error = engine_partitions(h->options.store->engine, h->options.prefix, last,
                                  h->options.mark, note_partition, f);
        if (!err_is(error))
            error = mark_found(h, f);
        if (f->count > 0) {
            struct str end = f->names[f->count - 1];
            memcpy(after, end.p, end.n);
            last = (struct str){after, end.n};
        }
        arena_release(&f->arena);
    } while (!err_is(error) && f->count == PARTITIONS_AT_ONCE);
    free(f);
    return error;
}

/* The lease is ours. */
static void move_in(struct home *h, int64_t started)
{
    atomic_store(&h->valid_until_ms, started + HOME_VALID_MS);
    struct err error = mark_all(h);
    if (!err_is(error))
        error = h->options.move_in(h->options.arg);
    if (!err_is(error) && !renew(h))
        error = err_new(ERR_HOME_ELSEWHERE);
    if (err_is(error)) {
        log_line(LOG_WARN, "the open files of shares could not be taken over: error %d",
                 error.code);
        h->options.move_out(h->options.arg);
        return;
    }
    log_line(LOG_INFO, "this gateway keeps the open files of all shares (epoch %llu)",
             (unsigned long long)h->seen.epoch);
    atomic_store(&h->own_epoch, h->seen.epoch);
    publish_there(h, HOME_HERE, &h->seen);
}

static bool is_free(const struct home *h, const struct lease_row *row)
{
    if (row->epoch == 0 || row->given_back || is_ours(h, row))
        return true;
    if (h->options.is_dead != NULL && h->options.is_dead(h->options.arg, str_of(row->identity)))
        return true;
    return mono_ms(h) - h->seen_ms >= HOME_LEASE_MS;
}

static void note_row(struct home *h, const struct lease_row *row)
{
    if (!is_same_row(row, &h->seen))
        h->seen_ms = mono_ms(h);
    h->seen = *row;
    bool known = row->epoch != 0 && !row->given_back && !is_ours(h, row);
    publish_there(h, known ? HOME_THERE : HOME_UNKNOWN, row);
}

static void take(struct home *h)
{
    int64_t started = mono_ms(h);
    struct lease_row next = {.epoch = h->seen.epoch + 1, .holder = h->me};
    bool done = false;
    copy_text(next.address, sizeof next.address, str_of(h->address));
    copy_text(next.identity, sizeof next.identity, str_of(h->identity));
    struct err error = put_lease(h, &next, &done);
    if (!err_is(error) && done)
        move_in(h, started);
}

void home_turn(struct home *h)
{
    struct lease_row row;
    if (home_is_ours(h)) {
        if (!renew(h))
            lose(h);
        return;
    }
    int64_t started = mono_ms(h);
    struct err error =
        engine_view(h->options.store->engine, h->options.lease, ENGINE_WAIT, look, &row);
    int64_t took = mono_ms(h) - started;
    h->seen_ms += took > HOME_AWAY_MS ? took : 0;
    if (err_is(error)) {
        h->seen_ms = mono_ms(h);
        return;
    }
    note_row(h, &row);
    if (h->options.may_own && is_free(h, &row) && h->options.is_empty(h->options.arg))
        take(h);
}

/* ---- life ---- */

static struct err keep_secret(struct txn *t, void *arg)
{
    assert(txn_writable(t));
    struct home *h = arg;
    struct str row;
    TRY(txn_get(t, KEY_SECRET, &row));
    if (str_given(row) && row.n != HOME_SECRET_BYTES)
        return err_new(ERR_CORRUPT);
    if (str_given(row)) {
        memcpy(h->secret, row.p, HOME_SECRET_BYTES);
        return OK;
    }
    random_bytes(h->secret, HOME_SECRET_BYTES);
    return txn_put(t, KEY_SECRET, (struct str){(const char *)h->secret, HOME_SECRET_BYTES});
}

struct err home_new(const struct home_options *options, struct home **out)
{
    assert(out != NULL);
    struct home *h = MEM_NEW(struct home);
    h->options = *options;
    h->me = guid_random();
    copy_text(h->address, sizeof h->address, str_of(options->address));
    copy_text(h->identity, sizeof h->identity, options->identity);
    (void)pthread_mutex_init(&h->lock, NULL);
    (void)pthread_cond_init(&h->wake, NULL);
    h->seen_ms = mono_ms(h);
    struct err error = engine_update_wait(options->store->engine, options->lease, keep_secret, h);
    if (err_is(error)) {
        home_free(h);
        return error;
    }
    *out = h;
    return OK;
}

/* False: it is to end. */
static bool wait_for_turn(struct home *h)
{
    int64_t due = clock_mono_ms() + HOME_TURN_MS;
    bool in_time = true;
    (void)pthread_mutex_lock(&h->lock);
    while (!h->stopping && in_time)
        in_time = thread_wait_until(&h->wake, &h->lock, due);
    bool goes_on = !h->stopping;
    (void)pthread_mutex_unlock(&h->lock);
    return goes_on;
}

static void *take_turns(void *arg)
{
    struct home *h = arg;
    while (wait_for_turn(h))
        home_turn(h);
    return NULL;
}

struct err home_start(struct home *h)
{
    int error = thread_start(&h->thread, take_turns, h);
    h->running = error == 0;
    return error == 0 ? OK : err_cause(ERR_IO, error);
}

static void give_back(struct home *h)
{
    struct lease_row next = h->seen;
    bool done;
    next.beat++;
    next.given_back = true;
    atomic_store(&h->own_epoch, 0);
    if (err_is(put_lease(h, &next, &done)))
        log_line(LOG_WARN, "the lease of the open files could not be given back");
}

void home_stop(struct home *h)
{
    if (h == NULL)
        return;
    (void)pthread_mutex_lock(&h->lock);
    h->stopping = true;
    (void)pthread_cond_signal(&h->wake);
    (void)pthread_mutex_unlock(&h->lock);
    if (h->running)
        (void)pthread_join(h->thread, NULL);
    h->running = false;
    if (atomic_load(&h->own_epoch) != 0)
        give_back(h);
}

void home_free(struct home *h)
{
    if (h == NULL)
        return;
    (void)pthread_cond_destroy(&h->wake);
    (void)pthread_mutex_destroy(&h->lock);
    free(h);
}
