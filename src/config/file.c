/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration file: lines of "key = value", and empty ones. A comment begins with '#' at the
 * beginning of a line or after a blank. A value may stand in double quotes: it then keeps the
 * blanks at its ends, and its '#'. */
#include <errno.h>
#include <stdio.h>

#include "config/flags.h"

struct err config_file_read(struct arena *arena, const char *path, struct str *text)
{
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return err_cause(ERR_IO, errno);
    char *bytes = arena_bytes(arena, CONFIG_FILE_BYTES_MAX + 1);
    size_t n = fread(bytes, 1, CONFIG_FILE_BYTES_MAX + 1, file);
    bool failed = ferror(file) != 0;
    int cause = errno;
    (void)fclose(file);
    *text = (struct str){bytes, n};
    if (failed)
        return err_cause(ERR_IO, cause);
    return n <= CONFIG_FILE_BYTES_MAX ? OK : err_detail(ERR_INVALID_INPUT, "longer than 64 KiB");
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static struct str without_comment(struct str value)
{
    for (size_t i = 0; i < value.n; i++)
        if (value.p[i] == '#' && (i == 0 || is_blank(value.p[i - 1])))
            return str_trim(str_head(value, i));
    return value;
}

/* False when something follows the closing quote that is no comment. */
static bool read_value(struct str text, struct str *out)
{
    size_t end = text.n;
    *out = without_comment(text);
    if (text.n == 0 || text.p[0] != '"')
        return true;
    while (end > 1 && text.p[end - 1] != '"')
        end--;
    *out = (struct str){text.p + 1, end - 2};
    return end > 1 && without_comment(str_trim(str_from(text, end))).n == 0;
}

bool config_file_next(struct str *rest, struct config_line *line, bool *wrong)
{
    *wrong = false;
    while (str_given(*rest)) {
        struct str text = str_cut(rest, '\n');
        if (text.n > 0 && text.p[text.n - 1] == '\r')
            text.n--;
        text = str_trim(text);
        line->number++;
        if (text.n == 0 || text.p[0] == '#')
            continue;
        struct str value = text;
        line->key = str_trim(str_cut(&value, '='));
        *wrong = !str_given(value) || line->key.n == 0 || str_has_control(text) ||
                 !read_value(str_trim(value), &line->value);
        return !*wrong;
    }
    return false;
}
