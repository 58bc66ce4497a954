/* SPDX-License-Identifier: Apache-2.0 */
/* Any text is a filter or is refused. A compiled filter runs over any row, valid or damaged, and a
 * row that passes is within its bounds. The first line is the row's bytes, the rest the text.
 */
#include <assert.h>

#include "service/table/entity.h"
#include "service/table/filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run(struct arena *a, const struct filter *f, const struct filter_row *row)
{
    bool passes;
    struct key_position at = {row->pk, row->rk};
    struct key_position next;
    const struct key_box *box;
    struct buf scratch = buf_in(a);
    if (err_is(filter_match(f, row, &passes)))
        return;
    bool found = bounds_next(filter_bounds(f), &scratch, &at, &next, &box);
    assert(!passes || (found && key_position_cmp(&next, &at) == 0));
    assert(!found || key_box_holds(box, &next));
}

static struct str good_record(struct arena *a)
{
    struct entity_builder b;
    entity_begin(&b, a);
    struct err error = entity_add(&b, STR("a"), edm_from_int32(a, 5));
    if (!err_is(error))
        error = entity_add(&b, STR("s"), (struct edm_value){EDM_STRING, STR("x")});
    assert(!err_is(error));
    return buf_str(&b.record);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str text = {(const char *)data, size};
    struct str row = str_cut(&text, '\n');
    struct filter *f;
    arena_init(&a, 1 << 26);
    if (str_given(text) && str_is_utf8(text) && !err_is(filter_compile(&a, text, &f))) {
        static const struct str keys[] = {STR_INIT(""), STR_INIT("a"), STR_INIT("b"),
                                          STR_INIT("zz")};
        for (size_t i = 0; i < 16; i++) {
            run(&a, f, &(struct filter_row){keys[i % 4], keys[i / 4], good_record(&a)});
            run(&a, f, &(struct filter_row){keys[i % 4], keys[i / 4], row});
        }
    }
    arena_release(&a);
    return 0;
}
