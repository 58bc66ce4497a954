/* SPDX-License-Identifier: Apache-2.0 */
#include "service/file/security/rights.h"

static bool is_client(struct str sid)
{
    static const struct str SIDS[] = {
        STR_INIT("\x01\x01\x00\x00\x00\x00\x00\x01\x00\x00\x00\x00"), /* Everyone */
        STR_INIT("\x01\x01\x00\x00\x00\x00\x00\x05\x02\x00\x00\x00"), /* Network */
        STR_INIT("\x01\x01\x00\x00\x00\x00\x00\x05\x0B\x00\x00\x00"), /* Authenticated Users */
        STR_INIT("\x01\x01\x00\x00\x00\x00\x00\x05\x12\x00\x00\x00"), /* SYSTEM */
        STR_INIT("\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00\x20\x02\x00\x00"), /* Admins */
        STR_INIT("\x01\x02\x00\x00\x00\x00\x00\x05\x20\x00\x00\x00\x21\x02\x00\x00"), /* Users */
    };
    for (size_t i = 0; i < sizeof SIDS / sizeof SIDS[0]; i++)
        if (str_eq(sid, SIDS[i]))
            return true;
    return false;
}

static bool is_owner_rights(struct str sid)
{
    return str_eq(sid, STR("\x01\x01\x00\x00\x00\x00\x00\x03\x04\x00\x00\x00"));
}

uint32_t rights_map_generic(uint32_t mask)
{
    static const struct {
        uint32_t generic, rights;
    } MAP[] = {{0x80000000U, 0x00120089},
               {0x40000000U, 0x00120116},
               {0x20000000U, 0x001200A0},
               {0x10000000U, RIGHTS_ALL}};
    uint32_t mapped = mask & 0x0FFFFFFFU;
    for (size_t i = 0; i < sizeof MAP / sizeof MAP[0]; i++)
        if ((mask & MAP[i].generic) != 0)
            mapped |= MAP[i].rights;
    return mapped;
}

void rights_map_acl(struct acl *acl)
{
    for (size_t i = 0; i < acl->count; i++)
        if ((acl->items[i].flags & ACE_INHERIT_ONLY) == 0)
            acl->items[i].mask = rights_map_generic(acl->items[i].mask);
}

uint32_t rights_of(const struct sd *sd)
{
    uint32_t granted = 0, denied = 0;
    bool owner = str_given(sd->owner) && is_client(sd->owner);
    bool owner_told = false; /* an entry defines the owner's rights: no implicit ones */
    if ((sd->control & SD_DACL_PRESENT) == 0 || sd->dacl.null)
        return RIGHTS_ALL;
    for (size_t i = 0; i < sd->dacl.count; i++)
        owner_told = owner_told || ((sd->dacl.items[i].flags & ACE_INHERIT_ONLY) == 0 &&
                                    is_owner_rights(sd->dacl.items[i].sid));
    if (owner && !owner_told)
        granted = RIGHT_READ_CONTROL | RIGHT_WRITE_DAC;
    for (size_t i = 0; i < sd->dacl.count; i++) {
        const struct ace *ace = &sd->dacl.items[i];
        uint32_t mask = rights_map_generic(ace->mask) & RIGHTS_ALL;
        if ((ace->flags & ACE_INHERIT_ONLY) != 0 ||
            !(is_client(ace->sid) || (owner && is_owner_rights(ace->sid))))
            continue;
        if (ace->type == ACE_ALLOW)
            granted |= mask & ~denied;
        else if (ace->type == ACE_DENY)
            denied |= mask & ~granted;
    }
    return granted;
}

static struct err rights_of_node(struct file_scope *s, const struct node *n, uint32_t *out)
{
    struct str bytes;
    struct sd sd;
    TRY(permission_get(s->txn, s->share.incarnation, &n->permission, &bytes));
    TRY(sd_decode(txn_arena(s->txn), bytes, &sd));
    *out = rights_of(&sd);
    return OK;
}

struct err rights_of_found(struct file_scope *s, const struct file_found *found, uint32_t *out)
{
    struct file_found directory;
    uint32_t above = 0;
    if (found->root)
        return rights_of_node(s, &found->node, out);
    TRY(file_find_id(s, found->parent, &directory));
    if (!directory.exists)
        return err_new(ERR_CORRUPT);
    TRY(rights_of_node(s, &directory.node, &above));
    if (!found->exists) {
        *out = above;
        return OK;
    }
    TRY(rights_of_node(s, &found->node, out));
    if ((above & RIGHT_DELETE_CHILD) != 0)
        *out |= RIGHT_DELETE;
    if ((above & RIGHT_LIST) != 0)
        *out |= RIGHT_READ_ATTRIBUTES;
    return OK;
}
