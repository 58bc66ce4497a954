/* SPDX-License-Identifier: Apache-2.0 */
/* The security descriptors of a share, each stored once under a hash of itself, which clients see
 * as the permission key. They are never changed, and kept as long as the share. */
#ifndef SERVICE_FILE_SECURITY_PERMISSION_H
#define SERVICE_FILE_SECURITY_PERMISSION_H

#include "engine/engine.h"
#include "service/file/node.h"
#include "service/file/security/sd.h"

/* "8811788780590250410*9277140604281600160". */
void permission_key_put(struct buf *b, const struct permission_key *key);
bool permission_key_parse(struct str text, struct permission_key *out);

/* Stores a descriptor (binary, any valid form), or finds it stored. ERR_INVALID_FILE_PERMISSION. */
struct err permission_put(struct txn *t, uint64_t incarnation, struct str sd,
                          struct permission_key *out);
/* The descriptor in its canonical binary form; ERR_FILE_PERMISSION_NOT_FOUND. */
struct err permission_get(struct txn *t, uint64_t incarnation, const struct permission_key *key,
                          struct str *sd);
/* The key that a new object in a directory with the permission `parent` gets; stored if it is
 * new. */
struct err permission_inherit(struct txn *t, uint64_t incarnation,
                              const struct permission_key *parent, bool directory,
                              struct permission_key *out);
/* The descriptor of a new share's root. */
struct err permission_of_root(struct txn *t, uint64_t incarnation, struct permission_key *out);

#endif
