/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/extent_row.h"

static void write_number(char *to, uint64_t value, size_t bytes)
{
    for (size_t i = bytes; i > 0; i--) {
        to[i - 1] = (char)(value & 0xFF);
        value >>= 8;
    }
}

void extent_key_write(char key[EXTENT_KEY_BYTES], char space, uint64_t segment, uint64_t offset)
{
    key[0] = space;
    write_number(key + 1, segment, 8);
    write_number(key + 9, offset, 8);
}

bool extent_key_read(struct str key, uint64_t *segment, uint64_t *offset)
{
    struct reader r = reader_of(str_from(key, 1));
    *segment = read_be64(&r);
    *offset = read_be64(&r);
    return reader_done(&r);
}

void extent_row_write(char value[EXTENT_ROW_BYTES], const struct extent_row *row)
{
    write_number(value, row->length, 4);
    write_number(value + 4, row->check, 4);
    write_number(value + 8, row->count, 4);
}

bool extent_row_read(struct str value, struct extent_row *row)
{
    struct reader r = reader_of(value);
    row->length = read_be32(&r);
    row->check = read_be32(&r);
    row->count = read_be32(&r);
    return reader_done(&r);
}

struct err extent_row_change(struct str found, const struct extent *x, enum extent_change change,
                             struct extent_row *out)
{
    if (change == EXTENT_ADOPT) {
        *out = (struct extent_row){x->length, x->check, 1};
        return str_given(found) ? err_detail(ERR_CORRUPT, "Reason\textent adopted twice") : OK;
    }
    if (!str_given(found))
        return err_detail(ERR_CORRUPT, "Reason\textent is not counted");
    if (!extent_row_read(found, out) || out->length != x->length || out->check != x->check ||
        out->count == 0)
        return err_detail(ERR_CORRUPT, "Reason\textent differs from its count");
    if (change == EXTENT_DROP)
        out->count--;
    else if (out->count == UINT32_MAX)
        return err_detail(ERR_CORRUPT, "Reason\textent is held too often");
    else
        out->count++;
    return OK;
}
