/* SPDX-License-Identifier: Apache-2.0 */
#include "service/table/names.h"

#include "core/buf.h"
#include "service/common/name.h"

struct err table_name_check(struct str name)
{
    if (name.n < TABLE_NAME_BYTES_MIN || name.n > TABLE_NAME_BYTES_MAX)
        return err_new(ERR_RESOURCE_NAME_LENGTH);
    if (!ascii_alpha(name.p[0]))
        return err_new(ERR_INVALID_RESOURCE_NAME);
    for (size_t i = 1; i < name.n; i++)
        if (!ascii_alpha(name.p[i]) && !ascii_digit(name.p[i]))
            return err_new(ERR_INVALID_RESOURCE_NAME);
    return str_ieq(name, STR("tables")) ? err_new(ERR_INVALID_INPUT) : OK;
}

struct str table_name_lower(struct arena *a, struct str name)
{
    char *lower = arena_bytes(a, name.n);
    for (size_t i = 0; i < name.n; i++)
        lower[i] = ascii_lower(name.p[i]);
    return (struct str){lower, name.n};
}

/* U+0080 to U+009F are C2 80 to C2 9F. */
static bool key_allows(struct str key, size_t i)
{
    unsigned char c = (unsigned char)key.p[i];
    if (c < 0x20 || c == 0x7F || c == '/' || c == '\\' || c == '#' || c == '?')
        return false;
    return c != 0xC2 || i + 1 == key.n || (unsigned char)key.p[i + 1] >= 0xA0;
}

struct err key_check(struct str key)
{
    for (size_t i = 0; i < key.n; i++)
        if (!key_allows(key, i))
            return err_new(ERR_OUT_OF_RANGE_INPUT);
    if (!str_is_utf8(key))
        return err_new(ERR_INVALID_INPUT);
    if (key.n > KEY_UNITS_MAX && str_utf16_units(key) > KEY_UNITS_MAX)
        return err_new(ERR_PROPERTY_VALUE_TOO_LARGE);
    return OK;
}

static struct str join(struct arena *a, const struct str *parts, size_t count)
{
    size_t n = 0;
    for (size_t i = 0; i < count; i++)
        n += parts[i].n;
    char *p = arena_bytes(a, n);
    char *at = p;
    for (size_t i = 0; i < count; i++) {
        if (parts[i].n > 0)
            memcpy(at, parts[i].p, parts[i].n);
        at += parts[i].n;
    }
    return (struct str){p, n};
}

struct str tables_partition(struct arena *a, struct str account)
{
    return join(a, (struct str[]){STR("t/"), account}, 2);
}

struct str table_row_key(struct arena *a, struct str table)
{
    return join(a, (struct str[]){STR("n"), table}, 2);
}

struct str table_blocked_key(struct arena *a, struct str table)
{
    return join(a, (struct str[]){STR("x"), table}, 2);
}

static struct str id_bytes(uint64_t id, char out[TABLE_ID_BYTES])
{
    for (unsigned i = 0; i < TABLE_ID_BYTES; i++)
        out[i] = (char)(id >> (8 * (TABLE_ID_BYTES - 1 - i)));
    return (struct str){out, TABLE_ID_BYTES};
}

struct str table_garbage_key(struct arena *a, uint64_t id, struct str table)
{
    char bytes[TABLE_ID_BYTES];
    return join(a, (struct str[]){STR("g"), id_bytes(id, bytes), table}, 3);
}

struct str table_entities_prefix(struct arena *a, const struct table_ref *ref)
{
    return join(a, (struct str[]){STR("e/"), ref->account, STR("/"), ref->table, STR("/")}, 5);
}

struct str table_entities_partition(struct arena *a, const struct table_ref *ref, struct str pk)
{
    return join(
        a,
        (struct str[]){STR("e/"), ref->account, STR("/"), ref->table, STR("/"), name_to_key(a, pk)},
        6);
}

struct str table_entity_key(struct arena *a, uint64_t id, struct str rk)
{
    char bytes[TABLE_ID_BYTES];
    return join(a, (struct str[]){id_bytes(id, bytes), rk}, 2);
}
