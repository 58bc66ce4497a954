/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/ea.h"

#include <assert.h>

void ea_put(struct buf *list, const struct ea *e)
{
    buf_put_u8(list, e->flags);
    buf_put_u8(list, (uint8_t)e->name.n);
    buf_put_le16(list, (uint16_t)e->value.n);
    buf_put(list, e->name);
    buf_put(list, e->value);
}

bool ea_next(struct reader *list, struct ea *out)
{
    assert(out != NULL);
    if (!reader_ok(list) || list->n == 0)
        return false;
    out->flags = read_u8(list);
    uint8_t name = read_u8(list);
    uint16_t value = read_le16(list);
    out->name = read_raw(list, name);
    out->value = read_raw(list, value);
    return reader_ok(list);
}

bool ea_find(struct str list, struct str name, struct ea *out)
{
    struct reader r = reader_of(list);
    while (ea_next(&r, out))
        if (str_ieq(out->name, name))
            return true;
    return false;
}

bool ea_name_is_good(struct str name)
{
    if (name.n == 0 || name.n > EA_NAME_BYTES_MAX)
        return false;
    for (size_t i = 0; i < name.n; i++)
        if ((unsigned char)name.p[i] < 0x20 || strchr("\\/:*?\"<>|,+=[];", name.p[i]) != NULL)
            return false;
    return true;
}

/* Of several changes of one name the last one counts. */
static bool is_changed_later(struct reader rest, struct str name)
{
    struct ea later;
    while (ea_next(&rest, &later))
        if (str_ieq(later.name, name))
            return true;
    return false;
}

struct err ea_change(struct arena *a, struct str list, struct str changes, struct str *out)
{
    assert(out != NULL);
    struct buf b = buf_in(a);
    struct reader old = reader_of(list), new = reader_of(changes);
    struct ea e, other;
    while (ea_next(&old, &e))
        if (!ea_find(changes, e.name, &other))
            ea_put(&b, &e);
    while (ea_next(&new, &e))
        if (e.value.n > 0 && !is_changed_later(new, e.name))
            ea_put(&b, &e);
    if (!reader_ok(&old) || !reader_ok(&new))
        return err_new(ERR_CORRUPT);
    *out = b.n == 0 ? STR_NONE : buf_str(&b);
    bool fits = ea_size(*out) <= EA_LIST_BYTES_MAX && ea_count(*out) <= EA_LIST_NAMES_MAX;
    return fits ? OK : err_new(ERR_EXTENDED_ATTRIBUTES_TOO_LARGE);
}

size_t ea_count(struct str list)
{
    struct reader r = reader_of(list);
    struct ea e;
    size_t count = 0;
    while (ea_next(&r, &e))
        count++;
    return count;
}

/* The size in OS/2's packing, which Windows reports: four bytes for the list, and a NUL after each
 * name. */
uint32_t ea_size(struct str list)
{
    enum { LIST_HEAD_BYTES = 4 };
    return list.n == 0 ? 0 : (uint32_t)(LIST_HEAD_BYTES + list.n + ea_count(list));
}

bool ea_any_needed(struct str list)
{
    struct reader r = reader_of(list);
    struct ea e;
    while (ea_next(&r, &e))
        if ((e.flags & EA_NEEDED) != 0)
            return true;
    return false;
}
