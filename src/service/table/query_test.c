/* SPDX-License-Identifier: Apache-2.0 */
/* Query Entities: order, bounds, pages, limits. */
#include <stdio.h>

#include "engine/fault.h"
#include "service/table/table_fixture.h"

static struct people f;
static struct buf seen;

static void begin(void *context)
{
    (void)context;
    buf_clear(&seen);
}

static void emit(void *context, const struct entity_found *found)
{
    (void)context;
    buf_printf(&seen, "%s%.*s/%.*s", seen.n == 0 ? "" : " ", STR_ARG(found->pk),
               STR_ARG(found->rk));
}

static struct entity_query query_of(const char *text)
{
    struct entity_query q = {
        .arena = &f.arena, .ref = f.people, .top = TABLE_PAGE_MAX, .begin = begin, .emit = emit};
    if (text != NULL) {
        struct filter *filter;
        CHECK_OK(filter_compile(&f.arena, str_of(text), &filter));
        q.filter = filter;
    }
    return q;
}

static void run(struct entity_query *q)
{
    CHECK_OK(engine_view(f.engine, tables_partition(&f.arena, STR("acct")), ENGINE_WAIT,
                         table_query_entities, q));
}

static void finds(const char *text, const char *want)
{
    struct entity_query q = query_of(text);
    run(&q);
    CHECK(!q.more);
    CHECK_STR(buf_str(&seen), str_of(want));
}

static void fill(void)
{
    people_init(&f);
    seen = buf_in(&f.arena);
    const char *keys[] = {"a/1", "a/2", "a/3", "b/1", "b/2", "ba/1", "c/2", "c/3", "/", "/x"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        struct str rk = str_of(keys[i]);
        struct str pk = str_cut(&rk, '/');
        people_insert(&f, arena_cstr(&f.arena, pk), arena_cstr(&f.arena, rk),
                      i % 2 == 0 ? "n=0" : "n=1");
    }
}

void test_query_entities(void)
{
    fill();
    finds(NULL, "/ /x a/1 a/2 a/3 b/1 b/2 ba/1 c/2 c/3");
    finds("PartitionKey eq 'a'", "a/1 a/2 a/3");
    finds("PartitionKey eq 'a' and RowKey gt '1'", "a/2 a/3");
    finds("RowKey eq '2'", "a/2 b/2 c/2");
    finds("PartitionKey ge 'b' and PartitionKey lt 'c'", "b/1 b/2 ba/1");
    finds("PartitionKey eq 'c' or PartitionKey eq 'a' and RowKey le '2'", "a/1 a/2 c/2 c/3");
    finds("not (PartitionKey lt 'b')", "b/1 b/2 ba/1 c/2 c/3");
    finds("n eq 1", "/x a/2 b/1 ba/1 c/3");
    finds("n eq 1 and RowKey ne '1'", "/x a/2 c/3");
    finds("PartitionKey eq ''", "/ /x");
    finds("PartitionKey eq 'zz'", "");
    finds("PartitionKey eq 'a' and PartitionKey eq 'b'", "");
    people_release(&f);
}

void test_query_entities_of_a_missing_table(void)
{
    fill();
    struct entity_query q = query_of(NULL);
    q.ref.table = STR("missing");
    CHECK_ERR(engine_view(f.engine, STR(""), ENGINE_WAIT, table_query_entities, &q),
              ERR_TABLE_NOT_FOUND);
    people_release(&f);
}

/* Tables whose names begin alike do not see each other's entities. */
void test_query_entities_stays_in_its_table(void)
{
    fill();
    CHECK_OK(people_make_table(&f, "PeopleX"));
    CHECK_OK(people_make_table(&f, "Peopl"));
    f.people.table = STR("peoplex");
    people_insert(&f, "q", "r", "");
    finds(NULL, "q/r");
    f.people.table = STR("peopl");
    finds(NULL, "");
    people_release(&f);
}

static void page_through(const char *text, unsigned top, const char *want)
{
    struct buf all = buf_in(&f.arena);
    struct entity_query q = query_of(text);
    q.top = top;
    for (int pages = 0;; pages++) {
        CHECK(pages < 50);
        run(&q);
        buf_put(&all, buf_str(&seen));
        buf_putc(&all, '|');
        if (!q.more)
            break;
        q.from_pk = q.next_pk;
        q.from_rk = q.next_rk;
    }
    CHECK_STR(buf_str(&all), str_of(want));
}

void test_query_entities_pages(void)
{
    fill();
    page_through(NULL, 4, "/ /x a/1 a/2|a/3 b/1 b/2 ba/1|c/2 c/3|");
    page_through(NULL, 5, "/ /x a/1 a/2 a/3|b/1 b/2 ba/1 c/2 c/3|");
    page_through("RowKey eq '2'", 1, "a/2|b/2|c/2|");
    page_through("PartitionKey eq 'a'", 3, "a/1 a/2 a/3|");
    /* The page after the last match may be empty: it was not known before. */
    page_through("n eq 1", 2, "/x a/2|b/1 ba/1|c/3|");
    page_through("PartitionKey eq 'a' and n eq 1", 1, "a/2||");
    people_release(&f);
}

/* A token is a position, so it stays valid whatever is written or deleted meanwhile. */
void test_query_entities_pages_beside_writes(void)
{
    fill();
    struct entity_query q = query_of(NULL);
    q.top = 3;
    run(&q);
    CHECK_STR(buf_str(&seen), STR("/ /x a/1"));
    struct entity_change change = people_change(&f, "a", "2", NULL);
    change.match.kind = MATCH_ANY;
    CHECK_OK(people_apply(&f, table_delete_entity, &change));
    people_insert(&f, "a", "21", "");
    people_insert(&f, "A", "0", "");
    q.from_pk = q.next_pk;
    q.from_rk = q.next_rk;
    run(&q);
    CHECK_STR(buf_str(&seen), STR("a/21 a/3 b/1"));
    people_release(&f);
}

static void clipped(struct key_clip clip, const char *text, const char *want)
{
    struct entity_query q = query_of(text);
    q.clip = clip;
    run(&q);
    CHECK_STR(buf_str(&seen), str_of(want));
}

/* A SAS with a range of keys: queries see only what is in it. */
void test_query_entities_clipped_to_a_sas(void)
{
    fill();
    struct key_clip clip = {.start_pk = STR("a"), .start_rk = STR("2")};
    clipped(clip, NULL, "a/2 a/3 b/1 b/2 ba/1 c/2 c/3");
    clip = (struct key_clip){
        .start_pk = STR("a"), .start_rk = STR("2"), .end_pk = STR("b"), .end_rk = STR("1")};
    clipped(clip, NULL, "a/2 a/3 b/1");
    clipped(clip, "RowKey eq '1'", "b/1");
    CHECK(key_clip_holds(&f.arena, &clip, STR("a"), STR("2")));
    CHECK(key_clip_holds(&f.arena, &clip, STR("aa"), STR("0")));
    CHECK(key_clip_holds(&f.arena, &clip, STR("b"), STR("1")));
    CHECK(!key_clip_holds(&f.arena, &clip, STR("a"), STR("1")));
    CHECK(!key_clip_holds(&f.arena, &clip, STR("b"), STR("10")));
    clip = (struct key_clip){.end_pk = STR("a")};
    clipped(clip, NULL, "/ /x a/1 a/2 a/3");
    clip = (struct key_clip){.start_pk = STR("b"), .end_pk = STR("b")};
    clipped(clip, NULL, "b/1 b/2");
    clip = (struct key_clip){0};
    CHECK(key_clip_holds(&f.arena, &clip, STR("x"), STR("y")));
    people_release(&f);
}

/* A run on an event loop gives up if it would take long, and the next one runs to the end. */
void test_query_entities_has_a_budget(void)
{
    fill();
    struct entity_query q = query_of(NULL);
    q.budget = 5;
    struct str partition = tables_partition(&f.arena, STR("acct"));
    CHECK_ERR(engine_view(f.engine, partition, ENGINE_NOWAIT, table_query_entities, &q),
              ERR_LONG_WORK);
    CHECK_OK(engine_view(f.engine, partition, ENGINE_WAIT, table_query_entities, &q));
    CHECK_STR(buf_str(&seen), STR("/ /x a/1 a/2 a/3 b/1 b/2 ba/1 c/2 c/3"));
    people_release(&f);
}

/* Bounds keep the number of rows read small, however many there are. */
void test_query_entities_reads_only_its_range(void)
{
    people_init(&f);
    seen = buf_in(&f.arena);
    for (int i = 0; i < 2000; i++) {
        char pk[16];
        char rk[16];
        (void)snprintf(pk, sizeof pk, "p%02d", i / 100);
        (void)snprintf(rk, sizeof rk, "r%02d", i % 100);
        people_insert(&f, pk, rk, "");
    }
    struct entity_query q =
        query_of("PartitionKey eq 'p07' and RowKey ge 'r50' and RowKey lt 'r60'");
    run(&q);
    CHECK(q.looked_at <= 11);
    q = query_of("(PartitionKey eq 'p03' or PartitionKey eq 'p11') and RowKey eq 'r50'");
    run(&q);
    CHECK_STR(buf_str(&seen), STR("p03/r50 p11/r50"));
    CHECK(q.looked_at <= 6);
    q = query_of("RowKey eq 'r99'");
    run(&q);
    CHECK(q.looked_at <= 60);
    people_release(&f);
}

/* Order is that of UTF-16: U+10400 before U+FF5E. */
void test_query_entities_order_is_ordinal(void)
{
    people_init(&f);
    seen = buf_in(&f.arena);
    people_insert(&f, "\xEF\xBD\x9E", "1", "");
    people_insert(&f, "\xF0\x90\x90\x80", "2", "");
    people_insert(&f, "z", "3", "");
    finds(NULL, "z/3 \xF0\x90\x90\x80/2 \xEF\xBD\x9E/1");
    finds("PartitionKey gt '\xF0\x90\x90\x80'", "\xEF\xBD\x9E/1");
    page_through(NULL, 1, "z/3|\xF0\x90\x90\x80/2|\xEF\xBD\x9E/1|");
    people_release(&f);
}

/* If any call of the engine fails, the query reports it and leaves nothing open. */
void test_query_entities_when_the_engine_fails(void)
{
    fill();
    struct engine *fault = engine_fault_new(f.engine);
    f.engine = fault;
    struct str partition = tables_partition(&f.arena, STR("acct"));
    struct entity_query q = query_of("RowKey eq '2' and n ge 0");
    struct err e = err_new(ERR_IO);
    for (uint64_t n = 1; err_is(e); n++) {
        CHECK(n < 200);
        engine_fault_arm(fault, n, err_new(ERR_IO));
        e = engine_view(fault, partition, ENGINE_WAIT, table_query_entities, &q);
        CHECK(err_is(e) == engine_fault_fired(fault));
        engine_fault_arm(fault, 0, OK);
    }
    CHECK_STR(buf_str(&seen), STR("a/2 b/2 c/2"));
    people_release(&f);
}
