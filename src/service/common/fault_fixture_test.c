/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/fault_fixture.h"

#include "core/test.h"
#include "engine/fault.h"

struct dump {
    struct buf out;
    size_t rows;
};

static struct err dump_all(struct txn *t, void *arg)
{
    struct dump *d = arg;
    struct cursor *s;
    buf_clear(&d->out);
    d->rows = 0;
    TRY(cursor_open_across(t, STR(""), STR(""), STR(""), &s));
    while (s->valid) {
        buf_put_bytes(&d->out, s->partition);
        buf_put_bytes(&d->out, s->key);
        buf_put_bytes(&d->out, s->value);
        d->rows++;
        CHECK_OK(cursor_next(s));
    }
    cursor_close(s);
    return OK;
}

struct str fault_dump(struct engine *e, struct arena *a, size_t *rows)
{
    struct dump d = {.out = buf_in(a)};
    CHECK_OK(engine_view(e, STR("any"), ENGINE_WAIT, dump_all, &d));
    if (rows != NULL)
        *rows = d.rows;
    return buf_str(&d.out);
}

uint64_t fault_extent_bytes(struct engine *e)
{
    struct engine_usage usage;
    CHECK_OK(engine_flush(e));
    engine_usage(e, &usage);
    return usage.segment_bytes;
}

uint64_t fault_each_call(struct engine *fault, struct arena *a, fault_operation *run, void *world)
{
    struct str before = fault_dump(fault, a, NULL);
    uint64_t bytes = fault_extent_bytes(fault);
    uint64_t n = 0;
    struct err error;
    do {
        engine_fault_arm(fault, ++n, err_new(ERR_IO));
        error = run(world);
        bool fired = engine_fault_fired(fault);
        engine_fault_arm(fault, 0, OK);
        CHECK(err_is(error) == fired);
        if (fired) {
            CHECK_ERR(error, ERR_IO);
            CHECK_STR(fault_dump(fault, a, NULL), before);
            CHECK_INT(fault_extent_bytes(fault), bytes);
        }
    } while (err_is(error));
    CHECK(n > 1);
    return n;
}
