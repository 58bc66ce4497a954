/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that are read from the journal by their offset: they are always the newest, however the
 * offset was learned. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/mem.h"
#include "engine/local/journal_format.h"
#include "engine/local/local_internal.h"
#include "engine/wait.h"
#include "subject.h"

enum { ROWS = 2 * ROW_INDEX_SAVED_MIN, BODY_BYTES = 600 };

static struct subject new_subject(void)
{
    struct subject s = {.kind = &SUBJECT_LOCAL};
    clock_init_manual(&s.clock, 20000 * TICKS_PER_DAY);
    arena_init(&s.arena, SIZE_MAX);
    return s;
}

/* A row's value is its version, and its body is derived from it. */
struct versioned {
    uint32_t number;
    uint32_t version; /* 0: there is none */
};

static struct str key_of(char text[24], uint32_t number)
{
    return (struct str){text, (size_t)snprintf(text, 24, "row %u", number)};
}

static struct err put_version(struct txn *t, void *arg)
{
    const struct versioned *v = arg;
    char key[24];
    char value[24];
    char body[BODY_BYTES];
    int n = snprintf(value, sizeof value, "%u", v->version);
    if (v->version == 0)
        return txn_del(t, key_of(key, v->number));
    fill_bytes(body, sizeof body, v->number * 31 + v->version);
    return txn_put_row(t, &(struct engine_row){.key = key_of(key, v->number),
                                               .value = (struct str){value, (size_t)n},
                                               .body = (struct str){body, sizeof body}});
}

static struct err get_version(struct txn *t, void *arg)
{
    struct versioned *v = arg;
    char key[24];
    char want[BODY_BYTES];
    struct str value;
    struct str body;
    uint64_t version;
    v->version = 0;
    TRY(get_with_body(t, key_of(key, v->number), &value, &body));
    if (!str_given(value))
        return OK;
    CHECK(str_to_u64(value, &version));
    v->version = (uint32_t)version;
    fill_bytes(want, sizeof want, v->number * 31 + v->version);
    CHECK_STR(body, ((struct str){want, sizeof want}));
    return OK;
}

static struct err put_rows(struct txn *t, void *arg)
{
    const uint32_t *version = arg;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct versioned v = {i, *version};
        TRY(put_version(t, &v));
    }
    return OK;
}

static void put_all(struct subject *s, uint32_t version)
{
    update_ok(s, STR("p"), put_rows, &version);
}

static struct err change_rows(struct txn *t, void *arg)
{
    const uint32_t *version = arg;
    for (uint32_t i = 0; i < ROWS; i++) {
        struct versioned v = {i, i % 3 == 0 ? 0 : *version};
        if (i % 3 != 1)
            TRY(put_version(t, &v));
    }
    return OK;
}

/* Every third row is deleted, every third put again. */
static void change_some(struct subject *s, uint32_t version)
{
    update_ok(s, STR("p"), change_rows, &version);
}

static void check_all(struct subject *s, uint32_t untouched, uint32_t changed)
{
    for (uint32_t i = 0; i < ROWS; i++) {
        struct versioned v = {.number = i};
        view_ok(s, STR("p"), get_version, &v);
        CHECK_INT(v.version, i % 3 == 1                           ? untouched
                             : i % 3 == 0 && changed != untouched ? 0
                                                                  : changed);
    }
}

/* The number of rows with known offsets. (The collector commits at any time, so not all may be
 * found.)
 */
static uint32_t known_places(struct subject *s)
{
    struct local_engine *e = local_of(s->engine);
    uint32_t known = 0;
    for (uint32_t i = 0; i < ROWS; i++) {
        char text[24];
        struct rowkey key;
        struct row_location location;
        rowkey_init(&key, &s->arena, STR("p"));
        uint64_t hash = row_cache_hash(rowkey_of(&key, key_of(text, i)));
        known +=
            row_index_find(e->row_index, hash, atomic_load(&e->row_index->announced), &location);
    }
    return known;
}

void test_local_places_are_noted_by_commits(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    put_all(&s, 1);
    CHECK(known_places(&s) > ROWS - ROWS / 50); /* a few may look the same */
    check_all(&s, 1, 1);
    change_some(&s, 2);
    CHECK(known_places(&s) <= ROWS - ROWS / 3);
    check_all(&s, 1, 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}

void test_local_places_are_kept_for_the_next_run(void)
{
    struct subject s = new_subject();
    s.engine = s.kind->open(&s);
    put_all(&s, 1);
    for (uint32_t run = 2; run < 5; run++) {
        subject_reopen(&s);
        if (run == 3)
            check_all(&s, 1, run - 1); /* before the first commit */
        change_some(&s, run);
        CHECK(known_places(&s) > ROWS - ROWS / 3 - ROWS / 50);
        check_all(&s, 1, run);
    }
    subject_reopen(&s);
    subject_reopen(&s); /* a run that has no use for them hands them on */
    check_all(&s, 1, 4);
    change_some(&s, 5);
    CHECK(known_places(&s) > ROWS - ROWS / 3 - ROWS / 50);
    engine_close(s.engine);
    arena_release(&s.arena);
}

static void write_versions(struct subject *s)
{
    put_all(s, 1);
    change_some(s, 2);
}

void test_local_places_are_learned_after_a_crash(void)
{
    struct subject s = new_subject();
    run_and_crash(&s, write_versions);
    s.engine = s.kind->open(&s);
    check_all(&s, 1, 2); /* more than are waited for before all are walked over */
    WAIT_UNTIL(known_places(&s) >= ROWS - ROWS / 3 - ROWS / 50);
    check_all(&s, 1, 2);
    change_some(&s, 3);
    check_all(&s, 1, 3);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- a file of places that a power cut has brought back ---- */

static void name_places(char *path, size_t room, const char *suffix)
{
    (void)snprintf(path, room, "%s/places%s", subject_folder(), suffix);
}

void test_local_places_of_an_older_state_are_not_used(void)
{
    struct subject s = new_subject();
    char path[300];
    char aside[300];
    name_places(path, sizeof path, "");
    name_places(aside, sizeof aside, ".aside");
    s.engine = s.kind->open(&s);
    put_all(&s, 1);
    engine_close(s.engine);
    CHECK(link(path, aside) == 0);
    s.engine = s.kind->open(&s);
    change_some(&s, 2);
    engine_close(s.engine);
    CHECK(rename(aside, path) == 0);
    s.engine = s.kind->open(&s);
    check_all(&s, 1, 2);
    check_all(&s, 1, 2);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- readers beside a writer ---- */

enum { RACE_ROWS = 8, RACE_VERSIONS = 25 };

struct race {
    struct subject *s;
    atomic_bool over;
};

static void *watch(void *arg)
{
    struct race *race = arg;
    uint32_t seen[RACE_ROWS] = {0};
    while (!atomic_load(&race->over)) {
        for (uint32_t i = 0; i < RACE_ROWS; i++) {
            struct versioned v = {.number = i};
            CHECK_OK(engine_view(race->s->engine, STR("p"), ENGINE_WAIT, get_version, &v));
            CHECK(v.version >= seen[i]);
            seen[i] = v.version;
        }
    }
    return NULL;
}

void test_local_places_are_in_step_with_commits(void)
{
    struct subject s = new_subject();
    struct race race = {.s = &s};
    pthread_t watchers[2];
    s.engine = s.kind->open(&s);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_create(&watchers[i], NULL, watch, &race) == 0);
    for (uint32_t version = 1; version <= RACE_VERSIONS; version++) {
        for (uint32_t i = 0; i < RACE_ROWS; i++) {
            struct versioned v = {i, version};
            struct versioned got = {.number = i};
            CHECK_OK(engine_update_wait(s.engine, STR("p"), put_version, &v));
            CHECK_OK(engine_view(s.engine, STR("p"), ENGINE_WAIT, get_version, &got));
            CHECK_INT(got.version, version);
        }
    }
    atomic_store(&race.over, true);
    for (size_t i = 0; i < 2; i++)
        CHECK(pthread_join(watchers[i], NULL) == 0);
    engine_close(s.engine);
    arena_release(&s.arena);
}

/* ---- files of the journal from before there were places ---- */

static void put_bare_entry(struct buf *entries, struct str key, struct str value, struct str body)
{
    struct rowkey whole;
    struct arena a;
    arena_init(&a, SIZE_MAX);
    rowkey_init(&whole, &a, STR("p"));
    buf_put_u8(entries, ENTRY_LARGE_BODY);
    buf_put_bytes(entries, rowkey_of(&whole, key));
    buf_put_bytes(entries, value);
    buf_put_varint(entries, body.n);
    buf_put_le32(entries, journal_sum(body, 0));
    arena_release(&a);
}

static void put_bare_head(struct buf *file, struct str entries, uint64_t value_bytes,
                          uint32_t count)
{
    struct buf rest = buf_heap();
    buf_put_le32(&rest, journal_sum(entries, 0)); /* the salt is 0 */
    buf_put_le32(&rest, (uint32_t)entries.n);
    buf_put_le64(&rest, value_bytes);
    buf_put_le64(&rest, 1);
    buf_put_le64(&rest, 0);
    buf_put_le32(&rest, count);
    buf_put_le32(&rest, 1);
    buf_put_le32(file, RECORD_MAGIC);
    buf_put_le32(file, journal_sum(buf_str(&rest), 0));
    buf_put(file, buf_str(&rest));
    buf_release(&rest);
}

static void write_file(const char *path, struct str bytes)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    CHECK(fd >= 0 && write(fd, bytes.p, bytes.n) == (ssize_t)bytes.n && close(fd) == 0);
}

/* Two rows in one record, as format 2 had them. */
static void write_bare_journal(const char *path)
{
    struct buf file = buf_heap();
    struct buf entries = buf_heap();
    char bodies[2][BODY_BYTES];
    buf_put(&file, STR(JOURNAL_MAGIC_BARE));
    buf_put_le64(&file, 1);
    buf_put_le64(&file, 0);
    buf_put_le32(&file, journal_sum(buf_str(&file), 0));
    memset(buf_reserve(&file, JOURNAL_HEAD_BYTES), 0, JOURNAL_HEAD_BYTES);
    file.n = JOURNAL_HEAD_BYTES;
    for (uint32_t i = 0; i < 2; i++) {
        char key[24];
        fill_bytes(bodies[i], BODY_BYTES, i * 31 + 9);
        put_bare_entry(&entries, key_of(key, i), STR("9"), (struct str){bodies[i], BODY_BYTES});
    }
    put_bare_head(&file, buf_str(&entries), sizeof bodies, 2);
    buf_put(&file, buf_str(&entries));
    buf_put(&file, (struct str){bodies[0], BODY_BYTES});
    buf_put(&file, (struct str){bodies[1], BODY_BYTES});
    write_file(path, buf_str(&file));
    buf_release(&file);
    buf_release(&entries);
}

void test_local_journal_without_places_is_read(void)
{
    struct subject s = new_subject();
    char path[300];
    (void)snprintf(path, sizeof path, "%s/journal", subject_folder());
    CHECK(mkdir(subject_folder(), 0700) == 0 && mkdir(path, 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/LAZULI", subject_folder());
    write_file(path, STR("lazuli store, format 2\n"));
    (void)snprintf(path, sizeof path, "%s/journal/0000000000000001.log", subject_folder());
    write_bare_journal(path);
    s.engine = s.kind->open(&s);
    for (int round = 0; round < 4; round++) {
        for (uint32_t i = 0; i < 2; i++) {
            struct versioned v = {.number = i};
            view_ok(&s, STR("p"), get_version, &v);
            CHECK_INT(v.version, 9);
        }
        if (round == 1)
            subject_reopen(&s);
        if (round == 2) { /* beside files of today */
            struct versioned v = {2, 1};
            update_ok(&s, STR("p"), put_version, &v);
            view_ok(&s, STR("p"), get_version, &v);
            CHECK_INT(v.version, 1);
        }
    }
    engine_close(s.engine);
    arena_release(&s.arena);
}
