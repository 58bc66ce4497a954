/* SPDX-License-Identifier: Apache-2.0 */
/* Paths of files: an accepted path is unchanged, has no forbidden name, and is short and shallow
 * enough. */
#include <assert.h>

#include "service/file/path.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void looks_right(struct str path, bool posix)
{
    struct str rest = path;
    size_t depth = 0;
    assert(str_utf16_units(path) <= PATH_UNITS_MAX);
    while (rest.n > 0 && str_given(rest)) {
        struct str name = str_cut(&rest, '/');
        assert(name.n > 0 && memchr(name.p, 0, name.n) == NULL);
        assert(!str_eq(name, STR(".")) && !str_eq(name, STR("..")));
        assert(++depth <= PATH_DEPTH_MAX);
        if (!posix)
            assert(!err_is(file_path_check_name(name)) && memchr(name.p, '\\', name.n) == NULL);
    }
    if (path.n > 0)
        assert(path_last(path).n > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena a;
    struct str in = {(const char *)data, size};
    if (!str_is_utf8(in))
        return 0;
    arena_init(&a, 1 << 24);
    for (int i = 0; i < 4; i++) {
        struct path_rules rules = {.posix = (i & 1) != 0, .keep_dots = (i & 2) != 0};
        struct str out, again;
        if (err_is(file_path_check(&a, in, &rules, &out)))
            continue;
        looks_right(out, rules.posix);
        assert(!err_is(file_path_check(&a, out, &rules, &again)) && str_eq(out, again));
    }
    arena_release(&a);
    return 0;
}
