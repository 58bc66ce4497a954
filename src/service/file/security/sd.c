/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/sd.h"

#include <assert.h>

#include "core/buf.h"
#include "core/wire.h"

enum {
    SD_REVISION = 1,
    SD_HEAD_BYTES = 20,
    ACL_REVISION = 2,
    ACL_REVISION_DS = 4,
    ACL_HEAD_BYTES = 8,
    ACE_HEAD_BYTES = 8,
    SID_REVISION = 1,
    SID_HEAD_BYTES = 8,
};

/* ---- reading ---- */

static struct err bad(void)
{
    return err_new(ERR_INVALID_FILE_PERMISSION);
}

/* The SID at the start of the bytes; absent if there is none. */
static struct str sid_at(struct str bytes)
{
    if (bytes.n < SID_HEAD_BYTES || bytes.p[0] != SID_REVISION)
        return STR_NONE;
    size_t subs = (unsigned char)bytes.p[1];
    size_t length = SID_HEAD_BYTES + 4 * subs;
    if (subs == 0 || subs > SID_SUBS_MAX || length > bytes.n)
        return STR_NONE;
    return str_head(bytes, length);
}

bool sid_valid(struct str sid)
{
    struct str whole = sid_at(sid);
    return str_given(whole) && whole.n == sid.n;
}

static struct err read_sid(struct str bytes, uint32_t offset, struct str *out)
{
    *out = STR_NONE;
    if (offset == 0)
        return OK;
    if (offset > bytes.n)
        return bad();
    *out = sid_at(str_from(bytes, offset));
    return str_given(*out) ? OK : bad();
}

static bool known_type(uint8_t type)
{
    return type <= ACE_ALARM || type == ACE_LABEL;
}

static struct err read_ace(struct reader *r, struct ace *out)
{
    out->type = read_u8(r);
    out->flags = read_u8(r) & ACE_FLAGS_KEPT;
    uint16_t size = read_le16(r);
    out->mask = read_le32(r);
    if (!reader_ok(r) || size < ACE_HEAD_BYTES || !known_type(out->type))
        return bad();
    struct str rest = read_raw(r, (size_t)size - ACE_HEAD_BYTES);
    out->sid = sid_at(rest);
    return reader_ok(r) && str_given(out->sid) ? OK : bad();
}

static struct err read_acl(struct arena *a, struct str bytes, uint32_t offset, struct acl *out)
{
    *out = (struct acl){.null = offset == 0};
    if (offset == 0)
        return OK;
    if (offset > bytes.n)
        return bad();
    struct reader r = reader_of(str_from(bytes, offset));
    uint8_t revision = read_u8(&r);
    (void)read_u8(&r);
    uint16_t size = read_le16(&r);
    uint16_t count = read_le16(&r);
    (void)read_le16(&r);
    if (!reader_ok(&r) || (revision != ACL_REVISION && revision != ACL_REVISION_DS) ||
        size < ACL_HEAD_BYTES || count > SD_ACES_MAX)
        return bad();
    struct reader list = reader_of(read_raw(&r, (size_t)size - ACL_HEAD_BYTES));
    if (!reader_ok(&r))
        return bad();
    out->items = ARENA_ARRAY(a, struct ace, (size_t)count + 1);
    for (out->count = 0; out->count < count; out->count++)
        TRY(read_ace(&list, &out->items[out->count]));
    return OK;
}

struct err sd_decode(struct arena *a, struct str bytes, struct sd *out)
{
    assert(out != NULL);
    struct reader r = reader_of(bytes);
    *out = (struct sd){0};
    uint8_t revision = read_u8(&r);
    (void)read_u8(&r);
    out->control = read_le16(&r) & SD_CONTROL_KEPT;
    uint32_t owner = read_le32(&r);
    uint32_t group = read_le32(&r);
    uint32_t sacl = read_le32(&r);
    uint32_t dacl = read_le32(&r);
    if (!reader_ok(&r) || revision != SD_REVISION || (out->control & SD_SELF_RELATIVE) == 0 ||
        bytes.n > SD_BYTES_MAX)
        return bad();
    TRY(read_sid(bytes, owner, &out->owner));
    TRY(read_sid(bytes, group, &out->group));
    if ((out->control & SD_SACL_PRESENT) != 0)
        TRY(read_acl(a, bytes, sacl, &out->sacl));
    if ((out->control & SD_DACL_PRESENT) != 0)
        TRY(read_acl(a, bytes, dacl, &out->dacl));
    return OK;
}

/* ---- writing ---- */

static void put_acl(struct buf *b, const struct acl *acl)
{
    size_t size = ACL_HEAD_BYTES;
    for (size_t i = 0; i < acl->count; i++)
        size += ACE_HEAD_BYTES + acl->items[i].sid.n;
    buf_put_u8(b, ACL_REVISION);
    buf_put_u8(b, 0);
    buf_put_le16(b, (uint16_t)size);
    buf_put_le16(b, (uint16_t)acl->count);
    buf_put_le16(b, 0);
    for (size_t i = 0; i < acl->count; i++) {
        const struct ace *ace = &acl->items[i];
        buf_put_u8(b, ace->type);
        buf_put_u8(b, ace->flags);
        buf_put_le16(b, (uint16_t)(ACE_HEAD_BYTES + ace->sid.n));
        buf_put_le32(b, ace->mask);
        buf_put(b, ace->sid);
    }
}

static uint32_t put_part(struct buf *parts, struct str sid)
{
    uint32_t offset = (uint32_t)(SD_HEAD_BYTES + parts->n);
    if (!str_given(sid))
        return 0;
    buf_put(parts, sid);
    return offset;
}

static uint32_t put_list(struct buf *parts, const struct acl *acl, bool present)
{
    uint32_t offset = (uint32_t)(SD_HEAD_BYTES + parts->n);
    if (!present || acl->null)
        return 0;
    put_acl(parts, acl);
    return offset;
}

struct str sd_encode(struct arena *a, const struct sd *sd)
{
    struct buf parts = buf_in(a);
    struct buf b = buf_in(a);
    /* In the order of Windows and the cloud, because clients compare the result. */
    uint32_t sacl = put_list(&parts, &sd->sacl, (sd->control & SD_SACL_PRESENT) != 0);
    uint32_t dacl = put_list(&parts, &sd->dacl, (sd->control & SD_DACL_PRESENT) != 0);
    uint32_t owner = put_part(&parts, sd->owner);
    uint32_t group = put_part(&parts, sd->group);
    buf_put_u8(&b, SD_REVISION);
    buf_put_u8(&b, 0);
    buf_put_le16(&b, sd->control | SD_SELF_RELATIVE);
    buf_put_le32(&b, owner);
    buf_put_le32(&b, group);
    buf_put_le32(&b, sacl);
    buf_put_le32(&b, dacl);
    buf_put(&b, buf_str(&parts));
    return buf_str(&b);
}

/* ---- inheritance ---- */

#define SID_CREATOR_OWNER STR("\001\001\0\0\0\0\0\003\0\0\0\0")
#define SID_CREATOR_GROUP STR("\001\001\0\0\0\0\0\003\001\0\0\0")

enum {
    GENERIC_ALL = 0x10000000,
    GENERIC_EXECUTE = 0x20000000,
    GENERIC_WRITE = 0x40000000,
    FILE_ALL = 0x1f01ff,
    FILE_READ = 0x120089,
    FILE_WRITE = 0x120116,
    FILE_EXECUTE = 0x1200a0,
};
#define GENERIC_READ 0x80000000U

/* The meaning of generic rights for a file. */
static uint32_t specific(uint32_t mask)
{
    uint32_t out = mask & 0x0FFFFFFF;
    out |= (mask & GENERIC_ALL) != 0 ? FILE_ALL : 0;
    out |= (mask & GENERIC_EXECUTE) != 0 ? FILE_EXECUTE : 0;
    out |= (mask & GENERIC_WRITE) != 0 ? FILE_WRITE : 0;
    out |= (mask & GENERIC_READ) != 0 ? FILE_READ : 0;
    return out;
}

/* The effective SID: the creator's in place of the placeholder. */
static struct str effective_sid(const struct sd *parent, struct str sid)
{
    if (str_eq(sid, SID_CREATOR_OWNER))
        return parent->owner;
    if (str_eq(sid, SID_CREATOR_GROUP))
        return parent->group;
    return sid;
}

static void add_ace(struct acl *out, struct ace ace)
{
    if (str_given(ace.sid))
        out->items[out->count++] = ace;
}

/* Adds what a new file inherits from one entry of the parent: an effective entry, and for a
 * directory also an inheritable one if the two differ. */
static void hand_down(const struct sd *parent, const struct ace *ace, bool directory,
                      struct acl *out)
{
    /* Marked as inherited only if the parent's list has automatic inheritance. */
    uint8_t mark = (parent->control & SD_DACL_AUTO) != 0 ? ACE_INHERITED : 0;
    enum { KINDS = ACE_OBJECT_INHERIT | ACE_CONTAINER_INHERIT };
    uint8_t audit = ace->flags & (ACE_SUCCESS | ACE_FAILURE);
    uint8_t hands_on = ace->flags & KINDS;
    bool applies = (ace->flags & (directory ? ACE_CONTAINER_INHERIT : ACE_OBJECT_INHERIT)) != 0;
    bool passes = directory && hands_on != 0 && (ace->flags & ACE_NO_PROPAGATE) == 0;
    struct ace effective = *ace;
    effective.flags = audit | mark;
    effective.mask = specific(ace->mask);
    effective.sid = effective_sid(parent, ace->sid);
    bool same = effective.mask == ace->mask && str_eq(effective.sid, ace->sid);
    if (applies && passes && same)
        effective.flags |= hands_on;
    if (applies)
        add_ace(out, effective);
    if (passes && !(applies && same)) {
        struct ace later = *ace;
        later.flags = (uint8_t)(audit | mark | hands_on | ACE_INHERIT_ONLY);
        add_ace(out, later);
    }
}

/* Without inherited entries: full access for the owner and SYSTEM, like a Windows logon. */
static void add_default(struct sd *sd)
{
    enum { FULL = 0x001F01FF };
    const struct str system = STR("\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00");
    sd->control &= (uint16_t)~SD_DACL_AUTO;
    if (str_given(sd->owner))
        add_ace(&sd->dacl, (struct ace){.type = ACE_ALLOW, .mask = FULL, .sid = sd->owner});
    if (!str_eq(sd->owner, system))
        add_ace(&sd->dacl, (struct ace){.type = ACE_ALLOW, .mask = FULL, .sid = system});
}

struct sd sd_inherit(struct arena *a, const struct sd *parent, bool directory)
{
    struct sd out = {.control = (uint16_t)(SD_DACL_PRESENT | (parent->control & SD_DACL_AUTO)),
                     .owner = parent->owner,
                     .group = parent->group};
    out.dacl.items = ARENA_ARRAY(a, struct ace, 2 * parent->dacl.count + 2);
    for (size_t i = 0; i < parent->dacl.count; i++)
        hand_down(parent, &parent->dacl.items[i], directory, &out.dacl);
    if (out.dacl.count == 0)
        add_default(&out);
    return out;
}

static bool is_small(struct arena *a, const struct sd *sd)
{
    return sd->dacl.count <= SD_ACES_MAX && sd_encode(a, sd).n <= SD_BYTES_MAX / 2;
}

bool sd_fits(struct arena *a, const struct sd *sd)
{
    struct sd file = sd_inherit(a, sd, false);
    struct sd directory = sd_inherit(a, sd, true);
    return is_small(a, sd) && is_small(a, &file) && is_small(a, &directory);
}
