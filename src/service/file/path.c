/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/path.h"

#include <assert.h>

#include "core/buf.h"

static bool is_forbidden(char c)
{
    return (unsigned char)c < 0x20 || c == 0x7f || strchr("\"\\/:|<>*?", c) != NULL;
}

static bool is_numbered(struct str name, struct str device)
{
    return name.n == device.n + 1 && str_istarts(name, device) && name.p[device.n] >= '1' &&
           name.p[device.n] <= '9';
}

static bool is_reserved(struct str name)
{
    static const struct str NAMES[] = {STR_INIT("."),     STR_INIT(".."),  STR_INIT("PRN"),
                                       STR_INIT("AUX"),   STR_INIT("NUL"), STR_INIT("CON"),
                                       STR_INIT("CLOCK$")};
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++)
        if (str_ieq(name, NAMES[i]))
            return true;
    return is_numbered(name, STR("LPT")) || is_numbered(name, STR("COM"));
}

struct err file_path_check_name(struct str name)
{
    if (name.n == 0 || str_utf16_units(name) > PATH_NAME_UNITS_MAX)
        return err_new(ERR_INVALID_RESOURCE_NAME);
    for (size_t i = 0; i < name.n; i++)
        if (is_forbidden(name.p[i]))
            return err_new(ERR_INVALID_RESOURCE_NAME);
    if (is_reserved(name))
        return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    return OK;
}

static struct err check_posix_name(struct str name)
{
    if (name.n == 0 || name.n > PATH_NAME_UNITS_MAX || memchr(name.p, 0, name.n) != NULL)
        return err_new(ERR_INVALID_RESOURCE_NAME);
    if (str_eq(name, STR(".")) || str_eq(name, STR("..")))
        return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    return OK;
}

/* The name without insignificant dots. */
static struct str without_dots(struct str name, const struct path_rules *rules)
{
    if (rules->keep_dots || rules->posix || str_eq(name, STR(".")) || str_eq(name, STR("..")))
        return name;
    while (name.n > 0 && name.p[name.n - 1] == '.')
        name.n--;
    return name;
}

struct err file_path_check(struct arena *a, struct str path, const struct path_rules *rules,
                           struct str *out)
{
    assert(out != NULL);
    struct buf kept = buf_in(a);
    struct str rest = path;
    size_t depth = 0;
    *out = path;
    if (path.n == 0)
        return OK;
    if (str_utf16_units(path) > PATH_UNITS_MAX)
        return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
    (void)buf_reserve(&kept, path.n);
    while (str_given(rest)) {
        struct str name = without_dots(str_cut(&rest, '/'), rules);
        TRY(rules->posix ? check_posix_name(name) : file_path_check_name(name));
        if (++depth > PATH_DEPTH_MAX)
            return err_new(ERR_INVALID_FILE_OR_DIRECTORY_PATH_NAME);
        if (kept.n > 0)
            buf_putc(&kept, '/');
        buf_put(&kept, name);
    }
    *out = buf_str(&kept);
    return OK;
}

struct str path_last(struct str path)
{
    size_t start = path.n;
    while (start > 0 && path.p[start - 1] != '/')
        start--;
    return str_from(path, start);
}
