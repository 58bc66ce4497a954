/* SPDX-License-Identifier: Apache-2.0 */
/* The information classes of files ([MS-FSCC] 2.4). */
#include "core/text/casefold.h"
#include "core/text/utf16.h"
#include "service/file/ea.h"
#include "service/file/short_name.h"
#include "smb/commands/ea.h"
#include "smb/commands/info.h"
#include "smb/commands/query.h"

enum {
    FILE_BASIC = 4,
    FILE_STANDARD = 5,
    FILE_INTERNAL = 6,
    FILE_EA = 7,
    FILE_ACCESS = 8,
    FILE_NAME = 9,
    FILE_POSITION = 14,
    FILE_FULL_EA = 15,
    FILE_MODE = 16,
    FILE_ALIGNMENT = 17,
    FILE_ALL = 18,
    FILE_ALTERNATE_NAME = 21,
    FILE_STREAM = 22,
    FILE_COMPRESSION = 28,
    FILE_NETWORK_OPEN = 34,
    FILE_ATTRIBUTE_TAG = 35,
    FILE_NORMALIZED_NAME = 48,
    FILE_ID = 59,

    /* Windows' minimum buffer sizes: its structures, with padding and the first letter of the name.
     */
    NAME_BYTES_MIN = 8,
    STREAM_BYTES_MIN = 32,
    ALL_BYTES_MIN = 104,
};

static uint64_t size_of(const struct node *n)
{
    return n->kind == NODE_DIRECTORY ? 0 : n->size;
}

static void put_basic(struct buf *out, const struct node *n)
{
    smb_put_times(out, n);
    buf_put_le32(out, smb_attributes(n));
    buf_put_le32(out, 0);
}

static void put_standard(struct smb_query *query)
{
    const struct smb_open *o = query->q->open;
    const struct node *n = &query->look.seen.node;
    struct opens *opens = smb_opens_table(query->q);
    struct opens_key key = {.share = o->incarnation, .node = o->node};
    bool doomed = o->handle != NULL && opens_delete_pending(opens, key);
    buf_put_le64(&query->out, smb_allocation(o, n));
    buf_put_le64(&query->out, size_of(n));
    buf_put_le32(&query->out, doomed ? 0 : 1); /* names */
    buf_put_u8(&query->out, doomed);
    buf_put_u8(&query->out, n->kind == NODE_DIRECTORY);
    buf_put_le16(&query->out, 0);
}

static void put_mode(struct smb_query *query)
{
    enum { SHOWN = 0x103E }; /* write-through to synchronous, delete on close */
    buf_put_le32(&query->out, query->q->open->options & SHOWN);
}

/* With the leading backslash unless `normalized`. */
static void put_name(struct smb_query *query, bool normalized)
{
    struct str path = query->look.seen.path;
    char *text = arena_bytes(query->q->arena, path.n + 1);
    struct buf name = buf_in(query->q->arena);
    text[0] = '\\';
    for (size_t i = 0; i < path.n; i++)
        text[i + 1] = path.p[i] == '/' ? '\\' : path.p[i];
    utf16_put(&name, str_from((struct str){text, path.n + 1}, normalized ? 1 : 0));
    buf_put_le32(&query->out, (uint32_t)name.n);
    buf_put(&query->out, buf_str(&name));
}

/* A name that is itself a valid short name is returned. The root has no short name; the answer is
 * then empty, not an error, because smbclient's allinfo stops at an error. */
static void put_short_name(struct smb_query *query)
{
    char bytes[SHORT_NAME_BYTES_MAX];
    struct buf utf16 = buf_in(query->q->arena);
    struct str name = path_last(query->look.seen.path);
    if (name.n > 0 && !short_name_fits(name))
        name = short_name_of(casefold_utf8(query->q->arena, name), bytes);
    utf16_put(&utf16, name);
    buf_put_le32(&query->out, (uint32_t)utf16.n);
    buf_put(&query->out, buf_str(&utf16));
}

static void put_all(struct smb_query *query)
{
    const struct smb_open *o = query->q->open;
    put_basic(&query->out, &query->look.seen.node);
    put_standard(query);
    buf_put_le64(&query->out, smb_file_index(o->incarnation, o->node));
    buf_put_le32(&query->out, ea_size(query->look.seen.node.eas));
    buf_put_le32(&query->out, o->access);
    buf_put_le64(&query->out, o->position);
    put_mode(query);
    buf_put_le32(&query->out, 0);
    put_name(query, false);
}

/* A file has one stream, a directory none. */
static void put_streams(struct smb_query *query)
{
    const struct node *n = &query->look.seen.node;
    struct buf name = buf_in(query->q->arena);
    if (n->kind == NODE_DIRECTORY)
        return;
    utf16_put(&name, STR("::$DATA"));
    buf_put_le32(&query->out, 0);
    buf_put_le32(&query->out, (uint32_t)name.n);
    buf_put_le64(&query->out, n->size);
    buf_put_le64(&query->out, smb_allocation(query->q->open, n));
    buf_put(&query->out, buf_str(&name));
}

static void put_network_open(struct smb_query *query)
{
    const struct node *n = &query->look.seen.node;
    smb_put_times(&query->out, n);
    buf_put_le64(&query->out, smb_allocation(query->q->open, n));
    buf_put_le64(&query->out, size_of(n));
    buf_put_le32(&query->out, smb_attributes(n));
    buf_put_le32(&query->out, 0);
}

static bool asks_attributes(uint8_t class)
{
    return class == FILE_BASIC || class == FILE_ALL || class == FILE_NETWORK_OPEN ||
           class == FILE_ATTRIBUTE_TAG;
}

/* The classes that end with a name, which may be truncated. */
static uint32_t query_names(struct smb_query *query)
{
    switch (query->class) {
    case FILE_NAME:
    case FILE_NORMALIZED_NAME:
        put_name(query, query->class == FILE_NORMALIZED_NAME);
        query->fixed = NAME_BYTES_MIN;
        return STATUS_SUCCESS;
    case FILE_ALL:
        put_all(query);
        query->fixed = ALL_BYTES_MIN;
        return STATUS_SUCCESS;
    case FILE_ALTERNATE_NAME:
        put_short_name(query);
        query->fixed = NAME_BYTES_MIN;
        return STATUS_SUCCESS;
    case FILE_STREAM:
        put_streams(query);
        query->fixed = query->out.n == 0 ? 0 : STREAM_BYTES_MIN;
        return STATUS_SUCCESS;
    default:
        return STATUS_INVALID_INFO_CLASS;
    }
}

uint32_t smb_query_file(struct smb_query *query)
{
    const struct smb_open *o = query->q->open;
    const struct node *n = &query->look.seen.node;
    struct buf *out = &query->out;
    if (asks_attributes(query->class) && (o->access & SMB_READ_ATTRIBUTES) == 0)
        return STATUS_ACCESS_DENIED;
    switch (query->class) {
    case FILE_BASIC:
        put_basic(out, n);
        break;
    case FILE_STANDARD:
        put_standard(query);
        break;
    case FILE_INTERNAL:
        buf_put_le64(out, smb_file_index(o->incarnation, o->node));
        break;
    case FILE_EA:
        buf_put_le32(out, ea_size(n->eas));
        break;
    case FILE_ALIGNMENT:
        buf_put_le32(out, 0);
        break;
    case FILE_ACCESS:
        buf_put_le32(out, o->access);
        break;
    case FILE_POSITION:
        buf_put_le64(out, o->position);
        break;
    case FILE_FULL_EA:
        return smb_query_eas(query);
    case FILE_MODE:
        put_mode(query);
        break;
    case FILE_COMPRESSION:
        buf_put_le64(out, size_of(n));
        buf_put_le64(out, 0);
        break;
    case FILE_NETWORK_OPEN:
        put_network_open(query);
        break;
    case FILE_ATTRIBUTE_TAG:
        buf_put_le32(out, smb_attributes(n));
        buf_put_le32(out, 0);
        break;
    case FILE_ID:
        buf_put_le64(out, o->incarnation);
        buf_put_le64(out, smb_file_index(o->incarnation, o->node));
        buf_put_le64(out, 0);
        break;
    default:
        return query_names(query);
    }
    query->fixed = out->n;
    return STATUS_SUCCESS;
}
