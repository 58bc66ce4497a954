/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/value.h"

struct row *value_row(struct str key, struct str value)
{
    struct row *row = row_new_sized(key, value.n + 1);
    char *to = row->bytes + row->key_n;
    to[0] = VALUE_HERE;
    if (value.n > 0)
        memcpy(to + 1, value.p, value.n);
    return row;
}

bool value_is_elsewhere(struct str stored, struct value_place *place)
{
    return stored.n == 1 + VALUE_PLACE_BYTES && stored.p[0] == VALUE_IN_JOURNAL &&
           value_place_read(str_from(stored, 1), place);
}

struct err value_load(struct journal *j, struct str stored, enum engine_wait wait, struct buf *into,
                      struct str *value)
{
    struct value_place place;
    if (value_is_here(stored, value))
        return OK;
    if (!value_is_elsewhere(stored, &place) || place.length > ENGINE_VALUE_MAX)
        return err_new(ERR_CORRUPT);
    buf_clear(into);
    char *to = buf_reserve(into, place.length);
    TRY(journal_read_value(j, &place, wait, to));
    into->n = place.length;
    *value = buf_str(into);
    return OK;
}
