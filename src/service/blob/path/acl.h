/* SPDX-License-Identifier: Apache-2.0 */
/* Access control lists of paths, as in POSIX: the owner; the rights of the owner, the owning group
 * and everybody else; named users and groups, limited by a mask; and for a directory the default
 * entries that its new children inherit. Pure functions over struct blob_path: the three base
 * entries are its mode, all others its `acl`. */
#ifndef SERVICE_BLOB_PATH_ACL_H
#define SERVICE_BLOB_PATH_ACL_H

#include "service/blob/head.h"

enum { ACL_READ = 4, ACL_WRITE = 2, ACL_EXECUTE = 1, ACL_STICKY = 01000, ACL_UMASK = 0027 };
enum { ACL_ID_MAX = 256 };     /* bytes */
enum { ACL_ENTRIES_MAX = 32 }; /* of the access entries, and of the default ones */

#define ACL_SUPERUSER STR("$superuser")

enum acl_kind { ACL_USER, ACL_GROUP, ACL_MASK, ACL_OTHER };

struct acl_entry {
    bool is_default;
    enum acl_kind kind;
    struct str id; /* empty: the owner, the owning group, mask, other */
    unsigned bits;
};

struct path_acl {
    struct acl_entry items[2 * ACL_ENTRIES_MAX + 2]; /* two masks before they are refused */
    size_t count;
};

/* The identity for which lists are consulted. */
struct acl_caller {
    struct str id;
    const struct str *groups;
    size_t group_count;
};

/* "[default:]user|group|mask|other:[id]:rwx,…"; the permissions may be missing if `removes`. Slices
 * of the text. ERR_INVALID_INPUT. */
struct err acl_parse(struct str text, bool removes, struct path_acl *out);
/* "0750", "1777", "rwxr-x---", "rwxr-x--T". False when it is neither. */
bool acl_parse_mode(struct str text, unsigned *out);

/* Returns true if it can be the id of a user or group: short text without control characters, and
 * without those that separate the parts of a list. */
bool acl_is_id(struct str text);

/* The texts of x-ms-acl and x-ms-permissions. */
void acl_put_text(struct buf *b, const struct blob_path *path);
void acl_put_mode(struct buf *b, const struct blob_path *path);
struct str acl_owner(const struct blob_path *path);
struct str acl_group(const struct blob_path *path);

enum acl_change { ACL_SET, ACL_MODIFY, ACL_REMOVE };
/* Changes the path's list, in the arena. Default entries of a file are ignored with skip_defaults,
 * else refused. ERR_INVALID_INPUT: too many entries, a default entry for a file, or the removal of
 * a base entry. */
struct acl_request {
    enum acl_change how;
    const struct path_acl *entries;
    bool skip_defaults;
};
struct err acl_apply(struct arena *a, const struct acl_request *request, struct blob_path *path);
/* The owner's, the mask's (or the group's) and others' bits. */
struct err acl_set_mode(struct arena *a, unsigned mode, struct blob_path *path);

/* Initialises a new path below the parent: from its default entries, or else `mode` without the
 * umask's bits. The group is the parent's; the caller sets the owner. */
struct acl_birth {
    unsigned mode, umask;
    bool directory;
};
struct err acl_inherit(struct arena *a, const struct blob_path *parent,
                       const struct acl_birth *birth, struct blob_path *path);

/* Returns true if all of the bits are granted. A NULL caller may do anything. */
bool acl_allows(const struct blob_path *path, const struct acl_caller *caller, unsigned bits);
bool acl_is_owner(const struct blob_path *path, const struct acl_caller *caller);
bool acl_is_member(const struct acl_caller *caller, struct str group);
/* Returns true if the caller may remove or move an entry of the directory: in a sticky directory
 * only the owner of the entry or of the directory may. */
bool acl_may_unlink(const struct blob_path *directory, const struct blob_path *entry,
                    const struct acl_caller *caller);

/* A flat container has no lists, so they grant nothing there: an account that became hierarchical
 * still has the flat containers that it had before. ERR_AUTHORIZATION_PERMISSION_MISMATCH. */
struct err acl_check_flat(const struct acl_caller *caller);

/* For `lazuli check`. */
bool acl_is_sound(struct str encoded);

#endif
