/* SPDX-License-Identifier: Apache-2.0 */
/* Lists a directory page by page. Between two pages the handle keeps only the key of the next
 * entry. */
#include "smb/commands/dir.h"

#include <stdlib.h>

#include "core/mem.h"
#include "core/text/casefold.h"
#include "core/text/utf16.h"
#include "service/file/by_id.h"
#include "service/file/ea.h"
#include "service/file/short_name.h"
#include "smb/commands/info.h"
#include "smb/commands/io.h"
#include "smb/drive.h"
#include "smb/pattern.h"

enum {
    FLAG_RESTART = 1,
    FLAG_SINGLE = 2,
    FLAG_REOPEN = 0x10,

    CLASS_DIRECTORY = 1,
    CLASS_FULL = 2,
    CLASS_BOTH = 3,
    CLASS_NAMES = 12,
    CLASS_ID_BOTH = 37,
    CLASS_ID_FULL = 38,

    SHORT_NAME_BYTES = 24,
    ON_LOOP_ENTRIES = 1000, /* examined before the rest is done in the pool */
    IN_POOL_ENTRIES = 1 << 20,
};

/* The size of an entry before its name; 0: unknown class. */
static size_t fixed_bytes(uint8_t class)
{
    switch (class) {
    case CLASS_DIRECTORY:
        return 64;
    case CLASS_FULL:
        return 68;
    case CLASS_BOTH:
        return 94;
    case CLASS_NAMES:
        return 12;
    case CLASS_ID_BOTH:
        return 104;
    case CLASS_ID_FULL:
        return 80;
    default:
        return 0;
    }
}

struct query {
    struct file_walk_args walk;
    struct smb_request *q;
    struct smb_listing *listing;
    uint8_t class;
    uint8_t flags;
    size_t room;
    struct str pattern; /* folded */
    bool asks_short;    /* the pattern may be a short name */
    char first[1];      /* its first letter in that case */
    /* State of one run of the view. */
    struct file_seen self;
    size_t last; /* where the last entry begins in the output */
    unsigned count;
    unsigned looked_at;
    unsigned looked_at_max;
    unsigned dots;
    bool too_small; /* not even one entry fits in the output */
};

/* ---- entries ---- */

static void link_last(struct query *d)
{
    struct buf *out = &d->q->out;
    uint32_t next = (uint32_t)(out->n - d->last);
    for (unsigned i = 0; i < 4; i++)
        out->p[d->last + i] = (char)(next >> (8 * i));
}

/* Empty if the name itself is a valid short name. */
static void put_short_name(struct buf *out, struct str key)
{
    char bytes[SHORT_NAME_BYTES_MAX];
    struct str name = short_name_fits(key) ? STR("") : short_name_of(key, bytes);
    size_t end = out->n + 2 + SHORT_NAME_BYTES;
    buf_put_le16(out, (uint16_t)(2 * name.n));
    for (size_t i = 0; i < name.n; i++)
        buf_put_le16(out, (uint16_t)name.p[i]);
    while (out->n < end)
        buf_putc(out, 0);
}

/* The fields of an entry. */
struct told {
    const struct node *node;
    uint64_t id;
    struct str name; /* as stored */
    struct str key;
};

static void put_entry(struct query *d, const struct told *e, struct str name)
{
    const struct node *n = e->node;
    struct buf *out = &d->q->out;
    bool both = d->class == CLASS_BOTH || d->class == CLASS_ID_BOTH;
    buf_put_le32(out, 0);
    buf_put_le32(out, 0);
    if (d->class != CLASS_NAMES) {
        smb_put_times(out, n);
        buf_put_le64(out, n->kind == NODE_DIRECTORY ? 0 : n->size);
        buf_put_le64(out, smb_allocation(NULL, n));
        buf_put_le32(out, smb_attributes(n));
    }
    buf_put_le32(out, (uint32_t)name.n);
    if (both || d->class == CLASS_FULL || d->class == CLASS_ID_FULL)
        buf_put_le32(out, ea_size(n->eas));
    if (both)
        put_short_name(out, e->key);
    if (d->class == CLASS_ID_BOTH)
        buf_put_le16(out, 0);
    if (d->class == CLASS_ID_FULL)
        buf_put_le32(out, 0);
    if (d->class == CLASS_ID_BOTH || d->class == CLASS_ID_FULL)
        buf_put_le64(out, smb_file_index(d->q->open->incarnation, e->id));
    buf_put(out, name);
}

/* False: no space. */
static bool add_entry(struct query *d, const struct told *e)
{
    enum { ANSWER_HEAD = 8 };
    struct buf *out = &d->q->out;
    struct buf utf16 = buf_in(d->q->arena);
    utf16_put(&utf16, e->name);
    size_t begin = d->count == 0 ? out->n : (out->n + 7) & ~(size_t)7;
    if (begin - ANSWER_HEAD + fixed_bytes(d->class) + utf16.n > d->room) {
        d->too_small = d->count == 0;
        return false;
    }
    if (d->count > 0) {
        while (out->n < begin)
            buf_putc(out, 0);
        link_last(d);
    }
    d->last = begin;
    d->count++;
    put_entry(d, e, buf_str(&utf16));
    return true;
}

static bool full(const struct query *d)
{
    return (d->flags & FLAG_SINGLE) != 0 && d->count > 0;
}

/* Puts "." and ".." first. */
static bool add_dots(struct query *d)
{
    static const struct str NAMES[] = {STR_INIT("."), STR_INIT("..")};
    for (; d->dots < 2; d->dots++) {
        if (!smb_pattern_matches(d->pattern, NAMES[d->dots]))
            continue;
        struct told dot = {.node = &d->self.node,
                           .id = d->dots == 0 ? d->self.id : d->self.parent,
                           .name = NAMES[d->dots],
                           .key = STR("A")}; /* dots have no short name */
        if (full(d) || !add_entry(d, &dot))
            return false;
    }
    return true;
}

static void put_head(struct query *d)
{
    buf_clear(&d->q->out);
    buf_put_le16(&d->q->out, 9);
    buf_put_le16(&d->q->out, SMB_HEADER_BYTES + 8);
    buf_put_le32(&d->q->out, 0);
}

static void begin_walk(void *sink, const struct file_seen *directory)
{
    struct query *d = sink;
    put_head(d);
    d->self = *directory;
    d->count = 0;
    d->looked_at = 0;
    d->too_small = false;
    d->dots = d->listing->dots;
}

static bool take_entry(void *sink, const struct file_found *found, struct str key)
{
    struct query *d = sink;
    if (!add_dots(d) || full(d))
        return false;
    if (d->looked_at++ >= d->looked_at_max)
        return false;
    if (!smb_pattern_matches(d->pattern, key) &&
        !(d->asks_short && short_name_is_of(d->pattern, key)))
        return true;
    struct told e = {&found->node, found->id, found->entry.name, key};
    return add_entry(d, &e);
}

/* ---- pages ---- */

static void keep_bytes(char **to, size_t *n, struct str bytes)
{
    free(*to);
    *to = mem_alloc(bytes.n + 1);
    memcpy(*to, bytes.p, bytes.n);
    *n = bytes.n;
}

static void page_done(struct query *d)
{
    struct smb_request *q = d->q;
    struct smb_listing *listing = d->listing;
    if (d->too_small) {
        smb_complete(q, STATUS_INFO_LENGTH_MISMATCH);
        return;
    }
    listing->dots = d->dots;
    listing->ended = !str_given(d->walk.next) && d->dots == 2;
    if (str_given(d->walk.next))
        keep_bytes(&listing->marker, &listing->marker_n, d->walk.next);
    if (d->count == 0) {
        smb_complete(q, listing->found ? STATUS_NO_MORE_FILES : STATUS_NO_SUCH_FILE);
        return;
    }
    listing->found = true;
    uint32_t length = (uint32_t)(q->out.n - 8);
    for (unsigned i = 0; i < 4; i++)
        q->out.p[4 + i] = (char)(length >> (8 * i));
    smb_complete(q, STATUS_SUCCESS);
}

static void walked(struct smb_request *q, struct err outcome)
{
    struct query *d = q->work;
    if (err_is(outcome)) {
        smb_complete_err(q, outcome);
        return;
    }
    /* A directory without matching entries still has its dots. */
    bool dots_fit = str_given(d->walk.next) || add_dots(d);
    if (str_given(d->walk.next) && d->count == 0 && !d->too_small && dots_fit) {
        d->walk.from = d->walk.next;
        d->looked_at_max = IN_POOL_ENTRIES;
        smb_view_in_pool(q, file_walk, &d->walk, walked);
        return;
    }
    page_done(d);
}

/* The common prefix of all matches of a pattern. */
static struct str literal_prefix(struct str pattern)
{
    size_t n = 0;
    while (n < pattern.n && strchr("*?<>\"", pattern.p[n]) == NULL)
        n++;
    return str_head(pattern, n);
}

static void list(struct query *d)
{
    struct smb_listing *listing = d->listing;
    d->pattern = arena_copy(d->q->arena, (struct str){listing->pattern, listing->pattern_n});
    d->asks_short = short_name_like(d->pattern);
    d->looked_at_max = ON_LOOP_ENTRIES;
    d->walk = (struct file_walk_args){
        .at = smb_at(d->q),
        .from = arena_copy(d->q->arena, (struct str){listing->marker, listing->marker_n}),
        .prefix =
            d->asks_short ? short_name_prefix(d->pattern, d->first) : literal_prefix(d->pattern),
        .sink = d,
        .begin = begin_walk,
        .item = take_entry,
    };
    smb_view(d->q, file_walk, &d->walk, walked);
}

/* ---- the request ---- */

/* Starts a scan with the given pattern, or with the previous one. */
static void begin_scan(struct query *d, struct str pattern)
{
    struct smb_listing *l = d->listing;
    if (pattern.n == 0)
        pattern = STR("*");
    if (l->pattern == NULL || (d->flags & (FLAG_REOPEN | FLAG_RESTART)) != 0)
        keep_bytes(&l->pattern, &l->pattern_n, casefold_utf8(d->q->arena, pattern));
    free(l->marker);
    l->marker = NULL;
    l->marker_n = 0;
    l->begun = true;
    l->ended = false;
    l->found = false;
    l->dots = 0;
}

static uint32_t check(const struct query *d, uint32_t room)
{
    const struct smb_open *o = d->q->open;
    if (fixed_bytes(d->class) == 0)
        return STATUS_INVALID_INFO_CLASS;
    if (o->pipe || !o->directory || room > SMB_IO_BYTES_MAX || !smb_charge_covers(d->q, room))
        return STATUS_INVALID_PARAMETER;
    if ((o->access & SMB_READ_DATA) == 0)
        return STATUS_ACCESS_DENIED;
    return room < fixed_bytes(d->class) ? STATUS_INFO_LENGTH_MISMATCH : STATUS_SUCCESS;
}

static uint32_t read_query(struct smb_request *q, struct query *d, struct str *pattern)
{
    struct reader in = reader_of(str_from(q->body, 2));
    d->q = q;
    d->class = read_u8(&in);
    d->flags = read_u8(&in);
    (void)read_le32(&in);
    struct smb_file_id id = smb_read_file_id(&in);
    uint16_t offset = read_le16(&in);
    uint16_t length = read_le16(&in);
    uint32_t room = read_le32(&in);
    if (!reader_ok(&in) || (length > 0 && (offset < SMB_HEADER_BYTES || offset > q->packet.n ||
                                           length > q->packet.n - offset)))
        return STATUS_INVALID_PARAMETER;
    uint32_t status = smb_open_find(q, id);
    if (status != STATUS_SUCCESS)
        return status;
    d->room = room;
    *pattern = STR("");
    if (length > SMB_PATTERN_BYTES_MAX ||
        (length > 0 &&
         !utf16_decode(q->arena, (struct str){q->packet.p + offset, length}, pattern)))
        return STATUS_OBJECT_NAME_INVALID;
    return check(d, room);
}

void smb_query_directory(struct smb_request *q)
{
    struct query *d = ARENA_NEW(q->arena, struct query);
    struct str pattern;
    q->work = d;
    uint32_t status = read_query(q, d, &pattern);
    if (status != STATUS_SUCCESS) {
        smb_complete(q, status);
        return;
    }
    d->listing = &q->open->listing;
    if (!d->listing->begun || (d->flags & (FLAG_RESTART | FLAG_REOPEN)) != 0)
        begin_scan(d, pattern);
    if (d->listing->ended)
        smb_complete(q, STATUS_NO_MORE_FILES);
    else
        list(d);
}
