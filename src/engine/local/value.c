/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/local/value.h"

#include <assert.h>

struct row *value_row(struct str key, struct str value)
{
    assert(str_given(value));
    struct row *row = row_new_sized(key, value.n + 1);
    char *to = row->bytes + row->key_n;
    to[0] = VALUE_HERE;
    if (value.n > 0)
        memcpy(to + 1, value.p, value.n);
    return row;
}

struct row *value_row_roomy(struct str key, struct str value, struct str more)
{
    assert(str_given(value));
    size_t n = 1 + value.n + more.n;
    struct row *row = row_new_roomy(key, n, n);
    char *to = row->bytes + row->key_n;
    to[0] = VALUE_HERE;
    if (value.n > 0)
        memcpy(to + 1, value.p, value.n);
    if (more.n > 0)
        memcpy(to + 1 + value.n, more.p, more.n);
    return row;
}

/* Writes everything but the body. Returns where the body goes. */
static char *write_before_body(char *to, struct str value)
{
    struct buf head = {.p = to, .capacity = BODY_HERE_HEAD_BYTES};
    buf_put_u8(&head, VALUE_BODY_HERE);
    buf_put_le32(&head, (uint32_t)value.n);
    if (value.n > 0)
        memcpy(to + head.n, value.p, value.n);
    return to + head.n + value.n;
}

struct row *value_row_with_body(struct str key, struct str value, struct str body)
{
    assert(str_given(value));
    struct row *row = row_new_sized(key, BODY_HERE_HEAD_BYTES + value.n + body.n);
    memcpy(write_before_body(row->bytes + row->key_n, value), body.p, body.n);
    return row;
}

void value_in_journal_write(char to[VALUE_IN_JOURNAL_BYTES], const struct value_ref *ref,
                            bool with_value)
{
    to[0] = with_value ? VALUE_BODY_IN_JOURNAL : VALUE_IN_JOURNAL;
    value_ref_write(to + 1, ref);
}

struct row *value_row_in_journal(struct str key, const struct value_ref *ref, struct str value)
{
    struct row *row = row_new_sized(key, VALUE_IN_JOURNAL_BYTES + value.n);
    char *to = row->bytes + row->key_n;
    value_in_journal_write(to, ref, str_given(value));
    if (value.n > 0)
        memcpy(to + VALUE_IN_JOURNAL_BYTES, value.p, value.n);
    return row;
}

bool value_and_body_here(struct str stored, struct str *value, struct str *body)
{
    struct reader r = reader_of(stored);
    if (read_u8(&r) != VALUE_BODY_HERE)
        return false;
    *value = read_raw(&r, read_le32(&r));
    *body = (struct str){r.p, r.n};
    return reader_ok(&r);
}

bool value_beside_body(struct str stored, struct str *value)
{
    struct str body;
    if (stored.n < VALUE_IN_JOURNAL_BYTES || stored.p[0] != VALUE_BODY_IN_JOURNAL)
        return value_and_body_here(stored, value, &body);
    *value = str_from(stored, VALUE_IN_JOURNAL_BYTES);
    return true;
}

bool value_is_elsewhere(struct str stored, struct value_ref *ref)
{
    bool placed = stored.n == VALUE_IN_JOURNAL_BYTES && stored.p[0] == VALUE_IN_JOURNAL;
    if (stored.n >= VALUE_IN_JOURNAL_BYTES && stored.p[0] == VALUE_BODY_IN_JOURNAL)
        placed = true;
    return placed && value_ref_read((struct str){stored.p + 1, VALUE_REF_BYTES}, ref);
}

bool value_row_is_whole(struct str key, struct str stored, struct row_location *location)
{
    struct value_ref large;
    struct str value;
    if (!value_is_elsewhere(stored, &large) || !large.led)
        return false;
    size_t head_n = value_beside_body(stored, &value) ? BODY_HERE_HEAD_BYTES + value.n
                                                      : (size_t)VALUE_HERE_HEAD_BYTES;
    *location = journal_row_location(&large, key.n, head_n);
    return true;
}

/* Reads the value or body that the row refers to into the buffer. */
static struct err load_placed(struct journal *j, struct str stored, enum engine_wait wait,
                              struct buf *into, struct str *bytes)
{
    struct value_ref ref;
    if (!value_is_elsewhere(stored, &ref) || ref.length > ENGINE_VALUE_MAX)
        return err_new(ERR_CORRUPT);
    buf_clear(into);
    char *to = buf_reserve(into, ref.length);
    TRY(journal_read_value(j, &ref, wait, to));
    into->n = ref.length;
    *bytes = buf_str(into);
    return OK;
}

struct err value_load(struct journal *j, struct str stored, enum engine_wait wait, struct buf *into,
                      struct str *value)
{
    return value_is_here(stored, value) ? OK : load_placed(j, stored, wait, into, value);
}

struct err value_load_with_body(struct journal *j, struct str stored, enum engine_wait wait,
                                struct buf *into, struct str *value, struct str *body)
{
    *body = STR_NONE;
    if (value_and_body_here(stored, value, body))
        return OK;
    if (!value_is_here(stored, value))
        return load_placed(j, stored, wait, into, value);
    return stored.p[0] == VALUE_HERE ? OK : load_placed(j, stored, wait, into, body);
}

size_t value_gathered_bytes(struct str stored, const struct value_ref *ref)
{
    struct str value;
    if (!value_beside_body(stored, &value))
        return 1 + (size_t)ref->length;
    return BODY_HERE_HEAD_BYTES + value.n + ref->length;
}

struct err value_gather(struct journal *j, struct str stored, enum engine_wait wait, char *to)
{
    struct value_ref ref;
    struct str value;
    if (!value_is_elsewhere(stored, &ref) || ref.length > ENGINE_VALUE_MAX)
        return err_new(ERR_CORRUPT);
    if (value_beside_body(stored, &value)) {
        to = write_before_body(to, value);
    } else {
        to[0] = VALUE_HERE;
        to++;
    }
    return journal_read_value(j, &ref, wait, to);
}
