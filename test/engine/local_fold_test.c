/* SPDX-License-Identifier: Apache-2.0 */
/* The two generations of rows that wait for RocksDB: which rows go there, and which never do. */
#include <stdio.h>

#include "engine/local/local_internal.h"
#include "subject.h"

enum { FIRST_ROWS = 4, MORE_ROWS = 4 };

struct range {
    int from;
    int past;
};

static struct str key_of(char bytes[8], int i)
{
    return (struct str){bytes, (size_t)snprintf(bytes, 8, "k%03d", i)};
}

static struct err put_new(struct txn *t, void *arg)
{
    const struct range *r = arg;
    char bytes[8];
    for (int i = r->from; i < r->past; i++) {
        struct str key = key_of(bytes, i);
        TRY(txn_insert(t, &(struct engine_row){.key = key, .value = key}));
    }
    return OK;
}

static struct err delete_rows(struct txn *t, void *arg)
{
    const struct range *r = arg;
    char bytes[8];
    for (int i = r->from; i < r->past; i++)
        TRY(txn_del(t, key_of(bytes, i)));
    return OK;
}

/* Only these are there. */
static struct err see(struct txn *t, void *arg)
{
    const struct range *r = arg;
    struct cursor *c;
    char bytes[8];
    TRY(cursor_open(t, STR("k"), &c));
    for (int i = r->from; i < r->past; i++) {
        CHECK(c->valid);
        CHECK_STR(c->key, key_of(bytes, i));
        CHECK_STR(c->value, key_of(bytes, i));
        TRY(cursor_next(c));
    }
    CHECK(!c->valid);
    cursor_close(c);
    return OK;
}

static bool draining(struct subject *s)
{
    return local_of(s->engine)->published->draining.root != NULL;
}

/* Rows are folded while a commit is written, before its rows are published. */
static void change(struct subject *s, engine_fn *fn, int from, int past)
{
    update_ok(s, STR("p"), fn, &(struct range){from, past});
}

static void fold_subject(struct subject *s)
{
    *s = (struct subject){.kind = &SUBJECT_FOLDING}; /* three rows fill a generation */
    clock_init_manual(&s->clock, 20000 * TICKS_PER_DAY);
    arena_init(&s->arena, SIZE_MAX);
    s->engine = s->kind->open(s);
}

static size_t filling_rows(struct subject *s)
{
    return local_of(s->engine)->filling_rows;
}

void test_local_a_generation_fills_while_the_other_drains(void)
{
    struct subject s;
    fold_subject(&s);
    change(&s, put_new, 0, FIRST_ROWS);
    CHECK(!draining(&s));
    CHECK_INT(filling_rows(&s), FIRST_ROWS);
    change(&s, put_new, FIRST_ROWS, FIRST_ROWS + MORE_ROWS); /* the first are draining now */
    CHECK(draining(&s));
    CHECK_INT(filling_rows(&s), MORE_ROWS);
    change(&s, delete_rows, 0, 1); /* two rows go to RocksDB, also the one that is deleted */
    CHECK_INT(filling_rows(&s), MORE_ROWS + 1);
    view_ok(&s, STR("p"), see, &(struct range){1, FIRST_ROWS + MORE_ROWS});
    change(&s, delete_rows, 1, 2); /* and the other two */
    view_ok(&s, STR("p"), see, &(struct range){2, FIRST_ROWS + MORE_ROWS});
    change(&s, delete_rows, FIRST_ROWS, FIRST_ROWS + MORE_ROWS); /* RocksDB never had them */
    CHECK(!draining(&s));
    CHECK_INT(filling_rows(&s), 2); /* tombstones */
    view_ok(&s, STR("p"), see, &(struct range){2, FIRST_ROWS});
    subject_reopen(&s);
    view_ok(&s, STR("p"), see, &(struct range){2, FIRST_ROWS});
    engine_close(s.engine);
    arena_release(&s.arena);
}

static const struct row *filling_row(struct subject *s, int number)
{
    char bytes[8];
    struct rowkey key;
    rowkey_init(&key, &s->arena, STR("p"));
    return tree_find(&local_of(s->engine)->published->filling,
                     rowkey_of(&key, key_of(bytes, number)));
}

void test_local_a_row_that_is_deleted_while_it_drains_never_gets_to_rocksdb(void)
{
    struct subject s;
    fold_subject(&s);
    change(&s, put_new, 0, FIRST_ROWS);
    change(&s, put_new, FIRST_ROWS, FIRST_ROWS + 1);
    change(&s, delete_rows, FIRST_ROWS - 1, FIRST_ROWS); /* two of the others go to RocksDB */
    CHECK(draining(&s));
    CHECK(!filling_row(&s, FIRST_ROWS - 1)->born); /* it hides the draining row */
    change(&s, delete_rows, FIRST_ROWS, FIRST_ROWS + 1);
    CHECK(!draining(&s));
    const struct row *tombstone = filling_row(&s, FIRST_ROWS - 1);
    CHECK(tombstone->deleted && tombstone->born); /* nothing is left that it could hide */
    view_ok(&s, STR("p"), see, &(struct range){0, FIRST_ROWS - 1});
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- part by part ---- */

enum { MODEL_KEYS = 60, MODEL_STEPS = 600 };

struct model {
    int values[MODEL_KEYS]; /* 0: no such row */
    int number;
    int value;
    bool is_new;
};

static struct err change_model(struct txn *t, void *arg)
{
    const struct model *m = arg;
    char bytes[8];
    struct str key = key_of(bytes, m->number);
    if (m->value == 0)
        return txn_del(t, key);
    struct engine_row row = {.key = key, .value = {(const char *)&m->value, sizeof m->value}};
    return m->is_new ? txn_insert(t, &row) : txn_put_row(t, &row);
}

static struct err see_model(struct txn *t, void *arg)
{
    const struct model *m = arg;
    struct cursor *c;
    char bytes[8];
    TRY(cursor_open(t, STR("k"), &c));
    for (int i = 0; i < MODEL_KEYS; i++) {
        struct str found;
        struct str want = {(const char *)&m->values[i], sizeof m->values[i]};
        TRY(txn_get(t, key_of(bytes, i), &found));
        CHECK(str_given(found) == (m->values[i] != 0));
        if (m->values[i] == 0)
            continue;
        CHECK_STR(found, want);
        CHECK(c->valid);
        CHECK_STR(c->key, key_of(bytes, i));
        CHECK_STR(c->value, want);
        TRY(cursor_next(c));
    }
    CHECK(!c->valid);
    cursor_close(c);
    return OK;
}

static void model_step(struct subject *s, struct model *m, uint32_t *random)
{
    *random = *random * 1664525 + 1013904223;
    m->number = (int)(*random >> 8) % MODEL_KEYS;
    m->value = (*random >> 28) % 3 == 0 ? 0 : 1 + (int)(*random >> 20 & 255);
    m->is_new = m->values[m->number] == 0;
    update_ok(s, STR("p"), change_model, m);
    m->values[m->number] = m->value;
}

/* Rows are put and deleted while others move to RocksDB, before and after the moving keys. */
void test_local_rows_go_part_by_part(void)
{
    struct subject s;
    struct model m = {.number = 0};
    uint32_t random = 4711;
    fold_subject(&s);
    local_of(s.engine)->fold_rows = 12; /* parts of three; no update is on its way now */
    size_t parts = 0;
    for (int step = 0; step < MODEL_STEPS; step++) {
        model_step(&s, &m, &random);
        parts += local_of(s.engine)->drained_to != NULL ? 1 : 0;
        view_ok(&s, STR("p"), see_model, &m);
    }
    CHECK(parts > MODEL_STEPS / 20);
    subject_reopen(&s);
    view_ok(&s, STR("p"), see_model, &m);
    engine_close(s.engine);
    arena_release(&s.arena);
}
