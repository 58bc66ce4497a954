/* SPDX-License-Identifier: Apache-2.0 */
/* The rights that a security descriptor grants an SMB client. All clients of an account use its
 * key, so they are one user: an administrator of the account. That user is SYSTEM, in
 * Administrators, Users, Authenticated Users, Network and Everyone; it has no privileges; and a
 * right that a descriptor denies remains denied until the user changes the descriptor. (REST does
 * not check descriptors: a caller that may write there may write anything.) */
#ifndef SERVICE_FILE_SECURITY_RIGHTS_H
#define SERVICE_FILE_SECURITY_RIGHTS_H

#include "service/file/scope.h"

enum {
    RIGHT_ADD_FILE = 0x2,
    RIGHT_ADD_DIRECTORY = 0x4,
    RIGHT_LIST = 0x1,
    RIGHT_DELETE_CHILD = 0x40,
    RIGHT_READ_ATTRIBUTES = 0x80,
    RIGHT_DELETE = 0x10000,
    RIGHT_READ_CONTROL = 0x20000,
    RIGHT_WRITE_DAC = 0x40000,
    RIGHTS_ALL = 0x001F01FF,
};

/* The granted rights ([MS-DTYP] 2.5.3.2, with all rights requested). */
uint32_t rights_of(const struct sd *sd);
/* Maps generic rights to specific ones. */
uint32_t rights_map_generic(uint32_t mask);
/* The same in every effective entry; inherit-only entries are not changed. */
void rights_map_acl(struct acl *acl);

/* The rights to the object that was found or, if none was, to the directory that would contain it.
 * The right to delete in a directory includes deleting its entries, and listing it includes seeing
 * attributes. */
struct err rights_of_found(struct file_scope *s, const struct file_found *found, uint32_t *out);

#endif
