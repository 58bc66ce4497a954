/* SPDX-License-Identifier: Apache-2.0 */
#include "smb/commands/ea.h"

#include "service/file/ea.h"

enum {
    FLAG_RESTART = 1,
    FLAG_SINGLE = 2,
    FLAG_INDEX = 4,

    ALIGNMENT = 4,
};

/* ---- lists from a client ---- */

/* Takes one entry off the list, without the offset of the next one (0: it is the last). */
static bool cut_entry(struct str *list, struct reader *entry)
{
    struct reader r = reader_of(*list);
    uint32_t next = read_le32(&r);
    if (!reader_ok(&r) || next > list->n || next % ALIGNMENT != 0)
        return false;
    *entry = reader_of(str_from(next == 0 ? *list : str_head(*list, next), sizeof next));
    *list = next == 0 ? STR_NONE : str_from(*list, next);
    return true;
}

static bool read_entry(struct reader *r, struct ea *out)
{
    out->flags = read_u8(r);
    uint8_t name = read_u8(r);
    uint16_t value = read_le16(r);
    out->name = read_raw(r, name);
    bool ended = read_u8(r) == 0;
    out->value = read_raw(r, value);
    return ended && reader_ok(r);
}

uint32_t smb_ea_read(struct arena *a, struct str wire, struct str *out)
{
    struct buf list = buf_in(a);
    unsigned count = 0;
    while (str_given(wire)) {
        struct reader entry;
        struct ea e;
        if (!cut_entry(&wire, &entry) || !read_entry(&entry, &e))
            return STATUS_EA_LIST_INCONSISTENT;
        if (!ea_name_is_good(e.name))
            return STATUS_INVALID_EA_NAME;
        ea_put(&list, &e);
        if (++count > EA_LIST_NAMES_MAX || list.n > EA_LIST_BYTES_MAX)
            return STATUS_EA_TOO_LARGE;
    }
    *out = buf_str(&list);
    return STATUS_SUCCESS;
}

/* ---- lists for a client ---- */

struct listing {
    struct smb_query *query;
    size_t last; /* where the last entry begins */
    unsigned count;
};

/* STATUS_BUFFER_OVERFLOW: no space after the other entries; STATUS_BUFFER_TOO_SMALL: no space even
 * alone, but it is written so that its size is known. */
static uint32_t add(struct listing *l, const struct ea *e)
{
    enum { HEAD_BYTES = 8 };
    struct buf *out = &l->query->out;
    size_t begin = (out->n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    bool fits = begin + HEAD_BYTES + e->name.n + 1 + e->value.n <= l->query->room;
    if (!fits && l->count > 0)
        return STATUS_BUFFER_OVERFLOW;
    while (out->n < begin)
        buf_putc(out, 0);
    if (l->count++ > 0) {
        uint32_t next = (uint32_t)(begin - l->last);
        for (unsigned i = 0; i < sizeof next; i++)
            out->p[l->last + i] = (char)(next >> (8 * i));
    }
    l->last = begin;
    buf_put_le32(out, 0);
    buf_put_u8(out, e->flags);
    buf_put_u8(out, (uint8_t)e->name.n);
    buf_put_le16(out, (uint16_t)e->value.n);
    buf_put(out, e->name);
    buf_putc(out, 0);
    buf_put(out, e->value);
    return fits ? STATUS_SUCCESS : STATUS_BUFFER_TOO_SMALL;
}

/* A missing name is returned with an empty value. */
static uint32_t put_named(struct smb_query *query, struct str list)
{
    struct listing l = {.query = query};
    struct str wanted = query->input;
    uint32_t status = STATUS_SUCCESS;
    while (str_given(wanted) && status == STATUS_SUCCESS) {
        struct reader r;
        struct ea e;
        if (l.count >= EA_LIST_NAMES_MAX || !cut_entry(&wanted, &r))
            return STATUS_EA_LIST_INCONSISTENT;
        struct str name = read_raw(&r, read_u8(&r));
        if (!reader_ok(&r))
            return STATUS_EA_LIST_INCONSISTENT;
        if (!ea_name_is_good(name))
            return STATUS_INVALID_EA_NAME;
        if (!ea_find(list, name, &e))
            e = (struct ea){.name = name, .value = STR("")};
        status = add(&l, &e);
    }
    return status;
}

static uint32_t put_from(struct smb_query *query, struct str list, size_t from)
{
    struct listing l = {.query = query};
    struct reader r = reader_of(list);
    struct ea e;
    uint32_t status = STATUS_SUCCESS;
    bool single = (query->flags & FLAG_SINGLE) != 0;
    for (size_t i = 0; ea_next(&r, &e) && status == STATUS_SUCCESS; i++) {
        if (i >= from && !(single && l.count > 0))
            status = add(&l, &e);
    }
    if (status != STATUS_BUFFER_TOO_SMALL)
        query->q->open->ea_position = from + l.count;
    return status;
}

uint32_t smb_query_eas(struct smb_query *query)
{
    const struct smb_open *o = query->q->open;
    struct str list = query->look.seen.node.eas;
    size_t count = ea_count(list);
    if ((o->access & SMB_READ_EA) == 0)
        return STATUS_ACCESS_DENIED;
    if (query->input.n > 0)
        return put_named(query, list);
    if (count == 0)
        return STATUS_NO_EAS_ON_FILE;
    size_t from = o->ea_position;
    if ((query->flags & FLAG_INDEX) != 0) {
        if (query->parts == 0 || query->parts > count + 1)
            return STATUS_NONEXISTENT_EA_ENTRY;
        from = query->parts - 1;
    } else if ((query->flags & FLAG_RESTART) != 0) {
        from = 0;
    }
    return from >= count ? STATUS_NO_MORE_EAS : put_from(query, list, from);
}
