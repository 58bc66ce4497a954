/* SPDX-License-Identifier: Apache-2.0 */
/* What identities may do: a text file of lines
 *     identity account container role
 * where identity is an object id, subject, application id or group of a token, or "*"; account and
 * container are names or "*"; and role is reader, contributor, owner or delegator. Lines add up;
 * '#' begins a comment. */
#ifndef AUTH_ROLES_H
#define AUTH_ROLES_H

#include "core/err.h"
#include "core/str.h"

enum { ROLES_MAX = 10000, ROLES_BYTES_MAX = 1 << 20 };

enum role_need {
    NEED_READ,
    NEED_WRITE,
    NEED_OWNERSHIP, /* owners in a tree, access control lists, stored access policies */
    NEED_DELEGATION /* a user delegation key; every role for a whole account includes it */
};

struct roles;

/* ERR_INVALID_INPUT, with the number of the bad line in `cause`. */
struct err roles_parse(struct str text, struct roles **out);
void roles_free(struct roles *roles);

struct role_request {
    const struct str *identities; /* absent ones match "*" only */
    size_t identity_count;
    struct str account;
    struct str container; /* absent: the account as a whole, for which a line must say "*" */
    enum role_need need;
};
bool roles_permit(const struct roles *roles, const struct role_request *request);

#endif
