/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a CREATE request. */
#include "core/text/utf16.h"
#include "core/time.h"
#include "service/file/security/rights.h"
#include "smb/commands/create.h"
#include "smb/commands/ea.h"

enum {
    NAME_OFFSET_MIN = SMB_HEADER_BYTES + 56,
    IMPERSONATION_MAX = 3,
    CONTEXTS_MAX = 32,
    CONTEXT_HEAD_BYTES = 16,
    CONTEXT_NAME_BYTES = 4, /* at least */
};

#define ACCESS_REFUSED     0x0CE0FE00U /* bits that are no right */
#define ATTRIBUTES_REFUSED 0xFFFF8048U
#define OPTIONS_REFUSED    0xFF000000U

uint32_t smb_map_access(uint32_t desired)
{
    uint32_t mask = rights_map_generic(desired);
    if ((mask & SMB_MAXIMUM_ALLOWED) != 0)
        mask = (mask & ~(uint32_t)SMB_MAXIMUM_ALLOWED) | SMB_ACCESS_ALL;
    return mask;
}

unsigned smb_opens_access(uint32_t mask)
{
    unsigned access = 0;
    if ((mask & (SMB_READ_DATA | SMB_EXECUTE)) != 0)
        access |= OPENS_READ;
    if ((mask & (SMB_WRITE_DATA | SMB_APPEND_DATA)) != 0)
        access |= OPENS_WRITE;
    if ((mask & SMB_DELETE) != 0)
        access |= OPENS_DELETE;
    return access;
}

/* ---- names ---- */

/* Resolves "name/.." in place; false if the path would leave the share. */
static bool resolve_dots(char *path, size_t *n)
{
    struct str rest = {path, *n};
    size_t end = 0; /* of the part that is kept */
    while (str_given(rest)) {
        struct str name = str_cut(&rest, '/');
        if (str_eq(name, STR(".."))) {
            if (end == 0)
                return false;
            while (end > 0 && path[--end] != '/')
                continue;
            continue;
        }
        if (end > 0)
            path[end++] = '/';
        memmove(path + end, name.p, name.n);
        end += name.n;
    }
    *n = end;
    return true;
}

static bool has_dots(struct str path)
{
    return str_find_str(path, STR("..")) < path.n;
}

uint32_t smb_read_name(struct arena *a, struct str utf16, struct str *out)
{
    static const struct str DATA = STR_INIT("::$DATA");
    struct str name;
    if (!utf16_decode(a, utf16, &name))
        return STATUS_OBJECT_NAME_INVALID;
    if (name.n > 0 && name.p[0] == '\\')
        return STATUS_INVALID_PARAMETER;
    /* The unnamed stream of a file is the file. */
    if (name.n > DATA.n && str_ieq(str_from(name, name.n - DATA.n), DATA))
        name.n -= DATA.n;
    else if (name.n > 1 && name.p[name.n - 1] == '\\')
        name.n--;
    /* No name can contain a slash; some clients send it instead of a backslash. */
    char *path = arena_bytes(a, name.n + 1);
    for (size_t i = 0; i < name.n; i++)
        path[i] = name.p[i] == '\\' ? '/' : name.p[i];
    *out = (struct str){path, name.n};
    if (has_dots(*out) && !resolve_dots(path, &out->n))
        return STATUS_OBJECT_PATH_SYNTAX_BAD;
    return STATUS_SUCCESS;
}

/* ---- contexts ---- */

static void keep_context(struct smb_create_contexts *c, struct str name, struct str data)
{
    const struct {
        struct str name;
        struct str *at;
    } places[] = {
        {STR("MxAc"), &c->max_access},   {STR("QFid"), &c->disk_id},
        {STR("AlSi"), &c->allocation},   {STR("TWrp"), &c->time_warp},
        {STR("SecD"), &c->security},     {STR("ExtA"), &c->extended},
        {STR("RqLs"), &c->lease},        {STR("DHnQ"), &c->durable},
        {STR("DHnC"), &c->reconnect},    {STR("DH2Q"), &c->durable_v2},
        {STR("DH2C"), &c->reconnect_v2},
    };
    for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
        if (str_eq(places[i].name, name))
            *places[i].at = data;
}

/* [MS-SMB2] 2.2.13.2: each context has the offsets of the next one, of its name and of its data. */
static bool read_contexts(struct str list, struct smb_create_contexts *out)
{
    for (unsigned i = 0; i < CONTEXTS_MAX; i++) {
        struct reader r = reader_of(list);
        uint32_t next = read_le32(&r);
        uint16_t name_offset = read_le16(&r);
        uint16_t name_length = read_le16(&r);
        (void)read_le16(&r);
        uint16_t data_offset = read_le16(&r);
        uint32_t data_length = read_le32(&r);
        struct str one = next == 0 ? list : str_head(list, next);
        if (!reader_ok(&r) || next > list.n || (next != 0 && next < CONTEXT_HEAD_BYTES) ||
            next % 8 != 0 || name_length < CONTEXT_NAME_BYTES || name_offset > one.n ||
            name_length > one.n - name_offset ||
            (data_length > 0 && (data_offset > one.n || data_length > one.n - data_offset)))
            return false;
        struct str data = {"", 0};
        if (data_length > 0)
            data = (struct str){one.p + data_offset, data_length};
        keep_context(out, (struct str){one.p + name_offset, name_length}, data);
        if (next == 0)
            return true;
        list = str_from(list, next);
    }
    return false;
}

static uint32_t apply_contexts(struct smb_create *c)
{
    const struct smb_create_contexts *x = &c->contexts;
    if (str_given(x->extended) && x->extended.n > 0) {
        uint32_t status = smb_ea_read(c->q->arena, x->extended, &c->eas);
        if (status != STATUS_SUCCESS)
            return status;
        if ((c->options & SMB_OPTION_NO_EA) != 0)
            return STATUS_ACCESS_DENIED; /* unknown contexts are ignored */
    }
    if (str_given(x->allocation)) {
        struct reader r = reader_of(x->allocation);
        c->allocation = read_le64(&r);
        if (!reader_ok(&r))
            return STATUS_INVALID_PARAMETER;
    }
    if (str_given(x->time_warp)) {
        struct reader r = reader_of(x->time_warp);
        uint64_t time = read_le64(&r);
        if (!reader_ok(&r) || time > INT64_MAX)
            return STATUS_INVALID_PARAMETER;
        c->snapshot = (int64_t)time - TIME_TICKS_YEAR_1601;
    }
    if (str_given(x->security))
        c->sd = x->security;
    /* A reconnect names its lease, but requests nothing. */
    bool returns = c->durable.returns_first || c->durable.returns_second;
    uint8_t oplock = returns ? (uint8_t)SMB_OPLOCK_LEASE : c->oplock;
    if (!smb_lease_read(c->q->conn, oplock, x->lease, &c->lease))
        return STATUS_INVALID_PARAMETER;
    return STATUS_SUCCESS;
}

/* ---- the request ---- */

static uint32_t check(const struct smb_create *c, uint32_t impersonation)
{
    if (impersonation > IMPERSONATION_MAX)
        return STATUS_BAD_IMPERSONATION_LEVEL;
    if ((c->desired & SMB_SYSTEM_SECURITY) != 0)
        return STATUS_PRIVILEGE_NOT_HELD;
    if ((c->desired & ACCESS_REFUSED) != 0 || c->desired == 0)
        return STATUS_ACCESS_DENIED;
    if ((c->options & OPTIONS_REFUSED) != 0 || (c->attributes & ATTRIBUTES_REFUSED) != 0 ||
        c->disposition > SMB_OVERWRITE_IF || (c->sharing & ~(uint32_t)OPENS_ALL) != 0)
        return STATUS_INVALID_PARAMETER;
    if ((c->options & SMB_OPTIONS_UNSUPPORTED) != 0)
        return STATUS_NOT_SUPPORTED;
    bool directory = (c->options & SMB_OPTION_DIRECTORY) != 0;
    if (directory && (c->options & SMB_OPTION_NON_DIRECTORY) != 0)
        return STATUS_INVALID_PARAMETER;
    if (directory && (c->disposition == SMB_SUPERSEDE || c->disposition == SMB_OVERWRITE ||
                      c->disposition == SMB_OVERWRITE_IF))
        return STATUS_INVALID_PARAMETER;
    if ((c->options & SMB_OPTION_DELETE_ON_CLOSE) != 0 &&
        (smb_map_access(c->desired) & SMB_DELETE) == 0)
        return STATUS_ACCESS_DENIED;
    return STATUS_SUCCESS;
}

/* Returns a part of the message, at an offset that counts from the header. */
static bool part(const struct smb_request *q, uint32_t offset, uint32_t length, struct str *out)
{
    *out = (struct str){"", 0};
    if (length == 0)
        return true;
    if (offset < NAME_OFFSET_MIN || offset > q->packet.n || length > q->packet.n - offset)
        return false;
    *out = (struct str){q->packet.p + offset, length};
    return true;
}

uint32_t smb_create_read(struct smb_request *q, struct smb_create *c)
{
    struct reader r = reader_of(str_from(q->body, 3));
    struct str name, contexts;
    c->oplock = read_u8(&r);
    uint32_t impersonation = read_le32(&r);
    (void)read_raw(&r, 16);
    c->desired = read_le32(&r);
    c->attributes = read_le32(&r);
    c->sharing = read_le32(&r);
    c->disposition = read_le32(&r);
    c->options = read_le32(&r);
    uint16_t name_offset = read_le16(&r);
    uint16_t name_length = read_le16(&r);
    uint32_t contexts_offset = read_le32(&r);
    uint32_t contexts_length = read_le32(&r);
    if (!reader_ok(&r) || !part(q, name_offset, name_length, &name) ||
        !part(q, contexts_offset, contexts_length, &contexts) ||
        (contexts.n > 0 && !read_contexts(contexts, &c->contexts)))
        return STATUS_INVALID_PARAMETER;
    uint32_t status = smb_durable_read(c);
    /* The other fields of a reconnect are ignored. */
    if (status == STATUS_SUCCESS && !c->durable.returns_first && !c->durable.returns_second)
        status = check(c, impersonation);
    if (status == STATUS_SUCCESS)
        status = smb_read_name(q->arena, name, &c->path);
    return status == STATUS_SUCCESS ? apply_contexts(c) : status;
}
