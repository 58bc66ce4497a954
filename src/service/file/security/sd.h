/* SPDX-License-Identifier: Apache-2.0 */
/* Security descriptors: the owner of a file or directory and its permissions. They are stored and
 * compared in one binary form (self-relative, parts in a fixed order), which SMB sends unchanged;
 * REST shows them as SDDL text (sddl.h). */
#ifndef SERVICE_FILE_SECURITY_SD_H
#define SERVICE_FILE_SECURITY_SD_H

#include "core/arena.h"
#include "core/err.h"

enum {
    SD_BYTES_MAX = 64 << 10,
    SD_ACES_MAX = 1024, /* in one list */
    SID_SUBS_MAX = 15,
};

/* Control bits that we keep. */
enum {
    SD_OWNER_DEFAULTED = 0x0001,
    SD_GROUP_DEFAULTED = 0x0002,
    SD_DACL_PRESENT = 0x0004,
    SD_DACL_DEFAULTED = 0x0008,
    SD_SACL_PRESENT = 0x0010,
    SD_SACL_DEFAULTED = 0x0020,
    SD_DACL_AUTO_REQ = 0x0100,
    SD_SACL_AUTO_REQ = 0x0200,
    SD_DACL_AUTO = 0x0400,
    SD_SACL_AUTO = 0x0800,
    SD_DACL_PROTECTED = 0x1000,
    SD_SACL_PROTECTED = 0x2000,
    SD_SELF_RELATIVE = 0x8000,
    SD_CONTROL_KEPT = 0xBF3F,
};

enum { ACE_ALLOW = 0, ACE_DENY = 1, ACE_AUDIT = 2, ACE_ALARM = 3, ACE_LABEL = 17 };
enum {
    ACE_OBJECT_INHERIT = 0x01,
    ACE_CONTAINER_INHERIT = 0x02,
    ACE_NO_PROPAGATE = 0x04,
    ACE_INHERIT_ONLY = 0x08,
    ACE_INHERITED = 0x10,
    ACE_SUCCESS = 0x40,
    ACE_FAILURE = 0x80,
    ACE_FLAGS_KEPT = 0xDF,
};

struct ace {
    uint8_t type;
    uint8_t flags;
    uint32_t mask;
    struct str sid; /* binary */
};

struct acl {
    struct ace *items; /* NULL with count 0 may still be an empty list: see the control bits */
    size_t count;
    bool null; /* present, but no list: everything is allowed */
};

/* A decoded descriptor. Slices are borrowed from the source, or in an arena. */
struct sd {
    uint16_t control;
    struct str owner, group; /* binary; absent if not given */
    struct acl dacl, sacl;   /* with SD_DACL_PRESENT and SD_SACL_PRESENT */
};

/* Decodes a self-relative descriptor; ACEs are in the arena. Types of ACEs other than the above are
 * refused, flags other than the above dropped. ERR_INVALID_FILE_PERMISSION. */
struct err sd_decode(struct arena *a, struct str bytes, struct sd *out);
/* The one binary form. */
struct str sd_encode(struct arena *a, const struct sd *sd);

/* Checks that it can be stored, including what it passes on: entries for the creator grow there. */
bool sd_fits(struct arena *a, const struct sd *sd);

/* Returns true if the bytes are one well-formed SID. */
bool sid_valid(struct str sid);

/* The descriptor of a new object in a directory with the descriptor `parent`: the inherited
 * entries, with its owner and group. */
struct sd sd_inherit(struct arena *a, const struct sd *parent, bool directory);

#endif
