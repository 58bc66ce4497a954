/* SPDX-License-Identifier: Apache-2.0 */
#include "service/common/metadata.h"

static bool is_identifier(struct str name)
{
    if (!ascii_alpha(name.p[0]) && name.p[0] != '_')
        return false;
    for (size_t i = 1; i < name.n; i++)
        if (!ascii_alpha(name.p[i]) && !ascii_digit(name.p[i]) && name.p[i] != '_')
            return false;
    return true;
}

static bool is_header_text(struct str value)
{
    for (size_t i = 0; i < value.n; i++) {
        unsigned char c = (unsigned char)value.p[i];
        if ((c < 0x20 && c != '\t') || c >= 0x7F)
            return false;
    }
    return true;
}

/* The count is bounded by the headers of a request, so comparing all with all stays small. */
static bool repeats(const struct pairs *metadata, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (str_ieq(metadata->items[k].name, metadata->items[i].name))
            return true;
    return false;
}

struct err metadata_check(const struct pairs *metadata)
{
    size_t bytes = 0;
    for (size_t i = 0; i < metadata->count; i++) {
        const struct pair *pair = &metadata->items[i];
        if (pair->name.n == 0)
            return err_new(ERR_EMPTY_METADATA_KEY);
        if (!is_identifier(pair->name) || !is_header_text(pair->value) || repeats(metadata, i))
            return err_new(ERR_INVALID_METADATA);
        bytes += pair->name.n + pair->value.n;
    }
    return bytes > METADATA_BYTES_MAX ? err_new(ERR_METADATA_TOO_LARGE) : OK;
}
