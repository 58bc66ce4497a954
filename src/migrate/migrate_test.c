/* SPDX-License-Identifier: Apache-2.0 */
#include "migrate/migrate.h"

#include "core/test.h"
#include "engine/fault.h"
#include "engine/mem/mem.h"
#include "engine/repeat.h"
#include "engine/wait.h"

/* Values of these tests: parts, each a kind and either an extent's name or a length and so many
 * bytes of a user's. */
enum { PART_BYTES = 1, PART_EXTENT = 2 };

static bool refs(struct str partition, struct str key, struct str value, migrate_named *named,
                 void *sink)
{
    struct reader r = reader_of(value);
    (void)partition, (void)key;
    while (r.n > 0 && reader_ok(&r)) {
        uint8_t kind = read_u8(&r);
        if (kind == PART_BYTES) {
            (void)read_bytes(&r);
        } else if (kind == PART_EXTENT) {
            struct extent x = extent_decode(&r);
            if (reader_ok(&r))
                named(sink, &x);
        } else {
            return false;
        }
    }
    return reader_ok(&r);
}

static void put_part(struct buf *b, const struct extent *x)
{
    buf_put_u8(b, PART_EXTENT);
    extent_encode(b, x);
}

/* Bytes of a user's that look like the extent's name. */
static void put_decoy(struct buf *b, const struct extent *x)
{
    buf_put_u8(b, PART_BYTES);
    buf_put_varint(b, EXTENT_ENCODED_BYTES);
    extent_encode(b, x);
}

struct row {
    struct str key, value, body;
    const struct extent *adopt, *hold;
};

static struct err put_row(struct txn *t, void *arg)
{
    const struct row *row = arg;
    struct engine_row put = {.key = row->key, .value = row->value, .body = row->body};
    TRY(txn_put_row(t, &put));
    if (row->adopt != NULL)
        TRY(txn_extent(t, EXTENT_ADOPT, row->adopt));
    return row->hold == NULL ? OK : txn_extent(t, EXTENT_HOLD, row->hold);
}

static struct extent new_extent(struct engine *e, char fill, uint32_t length)
{
    struct extent_writer *w;
    struct extent x;
    struct buf b = buf_heap();
    for (uint32_t i = 0; i < length; i++)
        buf_putc(&b, (char)(fill + (char)(i % 7)));
    CHECK_OK(extent_begin(e, length, 0, &w));
    CHECK_OK(extent_append(w, buf_str(&b)));
    CHECK_OK(extent_finish(w, &x));
    buf_release(&b);
    return x;
}

enum { PLAIN_ROWS = 40, SOURCE_ROWS = PLAIN_ROWS + 4 };

/* Rows in several partitions, also with zero bytes and empty keys, with bodies, and with two
 * extents, of which one is named in two partitions. */
static struct engine *new_source(const struct clock *clock)
{
    struct engine *e = engine_mem_new(clock);
    struct buf value = buf_heap();
    for (int i = 0; i < PLAIN_ROWS; i++) {
        char key[] = {'k', (char)('a' + i / 7), (char)i, '\0', (char)i};
        char partition[] = {'b', '/', (char)('0' + i / 9), '\0'};
        struct row row = {.key = {key, i == 3 ? 0 : sizeof key}, .value = STR("")};
        if (i % 3 == 0)
            row.body = (struct str){key, sizeof key};
        CHECK_OK(engine_update_wait(e, (struct str){partition, sizeof partition}, put_row, &row));
    }
    struct extent x = new_extent(e, 'x', 100000);
    struct extent y = new_extent(e, 'y', 1);
    put_decoy(&value, &x);
    put_part(&value, &x);
    put_part(&value, &y);
    struct row first = {.key = STR("1"), .value = buf_str(&value), .adopt = &x};
    CHECK_OK(engine_update_wait(e, STR("f/one"), put_row, &first));
    buf_clear(&value);
    put_part(&value, &y);
    struct row second = {.key = STR("2"), .value = buf_str(&value), .adopt = &y, .hold = &y};
    CHECK_OK(engine_update_wait(e, STR("f/one"), put_row, &second));
    buf_clear(&value);
    put_part(&value, &x);
    put_decoy(&value, &x);
    struct row third = {.key = STR(""), .value = buf_str(&value), .hold = &x};
    CHECK_OK(engine_update_wait(e, STR("a/two"), put_row, &third));
    struct row last = {.key = STR("z"), .value = STR("")};
    CHECK_OK(engine_update_wait(e, STR("zz"), put_row, &last));
    buf_release(&value);
    return e;
}

static struct migrate migration(struct engine *from, struct engine *to)
{
    return (struct migrate){
        .from = from, .to = to, .source = "source", .refs = refs, .page_rows = 3};
}

/* ---- what is there afterwards ---- */

struct seen {
    struct engine *engine;
    struct buf text; /* every row, with what its extents hold */
    uint64_t rows;
};

struct bytes_of {
    struct engine *engine;
    struct buf *to;
};

static void put_extent_bytes(void *sink, const struct extent *x)
{
    struct bytes_of *b = sink;
    char *to = buf_reserve(b->to, x->length);
    CHECK_OK(extent_read(b->engine, x, 0, x->length, ENGINE_WAIT, to));
    b->to->n += x->length;
}

static struct err see_rows(struct txn *t, void *arg)
{
    struct seen *s = arg;
    struct cursor *c;
    TRY(cursor_open_across(t, STR(""), STR(""), STR(""), &c));
    buf_clear(&s->text);
    s->rows = 0;
    while (c->valid) {
        struct engine_read read = {.partition = c->partition, .key = c->key, .with_body = true};
        struct bytes_of bytes = {s->engine, &s->text};
        TRY(txn_get_many(t, &read, 1));
        buf_put_bytes(&s->text, c->partition);
        buf_put_bytes(&s->text, c->key);
        buf_put_bytes(&s->text, read.body);
        buf_put_varint(&s->text, c->value.n);
        CHECK(refs(c->partition, c->key, c->value, put_extent_bytes, &bytes));
        s->rows++;
        TRY(cursor_next(c));
    }
    cursor_close(c);
    return OK;
}

static void check_same(struct engine *from, struct engine *to)
{
    struct seen a = {.engine = from, .text = buf_heap()};
    struct seen b = {.engine = to, .text = buf_heap()};
    CHECK_OK(engine_view(from, STR(""), ENGINE_WAIT, see_rows, &a));
    CHECK_OK(engine_view(to, STR(""), ENGINE_WAIT, see_rows, &b));
    CHECK_INT(b.rows, a.rows);
    CHECK(str_eq(buf_str(&a.text), buf_str(&b.text)));
    buf_release(&a.text);
    buf_release(&b.text);
}

/* Drops the extents that the row names: the counts are right if each can be dropped exactly
 * once. */
static void drop_named(void *sink, const struct extent *x)
{
    CHECK_OK(txn_extent(sink, EXTENT_DROP, x));
}

static struct err drop_row(struct txn *t, void *arg)
{
    const struct row *row = arg;
    struct str value;
    TRY(txn_get(t, row->key, &value));
    CHECK(refs(STR(""), row->key, value, drop_named, t));
    return txn_del(t, row->key);
}

static void check_counts(struct engine *e)
{
    static const struct {
        struct str partition, key;
    } NAMING[] = {{STR_INIT("f/one"), STR_INIT("1")},
                  {STR_INIT("f/one"), STR_INIT("2")},
                  {STR_INIT("a/two"), STR_INIT("")}};
    struct engine_usage usage;
    for (size_t i = 0; i < 3; i++) {
        struct row row = {.key = NAMING[i].key};
        CHECK_OK(engine_update_wait(e, NAMING[i].partition, drop_row, &row));
    }
    engine_usage(e, &usage);
    CHECK_INT(usage.segment_bytes, 0);
}

void test_migrate_copies_rows_bodies_and_extents(void)
{
    struct clock clock;
    bool unfinished = true;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    struct engine *to = engine_repeat_new(engine_mem_new(&clock));
    struct migrate m = migration(from, to);
    CHECK_OK(migrate_run(&m));
    CHECK_INT(m.rows, SOURCE_ROWS);
    CHECK_INT(m.extents, 2);
    CHECK(!m.resumed && m.bytes > 200000);
    check_same(from, to);
    CHECK_OK(migrate_unfinished(to, &unfinished));
    CHECK(!unfinished);
    check_counts(to);
    engine_close(to);
    engine_close(from);
}

void test_migrate_of_an_empty_store(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = engine_mem_new(&clock);
    struct engine *to = engine_mem_new(&clock);
    struct migrate m = migration(from, to);
    CHECK_OK(migrate_run(&m));
    check_same(from, to);
    engine_close(to);
    engine_close(from);
}

#ifdef __SANITIZE_THREAD__
enum { FAULT_STEP = 16 };
#else
enum { FAULT_STEP = 1 };
#endif

/* After a failure of any call of the destination, the store is not served, and running the
 * migration again gives the same result as without the failure. */
void test_migrate_goes_on_after_every_failure(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    bool fired = true;
    for (uint64_t n = 1; fired; n += FAULT_STEP) {
        bool unfinished = false;
        struct engine *to = engine_fault_new(engine_mem_new(&clock));
        struct migrate m = migration(from, to);
        engine_fault_arm(to, n, err_new(ERR_IO));
        struct err e = migrate_run(&m);
        fired = engine_fault_fired(to);
        engine_fault_arm(to, 0, OK);
        CHECK(fired == err_is(e));
        CHECK_OK(migrate_unfinished(to, &unfinished));
        struct migrate again = migration(from, to);
        if (fired) {
            CHECK_OK(migrate_run(&again));
            CHECK(again.resumed == unfinished);
            CHECK_INT(again.rows, SOURCE_ROWS);
        }
        check_same(from, to);
        check_counts(to);
        engine_close(to);
    }
    engine_close(from);
}

static struct engine *interrupted(struct engine *from, const struct clock *clock, uint64_t n)
{
    struct engine *to = engine_fault_new(engine_mem_new(clock));
    struct migrate m = migration(from, to);
    engine_fault_arm(to, n, err_new(ERR_IO));
    CHECK_ERR(migrate_run(&m), ERR_IO);
    engine_fault_arm(to, 0, OK);
    return to;
}

void test_migrate_refuses_a_destination_with_rows(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    struct engine *to = engine_mem_new(&clock);
    struct row row = {.key = STR("k"), .value = STR("v")};
    CHECK_OK(engine_update_wait(to, STR("p"), put_row, &row));
    struct migrate m = migration(from, to);
    CHECK_ERR(migrate_run(&m), ERR_MIGRATION);
    engine_close(to);
    engine_close(from);
}

void test_migrate_refuses_another_source_in_the_middle(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    struct engine *to = interrupted(from, &clock, 60);
    struct migrate m = migration(from, to);
    m.source = "another";
    CHECK_ERR(migrate_run(&m), ERR_MIGRATION);
    /* Nor is a store that is only half there a source. */
    struct engine *third = engine_mem_new(&clock);
    struct migrate onwards = migration(to, third);
    CHECK_ERR(migrate_run(&onwards), ERR_MIGRATION);
    engine_close(third);
    engine_close(to);
    engine_close(from);
}

/* The comparison finds rows that were copied before the source changed. */
void test_migrate_notices_a_source_that_changed(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    struct engine *to = interrupted(from, &clock, 100);
    struct row row = {.key = STR(""), .value = STR("")};
    CHECK_OK(engine_update_wait(from, STR("a/two"), put_row, &row));
    struct migrate m = migration(from, to);
    CHECK_ERR(migrate_run(&m), ERR_MIGRATION);
    engine_close(to);
    engine_close(from);
}

void test_migrate_notices_a_row_that_is_too_many(void)
{
    struct clock clock;
    clock_init_manual(&clock, TICKS_PER_DAY);
    struct engine *from = new_source(&clock);
    struct engine *to = interrupted(from, &clock, 100);
    struct row row = {.key = STR("nobody's"), .value = STR("")};
    CHECK_OK(engine_update_wait(to, STR("a/two"), put_row, &row));
    struct migrate m = migration(from, to);
    CHECK_ERR(migrate_run(&m), ERR_MIGRATION);
    engine_close(to);
    engine_close(from);
}
