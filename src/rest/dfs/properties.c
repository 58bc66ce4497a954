/* SPDX-License-Identifier: Apache-2.0 */
#include "rest/dfs/properties.h"

#include "core/text/base64.h"
#include "service/blob/path/path.h"
#include "service/common/metadata.h"

enum { PROPERTIES_MAX = 256 };

static bool read_property(struct arena *a, struct str text, struct pair *out)
{
    struct str value = text;
    out->name = str_trim(str_cut(&value, '='));
    return str_given(value) && base64_decode(a, str_trim(value), &out->value);
}

/* Clients may not set the metadata that marks a blob as a directory in a flat account. */
struct err dfs_parse_properties(struct arena *a, struct str text, struct str *out)
{
    *out = STR_NONE;
    if (!str_given(text)) /* as in most requests */
        return OK;
    struct pairs pairs = {.items = ARENA_ARRAY(a, struct pair, PROPERTIES_MAX)};
    while (str_given(text)) {
        struct str one = str_trim(str_cut(&text, ','));
        if (one.n == 0)
            continue;
        if (pairs.count == PROPERTIES_MAX)
            return err_new(ERR_METADATA_TOO_LARGE);
        if (!read_property(a, one, &pairs.items[pairs.count]))
            return err_new(ERR_INVALID_HEADER_VALUE);
        if (!str_ieq(pairs.items[pairs.count].name, PATH_FOLDER_MARK))
            pairs.count++;
    }
    struct err error = metadata_check(&pairs);
    if (error.code == ERR_EMPTY_METADATA_KEY || error.code == ERR_INVALID_METADATA)
        return err_new(ERR_INVALID_PROPERTY_NAME);
    TRY(error);
    *out = pairs_encode(a, &pairs);
    return OK;
}

void dfs_write_properties(struct buf *out, struct str metadata)
{
    struct reader r = reader_of(metadata);
    struct pair pair;
    while (pairs_next(&r, &pair)) {
        if (out->n > 0)
            buf_putc(out, ',');
        buf_put(out, pair.name);
        buf_putc(out, '=');
        base64_put(out, pair.value);
    }
}
