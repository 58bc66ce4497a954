/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/table_fixture.h"

#include "engine/mem/mem.h"
#include "engine/wait.h"

struct err people_update(struct people *f, struct str partition, engine_fn *fn, void *arg)
{
    return engine_update_wait(f->engine, partition, fn, arg);
}

struct err people_make_table(struct people *f, const char *name)
{
    struct table_create create = {str_of(name)};
    return people_update(f, tables_partition(&f->arena, STR("acct")), table_create_table, &create);
}

void people_init(struct people *f)
{
    *f = (struct people){.people = {STR("acct"), STR("people")}};
    arena_init(&f->arena, SIZE_MAX);
    clock_init_manual(&f->clock, 17040672000000000LL);
    f->engine = engine_mem_new(&f->clock);
    f->store = (struct store){.engine = f->engine, .clock = &f->clock};
    CHECK_OK(people_make_table(f, "People"));
}

void people_release(struct people *f)
{
    engine_close(f->engine);
    arena_release(&f->arena);
}

void people_record(struct people *f, const char *pairs, struct entity_change *out)
{
    struct entity_builder b;
    struct str rest = str_of(pairs);
    entity_begin(&b, &f->arena);
    while (str_given(rest) && rest.n > 0) {
        struct str value = str_cut(&rest, ' ');
        struct str name = str_cut(&value, '=');
        struct edm_value v = {EDM_STRING, value};
        uint64_t number;
        if (str_to_u64(value, &number))
            v = edm_from_int32(&f->arena, (int32_t)number);
        CHECK_OK(entity_add(&b, name, v));
    }
    out->record = b.record.p;
    out->record_n = b.record.n;
}

struct entity_change people_change(struct people *f, const char *pk, const char *rk,
                                   const char *pairs)
{
    struct entity_change change = {.ref = f->people, .pk = str_of(pk), .rk = str_of(rk)};
    if (pairs != NULL)
        people_record(f, pairs, &change);
    return change;
}

struct err people_apply(struct people *f, engine_fn *fn, struct entity_change *change)
{
    return people_update(f, table_entities_partition(&f->arena, &change->ref, change->pk), fn,
                         change);
}

int64_t people_insert(struct people *f, const char *pk, const char *rk, const char *pairs)
{
    struct entity_change change = people_change(f, pk, rk, pairs);
    CHECK_OK(people_apply(f, table_insert_entity, &change));
    return change.stamp;
}

struct str people_pairs(struct people *f, struct str record)
{
    struct entity_walk w;
    struct property p;
    struct buf out = buf_in(&f->arena);
    CHECK_OK(entity_open(record, &w));
    while (entity_next(&w, &p)) {
        buf_printf(&out, "%s%.*s=", out.n == 0 ? "" : " ", STR_ARG(p.name));
        if (p.value.type == EDM_INT32)
            buf_put_i64(&out, edm_int32(p.value));
        else
            buf_put(&out, p.value.bytes);
    }
    CHECK(!w.bad);
    return buf_str(&out);
}

struct str people_get(struct people *f, const char *pk, const char *rk, int64_t *stamp)
{
    struct entity_get get = {.arena = &f->arena, .ref = f->people, .rk = str_of(rk)};
    struct err e =
        engine_view(f->engine, table_entities_partition(&f->arena, &f->people, str_of(pk)),
                    ENGINE_WAIT, table_get_entity, &get);
    if (e.code == ERR_RESOURCE_NOT_FOUND)
        return STR_NONE;
    CHECK_OK(e);
    if (stamp != NULL)
        *stamp = entity_stamp(get.record);
    return people_pairs(f, get.record);
}
