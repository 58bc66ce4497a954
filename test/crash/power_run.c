/* SPDX-License-Identifier: Apache-2.0 */
#include "power_run.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/test.h"
#include "engine/mem/mem.h"
#include "engine/wait.h"
#include "power_tree.h"
#include "service/blob/sweep.h"

enum {
    KEYS = 24,
    SMALL_MAX = 300,
    LARGE_MAX = 9000,
    EXTENT_MAX = 150000,
    JOURNAL_FILE_BYTES = 64 << 10, /* small, so that files are left, collected and unlinked */
    SEGMENT_FILE_BYTES = 1 << 20,
};

/* ---- what the updates do: all of it follows from the seed and the update's number ---- */

uint32_t draw(uint32_t *random, uint32_t below)
{
    *random = *random * 1664525 + 1013904223;
    return (uint32_t)(((uint64_t)*random * below) >> 32);
}

static void fill(char *to, size_t n, uint32_t seed)
{
    uint32_t random = seed * 2654435761U + 1;
    for (size_t i = 0; i < n; i++)
        to[i] = (char)draw(&random, 256);
}

static struct model_row plan_row(uint32_t *random)
{
    struct model_row row = {.content = IN_ROW, .seed = draw(random, 1000000)};
    switch (draw(random, 9)) {
    case 0:
        row.content = NO_ROW;
        break;
    case 1:
    case 2:
        row.content = IN_EXTENT;
        row.length = 1 + draw(random, EXTENT_MAX);
        break;
    case 3:
        row.content = IN_BODY;
        row.length = 1 + draw(random, LARGE_MAX);
        break;
    case 4:
    case 5:
        row.length = 1024 + draw(random, LARGE_MAX);
        break;
    case 6:
        row.content = KEPT;
        break;
    default:
        row.length = draw(random, SMALL_MAX);
    }
    return row;
}

static struct plan plan_of(uint32_t seed, uint32_t number)
{
    uint32_t random = seed * 2654435761U + number * 40503U;
    (void)draw(&random, 1);
    struct plan plan = {.count = 1 + draw(&random, CHANGES_MAX),
                        .ack = draw(&random, 4) == 0 ? ENGINE_VISIBLE : ENGINE_DURABLE,
                        .hints = number % 3 == 0 ? HINT_ALONE : 0U};
    uint32_t first = draw(&random, KEYS);
    for (uint32_t i = 0; i < plan.count; i++)
        plan.changes[i] = (struct change){(first + i) % KEYS, plan_row(&random)};
    return plan;
}

/* ---- one update ---- */

static struct str key_of(char text[16], uint32_t key)
{
    return (struct str){text, (size_t)snprintf(text, 16, "k%02u", key)};
}

static struct err drop_old(struct txn *t, struct str key, bool *is_new)
{
    struct str old;
    TRY(txn_get(t, key, &old));
    *is_new = !str_given(old);
    if (!str_given(old) || old.p[0] != IN_EXTENT)
        return OK;
    struct reader r = reader_of(str_from(old, 1));
    struct extent x = extent_decode(&r);
    return txn_extent(t, EXTENT_DROP, &x);
}

enum { MARKS = 251 };

/* The value of a row with a body: what it is, and a mark. */
static struct str value_of(struct arena *a, uint32_t mark)
{
    char *value = arena_bytes(a, 2);
    value[0] = (char)IN_BODY;
    value[1] = (char)(mark % MARKS);
    return (struct str){value, 2};
}

static struct err put_kept(struct txn *t, struct str key, uint32_t mark)
{
    struct str old;
    TRY(txn_get(t, key, &old));
    if (!str_given(old) || old.p[0] != IN_BODY)
        return OK;
    return txn_put_row(t, &(struct engine_row){.key = key,
                                               .value = value_of(txn_arena(t), mark),
                                               .keeps_body = true});
}

static struct err put_change(struct txn *t, const struct change *change, const struct extent *x)
{
    char text[16];
    struct str key = key_of(text, change->key);
    struct buf row = buf_in(txn_arena(t));
    bool is_new;
    if (change->row.content == KEPT)
        return put_kept(t, key, change->row.seed);
    TRY(drop_old(t, key, &is_new));
    if (change->row.content == NO_ROW)
        return txn_del(t, key);
    buf_put_u8(&row, (uint8_t)change->row.content);
    if (change->row.content == IN_EXTENT) {
        TRY(txn_extent(t, EXTENT_ADOPT, x));
        extent_encode(&row, x);
        return txn_put(t, key, buf_str(&row));
    }
    char *bytes = arena_bytes(txn_arena(t), change->row.length + 1);
    struct str content = {bytes, change->row.length};
    fill(bytes, change->row.length, change->row.seed);
    if (change->row.content == IN_BODY)
        return txn_put_row(t, &(struct engine_row){
                                  .key = key, .value = value_of(txn_arena(t), 0), .body = content});
    buf_put(&row, content);
    struct engine_row whole = {.key = key, .value = buf_str(&row)};
    return is_new ? txn_insert(t, &whole) : txn_put_row(t, &whole);
}

static struct err run_call(struct txn *t, void *arg)
{
    struct call *call = arg;
    char number[16];
    call->ran = disk_now();
    call->wrote = false;
    if (call->run->tree)
        TRY(tree_change(t, call->run->seed, call->number));
    for (uint32_t i = 0; i < call->plan.count && !call->run->tree; i++)
        TRY(put_change(t, &call->plan.changes[i], &call->extents[i]));
    int n = snprintf(number, sizeof number, "%u", call->number);
    TRY(txn_put(t, STR("number"), (struct str){number, (size_t)n}));
    call->wrote = true;
    return OK;
}

/* The caller holds the lock, or no other thread runs. */
static void note_outcome(struct call *call, enum outcome outcome)
{
    CHECK(outcome == DONE || call->run->may_fail || (call->run->tree && !call->wrote));
    call->outcome = outcome;
    call->told = disk_note();
    call->sure = outcome == DONE && call->plan.ack == ENGINE_DURABLE ? call->told : SIZE_MAX;
    atomic_fetch_add(&call->run->ended, 1);
}

static void call_done(struct engine_update *u)
{
    struct call *call = (struct call *)(void *)u;
    struct run *run = call->run;
    pthread_mutex_lock(&run->lock);
    note_outcome(call, !err_is(u->result)                      ? DONE
                       : u->result.code == ERR_UNKNOWN_OUTCOME ? UNKNOWN
                                                               : REFUSED);
    pthread_cond_signal(&run->landed);
    pthread_mutex_unlock(&run->lock);
}

static struct err write_bytes(struct run *run, struct str bytes, struct extent *x)
{
    struct extent_writer *w;
    TRY(extent_begin(run->engine, (uint32_t)bytes.n, 0, &w));
    struct err e = extent_append(w, bytes);
    if (!err_is(e))
        return extent_finish(w, x);
    extent_abandon(w);
    return e;
}

/* False if the disk refused it. */
static bool write_extent(struct run *run, const struct model_row *row, struct extent *x)
{
    char *bytes = mem_alloc(row->length);
    fill(bytes, row->length, row->seed);
    struct err e = write_bytes(run, (struct str){bytes, row->length}, x);
    free(bytes);
    return !err_is(e);
}

static bool write_extents(struct run *run, struct call *call)
{
    if (run->tree)
        return true;
    for (uint32_t i = 0; i < call->plan.count; i++) {
        const struct model_row *row = &call->plan.changes[i].row;
        if (row->content == IN_EXTENT && !write_extent(run, row, &call->extents[i]))
            return false;
    }
    return true;
}

static struct str partition_of(const struct run *run)
{
    return run->tree ? TREE_PARTITION : STR("p");
}

void run_submit(struct run *run, uint32_t number)
{
    struct call *call = &run->calls[number];
    *call = (struct call){.run = run, .number = number, .plan = plan_of(run->seed, number)};
    run->submitted = number;
    if (!write_extents(run, call)) {
        pthread_mutex_lock(&run->lock);
        note_outcome(call, REFUSED);
        pthread_mutex_unlock(&run->lock);
        return;
    }
    call->update = (struct engine_update){.partition = partition_of(run),
                                          .fn = run_call,
                                          .arg = call,
                                          .ack = call->plan.ack,
                                          .hints = call->plan.hints,
                                          .done = call_done};
    engine_submit(run->engine, &call->update);
}

void run_wait(struct run *run, uint32_t ended)
{
    pthread_mutex_lock(&run->lock);
    while (atomic_load(&run->ended) < ended)
        pthread_cond_wait(&run->landed, &run->lock);
    pthread_mutex_unlock(&run->lock);
}

/* ---- opening ---- */

/* Depending on the seed, rows go to RocksDB with nearly every commit or hardly ever. */
struct err run_open(struct run *run, const char *folder, bool read_only, struct engine **out)
{
    struct engine_local_options options = {.folder = folder,
                                           .clock = &run->clock,
                                           .read_only = read_only,
                                           .journal_file_bytes = JOURNAL_FILE_BYTES,
                                           .segment_bytes = SEGMENT_FILE_BYTES,
                                           .fold_rows = run->seed % 3 == 0 ? 0 : run->seed % 16};
    return engine_local_open(&options, out);
}

/* ---- what must be there ---- */

struct held {
    struct run *run;
    struct model_row want[KEYS];
    uint32_t number;
};

static struct err read_number(struct txn *t, void *arg)
{
    struct held *held = arg;
    struct str value;
    uint64_t number = 0;
    TRY(txn_get(t, STR("number"), &value));
    CHECK(!str_given(value) || str_to_u64(value, &number));
    held->number = (uint32_t)number;
    return OK;
}

static void check_extent(struct run *run, struct str encoded, const struct model_row *want)
{
    struct reader r = reader_of(encoded);
    struct extent x = extent_decode(&r);
    CHECK_INT(x.length, want->length);
    char *got = mem_alloc(x.length);
    char *bytes = mem_alloc(x.length);
    fill(bytes, x.length, want->seed);
    CHECK_OK(extent_read(run->engine, &x, 0, x.length, ENGINE_WAIT, got));
    CHECK(memcmp(got, bytes, x.length) == 0);
    free(got);
    free(bytes);
}

static struct err check_row(struct txn *t, struct run *run, uint32_t key,
                            const struct model_row *want)
{
    char text[16];
    struct str row;
    struct str body;
    struct engine_read read = {.key = key_of(text, key), .with_body = true};
    TRY(txn_get_many(t, &read, 1));
    row = read.value;
    body = read.body;
    CHECK_INT(str_given(row), want->content != NO_ROW);
    if (!str_given(row))
        return OK;
    CHECK_INT(row.p[0], want->content);
    if (want->content == IN_EXTENT) {
        check_extent(run, str_from(row, 1), want);
        return OK;
    }
    char *bytes = arena_bytes(txn_arena(t), want->length + 1);
    fill(bytes, want->length, want->seed);
    CHECK_INT(str_given(body), want->content == IN_BODY);
    if (want->content == IN_BODY)
        CHECK_STR(row, value_of(txn_arena(t), want->mark));
    struct str got = want->content == IN_BODY ? body : str_from(row, 1);
    CHECK_STR(got, ((struct str){bytes, want->length}));
    return OK;
}

static struct err check_rows(struct txn *t, void *arg)
{
    struct held *held = arg;
    for (uint32_t key = 0; key < KEYS; key++)
        TRY(check_row(t, held->run, key, &held->want[key]));
    return OK;
}

/* True if the update is part of the state after update `last`. An update that was not acknowledged
 * is part of it only if it shares a record with `last`, also not acknowledged: then `last` ran
 * before the other's outcome was reported. */
static bool is_part(const struct run *run, uint32_t number, uint32_t last)
{
    const struct call *call = &run->calls[number];
    if (call->outcome == DONE || number == last)
        return true;
    return call->wrote && run->calls[last].outcome != DONE && run->calls[last].ran < call->told;
}

static void model_change(struct model_row *row, const struct model_row *change)
{
    if (change->content != KEPT)
        *row = *change;
    else if (row->content == IN_BODY)
        row->mark = change->seed;
}

static void model_of(const struct run *run, uint32_t last, struct held *held)
{
    memset(held->want, 0, sizeof held->want);
    for (uint32_t number = 1; number <= last; number++) {
        if (!is_part(run, number, last))
            continue;
        struct plan plan = run->calls[number].plan;
        for (uint32_t i = 0; i < plan.count; i++)
            model_change(&held->want[plan.changes[i].key], &plan.changes[i].row);
    }
}

struct replayed {
    uint32_t seed, number;
};

static struct err replay(struct txn *t, void *arg)
{
    const struct replayed *one = arg;
    return tree_change(t, one->seed, one->number);
}

/* The tree equals one in memory after the same updates: nothing is partly moved. */
static void check_tree(struct run *run, uint32_t last)
{
    struct arena arena = {0};
    struct engine *model = engine_mem_new(&run->clock);
    tree_begin(model);
    for (uint32_t number = 1; number <= last; number++) {
        struct replayed one = {run->seed, number};
        if (is_part(run, number, last))
            CHECK_OK(engine_update_wait(model, TREE_PARTITION, replay, &one));
    }
    CHECK_STR(tree_text(run->engine, &arena), tree_text(model, &arena));
    engine_close(model);
    arena_release(&arena);
}

static void check_held(struct run *run, uint32_t last)
{
    if (run->tree) {
        check_tree(run, last);
        return;
    }
    struct held held = {.run = run};
    model_of(run, last, &held);
    CHECK_OK(engine_view(run->engine, STR("p"), ENGINE_WAIT, check_rows, &held));
}

static uint32_t held_number(struct run *run)
{
    struct held held = {.run = run};
    CHECK_OK(engine_view(run->engine, partition_of(run), ENGINE_WAIT, read_number, &held));
    CHECK(held.number <= run->submitted);
    return held.number;
}

/* The newest update that has to survive. */
static uint32_t sure_number(const struct run *run, size_t now)
{
    uint32_t sure = 0;
    for (uint32_t number = 1; number <= run->submitted; number++) {
        if (run->calls[number].sure <= now)
            sure = number;
    }
    return sure;
}

uint32_t power_run_check(struct run *run, size_t now)
{
    uint32_t last = held_number(run);
    CHECK(last >= sure_number(run, now));
    CHECK(last == 0 || run->calls[last].outcome != REFUSED || run->calls[last].told > now);
    check_held(run, last);
    return last;
}

void run_check_live(struct run *run)
{
    uint32_t done = run->submitted;
    while (done > 0 && run->calls[done].outcome != DONE)
        done--;
    CHECK_INT(held_number(run), done);
    check_held(run, done);
}

/* ---- going on ---- */

void run_forget_told(struct run *run, size_t now)
{
    for (uint32_t number = 1; number <= run->submitted; number++) {
        struct call *call = &run->calls[number];
        if (call->told > now) {
            call->outcome = UNKNOWN;
            call->told = SIZE_MAX;
            call->sure = SIZE_MAX;
        }
    }
}

void run_go_on(struct run *run, uint32_t held, size_t sure)
{
    for (uint32_t number = 1; number <= held; number++) {
        struct call *call = &run->calls[number];
        call->outcome = is_part(run, number, held) ? DONE : REFUSED;
        if (call->sure > sure && call->outcome == DONE)
            call->sure = sure;
    }
    for (uint32_t number = 1; number <= held; number++)
        run->calls[number].told = run->calls[number].ran = 1; /* before all that is to come */
    run->submitted = held;
    atomic_store(&run->ended, held);
}

/* ---- `lazuli check` ---- */

static bool name_extents(struct str partition, struct str key, struct str value,
                         void (*named)(void *sink, const struct extent *x), void *sink)
{
    (void)partition;
    (void)key;
    if (value.n > 0 && value.p[0] == IN_EXTENT) {
        struct reader r = reader_of(str_from(value, 1));
        struct extent x = extent_decode(&r);
        named(sink, &x);
    }
    return true;
}

static bool name_of_paths(struct str partition, struct str key, struct str value,
                          void (*named)(void *sink, const struct extent *x), void *sink)
{
    (void)partition;
    return str_eq(key, STR("number")) || blob_row_extents(key, value, named, sink);
}

static void print_problem(void *arg, const char *line)
{
    (void)arg;
    printf("check: %s\n", line);
}

void run_check_whole(struct run *run, const char *folder)
{
    struct engine_check check = {.refs = run->tree ? name_of_paths : name_extents,
                                 .problem = print_problem};
    struct engine *e = NULL;
    CHECK_OK(run_open(run, folder, true, &e));
    CHECK_OK(engine_local_check(e, &check));
    engine_close(e);
    CHECK_INT(check.problems, 0);
}
