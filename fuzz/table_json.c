/* SPDX-License-Identifier: Apache-2.0 */
/* An accepted entity is written out and reads back as the same entity. */
#include <assert.h>

#include "rest/table/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct entity_body body;
    struct entity_body again;
    arena_init(&a, 1 << 26);
    if (!err_is(rest_entity_from_json(&a, (struct str){(const char *)data, size}, &body))) {
        struct entity_view view = {
            .metadata = METADATA_FULL, .endpoint = STR("http://h/"), .table = STR("T")};
        struct buf out = buf_in(&a);
        struct str pk = str_given(body.pk) ? body.pk : STR("");
        struct str rk = str_given(body.rk) ? body.rk : STR("");
        struct entity_found entity = {pk, rk, buf_str(&body.entity.record)};
        rest_entity_put_json(&out, &view, &entity, true);
        struct err error = rest_entity_from_json(&a, buf_str(&out), &again);
        assert(!err_is(error) && str_eq(again.pk, pk) && str_eq(again.rk, rk));
        assert(str_eq(buf_str(&again.entity.record), buf_str(&body.entity.record)));
    }
    arena_release(&a);
    return 0;
}
